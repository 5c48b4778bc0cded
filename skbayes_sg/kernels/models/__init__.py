"""Models: log-likelihood, prior and their derivatives."""

from skbayes_sg.kernels.models.gaussian import GaussianMean
from skbayes_sg.kernels.models.glm import GLM
from skbayes_sg.kernels.models.logistic import Logistic, Softmax

__all__ = ["GLM", "GaussianMean", "Logistic", "Softmax"]
