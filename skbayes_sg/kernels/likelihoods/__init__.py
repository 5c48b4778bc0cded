"""Likelihoods: laws of y given predictors, one file each.

They serve regressions, networks and whatever else predicts: the model computes the
predictors, a likelihood says what they mean for y.
"""

from skbayes_sg.kernels.likelihoods.bernoulli import Bernoulli
from skbayes_sg.kernels.likelihoods.categorical import Categorical
from skbayes_sg.kernels.likelihoods.gaussian import FixedGaussian, Gaussian
from skbayes_sg.kernels.likelihoods.input_dependent import InputDependentGaussian
from skbayes_sg.kernels.likelihoods.negative_binomial import NegativeBinomial
from skbayes_sg.kernels.likelihoods.poisson import Poisson
from skbayes_sg.kernels.likelihoods.student_t import StudentT

__all__ = [
    "Bernoulli",
    "Categorical",
    "FixedGaussian",
    "Gaussian",
    "InputDependentGaussian",
    "NegativeBinomial",
    "Poisson",
    "StudentT",
]
