"""
Which gradient estimator is the quietest?
=========================================

All estimators are unbiased, so what distinguishes them is their variance. It is shown
here against the distance from the posterior mode, in posterior standard deviations.
"""

# %%
# Measure
# -------
# The variance of an estimate is half the mean squared difference of two of them. It is
# summed over the coefficients in whitened coordinates and divided by that of the simple
# estimator at the mode.

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg.datasets import make_logistic
from skbayes_sg.inference.curvature import curvature_matrix, whitening
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import GRADIENTS
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.protocol.gradient import init_memory, prepare
from skbayes_sg.kernels.protocol.model import init_work

X, y = make_logistic(20_000, 10, random_state=0)
model = for_kernels(
    GLM(
        Bernoulli(),
        X,
        y.astype(float),
        np.empty(0),
        np.full(X.shape[1] + 1, 0.1),
        True,
        1,
    )
)
mode = find_mode(model)
factor = whitening(curvature_matrix(model, mode))
rng = np.random.default_rng(0)


def variance(name, distance, n_points=100, batch_size=200):
    """Return the total variance of an estimator at a distance from the mode."""
    kind = GRADIENTS[name]
    given = {"batch_size": batch_size, "mode": mode}
    gradient = kind(**{key: given[key] for key in kind._fields if key in given})
    gradient = for_kernels(prepare(gradient, model))
    z = rng.standard_normal((n_points, mode.size))
    z *= distance / np.linalg.norm(z, axis=1, keepdims=True)
    thetas = np.repeat(mode + z @ factor.T, 2, axis=0)
    out = np.empty_like(thetas)
    memory = init_memory(gradient, model, mode, rng)
    estimate_gradient(gradient, memory, model, init_work(model), thetas, rng, out)
    return 0.5 * (((out[::2] - out[1::2]) @ factor) ** 2).sum(axis=1).mean()


distances = np.geomspace(0.3, 300, 10)
unit = variance("minibatch", 0.0)
fig, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for name in ("minibatch", "stratified", "weighted", "cv", "weighted-cv", "linear-cv"):
    relative = [variance(name, distance) / unit for distance in distances]
    ax.plot(distances, relative, "o-", label=name)
ax.set(xscale="log", yscale="log", xlabel="distance from the mode, in posterior sds")
typical = np.sqrt(mode.size)
ax.axvline(typical, c="0.7", lw=1, zorder=0)
ax.annotate(" where draws are", (typical, ax.get_ylim()[0]), va="bottom", color="0.4")
ax.set_ylabel("variance, relative to the simple estimator")
ax.legend()
plt.show()

# %%
# Where the draws of the posterior are, control variates save a factor of hundreds, and
# rows drawn by their leverage a further one. What linear functions leave to the
# minibatch is of second order, and smaller by orders of magnitude. Far from the mode
# none of them is quieter than the gradients themselves.
