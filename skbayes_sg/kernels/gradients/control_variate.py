"""Control variates around a mode (Baker, Fearnhead, Fox & Nemeth, 2019).

    g = g(mode) + grad log p(theta) - grad log p(mode)
        + N/n sum_{i in S} [grad log f(y_i | theta) - grad log f(y_i | mode)]

The variance is that of differences, which vanish at the mode. To first order it is
D^2 / (N + D^2) times the variance of the simple minibatch estimator, where D is the
distance to the mode in posterior sds,

    D^2 = sum_j I_j (theta_j - mode_j)^2,    I = diagonal of the information there.

In general a difference costs two gradients, so it pays as long as it halves the
variance. Beyond D = `reach` sqrt(N), with reach = 1, the simple estimator is used. The
choice depends on theta only, so the estimate stays unbiased. A model that implements
`add_difference`, such as a regression, needs only one gradient and uses the difference
everywhere, since its variance approaches that of the simple estimator from below.

Measured (`benchmarks/bench_gradient_variance.py`): a logistic regression has half the
variance at 0.7 sqrt(N). A network that fits its data closely has it at 0.15 sqrt(N),
because its residuals at the mode are smaller than the information suggests; from there
to sqrt(N) a difference costs at most twice as much as a simple estimate of the same
variance.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.anchors import add_difference, init_anchor
from skbayes_sg.kernels.capabilities.curvature import add_hessian_diagonal
from skbayes_sg.kernels.data.minibatch import INDEX, MinibatchMemory, draw_minibatch
from skbayes_sg.kernels.generic import helper, implements
from skbayes_sg.kernels.gradients.blocked import terms_of
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.passes import hessian_diagonal, log_posterior
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, prepare
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    n_rows,
)

REACH = 1.0  # for models whose differences cost two gradients; others have no limit


class ControlVariate(NamedTuple):
    """Differences to the gradient at `mode`, on a fresh minibatch at every step."""

    batch_size: int = None  # n; None: to be chosen
    mode: np.ndarray = None  # (d,) in the model's coordinates; None: to be found
    reach: float = None  # differences up to D = reach sqrt(N); None: see `REACH`
    anchor: np.ndarray = None  # what the model stores for the mode, see `init_anchor`
    likelihood: np.ndarray = None  # (d,) the likelihood's full gradient at the mode
    information: np.ndarray = None  # (d,) I; zero if unknown or not needed


@prepare.register(ControlVariate)
def _(gradient, model):
    terms = terms_of(model, gradient.batch_size)
    return terms.estimator(centered(gradient, model, terms), gradient.batch_size)


def centered(gradient, model, terms):
    """Return the estimator with all quantities at the mode, for terms of the model."""
    mode, work, reach = gradient.mode, init_work(model), gradient.reach
    # This pass is already compiled for finding the mode; the prior is subtracted.
    likelihood, prior = np.zeros_like(mode), np.zeros_like(mode)
    log_posterior(model, work, mode, likelihood)
    add_prior_gradient(model, work, mode, prior)
    if reach is None:
        reach = math.inf if implements(add_difference, model) else REACH
    information = np.zeros(mode.size)
    if reach < math.inf and implements(add_hessian_diagonal, model):
        hessian_diagonal(model, work, mode, information)
    return gradient._replace(
        batch_size=terms.size(gradient.batch_size),
        reach=reach,
        anchor=init_anchor(terms.model, work, mode),
        likelihood=likelihood - prior,
        information=information,
    )


@init_memory.register(ControlVariate)
def _(gradient, model, theta, rng):
    return MinibatchMemory(np.arange(n_rows(model), dtype=INDEX))


@estimate.register(ControlVariate)
def _(gradient, memory, model, work, theta, rng, out):
    idx = draw_minibatch(memory.permutation, gradient.batch_size, rng)
    scale = n_rows(model) / idx.size
    if is_far(gradient, theta, n_rows(model)):
        out[:] = 0.0
        add_gradient(model, work, theta, idx, scale, out)
    else:
        copy_to(gradient.likelihood, out)
        add_difference(model, work, theta, gradient.anchor, idx, scale, out)
    add_prior_gradient(model, work, theta, out)


@helper
def is_far(gradient, theta, n):
    """Whether theta is more than reach sqrt(n) posterior sds from the mode."""
    total = 0.0
    for j in range(theta.size):
        total += gradient.information[j] * (theta[j] - gradient.mode[j]) ** 2
    return total > gradient.reach**2 * n
