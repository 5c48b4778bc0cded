"""Samplers: how a position moves, given noisy gradients of its log density."""

from skbayes_sg.kernels.samplers.leimkuhler_matthews import LeimkuhlerMatthews
from skbayes_sg.kernels.samplers.sgld import SGLD

SAMPLERS = {"sgld": SGLD, "sgld-lm": LeimkuhlerMatthews}

__all__ = ["SAMPLERS", "SGLD", "LeimkuhlerMatthews"]
