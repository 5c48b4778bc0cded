"""Networks whose weights are posterior draws."""

from skbayes_sg.neural_network._base import Uncertainty
from skbayes_sg.neural_network._classifier import (
    SGHMCClassifierMLP,
    SGLDClassifierMLP,
    SGMCMCClassifierMLP,
    SGNHTClassifierMLP,
)
from skbayes_sg.neural_network._regressor import (
    SGHMCRegressorMLP,
    SGLDRegressorMLP,
    SGMCMCRegressorMLP,
    SGNHTRegressorMLP,
)

__all__ = [
    "SGHMCClassifierMLP",
    "SGHMCRegressorMLP",
    "SGLDClassifierMLP",
    "SGLDRegressorMLP",
    "SGMCMCClassifierMLP",
    "SGMCMCRegressorMLP",
    "SGNHTClassifierMLP",
    "SGNHTRegressorMLP",
    "Uncertainty",
]
