"""How far a chain may go, and what is said of one that goes further."""

import numpy as np

RUNAWAY = 100.0  # posterior sds, or starting distances, that no chain may exceed


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
