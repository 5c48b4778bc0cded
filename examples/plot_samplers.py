"""
Do all samplers reach the same posterior?
=========================================

The eight columns of the comparison in Nemeth & Fearnhead (2021), on a smaller version
of their simulated data: 10,000 rows, ten features and an intercept. None of the step
sizes is tuned by hand. MALA, which accepts or rejects its steps on all the data, is the
exact reference.
"""

# %%
# Eight chains of thought
# -----------------------
# Every estimator has the same prior and the same data. Minibatches hold 500 rows. KSD
# is in posterior standard deviations and stands beside its value for perfect draws.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from skbayes_sg import SGMCMCLogisticRegression
from skbayes_sg.datasets import make_logistic

X, y = make_logistic(12_000, 10, random_state=2)
X, X_test, y, y_test = train_test_split(X, y, test_size=2_000, random_state=0)
columns = {
    "MALA": ("mala", "full"),
    "ULA": ("sgld", "full"),
    "SGLD": ("sgld", "minibatch"),
    "SGLD-CV": ("sgld", "cv"),
    "SG-HMC": ("sghmc", "minibatch"),
    "SG-HMC-CV": ("sghmc", "cv"),
    "SG-NHT": ("sgnht", "minibatch"),
    "SG-NHT-CV": ("sgnht", "cv"),
}
fitted = {}
print(
    f"{'':10}{'h':>9}{'ms/iter':>9}{'ess':>7}{'log-loss':>10}{'KSD':>8}{'perfect':>9}"
)
for name, (sampler, gradient) in columns.items():
    model = SGMCMCLogisticRegression(
        sampler=sampler,
        gradient=gradient,
        batch_size=500,
        n_draws=500,
        n_chains=2,
        random_state=0,
    )
    model.set_params(n_draws=1).fit(X, y)  # compiles
    began = time.perf_counter()
    fitted[name] = model.set_params(n_draws=500).fit(X, y)
    rate = 1e3 * (time.perf_counter() - began) / (2 * model.n_iter_)
    ess = model.summary(parameters=["x0", "x1", "x2"])["ess"].min()
    loss = log_loss(y_test, model.predict_proba(X_test))
    ksd, floor = model.ksd(return_floor=True)
    print(
        f"{name:10}{model.step_size_:9.2g}{rate:9.3f}{ess:7.0f}"
        f"{loss:10.4f}{ksd:8.2f}{floor:9.2f}"
    )

# %%
# Means and spreads
# -----------------
# Errors of the posterior means in posterior standard deviations, and ratios of the
# standard deviations. The chains of the simple estimators have to take small steps, so
# 500 draws of them hold few independent ones; those with control variates agree with
# the exact sampler.

reference = fitted.pop("MALA")
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for row, model in enumerate(fitted.values()):
    error = (model.coef_ - reference.coef_)[0] / reference.coef_std_[0]
    ratio = model.coef_std_[0] / reference.coef_std_[0]
    axes[0].plot(error, np.full(10, row), "o", alpha=0.6)
    axes[1].plot(ratio, np.full(10, row), "o", alpha=0.6)
axes[0].set_yticks(range(len(fitted)), list(fitted))
axes[0].set_xlabel("error of the mean, in posterior sds")
axes[1].set_xlabel("posterior sd, relative to MALA's")
for ax, exact in zip(axes, (0, 1), strict=True):
    ax.axvline(exact, c="0.7", lw=1, zorder=0)
plt.show()

# %%
# Traces
# ------
# The first 300 draws of one coefficient, with the iterations per draw at the right. The
# chains of the simple estimators wander slowly even so.

names = ["SGLD", "SGLD-CV", "SG-NHT", "SG-NHT-CV"]
fig, axes = plt.subplots(4, 1, figsize=(8, 5), sharex=True, layout="constrained")
for ax, name in zip(axes, names, strict=True):
    model = fitted[name]
    trace = model.samples_[:, :300, 0]
    ax.plot((trace.T - reference.coef_[0, 0]) / reference.coef_std_[0, 0], lw=0.7)
    ax.set(ylim=(-4, 4), ylabel=name)
    ax.text(1.01, 0.5, f"{model.thin_}", transform=ax.transAxes, va="center")
axes[-1].set_xlabel("draw; vertically, posterior standard deviations from the mean")
plt.show()
