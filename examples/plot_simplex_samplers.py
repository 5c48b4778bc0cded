"""
Which samplers are right near the edge of a simplex?
====================================================

Probabilities of categories have a Dirichlet posterior, which is known exactly. Where
some categories have no data and the prior's shapes are small, its density is infinite
at the edge: the hard case. Six samplers are compared by their Kolmogorov-Smirnov
distance to the exact marginals, on minibatches from one row to all of them, each at the
best step size of a list and at its automatic one.
"""

# %%
# The toy of the SCIR paper
# -------------------------
# 1000 rows of 10 categories and shapes of 0.1. Counts are dense, 100 of each category,
# or sparse: 800, 100, 100 and seven categories without a row.

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from skbayes_sg import sample
from skbayes_sg.inference.positive_blocks import counts_step
from skbayes_sg.kernels.capabilities.regions import project
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.models import (
    DirichletMultinomial,
    ExpandedDirichlet,
    mirrored,
)
from skbayes_sg.kernels.protocol.sampler import accurate_step
from skbayes_sg.kernels.regions import Simplex
from skbayes_sg.kernels.samplers import (
    SCIR,
    SGLD,
    ConstantMassCIR,
    ExpandedMean,
    FrozenCountsCIR,
    bounded,
)

K, SHAPE, N_ROWS, N_DRAWS = 10, 0.1, 1000, 1000
COUNTS = {
    "dense": np.full(K, 100),
    "sparse": np.array([800, 100, 100, 0, 0, 0, 0, 0, 0, 0]),
}


def distance(draws, counts):
    """Return the mean KS distance of the marginals to those of the posterior."""
    b, rank = counts + SHAPE, np.arange(1, len(draws) + 1)[:, None] / len(draws)
    cdf = stats.beta.cdf(np.sort(draws, axis=0), b, b.sum() - b)
    above, below = rank - cdf, cdf - rank + 1 / len(draws)
    return np.maximum(above, below).max(axis=0).mean()


# %%
# Projected Langevin is refused where the density is infinite at a wall. To see what
# would happen, the walls are moved inwards, to a probability of 1e-6: a region of our
# own, which needs nothing but its projection.


class InnerSimplex(NamedTuple):
    """Parts of at least `least` that sum to one."""

    least: float


@project.register(InnerSimplex)
def _(region, theta, out):
    width = 1.0 - theta.size * region.least
    project(Simplex(), (theta - region.least) / width, out)
    for j in range(theta.size):
        out[j] = region.least + width * out[j]


STEPS = [2.0, 1.0, 0.2, 0.1, 0.02, 0.01]
SMALL = [2e-3, 2e-4, 2e-5, 2e-6]
SAMPLERS = {
    "SG-RLD, as published": (ExpandedMean(), SMALL),
    "projected Langevin": (bounded(SGLD(), InnerSimplex(1e-6)), [1e-4, 1e-5, 1e-6]),
    "mirrored Langevin": (SGLD(), [1e-2, 1e-3, 1e-4, 1e-5]),
    "frozen CIR": (FrozenCountsCIR(), [2e-2, *SMALL]),
    "SCIR": (SCIR(), STEPS),
    "constant mass": (ConstantMassCIR(N_ROWS + K * SHAPE), STEPS),
}


def setup(name, counts):
    """Return model and start of one sampler."""
    y, shape = np.repeat(np.arange(K), counts), np.full(K, SHAPE)
    x = (counts + SHAPE) / (N_ROWS + K * SHAPE)
    if name == "mirrored Langevin":
        model = mirrored(DirichletMultinomial(y, shape), "entropic")
        return model, np.log(x[:-1] / x[-1])
    if name == "projected Langevin":
        return DirichletMultinomial(y, shape), x
    # The sum of theta has the law of its prior or, for SCIR, of its posterior.
    total = K * SHAPE if name in ("SG-RLD, as published", "frozen CIR") else N_ROWS
    return ExpandedDirichlet(y, shape), total * x


def run(name, counts, batch_size, step_size, n_draws=N_DRAWS, thin=10):
    """Return draws of one sampler."""
    model, start = setup(name, counts)
    return sample(
        model,
        SAMPLERS[name][0],
        Minibatch(batch_size),
        step_size=step_size,
        n_draws=n_draws,
        burn_in=1000,
        thin=thin,
        start=start,
        random_state=0,
    )[0]


# %%
# Automatic steps
# ---------------
# All allow variances that are up to 30 % too large, because counts are noisy: that of a
# part, estimated from n of N rows, has the variance N^2 x (1 - x) (1/n - 1/N). For the
# samplers of counts a closed formula follows, which ``counts_step`` applies; SG-RLD has
# the drift of the frozen steps, so it gets their step. Langevin steps follow from the
# curvature of -log p and the variance of its gradient.


def automatic(name, counts, batch_size):
    """Return the step size at which variances are up to 30 % too large."""
    sampler, gradient = SAMPLERS[name][0], Minibatch(batch_size)
    b, share = counts + SHAPE, counts / N_ROWS
    if "Langevin" not in name:
        if name.startswith("SG-RLD"):
            sampler = FrozenCountsCIR()
        model, theta = setup(name, counts)
        options = {"tolerance": 0.3, "n_steps": 10 * N_DRAWS, "random_state": 0}
        return counts_step(model, sampler, gradient, theta, **options)
    x = b / b.sum()
    variance = N_ROWS**2 * share * (1 - share) * (1 / batch_size - 1 / N_ROWS)
    if name == "mirrored Langevin":  # in log ratios
        curvature = b.sum() * np.linalg.eigvalsh(np.diag(x) - np.outer(x, x))[-1]
    else:
        curvature, variance = np.max(b / x**2), variance / x**2
    return accurate_step(SGLD(), variance.max() / curvature, 0.3) / curvature


# %%
# Distances over minibatch sizes
# ------------------------------
# Lines are the best of the steps, crosses the automatic ones. The gray line is the
# distance of as many independent draws of the posterior itself: no sampler can be below
# it but by luck.

SIZES = [1, 10, 100, 1000]
rng = np.random.default_rng(0)
best = {kind: {} for kind in COUNTS}
fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.5), layout="constrained", sharey=True)
for ax, (kind, counts) in zip(axes, COUNTS.items(), strict=True):
    for name, (_, steps) in SAMPLERS.items():
        lowest, found = [], []
        for size in SIZES:
            of_steps = [distance(run(name, counts, size, h), counts) for h in steps]
            lowest.append(min(of_steps))
            best[kind][name, size] = steps[int(np.argmin(of_steps))]
            h = automatic(name, counts, size)
            found.append(distance(run(name, counts, size, h), counts))
        (line,) = ax.plot(SIZES, lowest, "o-", label=name)
        ax.plot(SIZES, found, "x", color=line.get_color())
    exact = distance(rng.dirichlet(counts + SHAPE, N_DRAWS), counts)
    ax.axhline(exact, color="gray", label="independent draws")
    ax.set(title=f"{kind} counts", xlabel="rows in a minibatch", xscale="log")
axes[0].set(ylabel="mean KS distance to the posterior", yscale="log")
axes[0].plot([], [], "kx", label="automatic step")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
plt.show()

# %%
# With dense counts everything works, more or less, given the right step. With sparse
# counts only exact transitions come near the posterior: SCIR, constant mass, and the
# frozen steps, which follow the drift of SG-RLD without its absolute values. All three
# have the law of independent draws when they see all rows. Frozen steps have the rate
# 1 + N / S, where the sum S of the parameters wanders as its prior says. A chain must
# start at such a sum: from S = N, the rate is 2 where 1000 is typical, and a chain of
# this length does not move.
#
# Where each breaks
# -----------------
# The seven empty categories, with all rows in every step, so that nothing but the
# boundary is left to go wrong. On the left the density of log x, on the right the mean
# of an empty part, which is 1e-4, as the step size falls.

counts = COUNTS["sparse"]
truth = SHAPE / (N_ROWS + K * SHAPE)
fig, (ax, other) = plt.subplots(1, 2, figsize=(9.5, 4.5), layout="constrained")
bins = np.linspace(-60, 0, 61)
exact = rng.beta(SHAPE, N_ROWS + (K - 1) * SHAPE, 100_000)
ax.hist(np.log(exact), bins, color="lightgray", density=True, label="posterior")
for name, (_, steps) in SAMPLERS.items():
    h = best["sparse"][name, N_ROWS]
    x = run(name, counts, N_ROWS, h, thin=20)[:, 3:]
    values = np.log(np.maximum(x, 1e-300)).ravel()
    ax.hist(values, bins, histtype="step", density=True, label=name)
    means = [run(name, counts, N_ROWS, h, thin=20)[:, 3:].mean() for h in steps]
    other.plot(steps, np.array(means) / truth, "o-", label=name)
ax.set(xlabel="log probability of an empty category", ylabel="density", yscale="log")
other.axhline(1.0, color="gray")
other.set(xlabel="step size h", xscale="log", yscale="log")
other.set(ylabel="mean of an empty part, relative to the truth")
other.legend(fontsize="small")
plt.show()

# %%
# - **SG-RLD** takes absolute values where a step leads below zero. Draws pile up at the
#   size of a step, so that empty parts are too large. Where the step is very small, a
#   chain of this length hardly moves from its start, which is at the truth here.
# - **Projected Langevin** has its empty parts on the wall itself, wherever that is.
# - **Mirrored Langevin** has the right density, but log ratios of empty parts have an
#   exponential tail of rate 0.1, and a chain takes very long to go through it.
# - **Frozen CIR**, **SCIR** and **constant mass** have the posterior's law, frozen CIR
#   where its steps are large enough to move.
