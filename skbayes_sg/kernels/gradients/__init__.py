"""Gradient estimators: unbiased estimates of the log posterior's gradient."""

from skbayes_sg.kernels.gradients.control_variate import ControlVariate
from skbayes_sg.kernels.gradients.full import Full
from skbayes_sg.kernels.gradients.minibatch import Minibatch

GRADIENTS = {"full": Full, "minibatch": Minibatch, "cv": ControlVariate}

__all__ = ["GRADIENTS", "ControlVariate", "Full", "Minibatch"]
