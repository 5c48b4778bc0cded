"""Blocked models of sequences: the posterior around the anchor of their messages.

The mode has been found with exact gradients, see `inference.sequences`. Gradients are
differences to linear functions of theta, whose sum gives the curvature as well. They
are computed once per block, so that an iteration costs a few blocks however long the
series. Series too long for the table of these functions take the curvature from a part
of the blocks, and differences to the gradients at the mode.
"""

import numpy as np

from skbayes_sg.inference.curvature import curvature_matrix, whitening
from skbayes_sg.inference.exploration.gradients import (
    automatic_batch_size,
    gradient_of_data,
)
from skbayes_sg.inference.exploration.one_mode import explore
from skbayes_sg.inference.exploration.pilot import PILOT_DRAWS, Pilot
from skbayes_sg.inference.exploration.region import MAX_DENSE, region_of
from skbayes_sg.inference.exploration.request import Exploration, chosen
from skbayes_sg.inference.exploration.unimodal import (
    automatic_lengths,
    automatic_step,
    gradient_noise,
    step_limit,
)
from skbayes_sg.kernels.capabilities.anchors import anchored
from skbayes_sg.kernels.capabilities.buffers import selected
from skbayes_sg.kernels.capabilities.linearization import is_linearizable
from skbayes_sg.kernels.capabilities.maps import constrain
from skbayes_sg.kernels.generic import for_kernels, implements, python_op
from skbayes_sg.kernels.gradients import ControlVariate, Full, LinearControlVariate
from skbayes_sg.kernels.models.free_sequences import FreeSequences
from skbayes_sg.kernels.passes import prior_hessian
from skbayes_sg.kernels.protocol.gradient import with_batch_size
from skbayes_sg.kernels.protocol.model import (
    init_work,
    n_parameters,
    n_rows,
    parameter_dtype,
    theta_of,
)
from skbayes_sg.kernels.protocol.sampler import preconditioner_of, takes_estimates

LEAST_BLOCKS = 8  # of an automatic minibatch
MAX_MEASURED = 64  # parameters of posteriors whose skewness is measured
MEASURED_ROWS = 32  # blocks
MEASURED_DRAWS = 12
ROWS = 2048  # blocks from which a curvature is measured where there is no table


@python_op
def skewness(model, theta):
    """Return how much steeper, and how much slower to leave, a posterior is elsewhere.

    Two factors of the curvature at the mode, of the largest and of the smallest one;
    1 and 1 for a Gaussian.
    """
    return 1.0, 1.0


@skewness.register(FreeSequences)
def _(model, theta):
    if implements(skewness, model.model):
        x = np.zeros(n_parameters(model.model))
        constrain(model.map, np.asarray(theta, np.float64), x)
        return skewness(model.model, x)
    if theta.size > MAX_MEASURED:
        return 1.0, 1.0
    return _measured_skewness(model, theta)


def _measured_skewness(model, theta):
    """Return the factors by the curvature at some draws around the mode."""
    n = n_rows(model)
    rows = np.linspace(0, n - 1, min(n, MEASURED_ROWS)).astype(np.int64)
    part = for_kernels(selected(model, rows, n / rows.size))
    factor = whitening(curvature_matrix(part, theta))
    z = np.random.default_rng(0).standard_normal((MEASURED_DRAWS, theta.size))
    values = [
        np.linalg.eigvalsh(factor.T @ curvature_matrix(part, draw) @ factor)[[0, -1]]
        for draw in theta + z @ factor.T
    ]
    least, most = np.median(values, axis=0)[0], np.max(values)
    return max(1.0, float(most)), 1.0 / float(np.clip(least, 0.2, 1.0))


@explore.register(FreeSequences)
def _(model, request):
    if model.model.messages.anchor.size == 0:
        return explore.dispatch(object)(model, request)
    sampler, settings = request.sampler, request.settings
    if "sequences" not in request.memory:
        request.memory["sequences"] = _survey(model, request)
    region, typical, gradient, noise = request.memory["sequences"]
    if request.start is None:
        start = typical.spread(settings.n_chains)
    else:
        start = np.stack([theta_of(model, draw) for draw in request.start])
    automatic = request.share * automatic_step(
        sampler,
        region,
        noise,
        typical.steepness,
        settings.n_chains * settings.n_draws,
        None if settings.thin == "auto" else settings.thin,
    )
    h = float(chosen(settings.step_size, automatic))
    burn_in, thin = automatic_lengths(sampler, region, h, noise)
    return Exploration(
        model=model,
        sampler=sampler,
        gradient=gradient,
        coordinates=region.coordinates,
        start=start,
        mode=region.mode,
        theta_sd=region.theta_sd,
        gradient_variance=noise * region.curvatures,
        step_size=h,
        burn_in=chosen(settings.burn_in, burn_in),
        thin=chosen(settings.thin, thin),
        step_limit=step_limit(sampler, region, noise=noise),
    )


def _survey(model, request):
    """Return what depends neither on the step size nor on the lengths of chains."""
    mode, dtype = np.array(model.model.messages.anchor), parameter_dtype(model)
    preconditioner = chosen(
        request.settings.preconditioner, preconditioner_of(request.sampler)
    )
    if preconditioner == "auto":
        preconditioner = "dense" if mode.size <= MAX_DENSE else "diagonal"
    matrix = np.zeros((mode.size, mode.size))
    prior_hessian(model, init_work(model), mode, matrix)
    linear = None
    if is_linearizable(model):
        linear = anchored(LinearControlVariate(None, mode, mode[None]), model)
        matrix += linear.linear.matrix
    else:
        n = n_rows(model)
        rows = np.linspace(0, n - 1, min(n, ROWS)).astype(np.int64)
        part = for_kernels(selected(model, rows, n / rows.size))
        matrix = curvature_matrix(part, mode)
    region = region_of(mode, 0.5 * (matrix + matrix.T), preconditioner, dtype)
    rng = np.random.default_rng(request.seed("pilot"))
    z = rng.standard_normal((PILOT_DRAWS, mode.size))
    steepness, slowness = skewness(model, mode)
    region = region._replace(smallest=region.smallest / slowness)
    typical = Pilot(mode + z @ region.factor.T, region, steepness, 1.0)
    return region, typical, *_gradient(model, request, region, typical, linear)


def _gradient(model, request, region, typical, linear):
    """Return a gradient estimator and its relative variance, (d,)."""
    settings, sampler, n = request.settings, request.sampler, n_rows(model)
    automatic = settings.gradient == "auto" and settings.batch_size == "auto"
    if not automatic or not takes_estimates(sampler):
        return gradient_of_data(model, request, region, typical)
    exact = Full(), np.zeros(region.mode.size)
    if n < 2 * LEAST_BLOCKS:
        return exact
    estimator = linear
    if linear is None:
        estimator = anchored(ControlVariate(None, region.mode), model)

    def noise_of(size):
        sized = with_batch_size(estimator, size)
        seed = request.seed("gradient noise")
        return gradient_noise(model, sized, region, typical.draws, seed)

    size = automatic_batch_size(
        n, sampler, noise_of, typical.steepness, least=LEAST_BLOCKS
    )
    if size > n // 2:
        return exact
    return with_batch_size(estimator, size), noise_of(size)
