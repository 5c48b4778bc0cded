"""Samplers that stay within a region: reflected or projected at its walls.

    Projected   phi <- P(step of the sampler)    (Bubeck, Eldan & Lehec, 2018)
    Reflected   phi <- 2 P(phi) - phi where it is outside, the momentum with it

The projection leaves draws on the wall itself, and errs in proportion to sqrt(h);
reflection is as cheap and errs in proportion to h. Neither is for densities that are
infinite at a wall.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.regions import (
    momentum_of,
    project,
    reflect,
    reflects_by_default,
)
from skbayes_sg.kernels.generic import implements
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.coordinates import is_identity
from skbayes_sg.kernels.protocol.sampler import (
    check_parts,
    init_state,
    preconditioner_of,
    relaxation,
    sampler_stats,
    sees_model,
    step,
)
from skbayes_sg.kernels.samplers.badodab import BADODAB
from skbayes_sg.kernels.samplers.baoab import BAOAB
from skbayes_sg.kernels.samplers.leimkuhler_matthews import LeimkuhlerMatthews
from skbayes_sg.kernels.samplers.sghmc import SGHMC
from skbayes_sg.kernels.samplers.sgld import SGLD
from skbayes_sg.kernels.samplers.sgnht import SGNHT
from skbayes_sg.kernels.walls import check_walls


class Projected(NamedTuple):
    """Steps of a sampler, each projected onto a region."""

    sampler: NamedTuple
    region: NamedTuple


class Reflected(NamedTuple):
    """Steps of a sampler, each reflected at the walls of a region."""

    sampler: NamedTuple
    region: NamedTuple


class BoundedState(NamedTuple):
    """Position, the state of the sampler that moves it, and a buffer."""

    position: np.ndarray  # (d,) phi, the same array as that of `inner`
    inner: NamedTuple
    buffer: np.ndarray  # (d,)


def bounded(sampler, region, boundary="auto"):
    """Return a sampler that stays within a region.

    Parameters
    ----------
    sampler : SGLD, LeimkuhlerMatthews, SGHMC, BAOAB, SGNHT or BADODAB
        How the parameters move.
    region : NamedTuple
        A region of `skbayes_sg.kernels.regions`, or your own.
    boundary : {"auto", "reflect", "project"}, default="auto"
        What happens at walls: "auto" reflects at those of boxes and half-spaces, and
        projects onto other regions.

    Returns
    -------
    Reflected or Projected

    Examples
    --------
    A normal mean that is known to be positive:

    >>> import numpy as np
    >>> from skbayes_sg import sample
    >>> from skbayes_sg.kernels.gradients import Full
    >>> from skbayes_sg.kernels.models import GaussianMean
    >>> from skbayes_sg.kernels.regions import Box
    >>> from skbayes_sg.kernels.samplers import SGLD, bounded
    >>> model = GaussianMean(np.zeros((1, 1)), precision=np.eye(1))
    >>> sampler = bounded(SGLD(), Box(np.zeros(1), np.full(1, np.inf)))
    >>> draws = sample(model, sampler, Full(), step_size=0.1, random_state=0)
    >>> bool((draws >= 0).all())
    True
    """
    if boundary not in ("auto", "reflect", "project"):
        raise ValueError(
            f'boundary={boundary!r} is not allowed; use "auto", "reflect" or "project"'
        )
    if boundary == "auto":
        boundary = "reflect" if reflects_by_default(region) else "project"
    return (Reflected if boundary == "reflect" else Projected)(sampler, region)


@sees_model.register(Projected)
@sees_model.register(Reflected)
def _(sampler):
    return sees_model(sampler.sampler)


@init_state.register(Projected)
@init_state.register(Reflected)
def _(sampler, position, rng):
    inner = init_state(sampler.sampler, position, rng)
    return BoundedState(inner.position, inner, np.zeros_like(position))


@step.register(Projected)
def _(sampler, state, target, h, rng):
    step(sampler.sampler, state.inner, target, h, rng)
    project(sampler.region, state.position, state.buffer)
    copy_to(state.buffer, state.position)


@step.register(Reflected)
def _(sampler, state, target, h, rng):
    step(sampler.sampler, state.inner, target, h, rng)
    momentum = momentum_of(sampler.sampler, state.inner)
    reflect(sampler.region, state.position, momentum, state.buffer)


@momentum_of.register(SGLD)
def _(sampler, state):
    return state.g


@momentum_of.register(LeimkuhlerMatthews)
def _(sampler, state):
    return state.old  # the next step moves by it once more


@momentum_of.register(SGHMC)
@momentum_of.register(BAOAB)
@momentum_of.register(SGNHT)
@momentum_of.register(BADODAB)
def _(sampler, state):
    return state.momentum


@relaxation.register(Projected)
@relaxation.register(Reflected)
def _(sampler, h):
    return relaxation(sampler.sampler, h)


@sampler_stats.register(Projected)
@sampler_stats.register(Reflected)
def _(sampler, state):
    return sampler_stats(sampler.sampler, state.inner)


@preconditioner_of.register(Projected)
@preconditioner_of.register(Reflected)
def _(sampler):
    return "none"


@check_parts.register(Projected)
@check_parts.register(Reflected)
def _(sampler, model, gradient, coordinates):
    name, inner = type(sampler).__name__, sampler.sampler
    check_parts(inner, model, gradient, coordinates)
    if not implements(momentum_of, inner) or getattr(inner, "n_leapfrog", 1) > 1:
        raise ValueError(
            f"{name} meets the walls after every step of a sampler, which {inner} does "
            "not allow; use SGLD, LeimkuhlerMatthews, BAOAB, SGNHT, BADODAB or "
            "SGHMC(n_leapfrog=1)"
        )
    if not is_identity(coordinates):
        raise ValueError(
            f"{name} knows its region in the model's own coordinates; use no "
            f"preconditioner, not {type(coordinates).__name__}"
        )
    check_walls(model, sampler.region)
