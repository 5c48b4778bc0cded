"""Networks whose weights are posterior draws."""

from skbayes_sg.neural_network._mlp import (
    SGHMCClassifierMLP,
    SGHMCRegressorMLP,
    SGLDClassifierMLP,
    SGLDRegressorMLP,
    SGMCMCClassifierMLP,
    SGMCMCRegressorMLP,
    SGNHTClassifierMLP,
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
]
