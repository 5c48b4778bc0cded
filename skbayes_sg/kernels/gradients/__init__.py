"""Gradient estimators: unbiased estimates of the log posterior's gradient."""

import operator

from skbayes_sg.kernels.capabilities.local_variables import takes_local_variables
from skbayes_sg.kernels.gradients.blocked import Blocked
from skbayes_sg.kernels.gradients.chosen_by_model import ChosenByModel
from skbayes_sg.kernels.gradients.control_variate import ControlVariate
from skbayes_sg.kernels.gradients.full import Full
from skbayes_sg.kernels.gradients.in_turn import InTurn
from skbayes_sg.kernels.gradients.linear_control_variate import (
    LinearControlVariate,
)
from skbayes_sg.kernels.gradients.minibatch import Minibatch
from skbayes_sg.kernels.gradients.saga import SAGA
from skbayes_sg.kernels.gradients.stratified import Stratified
from skbayes_sg.kernels.gradients.svrg import SVRG
from skbayes_sg.kernels.gradients.taylor_control_variate import TaylorControlVariate
from skbayes_sg.kernels.gradients.weighted import Weighted
from skbayes_sg.kernels.gradients.weighted_control_variate import (
    WeightedControlVariate,
)
from skbayes_sg.kernels.protocol.gradient import (
    batch_size_of,
    centered_at,
    needs_mode,
    with_batch_size,
)

# Not listed: `ChosenByModel`, which needs a model that chooses its own rows, and
# `InTurn`, which is for samplers that need no gradient.
GRADIENTS = {
    "full": Full,
    "minibatch": Minibatch,
    "cv": ControlVariate,
    "saga": SAGA,
    "svrg": SVRG,
    "weighted": Weighted,
    "weighted-cv": WeightedControlVariate,
    "linear-cv": LinearControlVariate,
    "taylor-cv": TaylorControlVariate,
    "stratified": Stratified,
}


def _replace_batch_size(gradient, batch_size):
    return gradient._replace(batch_size=batch_size)


def _center(gradient, mode, draws=None):
    return gradient._replace(mode=mode)


def _center_linear(gradient, mode, draws=None):
    return gradient._replace(mode=mode, draws=draws)


def _lacks_mode(gradient):
    return gradient.mode is None


for _kind in (*GRADIENTS.values(), Blocked, ChosenByModel, InTurn):
    if _kind is not Full:
        with_batch_size.register(_kind, _replace_batch_size)
        batch_size_of.register(_kind, operator.attrgetter("batch_size"))
for _kind in (ControlVariate, TaylorControlVariate, Weighted, WeightedControlVariate):
    centered_at.register(_kind, _center)
    needs_mode.register(_kind, _lacks_mode)
centered_at.register(LinearControlVariate, _center_linear)
needs_mode.register(LinearControlVariate, _lacks_mode)


def _always(gradient):
    return True


for _kind in (Full, Minibatch, Weighted, Stratified, ChosenByModel, InTurn):
    takes_local_variables.register(_kind, _always)

__all__ = [
    "ChosenByModel",
    "GRADIENTS",
    "SAGA",
    "SVRG",
    "ControlVariate",
    "Full",
    "InTurn",
    "LinearControlVariate",
    "Minibatch",
    "Stratified",
    "TaylorControlVariate",
    "Weighted",
    "WeightedControlVariate",
]
