"""Models: log-likelihood, prior and their derivatives."""

import skbayes_sg.kernels.models.blockmodel_degree_nodes  # noqa: F401  of DegreeBlockmodel
import skbayes_sg.kernels.models.blockmodel_density  # noqa: F401  of Blockmodel
import skbayes_sg.kernels.models.blockmodel_nodes  # noqa: F401  of Blockmodel
import skbayes_sg.kernels.models.blockmodel_pair_density  # noqa: F401
import skbayes_sg.kernels.models.blockmodel_rates  # noqa: F401  of Blockmodel
import skbayes_sg.kernels.models.fisher  # noqa: F401  metrics
import skbayes_sg.kernels.models.glm_bounds  # noqa: F401  registers
import skbayes_sg.kernels.models.glm_draws  # noqa: F401  registers operations of GLM
import skbayes_sg.kernels.models.glm_passes  # noqa: F401  registers operations of GLM
import skbayes_sg.kernels.models.glm_priors  # noqa: F401  registers operations of GLM
import skbayes_sg.kernels.models.glm_rows  # noqa: F401  registers operations of GLM
import skbayes_sg.kernels.models.hmm_messages  # noqa: F401  registers messages of HMM
import skbayes_sg.kernels.models.lda_hyperparameters  # noqa: F401  of LDA
import skbayes_sg.kernels.models.lda_topics  # noqa: F401  registers operations of LDA
import skbayes_sg.kernels.models.linear_gaussian_ssm_messages  # noqa: F401
import skbayes_sg.kernels.models.matrix_factorization_conditionals  # noqa: F401
import skbayes_sg.kernels.models.matrix_factorization_curvature  # noqa: F401
import skbayes_sg.kernels.models.matrix_factorization_draws  # noqa: F401
import skbayes_sg.kernels.models.transformed_metrics  # noqa: F401  of Transformed
from skbayes_sg.kernels.models.blockmodel import Blockmodel
from skbayes_sg.kernels.models.blockmodel_degrees import DegreeBlockmodel
from skbayes_sg.kernels.models.blockmodel_pairs import PairBlockmodel
from skbayes_sg.kernels.models.context_factorization import ContextFactorization
from skbayes_sg.kernels.models.dirichlet import DirichletMultinomial
from skbayes_sg.kernels.models.expanded_dirichlet import ExpandedDirichlet
from skbayes_sg.kernels.models.free_sequences import FreeSequences
from skbayes_sg.kernels.models.gaussian import GaussianMean
from skbayes_sg.kernels.models.glm import GLM
from skbayes_sg.kernels.models.hmm import HMM
from skbayes_sg.kernels.models.hmm_categorical import CategoricalEmission
from skbayes_sg.kernels.models.hmm_full_gaussian import FullGaussian
from skbayes_sg.kernels.models.hmm_gaussian import DiagonalGaussian
from skbayes_sg.kernels.models.hmm_poisson import PoissonEmission
from skbayes_sg.kernels.models.implicit_factorization import ImplicitFactorization
from skbayes_sg.kernels.models.lda import LDA
from skbayes_sg.kernels.models.lda_minibatch import MinibatchLDA
from skbayes_sg.kernels.models.linear_gaussian_ssm import LinearGaussianSSM
from skbayes_sg.kernels.models.log_scale_factorization import LogScaleFactorization
from skbayes_sg.kernels.models.matrix_factorization import (
    MatrixFactorization,
    RatingNoise,
    RowPrior,
)
from skbayes_sg.kernels.models.mirrored import mirrored
from skbayes_sg.kernels.models.mlp import MLP
from skbayes_sg.kernels.models.predictor_glm import PredictorGLM
from skbayes_sg.kernels.models.proximal import Proximal
from skbayes_sg.kernels.models.stochastic_volatility import (
    FreeVolatility,
    StochasticVolatility,
)
from skbayes_sg.kernels.models.transformed import Transformed
from skbayes_sg.kernels.models.volatility_grid import GridVolatility

__all__ = [
    "Blockmodel",
    "CategoricalEmission",
    "ContextFactorization",
    "DegreeBlockmodel",
    "DiagonalGaussian",
    "DirichletMultinomial",
    "ExpandedDirichlet",
    "FreeSequences",
    "FreeVolatility",
    "FullGaussian",
    "GLM",
    "GaussianMean",
    "GridVolatility",
    "HMM",
    "ImplicitFactorization",
    "LDA",
    "LinearGaussianSSM",
    "LogScaleFactorization",
    "MLP",
    "MatrixFactorization",
    "MinibatchLDA",
    "PairBlockmodel",
    "PredictorGLM",
    "PoissonEmission",
    "Proximal",
    "RatingNoise",
    "RowPrior",
    "StochasticVolatility",
    "Transformed",
    "mirrored",
]
