"""Step sizes as a function of the iteration t = 0, 1, ..."""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import kernel_op


@kernel_op
def step_size_at(schedule, t):
    """Return the step size h of iteration t = 0, 1, ..."""
    raise NotImplementedError


class Constant(NamedTuple):
    """The same step size h at all iterations."""

    step_size: float


class Polynomial(NamedTuple):
    """Step size h (1 + t / delay)^-exponent (Teh, Thiery & Vollmer, 2016).

    The mean squared error of an average decreases fastest with exponent 1/3.
    """

    step_size: float
    exponent: float = 1.0 / 3.0
    delay: float = 1000.0


class Cyclical(NamedTuple):
    """Cosine cycles from h down to 0 in `period` iterations (Zhang et al., 2020)."""

    step_size: float
    period: int = 1000


@step_size_at.register(Constant)
def _(schedule, t):
    return schedule.step_size


@step_size_at.register(Polynomial)
def _(schedule, t):
    return schedule.step_size * (1.0 + t / schedule.delay) ** -schedule.exponent


@step_size_at.register(Cyclical)
def _(schedule, t):
    phase = (t % schedule.period) / schedule.period
    return schedule.step_size * 0.5 * (1.0 + math.cos(math.pi * phase))


SCHEDULES = {"constant": Constant, "polynomial": Polynomial, "cyclical": Cyclical}
