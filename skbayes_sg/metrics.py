"""Metrics of how well draws represent a posterior, and how well topics predict words.

The kernel Stein discrepancy and Stein thinning need no exact draws for comparison, only
the *score* of each draw: the gradient of the log posterior there. Unlike the effective
sample size and R-hat, they detect the bias of a step size that is too large.
"""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state, check_scalar

from skbayes_sg.inference.stein import (
    stein_diagonal,
    stein_pairs,
    stein_thin,
    whiten,
)
from skbayes_sg.inference.stein_features import feature_pairs, stratified_error
from skbayes_sg.inference.topics import TopicDraws, completion_log_probability
from skbayes_sg.utils._design import with_valid_indices
from skbayes_sg.utils._ranking import ndcg_at_n, recall_at_n
from skbayes_sg.utils._validation import check_n_jobs

__all__ = [
    "completion_perplexity",
    "kernel_stein_discrepancy",
    "ksd_floor",
    "ndcg_at_n",
    "recall_at_n",
    "stein_thinning",
]

MAX_TOKENS = 2**31 - 1  # of all documents


def kernel_stein_discrepancy(
    draws: ArrayLike,
    scores: ArrayLike,
    *,
    c: float = 1.0,
    beta: float = -0.5,
    form: str = "joint",
    statistic: str = "v",
    standardize: bool | ArrayLike = False,
    method: str = "exact",
    n_features: int = 1000,
    random_state: int = 0,
    n_jobs: int | None = None,
    return_floor: bool = False,
    return_error: bool = False,
) -> float | tuple[float, ...]:
    r"""Kernel Stein discrepancy (KSD) between draws and the posterior.

    For :math:`k(x, y) = (c^2 + |x - y|^2)^\beta` and scores :math:`s = \nabla \log\pi`,
    dimension j has the Stein kernel

    .. math::

        k^0_j(x, y) = s_j(x) s_j(y) k + s_j(x) \partial_{y_j} k
                      + s_j(y) \partial_{x_j} k + \partial_{x_j} \partial_{y_j} k .

    Its mean over pairs of draws estimates the squared discrepancy, which is zero only
    if the draws follow the posterior. For finitely many draws the mean is larger than
    zero even if they do, so compare it with its floor, see :func:`ksd_floor`.

    Parameters
    ----------
    draws : array-like of shape (n_draws, dim) or (n_chains, n_draws, dim)
        Posterior draws. Chains are pooled.
    scores : array-like of the same shape as `draws`
        Gradient of the log posterior at each draw: exact, or unbiased with errors that
        are independent from draw to draw (minibatch gradients). See `statistic`.
    c : float, default=1.0
        Length scale of the kernel, positive, in units of the draws (or of their
        standard deviations with `standardize`).
    beta : float, default=-0.5
        Exponent of the kernel, in (-1, 0). In this range the discrepancy of draws that
        converge to another distribution does not vanish, in any dimension.
    form : {"joint", "per_dimension"}, default="joint"
        "joint" sums the kernels over the dimensions before the square root,
        "per_dimension" sums the square roots.
    statistic : {"v", "u"}, default="v"
        "v" averages over all pairs. Pairs of a draw with itself contain
        :math:`s_j^2`, so errors of the scores bias the squared discrepancy upwards by
        their total variance times :math:`c^{2\beta}` / `n_draws`. "u" averages over
        pairs of different draws, which is unbiased for noisy scores too, but may be
        negative.
    standardize : bool or array-like of shape (dim, dim), default=False
        Covariance by which the draws are whitened; True uses their own. The discrepancy
        is then invariant under linear transformations of the parameters.
    method : {"exact", "features"}, default="exact"
        "exact" uses all pairs of draws. "features" approximates the kernel by the mean
        of random waves, which takes time proportional to the number of draws; use it
        for 100,000 draws and more. The squared discrepancy is then unbiased, with a
        standard error, see `return_error`.
    n_features : int, default=1000
        Number of waves, which must be even. The error decreases with its square root.
    random_state : int, RandomState instance or None, default=0
        Seed of the waves. With the same seed, different draws are compared by the same
        waves.
    n_jobs : int, default=None
        Number of threads. None means 1 unless in a :obj:`joblib.parallel_config`
        context, -1 all processors. The result does not depend on it.
    return_floor : bool, default=False
        Whether to return the floor too.
    return_error : bool, default=False
        Whether to return the standard error too.

    Returns
    -------
    ksd : float
        The square root of the mean kernel, with the sign of the mean: for
        ``statistic="u"`` the unbiased estimate of the square is ``ksd * abs(ksd)``.
    floor : float
        Expected value of `ksd` for as many independent draws from the posterior; 0 for
        the U-statistic. Only if `return_floor` is true.
    error : float
        Standard error of `ksd` due to the random waves, 0 for ``method="exact"``. Only
        if `return_error` is true.

    See Also
    --------
    ksd_floor : Only the floor, also for another number of draws.
    stein_thinning : Choose the draws that represent the posterior best.

    Notes
    -----
    The time is proportional to ``n_draws ** 2 * dim``, or to ``n_draws * n_features *
    dim`` for ``method="features"``. The memory is three copies of the draws and 1.5 MB
    for each thread. With 1,000 features the error is 1 to 3 % of a discrepancy near its
    floor.

    References
    ----------
    .. [1] J. Gorham and L. Mackey, "Measuring sample quality with kernels", ICML 2017.
    .. [2] C. Nemeth and P. Fearnhead, "Stochastic gradient Markov chain Monte Carlo",
       Journal of the American Statistical Association 116, 2021. The formula there uses
       gradients of the negative log posterior, with which the terms that contain a
       single score have the wrong sign.
    .. [3] A. Rahimi and B. Recht, "Random features for large-scale kernel machines",
       NeurIPS 2007.

    Examples
    --------
    The score of a standard normal distribution is ``-x``.

    >>> import numpy as np
    >>> from skbayes_sg.metrics import kernel_stein_discrepancy
    >>> x = np.random.default_rng(0).standard_normal((1000, 2))
    >>> ksd, floor = kernel_stein_discrepancy(x, -x, return_floor=True)
    >>> print(f"{ksd:.3f}, floor {floor:.3f}")
    0.050, floor 0.063
    >>> wide = 1.2 * x
    >>> ksd, floor = kernel_stein_discrepancy(wide, -wide, return_floor=True)
    >>> print(f"{ksd:.3f}, floor {floor:.3f}")
    0.158, floor 0.070

    Random features approximate it, at a cost proportional to the number of draws.

    >>> ksd, error = kernel_stein_discrepancy(
    ...     wide, -wide, method="features", return_error=True
    ... )
    >>> abs(ksd - 0.158) < 3 * error < 0.02
    True
    """
    c, beta = _check_kernel(c, beta)
    _check_option(form, "form", ("joint", "per_dimension"))
    _check_option(statistic, "statistic", ("v", "u"))
    _check_option(method, "method", ("exact", "features"))
    if n_jobs is not None:
        check_scalar(n_jobs, "n_jobs", Integral)
    x, s = _check_draws(draws, scores, standardize)
    n = len(x)
    per_dimension = form == "per_dimension"
    if method == "features":
        rng = _check_features(n_features, random_state, x, c)
        waves = feature_pairs(x, s, c, beta, n_features, rng, n_jobs)
        waves = waves if per_dimension else waves.sum(axis=1)
        pairs = waves.mean(axis=0)
    else:
        pairs = stein_pairs(x, s, c, beta, per_dimension=per_dimension, n_jobs=n_jobs)
    diagonal = _mean_diagonal(s, c, beta, form) * n
    if statistic == "v":
        # The kernel is positive definite, so only rounding makes the sum negative.
        mean = np.maximum(pairs + diagonal, 0) / n**2
        floor = _root(diagonal / n**2)
    else:
        mean = pairs / (n * (n - 1))
        floor = 0.0
    results = [_root(mean)]
    if return_floor:
        results.append(floor)
    if return_error:
        scale = n**2 if statistic == "v" else n * (n - 1)
        results.append(0.0 if method == "exact" else _error(mean, waves / scale))
    return tuple(results) if len(results) > 1 else results[0]


def ksd_floor(
    draws: ArrayLike,
    scores: ArrayLike,
    *,
    n_draws: int | None = None,
    c: float = 1.0,
    beta: float = -0.5,
    form: str = "joint",
    standardize: bool | ArrayLike = False,
) -> float:
    r"""Return the expected discrepancy of independent draws from the posterior.

    The mean of :math:`k^0(x, y)` over independent draws x and y of the posterior is
    zero, so only the K pairs of a draw with itself contribute to the mean of the K^2
    pairs in the V-statistic. Hence the expected square is exactly

    .. math::

        \mathrm{E}\, \mathrm{KSD}^2 = \mathrm{E}\, k^0(x, x) / K, \qquad
        k^0(x, x) = c^{2\beta} |s(x)|^2 - 2 \beta d\, c^{2\beta - 2},

    and its root is the floor. It is proportional to :math:`K^{-1/2}`, increases with
    the Fisher information, and includes the errors of noisy scores as the discrepancy
    does.

    Parameters
    ----------
    draws : array-like of shape (n_draws, dim) or (n_chains, n_draws, dim)
        Posterior draws, used only for `standardize` and for their number.
    scores : array-like of the same shape as `draws`
        Gradient of the log posterior at each draw. The mean of :math:`k^0(x, x)` is
        taken over these, so the floor is only accurate if the draws are: draws that are
        too wide increase it.
    n_draws : int, default=None
        The number K of independent draws. None means the number of `draws`.
    c : float, default=1.0
        Length scale of the kernel, positive.
    beta : float, default=-0.5
        Exponent of the kernel, in (-1, 0).
    form : {"joint", "per_dimension"}, default="joint"
        As for :func:`kernel_stein_discrepancy`.
    standardize : bool or array-like of shape (dim, dim), default=False
        As for :func:`kernel_stein_discrepancy`.

    Returns
    -------
    floor : float
        The floor of the V-statistic. That of the U-statistic is zero.

    See Also
    --------
    kernel_stein_discrepancy : The discrepancy itself.

    Examples
    --------
    For a standard normal distribution :math:`E |s|^2 = d`, so the floor is
    sqrt(2 d / K).

    >>> import numpy as np
    >>> from skbayes_sg.metrics import ksd_floor
    >>> x = np.random.default_rng(0).standard_normal((1000, 2))
    >>> print(f"{ksd_floor(x, -x):.3f}, {(2 * 2 / 1000) ** 0.5:.3f}")
    0.063, 0.063
    """
    c, beta = _check_kernel(c, beta)
    _check_option(form, "form", ("joint", "per_dimension"))
    if n_draws is not None:
        check_scalar(n_draws, "n_draws", Integral, min_val=1)
    x, s = _check_draws(draws, scores, standardize)
    return _root(_mean_diagonal(s, c, beta, form) / (n_draws or len(x)))


def stein_thinning(
    draws: ArrayLike,
    scores: ArrayLike,
    m: int,
    *,
    c: float = 1.0,
    beta: float = -0.5,
    standardize: bool | ArrayLike = False,
) -> np.ndarray:
    """Choose the draws that represent the posterior best.

    Each step adds the draw that minimizes the kernel Stein discrepancy of all chosen
    draws. This avoids draws of the burn-in, and corrects the bias of the chain as far
    as its draws allow.

    Parameters
    ----------
    draws : array-like of shape (n_draws, dim) or (n_chains, n_draws, dim)
        Posterior draws.
    scores : array-like of the same shape as `draws`
        Exact gradient of the log posterior at each draw. Do not use noisy scores,
        because their errors would affect the choice.
    m : int
        Number of draws to choose.
    c : float, default=1.0
        Length scale of the kernel, positive.
    beta : float, default=-0.5
        Exponent of the kernel, in (-1, 0).
    standardize : bool or array-like of shape (dim, dim), default=False
        As for :func:`kernel_stein_discrepancy`.

    Returns
    -------
    indices : ndarray of shape (m,)
        Indices in the order of choice, into the draws of all chains one after another:
        ``draws.reshape(-1, dim)[indices]``. A draw may be chosen more than once.

    See Also
    --------
    kernel_stein_discrepancy : The discrepancy that is minimized.

    Notes
    -----
    The time is proportional to ``n_draws * m * dim``, the memory to the size of the
    draws.

    References
    ----------
    .. [1] M. Riabiz et al., "Optimal thinning of MCMC output", Journal of the Royal
       Statistical Society B 84, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg.metrics import kernel_stein_discrepancy, stein_thinning
    >>> x = np.random.default_rng(0).standard_normal((1000, 2))
    >>> best = x[stein_thinning(x, -x, m=40)]
    >>> print(f"{kernel_stein_discrepancy(best, -best):.2f}")
    0.10
    >>> print(f"{kernel_stein_discrepancy(x[:40], -x[:40]):.2f}")
    0.26
    """
    c, beta = _check_kernel(c, beta)
    check_scalar(m, "m", Integral, min_val=1)
    x, s = _check_draws(draws, scores, standardize)
    return stein_thin(x, s, m, c, beta)


def completion_perplexity(
    X: Any,
    topics: ArrayLike,
    doc_topic_prior: ArrayLike,
    *,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> float:
    r"""Perplexity of topics by document completion; lower is better.

    The tokens of each document are split at random into two halves. The topic weights
    of the document are estimated from the first half, by Gibbs draws of the topics of
    its tokens (20 sweeps are discarded, 40 averaged). With these the tokens of the
    second half are predicted,

    .. math::

        \exp\Bigl(-\frac{1}{n} \sum_i \log \bar p(w_i)\Bigr),

    with probabilities averaged over the draws of the topics before the logarithm. This
    uses no bound or approximation of the model, so that topics from any source can be
    compared.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_documents, n_words)
        Counts of words of documents from which the topics were not learned.
    topics : array-like of shape (n_topics, n_words) or (n_draws, n_topics, n_words)
        Words of the topics: probabilities, or positive numbers proportional to them.
    doc_topic_prior : float or array-like of shape (n_topics,)
        Dirichlet prior of the topics of a document.
    random_state : int, default=0
        Seed of the split.
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    perplexity : float
        At least 1, for perfect predictions. Uniform topics have the number of words.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg.metrics import completion_perplexity
    >>> X = np.array([[5, 5, 0, 0], [0, 0, 6, 4]])
    >>> topics = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]) + 1e-6
    >>> print(round(completion_perplexity(X, topics, 0.01), 1))
    2.0
    """
    X = check_array(with_valid_indices(X), accept_sparse="csr", input_name="X")
    X = sp.csr_array(X)
    phi = check_array(topics, allow_nd=True, dtype=np.float64, input_name="topics")
    phi = phi.reshape(-1, *phi.shape[-2:])
    if phi.shape[2] != X.shape[1]:
        raise ValueError(
            f"topics has {phi.shape[2]} words, and X has {X.shape[1]} columns."
        )
    if phi.min() <= 0 or X.data.min(initial=0) < 0:
        raise ValueError("topics must be positive, and X must not be negative.")
    total = X.sum(dtype=np.float64)
    if total > MAX_TOKENS or not (X.data == np.rint(X.data)).all():
        raise ValueError(
            f"X holds {total:.6g} tokens; counts must be whole numbers, of at most "
            f"{MAX_TOKENS} tokens in all."
        )
    alpha = _check_doc_topic_prior(doc_topic_prior, *phi.shape[:2])
    draws = TopicDraws(phi[None], alpha[None])
    check_scalar(random_state, "random_state", Integral, min_val=0)
    value, n = completion_log_probability(X, draws, random_state, check_n_jobs(n_jobs))
    if n == 0:
        raise ValueError("X has no document with at least two tokens.")
    return math.exp(-value / n)


def _check_doc_topic_prior(prior, n_draws, n_topics):
    """Return a prior for each draw and topic, (n_draws, n_topics)."""
    try:
        alpha = np.broadcast_to(np.asarray(prior, np.float64), (n_draws, n_topics))
    except (TypeError, ValueError):
        alpha = np.array(np.nan)
    if not (np.isfinite(alpha) & (alpha > 0)).all():
        raise ValueError(
            f"doc_topic_prior={prior!r} must be a positive number, or one for each of "
            f"the {n_topics} topics."
        )
    return alpha


def _check_kernel(c, beta):
    check_scalar(c, "c", Real, min_val=1e-25, max_val=1e25)  # c^-4 must not overflow
    check_scalar(
        beta, "beta", Real, min_val=-1, max_val=0, include_boundaries="neither"
    )
    for name, value in (("c", c), ("beta", beta)):
        if math.isnan(value):
            raise ValueError(f"{name} == {value}, must be a number.")
    return float(c), float(beta)


def _check_option(value, name, options):
    if not isinstance(value, str) or value not in options:
        allowed = " or ".join(map(repr, options))
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")


def _check_features(n_features, random_state, x, c):
    """Return the generator of the waves."""
    check_scalar(n_features, "n_features", Integral, min_val=2)
    if n_features % 2:
        raise ValueError(f"n_features == {n_features}, must be even.")
    if np.ptp(x, axis=0).max() > 1e6 * c:
        raise ValueError(
            "the range of draws is more than a million times c, too large for accurate "
            'waves; use standardize=True, a larger c, or method="exact".'
        )
    seed = check_random_state(random_state).randint(2**31, size=4)
    return np.random.default_rng(seed.tolist())


def _check_draws(draws, scores, standardize):
    """Return draws and scores of shape (n_draws, dim), whitened if asked for."""
    options = {"dtype": np.float64, "order": "C", "allow_nd": True}
    x = check_array(draws, input_name="draws", **options)
    s = check_array(scores, input_name="scores", **options)
    if x.shape != s.shape:
        raise ValueError(
            f"scores must have one row for each draw, the shape of draws {x.shape}, "
            f"got shape {s.shape}."
        )
    if x.ndim > 3:
        raise ValueError(
            "draws must have shape (n_draws, dim) or (n_chains, n_draws, dim), "
            f"got {x.ndim} dimensions."
        )
    dim = x.shape[-1]
    x, s = x.reshape(-1, dim), s.reshape(-1, dim)
    if len(x) < 2:
        raise ValueError(f"draws must hold at least 2 draws, got {len(x)}.")
    _check_size(x, s)
    covariance = _check_covariance(standardize, x)
    if covariance is None:
        return x, s
    try:
        x, s = whiten(x, s, covariance)
    except np.linalg.LinAlgError:
        raise ValueError(
            "the covariance to standardize by is not positive definite."
        ) from None
    _check_size(x, s)
    return x, s


def _check_size(x, s):
    for name, values in (("draws", x), ("scores", s)):
        if np.abs(values).max() > 1e100:
            raise ValueError(f"{name} has values beyond 1e100, whose squares overflow.")


def _check_covariance(standardize, x):
    n, dim = x.shape
    if isinstance(standardize, bool | np.bool_):
        if standardize and n <= dim:
            raise ValueError(
                f"standardize=True needs more draws than dimensions, got {n} draws of "
                f"{dim} dimensions; pass a covariance matrix instead."
            )
        return np.atleast_2d(np.cov(x, rowvar=False)) if standardize else None
    covariance = check_array(standardize, dtype=np.float64, input_name="standardize")
    if covariance.shape != (dim, dim):
        raise ValueError(
            f"standardize must be a bool or a covariance of shape {(dim, dim)}, "
            f"got shape {covariance.shape}."
        )
    if not np.allclose(covariance, covariance.T, atol=1e-8 * np.abs(covariance).max()):
        raise ValueError("standardize must be a symmetric covariance matrix.")
    return covariance


def _mean_diagonal(s, c, beta, form):
    """Return the mean of k0_j(x, x) over draws, summed over j in the joint form."""
    diagonal = stein_diagonal(s, c, beta).mean(axis=0)
    return diagonal.sum() if form == "joint" else diagonal


def _root(mean):
    """Return the square root, with the sign of `mean`, summed over dimensions."""
    return float(np.sum(np.sign(mean) * np.sqrt(np.abs(mean))))


def _error(mean, waves):
    """Return the standard error of ``_root(mean)``, where `mean` is that of `waves`.

    It is computed to first order. If `mean` is smaller than its own error, the root of
    that error is used.
    """
    error = stratified_error(waves)
    near = np.abs(mean) < error
    size = np.where(near, error, np.abs(mean))
    size = np.sqrt(np.maximum(size, np.finfo(float).tiny))
    linear = waves * np.where(near, 1.0, 0.5) / size
    return float(stratified_error(linear if linear.ndim == 1 else linear.sum(axis=1)))
