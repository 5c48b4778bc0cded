"""How far a chain may go, and what is said of one that goes further."""

import math

import numpy as np

RUNAWAY = 100.0  # posterior sds, or starting distances, that no chain may exceed
ESCAPED = 40.0  # posterior sds that no single parameter may exceed


class DivergenceError(ArithmeticError):
    """A chain left every reasonable region, as it does when its step is too large."""


def distance(plan, position):
    """Root mean square of the position in posterior sds, or in units of 10^4."""
    scale = 1e4 if plan.scale is None else plan.scale
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sqrt(np.mean((position / scale) ** 2)))


def reach(plan, position):
    """Return the distance that a chain from `position` on may not exceed."""
    return RUNAWAY * max(1.0, distance(plan, position))


def farthest_draw(n_numbers):
    """Return how many sds from its mean the farthest of many numbers may be.

    The tails of a log-concave density fall at least as fast as exp(-distance), so the
    farthest of n exponential numbers, about log(n), is the worst case; with the margin
    of 5 they pass the limit once in 400 times. Other draws beyond it come from steps
    that overshoot at rare steep places: few, but enough to bias the sds.
    """
    return min(ESCAPED, math.log(n_numbers) + 5.0)


def check_escape(thetas, center, sd, limit, step_size):
    """Raise a DivergenceError if any draw of a log-concave posterior is far outside.

    One coordinate that wanders off where -log p is nearly flat does not show in the
    `distance` of many.

    Parameters
    ----------
    thetas : ndarray of shape (n, d)
        Draws of the model's parameters.
    center, sd : ndarray of shape (d,)
        Posterior means and standard deviations, roughly.
    limit : float
        Standard deviations that no draw may be from the center.
    step_size : float
        The step size, for the message.
    """
    farthest = np.maximum(thetas.max(axis=0) - center, center - thetas.min(axis=0))
    j = int(np.argmax(farthest / sd))
    if not farthest[j] <= limit * sd[j]:
        raise DivergenceError(
            f"a draw of parameter {j} is {farthest[j] / sd[j]:.3g} posterior standard "
            f"deviations from its mean, with step_size={step_size:.3g}. The step is "
            f'too large; try step_size={step_size / 4:.2g}, or step_size="auto" in an '
            "estimator."
        )


def divergence(plan, chain, iteration, far):
    """Return the error of a chain that is `far` away."""
    h = plan.schedule.step_size
    smaller = h / 10 if plan.limit is None else min(h / 2, plan.limit / 2)
    limit = (
        ""
        if plan.limit is None
        else f" The largest stable step size here is about {plan.limit:.3g}."
    )
    where = f"{far:.3g}" if np.isfinite(far) else "a non-finite number of"
    unit = "scales" if plan.scale is None else "posterior standard deviations"
    return DivergenceError(
        f"chain {chain} diverged before iteration {iteration}, {where} {unit} away, "
        f"with step_size={h:.3g}.{limit} Try step_size={smaller:.2g}, or "
        'step_size="auto" in an estimator.'
    )
