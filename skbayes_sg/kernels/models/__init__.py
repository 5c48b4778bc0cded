"""Models: log-likelihood, prior and their derivatives."""

import skbayes_sg.kernels.models.fisher  # noqa: F401  metrics
import skbayes_sg.kernels.models.glm_draws  # noqa: F401  registers operations of GLM
import skbayes_sg.kernels.models.glm_passes  # noqa: F401  registers operations of GLM
import skbayes_sg.kernels.models.glm_rows  # noqa: F401  registers operations of GLM
import skbayes_sg.kernels.models.matrix_factorization_conditionals  # noqa: F401
import skbayes_sg.kernels.models.matrix_factorization_draws  # noqa: F401
from skbayes_sg.kernels.models.gaussian import GaussianMean
from skbayes_sg.kernels.models.glm import GLM
from skbayes_sg.kernels.models.matrix_factorization import (
    MatrixFactorization,
    RatingNoise,
    RowPrior,
)
from skbayes_sg.kernels.models.mlp import MLP

__all__ = [
    "GLM",
    "GaussianMean",
    "MLP",
    "MatrixFactorization",
    "RatingNoise",
    "RowPrior",
]
