"""Sequences: hidden Markov models and state-space models."""

from skbayes_sg.sequence._gaussian_hmm import SGMCMCGaussianHMM

__all__ = ["SGMCMCGaussianHMM"]
