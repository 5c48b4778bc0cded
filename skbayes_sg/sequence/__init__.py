"""Sequences: hidden Markov models and state-space models."""

from skbayes_sg.sequence._linear_gaussian_ssm import SGMCMCLinearGaussianSSM
from skbayes_sg.sequence._stochastic_volatility import SGMCMCStochasticVolatility

__all__ = ["SGMCMCLinearGaussianSSM", "SGMCMCStochasticVolatility"]
