"""Bayesian estimators for scikit-learn, sampled by stochastic-gradient MCMC."""

from skbayes_sg._renamed import find_old_names
from skbayes_sg.base._saving import SavedDraws, load_draws, save_draws
from skbayes_sg.cluster import SGMCMCMixedMembershipBlockmodel
from skbayes_sg.custom import (
    Interval,
    Model,
    Ordered,
    Positive,
    Real,
    SGMCMCModel,
    Simplex,
    from_pymc,
)
from skbayes_sg.decomposition import (
    SGBPMFRecommender,
    SGMCMCLatentDirichletAllocation,
)
from skbayes_sg.ensemble import ConsensusClassifier
from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.divergence import DivergenceError
from skbayes_sg.inspection import (
    CoefficientDisplay,
    CoverageDisplay,
    KSDSearchDisplay,
    PredictiveCheckDisplay,
    RankDisplay,
    TraceDisplay,
)
from skbayes_sg.linear_model import (
    SGHMCLogisticRegression,
    SGLDLogisticRegression,
    SGMCMCLinearRegression,
    SGMCMCLogisticRegression,
    SGMCMCNegativeBinomialRegressor,
    SGMCMCPoissonRegressor,
    SGMCMCRobustRegressor,
    SGNHTLogisticRegression,
)
from skbayes_sg.model_selection import KSDStepSizeSearch
from skbayes_sg.neural_network import (
    SGHMCClassifierMLP,
    SGHMCRegressorMLP,
    SGLDClassifierMLP,
    SGLDRegressorMLP,
    SGMCMCClassifierMLP,
    SGMCMCRegressorMLP,
    SGNHTClassifierMLP,
    SGNHTRegressorMLP,
)
from skbayes_sg.sequence import (
    SGMCMCAutoregressiveHMM,
    SGMCMCCategoricalHMM,
    SGMCMCGaussianHMM,
    SGMCMCLinearGaussianSSM,
    SGMCMCPoissonHMM,
    SGMCMCStochasticVolatility,
)

find_old_names()

__version__ = "0.2.0"

__all__ = [
    "CoefficientDisplay",
    "ConsensusClassifier",
    "CoverageDisplay",
    "DivergenceError",
    "Interval",
    "KSDSearchDisplay",
    "KSDStepSizeSearch",
    "Model",
    "Ordered",
    "Positive",
    "PredictiveCheckDisplay",
    "RankDisplay",
    "Real",
    "SGBPMFRecommender",
    "SGHMCClassifierMLP",
    "SGHMCLogisticRegression",
    "SGHMCRegressorMLP",
    "SGLDClassifierMLP",
    "SGLDLogisticRegression",
    "SGLDRegressorMLP",
    "SGMCMCAutoregressiveHMM",
    "SGMCMCCategoricalHMM",
    "SGMCMCClassifierMLP",
    "SGMCMCGaussianHMM",
    "SGMCMCLatentDirichletAllocation",
    "SGMCMCLinearGaussianSSM",
    "SGMCMCLinearRegression",
    "SGMCMCLogisticRegression",
    "SGMCMCMixedMembershipBlockmodel",
    "SGMCMCModel",
    "SGMCMCNegativeBinomialRegressor",
    "SGMCMCPoissonHMM",
    "SGMCMCPoissonRegressor",
    "SGMCMCRegressorMLP",
    "SGMCMCRobustRegressor",
    "SGMCMCStochasticVolatility",
    "SGNHTClassifierMLP",
    "SGNHTLogisticRegression",
    "SGNHTRegressorMLP",
    "SavedDraws",
    "Simplex",
    "TraceDisplay",
    "from_pymc",
    "load_draws",
    "sample",
    "save_draws",
]
