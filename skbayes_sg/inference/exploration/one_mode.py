"""The exploration of a posterior before its chains run.

A family whose posterior has many modes, or none to measure it at, registers its own.
"""

import numpy as np

from skbayes_sg.inference.exploration.gradients import (
    gradient_of_batch,
    gradient_of_data,
)
from skbayes_sg.inference.exploration.metropolis import adjusted, may_adjust
from skbayes_sg.inference.exploration.pilot import pilot
from skbayes_sg.inference.exploration.region import geometry
from skbayes_sg.inference.exploration.request import Exploration, chosen
from skbayes_sg.inference.exploration.unimodal import (
    automatic_lengths,
    automatic_step,
    step_limit,
)
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.inference.verification import FEW_ROWS
from skbayes_sg.kernels.generic import python_op
from skbayes_sg.kernels.protocol.model import is_log_concave, n_rows, theta_of
from skbayes_sg.kernels.protocol.sampler import preconditioner_of


@python_op
def explore(model, request):
    """Return an `Exploration`: where to start, coordinates, gradient, step, lengths.

    This is the exploration of a posterior with one mode. It finds the mode, measures
    the curvature there, takes typical draws around it, and measures the noise of the
    gradient estimates at those draws. All automatic settings follow.
    """
    sampler, settings = request.sampler, request.settings
    if "survey" not in request.memory:
        request.memory["survey"] = _survey(model, request)
    region, typical, gradient, noise = request.memory["survey"]
    if request.start is None:
        start = typical.spread(settings.n_chains)
    else:
        start = np.stack([theta_of(model, draw) for draw in request.start])
    automatic = request.share * automatic_step(
        sampler,
        region,
        noise,
        typical.steepness,
        settings.n_chains * settings.n_draws if request.total is None else np.inf,
        None if settings.thin == "auto" else settings.thin,
    )
    if may_adjust(model, request, region, typical, gradient):
        sampler, automatic = adjusted(request, region, typical, automatic)
    h = float(chosen(settings.step_size, automatic))
    burn_in, thin = automatic_lengths(sampler, region, h, noise)
    if request.total is not None:  # a batch of a stream is for one step
        burn_in, thin = 0, 1
    center = _center(model, request, region, typical)
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
        burn_in=chosen(settings.burn_in, burn_in) if request.total is None else 0,
        thin=chosen(settings.thin, thin),
        step_limit=step_limit(sampler, region, noise=noise),
        center=center,
        factor=region.factor if _is_verified(model, request, center, typical) else None,
        ready=request.memory.get("ready"),
    )


def _center(model, request, region, typical):
    """Return posterior means, None where sds are not known or a start is far away."""
    is_known = is_log_concave(model) and region.factor.ndim == 2
    if not is_known or request.start is not None:
        return None
    return typical.draws.mean(axis=0)


def _is_verified(model, request, center, typical):
    """Whether draws are verified: where little is known, or where it costs little.

    On many rows of a Gaussian posterior the sampler's law is known and draws are cheap,
    unless the user has set the step.
    """
    own = request.settings.step_size != "auto"
    few = n_rows(model) <= FEW_ROWS
    return center is not None and (typical.is_exact or few or own)


def _survey(model, request):
    """Return what depends neither on the step size nor on the lengths of chains."""
    sampler, start = request.sampler, None
    if request.start is not None:
        start = theta_of(model, request.start.mean(axis=0))
    mode = find_mode(model, start)
    preconditioner = chosen(request.settings.preconditioner, preconditioner_of(sampler))
    region = geometry(model, mode, preconditioner)
    typical = pilot(model, region, request.seed("pilot"))
    region = typical.region
    choose = gradient_of_data if request.total is None else gradient_of_batch
    return region, typical, *choose(model, request, region, typical)
