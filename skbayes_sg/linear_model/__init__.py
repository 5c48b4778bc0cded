"""Regressions with linear predictors."""

from skbayes_sg.linear_model._counts import (
    SGMCMCNegativeBinomialRegressor,
    SGMCMCPoissonRegressor,
)
from skbayes_sg.linear_model._linear import SGMCMCLinearRegression
from skbayes_sg.linear_model._logistic import (
    SGHMCLogisticRegression,
    SGLDLogisticRegression,
    SGMCMCLogisticRegression,
    SGNHTLogisticRegression,
)
from skbayes_sg.linear_model._robust import SGMCMCRobustRegressor

__all__ = [
    "SGHMCLogisticRegression",
    "SGLDLogisticRegression",
    "SGMCMCLinearRegression",
    "SGMCMCLogisticRegression",
    "SGMCMCNegativeBinomialRegressor",
    "SGMCMCPoissonRegressor",
    "SGMCMCRobustRegressor",
    "SGNHTLogisticRegression",
]
