"""Bayesian estimators for scikit-learn, sampled by stochastic-gradient MCMC."""

from skbayes_sg._logistic import SGLDLogisticRegression, SGMCMCLogisticRegression
from skbayes_sg.inference.chains import DivergenceError, sample

__version__ = "0.1.0"

__all__ = [
    "DivergenceError",
    "SGLDLogisticRegression",
    "SGMCMCLogisticRegression",
    "sample",
]
