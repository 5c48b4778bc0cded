"""Regressions with linear predictors."""

from skbayes_sg.linear_model._logistic import (
    SGHMCLogisticRegression,
    SGLDLogisticRegression,
    SGMCMCLogisticRegression,
    SGNHTLogisticRegression,
)

__all__ = [
    "SGHMCLogisticRegression",
    "SGLDLogisticRegression",
    "SGMCMCLogisticRegression",
    "SGNHTLogisticRegression",
]
