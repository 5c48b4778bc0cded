"""
How long does a hierarchical model of 100,000 rows take?
=========================================================

A logistic regression with an intercept for each of 100 groups, written in PyMC. NUTS
reads all rows at every leapfrog step. `SGMCMCModel` takes the same model, reads some
hundred rows per step, and ends with the same posterior. Needs the extra ``pymc``, and
``nutpie`` for the comparison.

.. image:: /_static/gallery/varying_intercepts.png
"""

# sphinx_gallery_thumbnail_path = "_static/gallery/varying_intercepts.png"

import time

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytensor.tensor as pt

from skbayes_sg import SGMCMCModel, from_pymc

N, GROUPS = 100_000, 100
rng = np.random.default_rng(0)
X, group = rng.normal(size=(N, 5)), rng.integers(GROUPS, size=N)
truth = rng.normal(-0.5, 0.8, GROUPS)
eta = truth[group] + X @ rng.normal(size=5)
y = (rng.random(N) < 1 / (1 + np.exp(-eta))).astype(int)

with pm.Model(coords={"group": np.arange(GROUPS)}) as hierarchical:
    mu, tau = pm.Normal("mu", 0, 2), pm.HalfNormal("tau", 1)
    a = pm.Normal("a", mu, tau, dims="group")
    beta = pm.Normal("beta", 0, 2, shape=5)
    pm.Bernoulli("y", logit_p=a[group] + pt.dot(X, beta), observed=y)


def timed(run):
    """Return what `run` returns, and the seconds that it took."""
    start = time.perf_counter()
    return run(), time.perf_counter() - start


model = from_pymc(hierarchical)
SGMCMCModel(model, n_draws=1, random_state=0).fit()  # compile, once for all processes
est, ours = timed(SGMCMCModel(model, random_state=0).fit)
nuts, theirs = timed(
    lambda: pm.sample(
        500,
        tune=300,
        chains=1,
        nuts_sampler="nutpie",
        random_seed=0,
        model=hierarchical,
    )
)

###############################################################################
# The posterior of the intercepts, by both.
fig, ax = plt.subplots(figsize=(5, 5), layout="constrained")
for moment, marker in (("mean", "o"), ("std", "x")):
    left = getattr(nuts.posterior["a"].values[0], moment)(axis=0)
    right = getattr(est.samples_["a"], moment)(axis=(0, 1))
    ax.plot(left, right, marker, label=f"posterior {moment}", markersize=4)
ax.axline((0, 0), slope=1, color="0.7", zorder=0)
ax.set(
    xlabel=f"NUTS, {theirs:.0f} s",
    ylabel=f"SGMCMCModel, {ours:.1f} s",
    title="Intercepts of 100 groups, 100,000 rows",
)
ax.legend()
plt.show()
