"""Stochastic volatility: typical draws by Laplace's approximation, noisy gradients."""

import math

import numpy as np

from skbayes_sg.inference.exploration.one_mode import explore
from skbayes_sg.inference.exploration.region import region_of
from skbayes_sg.inference.exploration.request import (
    Exploration,
    check_batch_size,
    chosen,
)
from skbayes_sg.inference.exploration.unimodal import (
    automatic_lengths,
    automatic_step,
    gradient_noise,
    step_limit,
)
from skbayes_sg.inference.volatility import typical_draws
from skbayes_sg.kernels.gradients import GRADIENTS, Full, Minibatch
from skbayes_sg.kernels.models.stochastic_volatility import FreeVolatility
from skbayes_sg.kernels.protocol.gradient import batch_size_of, with_batch_size
from skbayes_sg.kernels.protocol.model import n_rows, parameter_dtype, theta_of
from skbayes_sg.kernels.protocol.sampler import preconditioner_of

POINTS = 4000  # of an automatic minibatch
N_NOISE = 32  # typical draws at which the gradients' noise is measured


@explore.register(FreeVolatility)
def _(model, request):
    sampler, settings = request.sampler, request.settings
    if "volatility" not in request.memory:
        request.memory["volatility"] = _survey(model, request)
    region, typical, gradient, noise = request.memory["volatility"]
    if request.start is None:
        places = np.linspace(0, len(typical.draws) - 1, settings.n_chains)
        start = typical.draws[places.astype(int)]
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
        mode=typical.mode,
        theta_sd=region.theta_sd,
        gradient_variance=noise * region.curvatures,
        step_size=h,
        burn_in=chosen(settings.burn_in, burn_in),
        thin=chosen(settings.thin, thin),
        step_limit=step_limit(sampler, region, noise=noise),
    )


def _survey(model, request):
    """Return what depends neither on the step size nor on the lengths of chains."""
    rng = np.random.default_rng(request.seed("pilot"))
    typical = typical_draws(model, rng)
    preconditioner = chosen(
        request.settings.preconditioner, preconditioner_of(request.sampler)
    )
    preconditioner = "dense" if preconditioner == "auto" else preconditioner
    center, matrix = typical.draws.mean(axis=0), np.linalg.inv(typical.covariance)
    region = region_of(center, matrix, preconditioner, parameter_dtype(model))
    gradient = _gradient(model, request)
    some = typical.draws[:: len(typical.draws) // N_NOISE]
    seed = request.seed("gradient noise")
    return (
        region,
        typical,
        gradient,
        gradient_noise(model, gradient, region, some, seed),
    )


def _gradient(model, request):
    """Return all blocks, or a minibatch of some thousand points."""
    settings, n = request.settings, n_rows(model)
    check_batch_size(settings.batch_size, n)
    blocks = model.model.blocks
    per_block = float(np.mean(blocks.last - blocks.first))
    size = chosen(settings.batch_size, max(1, math.ceil(POINTS / per_block)))
    if settings.gradient == "auto":
        return Full() if size >= n / 2 else Minibatch(size)
    gradient = settings.gradient
    gradient = GRADIENTS[gradient]() if isinstance(gradient, str) else gradient
    if batch_size_of(gradient) is None:
        gradient = with_batch_size(gradient, min(size, n))
    return gradient
