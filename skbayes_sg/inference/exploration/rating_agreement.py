"""Chains of a recommender, judged by the mean ratings that they imply.

Factors of different chains are rotated, so that only means of ratings are compared.
"""

import numpy as np

from skbayes_sg.inference.divergence import DivergenceError, farthest_draw
from skbayes_sg.inference.exploration.request import check_fit, longer_thin
from skbayes_sg.inference.mixing import MIN_DRAWS, effective_sample_size
from skbayes_sg.inference.monitoring import monitored
from skbayes_sg.kernels.models import MatrixFactorization
from skbayes_sg.kernels.models.matrix_factorization_rows import width
from skbayes_sg.kernels.protocol.model import n_rows

ENOUGH = 0.25  # of the draws of all chains are effective, or
MANY = 100  # effective ones
LONGER = 4  # times the thinning, if there are fewer
MAX_WORK = 1e8  # numbers that all iterations read: about a second
MIN_JUDGED = 20  # draws, the quartiles of fewer say little of their spread
IQR_OF_NORMAL = 1.349  # in standard deviations


@longer_thin.register(MatrixFactorization)
def _(model, found, settings, draws):
    """Lengthen chains of few ratings, which take no time.

    The automatic lengths follow from the sampler's step alone. Where ratings are few,
    scales and factors determine each other, and chains need several times as long.
    """
    automatic = settings.thin == "auto" and settings.burn_in == "auto"
    if not automatic or settings.keep != "draws":
        return None
    thin, (n_chains, n_draws) = LONGER * found.thin, draws.shape[:2]
    work = n_rows(model) * width(model) * n_chains * n_draws * thin
    if work > MAX_WORK or n_draws < MIN_DRAWS:
        return None
    values = monitored(model, draws)
    values = values[..., np.ptp(values, axis=(0, 1)) > 0]
    if values.shape[-1] == 0:
        return None
    wanted = min(MANY, ENOUGH * n_chains * n_draws)
    return thin if np.min(effective_sample_size(values)) < wanted else None


@check_fit.register(MatrixFactorization)
def _(model, found, draws):
    """Raise a DivergenceError if mean ratings have left for a while and come back.

    Such excursions are those of a step that is too large at rare steep places.
    """
    values = monitored(model, draws)
    values = values.reshape(-1, values.shape[-1])
    if len(values) < MIN_JUDGED:
        return
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / IQR_OF_NORMAL
    away = np.abs(values - middle).max(axis=0)
    j = int(np.argmax(away - farthest_draw(values.size) * spread))
    if spread[j] > 0 and away[j] > farthest_draw(values.size) * spread[j]:
        h = found.step_size
        raise DivergenceError(
            f"the mean of a rating was {away[j] / spread[j]:.3g} posterior standard "
            f"deviations away for a while, with step_size={h:.3g}. The step is too "
            f'large; try step_size={h / 4:.2g}, or step_size="auto".'
        )
