"""The gradient estimator of a posterior with one mode, and the size of minibatches."""

import math

import numpy as np

from skbayes_sg.inference.exploration.request import check_batch_size
from skbayes_sg.inference.exploration.unimodal import (
    TOLERANCE,
    exact_step,
    gradient_noise,
)
from skbayes_sg.kernels.capabilities.anchors import anchored
from skbayes_sg.kernels.capabilities.expansion import add_beyond_linear
from skbayes_sg.kernels.capabilities.strata import leverages
from skbayes_sg.kernels.generic import implements
from skbayes_sg.kernels.gradients import GRADIENTS, Full, Minibatch
from skbayes_sg.kernels.protocol.gradient import (
    batch_size_of,
    centered_at,
    needs_mode,
    prepare,
    with_batch_size,
)
from skbayes_sg.kernels.protocol.model import n_rows
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    check_parts,
    takes_estimates,
)

N_LINEARIZED = 32  # typical draws at which linear control variates are fitted
MIN_BATCH = 200  # fewer rows save little time
MIN_ROWS = 1000  # up to which all rows are the minibatch


def gradient_of_batch(model, request, region, typical):
    """Return the gradient of a batch that stands for more rows, and its noise, (d,).

    The noise is that of halves of the batch, extrapolated to all rows.
    """
    n, total = n_rows(model), request.total
    half = Minibatch(max(1, n // 2))
    check_parts(request.sampler, model, half, region.coordinates)
    noise = np.zeros(region.mode.size)
    if 1 < n < total:
        seed = request.seed("gradient noise")
        noise = gradient_noise(model, half, region, typical.draws, seed)
        noise *= (1 / n - 1 / total) / (1 / half.batch_size - 1 / n)
    return Full(), noise


def gradient_of_data(model, request, region, typical):
    """Return a gradient estimator and its relative variance, (d,).

    `request.memory` has it prepared for the data, as "ready".
    """
    n, gradient = n_rows(model), request.settings.gradient
    sampler, size = request.sampler, request.settings.batch_size
    check_batch_size(size, n)
    exact = Full(), np.zeros(region.mode.size)
    # Some draws to fit control variates at, the others to measure their noise.
    fitted, others = typical.parted(N_LINEARIZED)

    def noise_of(gradient):
        seed = request.seed("gradient noise")
        return gradient_noise(model, gradient, region, others, seed)

    last = {}  # noise and prepared estimator of the last size, which holds all rows

    def noise_at(size):
        if size not in last:
            last.clear()
            ready = prepare(with_batch_size(estimator, size), model)
            last[size] = noise_of(ready), ready
        return last[size][0]

    if not isinstance(gradient, str):
        if needs_mode(gradient):
            gradient = centered_at(gradient, region.mode, fitted)
        return gradient, noise_of(gradient)
    name = gradient
    if name == "auto":  # rows bend too much where the posterior is skewed
        name = "weighted-cv" if typical.is_skewed else "linear-cv"
        if implements(add_beyond_linear, model) and not typical.is_skewed:
            name = "taylor-cv"
        elif not implements(leverages, model):  # by which both of them weigh rows
            name = "cv"
    few = min(n, MIN_ROWS)
    estimator = with_batch_size(GRADIENTS[name](), few if size == "auto" else size)
    if batch_size_of(estimator) is None:
        return exact
    if size == "auto" and (few == n or not takes_estimates(sampler)):
        return exact
    about_mode = needs_mode(estimator)
    estimator = anchored(centered_at(estimator, region.mode, fitted), model)
    if size == "auto" and about_mode:
        size = automatic_batch_size(
            n,
            sampler,
            noise_at,
            typical.steepness,
        )
    elif size == "auto":
        # The simple estimators never let the full step through: cost per effective draw
        # is level in the batch size, so a moderate one serves.
        size = max(few, n // 100)
    if gradient == "auto" and request.settings.batch_size == "auto" and size > n // 2:
        return exact
    noise_at(size)
    noise, request.memory["ready"] = last[size]
    return with_batch_size(estimator, size), noise


def automatic_batch_size(n, sampler, noise_of, steepness=1.0, least=MIN_BATCH):
    """Return the smallest minibatch with which the sampler takes nearly its full step.

    Below it, step and minibatch size trade off at equal cost per effective draw.
    ``noise_of(size)`` measures the noise; of `n` rows, its variance is a factor times
    1 / size - 1 / n. The factor is constant for uniform minibatches and falls with the
    size of preferential ones, so it is measured at sizes from `least`
    on that grow fourfold.
    """
    full = exact_step(sampler, steepness, TOLERANCE)

    def suffices(size, factor):
        noise = factor * (1.0 / size - 1.0 / n)
        return accurate_step(sampler, noise, TOLERANCE) >= 0.75 * full

    sizes, factors = [], []
    size = min(n, least)
    while size < n:
        sizes.append(size)
        factors.append(float(np.max(noise_of(size))) / (1.0 / size - 1.0 / n))
        if suffices(size, factors[-1]):
            break
        size = min(n, 4 * size)
    low, high = sizes[-2] if len(sizes) > 1 else size, size
    while low < high:
        size = (low + high) // 2
        if suffices(size, _interpolated(size, sizes, factors)):
            high = size
        else:
            low = size + 1
    return low


def _interpolated(size, sizes, factors):
    """Return the factor at `size` by straight lines between logarithms."""
    logs = np.log(np.maximum(factors, np.finfo(float).tiny))
    return math.exp(np.interp(math.log(size), np.log(sizes), logs))
