"""Priors of regression coefficients beside a Gaussian of given variances."""

from skbayes_sg.kernels.priors.horseshoe import Horseshoe
from skbayes_sg.kernels.priors.laplace import Laplace
from skbayes_sg.kernels.priors.mixture import Given, Mixture
from skbayes_sg.kernels.priors.normal import Normal

__all__ = ["Given", "Horseshoe", "Laplace", "Mixture", "Normal"]
