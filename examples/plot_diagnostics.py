"""
Which diagnostics see a step that is too large?
===============================================

Two fits of one posterior: the automatic step size, and plain SGLD with a step far too
large for it. Both chains mix well, so traces, R-hat and the effective sample size
praise the second no less than the first. Its intervals are too wide all the same. The
kernel Stein discrepancy (KSD) says so, and ``fit`` warns after a look at some draws.
"""

import matplotlib.pyplot as plt

from skbayes_sg import CoefficientDisplay, SGLDLogisticRegression, TraceDisplay
from skbayes_sg.datasets import make_logistic

X, y = make_logistic(5_000, 4, random_state=0)
good = SGLDLogisticRegression(random_state=0).fit(X, y)
large = SGLDLogisticRegression(sampler="sgld", step_size=2.0, random_state=0).fit(X, y)

# %%
# Nothing in the summaries tells the two apart but the standard deviations, and those
# one does not know beforehand.

for name, model in (("automatic step", good), ("large step", large)):
    ksd, floor = model.ksd(return_floor=True)
    print(f"{name}: KSD {ksd:.2f}, of as many perfect draws {floor:.2f}")
    print(model.summary().round(3).to_string(), end="\n\n")

# %%
# Traces of one coefficient with a histogram for each of the four chains, automatic step
# above. Below, posterior means with intervals of 50 and 94 % probability: same scale,
# same data, and too wide on the right.

figure = plt.figure(figsize=(9, 6.5), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=[1.2, 1])
rows = top.subplots(2, 2, width_ratios=[4, 1], sharex="col", sharey=True)
columns = bottom.subplots(1, 2, sharex=True, sharey=True)
small = ["x0", "x1", "x3", "intercept"]
for k, (name, model) in enumerate((("automatic step", good), ("large step", large))):
    TraceDisplay.from_estimator(model, parameters=["x0"], axes=rows[k : k + 1])
    CoefficientDisplay.from_estimator(model, parameters=small, ax=columns[k])
    line, ksd = model.summary().loc["x0"], model.ksd()
    columns[k].set_xlabel(f"{name}: posterior mean and intervals")
    rows[k, 0].set_title(
        f"{name}: R-hat {line['rhat']:.3f}, ESS {line['ess']:.0f}, KSD {ksd:.2f}",
        fontsize="medium",
        pad=18,  # above the legend
    )
plt.show()
