"""Bayesian estimators for scikit-learn, sampled by stochastic-gradient MCMC."""

from skbayes_sg._bpmf import SGBPMFRecommender
from skbayes_sg._consensus import ConsensusClassifier
from skbayes_sg._displays import CoefficientDisplay, KSDSearchDisplay, TraceDisplay
from skbayes_sg._logistic import (
    SGHMCLogisticRegression,
    SGLDLogisticRegression,
    SGMCMCLogisticRegression,
    SGNHTLogisticRegression,
)
from skbayes_sg._mlp import (
    SGHMCClassifierMLP,
    SGHMCRegressorMLP,
    SGLDClassifierMLP,
    SGLDRegressorMLP,
    SGMCMCClassifierMLP,
    SGMCMCRegressorMLP,
    SGNHTClassifierMLP,
    SGNHTRegressorMLP,
)
from skbayes_sg._saving import SavedDraws, load_draws, save_draws
from skbayes_sg._search import KSDStepSizeSearch
from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.divergence import DivergenceError

__version__ = "0.1.0"

__all__ = [
    "CoefficientDisplay",
    "ConsensusClassifier",
    "DivergenceError",
    "KSDSearchDisplay",
    "KSDStepSizeSearch",
    "SGBPMFRecommender",
    "SGHMCClassifierMLP",
    "SGHMCLogisticRegression",
    "SGHMCRegressorMLP",
    "SGLDClassifierMLP",
    "SGLDLogisticRegression",
    "SGLDRegressorMLP",
    "SGMCMCClassifierMLP",
    "SGMCMCLogisticRegression",
    "SGMCMCRegressorMLP",
    "SGNHTClassifierMLP",
    "SGNHTLogisticRegression",
    "SGNHTRegressorMLP",
    "SavedDraws",
    "TraceDisplay",
    "load_draws",
    "sample",
    "save_draws",
]
