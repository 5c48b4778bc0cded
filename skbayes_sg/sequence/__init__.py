"""Sequences: hidden Markov models and state-space models."""

from skbayes_sg.sequence._autoregressive_hmm import SGMCMCAutoregressiveHMM
from skbayes_sg.sequence._count_hmm import SGMCMCCategoricalHMM, SGMCMCPoissonHMM
from skbayes_sg.sequence._gaussian_hmm import SGMCMCGaussianHMM
from skbayes_sg.sequence._linear_gaussian_ssm import SGMCMCLinearGaussianSSM
from skbayes_sg.sequence._stochastic_volatility import SGMCMCStochasticVolatility

__all__ = [
    "SGMCMCAutoregressiveHMM",
    "SGMCMCCategoricalHMM",
    "SGMCMCGaussianHMM",
    "SGMCMCLinearGaussianSSM",
    "SGMCMCPoissonHMM",
    "SGMCMCStochasticVolatility",
]
