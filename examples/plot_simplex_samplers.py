"""
Which samplers are right near the edge of a simplex?
====================================================

Probabilities of categories have a Dirichlet posterior, which is known exactly. Where
some categories have no data and the prior's shapes are small, its density is infinite
at the edge: the hard case. Each sampler gets its best step size of a short list, by the
Kolmogorov-Smirnov distance to the exact marginals, on minibatches of several sizes.
"""

# %%
# The toy of the SCIR paper
# -------------------------
# 1000 rows of 10 categories and shapes of 0.1. Counts are dense, 100 of each category,
# or sparse: 800, 100, 100 and seven categories without a row.

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from skbayes_sg import sample
from skbayes_sg.inference.positive_blocks import counts_step
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.models import (
    DirichletMultinomial,
    ExpandedDirichlet,
    mirrored,
)
from skbayes_sg.kernels.samplers import SCIR, SGLD, ConstantMassCIR, ExpandedMean

SHAPE, N_DRAWS = 0.1, 1000
COUNTS = {
    "dense": np.full(10, 100),
    "sparse": np.array([800, 100, 100, 0, 0, 0, 0, 0, 0, 0]),
}


def distance(draws, counts):
    """Return the mean KS distance of the marginals to those of the posterior."""
    b = counts + SHAPE
    laws = [stats.beta(shape, b.sum() - shape) for shape in b]
    return np.mean(
        [
            stats.kstest(x, law.cdf).statistic
            for x, law in zip(draws.T, laws, strict=True)
        ]
    )


def run(name, counts, batch_size, step_size):
    """Return draws of one sampler."""
    y, shape = np.repeat(np.arange(10), counts), np.full(10, SHAPE)
    model, start = ExpandedDirichlet(y, shape), counts + SHAPE
    if name == "mirrored Langevin":
        model = mirrored(DirichletMultinomial(y, shape), "entropic")
        start = np.log(start[:-1] / start[-1])
    options = {"n_draws": N_DRAWS, "burn_in": 1000, "thin": 10, "random_state": 0}
    sampler = SAMPLERS[name][0]
    gradient = Minibatch(batch_size)
    return sample(
        model, sampler, gradient, step_size=step_size, start=start, **options
    )[0]


STEPS = [2.0, 1.0, 0.2, 0.1, 0.02, 0.01]
SAMPLERS = {
    "SG-RLD, as published": (ExpandedMean(), [2e-3, 2e-4, 2e-5, 2e-6]),
    "mirrored Langevin": (SGLD(), [1e-2, 1e-3, 1e-4, 1e-5]),
    "SCIR": (SCIR(), STEPS),
    "constant mass": (ConstantMassCIR(1001.0), STEPS),
}

# %%
# Distances over minibatch sizes
# ------------------------------
# The gray line is the distance of as many independent draws of the posterior itself: no
# sampler can be below it but by luck. Crosses are SCIR at its automatic step, which is
# computed from the variance of the counts before the chain runs.

SIZES = [1, 10, 100, 1000]
rng = np.random.default_rng(0)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for ax, (kind, counts) in zip(axes, COUNTS.items(), strict=True):
    for name, (_, steps) in SAMPLERS.items():
        best = []
        for size in SIZES:
            found = [distance(run(name, counts, size, h), counts) for h in steps]
            best.append(np.nanmin(found))
        ax.plot(SIZES, best, "o-", label=name)
    model = ExpandedDirichlet(np.repeat(np.arange(10), counts), np.full(10, SHAPE))
    automatic = [
        counts_step(
            model, SCIR(), Minibatch(n), counts + SHAPE, tolerance=0.3, random_state=0
        )
        for n in SIZES
    ]
    found = [
        distance(run("SCIR", counts, n, h), counts)
        for n, h in zip(SIZES, automatic, strict=True)
    ]
    ax.plot(SIZES, found, "kx", label="SCIR, automatic step")
    exact = distance(rng.dirichlet(counts + SHAPE, N_DRAWS), counts)
    ax.axhline(exact, color="gray", label="independent draws")
    ax.set(title=f"{kind} counts", xlabel="rows in a minibatch", xscale="log")
axes[0].set(ylabel="mean KS distance to the posterior", yscale="log")
axes[1].legend()
plt.show()

# %%
# Where it breaks
# ---------------
# The seven empty categories, with all rows in every step. The density of log x is a
# straight line on this side of the mode. Absolute values pile up draws at the size of a
# step, and never go below.

counts = COUNTS["sparse"]
fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
bins = np.linspace(-60, 0, 61)
for name, h in (("SG-RLD, as published", 2e-3), ("SCIR", 1.0), ("constant mass", 1.0)):
    x = np.log(run(name, counts, 1000, h)[:, 3:]).ravel()
    ax.hist(x, bins, histtype="step", density=True, label=name)
exact = rng.beta(SHAPE, 1000 + 9 * SHAPE, 100_000)
ax.hist(np.log(exact), bins, color="lightgray", density=True, label="posterior")
ax.set(xlabel="log probability of an empty category", ylabel="density", yscale="log")
ax.legend()
plt.show()
