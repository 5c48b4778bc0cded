"""Gradient estimators: unbiased estimates of the log posterior's gradient."""

from skbayes_sg.kernels.gradients.control_variate import ControlVariate
from skbayes_sg.kernels.gradients.full import Full
from skbayes_sg.kernels.gradients.linear_control_variate import (
    LinearControlVariate,
)
from skbayes_sg.kernels.gradients.minibatch import Minibatch
from skbayes_sg.kernels.gradients.saga import SAGA
from skbayes_sg.kernels.gradients.stratified import Stratified
from skbayes_sg.kernels.gradients.svrg import SVRG
from skbayes_sg.kernels.gradients.weighted import Weighted
from skbayes_sg.kernels.gradients.weighted_control_variate import (
    WeightedControlVariate,
)

GRADIENTS = {
    "full": Full,
    "minibatch": Minibatch,
    "cv": ControlVariate,
    "saga": SAGA,
    "svrg": SVRG,
    "weighted": Weighted,
    "weighted-cv": WeightedControlVariate,
    "linear-cv": LinearControlVariate,
    "stratified": Stratified,
}

__all__ = [
    "GRADIENTS",
    "SAGA",
    "SVRG",
    "ControlVariate",
    "Full",
    "LinearControlVariate",
    "Minibatch",
    "Stratified",
    "Weighted",
    "WeightedControlVariate",
]
