"""How many draws of a recommender are kept, and in which type."""

from skbayes_sg.decomposition._rating_checks import typical_variance
from skbayes_sg.kernels.protocol.model import n_recorded
from skbayes_sg.utils._validation import check_option

DTYPES = (None, "auto", "float16", "float32", "float64")
USUAL_DRAWS, FEWEST_DRAWS = 100, 20  # of each chain
LARGE = 2**28  # bytes of draws above which they are kept in float16
BOUND = 2**28  # bytes of float16 draws above which fewer are kept
FLOAT16_SDS = 0.02, 50.0  # of ratings, whose draws float16 holds without loss


def check_memory(estimator):
    """Raise an error for a parameter of the draws whose value is not allowed."""
    if estimator.storage_dtype is not None:
        check_option("storage_dtype", estimator.storage_dtype, DTYPES[1:])


def kept_draws(estimator, model, y):
    """Return the number of draws of each chain, and the type in which they are kept.

    Parameters
    ----------
    estimator : SGBPMFRecommender
        Its `n_draws`, `n_chains` and `storage_dtype` count.
    model : MatrixFactorization
        The model, whose draws have `n_recorded` numbers.
    y : ndarray of shape (n_ratings,)
        The ratings.

    Returns
    -------
    settings : dict
        `n_draws` and `storage_dtype`; None is the type of the computations.
    """
    of_one = estimator.n_chains * int(n_recorded(model))  # numbers
    n_draws, dtype = estimator.n_draws, estimator.storage_dtype
    usual = USUAL_DRAWS if n_draws == "auto" else n_draws
    if dtype == "auto":
        low, high = FLOAT16_SDS
        fits = low < typical_variance(y) ** 0.5 < high
        size = 8 if estimator.dtype == "float64" else 4
        many = estimator.storage is None and size * usual * of_one > LARGE
        dtype = "float16" if many and fits else None
    if n_draws == "auto" and estimator.storage is None:
        size = {"float16": 2, "float64": 8}.get(dtype or estimator.dtype, 4)
        usual = min(usual, max(FEWEST_DRAWS, BOUND // (size * of_one)))
    return {"n_draws": usual, "storage_dtype": dtype}
