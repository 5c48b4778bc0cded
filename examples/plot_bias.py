"""
How fast does the error fall with the step size?
================================================

Samplers without a Metropolis step draw from a law that depends on the step size. The
schemes as first published err in proportion to h. Splittings of the same dynamics cost
as much per step, and their error falls faster.
"""

# %%
# A skewed posterior
# ------------------
# Forty rows, three coefficients: few enough that the posterior is far from Gaussian,
# and that a very long chain with a tiny step tells the truth. All gradients are exact,
# so the step size is the only source of error.

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg import SGMCMCLogisticRegression

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
y = (rng.random(40) < 1 / (1 + np.exp(-1 - 2 * X[:, 0]))).astype(int)


def second_moments(sampler, step_size, **settings):
    """Return the posterior second moments of the coefficients."""
    model = SGMCMCLogisticRegression(
        sampler=sampler,
        step_size=step_size,
        gradient="full",
        random_state=0,
        **settings,
    )
    return (model.fit(X, y).samples_ ** 2).mean(axis=(0, 1))


truth = second_moments("mala", 0.5, n_draws=50_000, thin=2)
lines = {
    "sgld": ("SGLD, Euler", "o-", [0.1, 0.2, 0.4, 0.8]),
    "sgld-lm": ("SGLD, Leimkuhler-Matthews", "s-", [0.4, 0.8, 1.6]),
    "sghmc": ("SG-HMC, Euler", "o--", [0.1, 0.2, 0.4, 0.8]),
    "baoab": ("SG-HMC, BAOAB", "s--", [0.8, 1.6, 2.4]),
}
fig, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for sampler, (label, style, steps) in lines.items():
    error = [
        np.abs(second_moments(sampler, h, n_draws=15_000, thin=3) / truth - 1).max()
        for h in steps
    ]
    ax.plot(steps, error, style, label=label)
ax.set(xscale="log", yscale="log", xlabel="step size h, in whitened coordinates")
ax.set_ylabel("largest relative error of a second moment")
ax.legend()
plt.show()

# %%
# Errors below one per cent are Monte Carlo errors of these chains.
# The defaults of :class:`~skbayes_sg.SGLDLogisticRegression` and
# :class:`~skbayes_sg.SGHMCLogisticRegression` are the two lower lines.
