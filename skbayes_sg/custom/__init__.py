"""Models of the user's own, with automatic differentiation."""

import skbayes_sg.custom._exploration  # noqa: F401  registers
import skbayes_sg.custom._functions  # noqa: F401  registers
from skbayes_sg.custom._estimator import SGMCMCModel
from skbayes_sg.custom._model import Model
from skbayes_sg.custom._pymc import from_pymc
from skbayes_sg.custom._spaces import Interval, Ordered, Positive, Real, Simplex

__all__ = [
    "Interval",
    "Model",
    "Ordered",
    "Positive",
    "Real",
    "SGMCMCModel",
    "Simplex",
    "from_pymc",
]
