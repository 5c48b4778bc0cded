"""Simulated data for logistic regression and ratings, with known parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state, check_scalar

_CHUNK = 1 << 18  # rows per temporary array, so memory does not grow with n_ratings


def make_logistic(
    n_samples: int = 100_000,
    n_features: int = 10,
    *,
    rho: float = 0.4,
    coef_scales: Sequence[float] = (0.1, 1.0, 10.0),
    intercept: float = 0.0,
    random_state: Any = None,
    return_coef: bool = False,
) -> tuple[np.ndarray, ...]:
    r"""Simulate binary logistic regression with correlated features.

    The design of section 6.1 of Nemeth and Fearnhead [1]_: rows
    :math:`x_i \sim N(0, \Sigma)` with :math:`\Sigma_{jk} = u_{jk}^{|j-k|}`,
    :math:`u_{jk} = u_{kj} \sim \mathrm{Unif}[-\rho, \rho]`, and coefficients
    :math:`\theta_j \sim N(0, s_j^2)` whose standard deviation :math:`s_j` is drawn
    uniformly from `coef_scales`.

    Parameters
    ----------
    n_samples : int, default=100_000
        Number of rows.
    n_features : int, default=10
        Number of features.
    rho : float, default=0.4
        Bound of the correlation of neighboring features, in [0, 1). A draw of
        :math:`\Sigma` that is not safely positive definite (rare for the default) is
        mixed with the identity, which keeps its unit diagonal.
    coef_scales : sequence of float, default=(0.1, 1.0, 10.0)
        Standard deviations, from which one is drawn for each coefficient.
    intercept : float, default=0.0
        Constant added to the linear predictor.
    random_state : int, RandomState instance or None, default=None
        Seed of the coefficients, the correlations and the rows.
    return_coef : bool, default=False
        Whether to return the true coefficients as well.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features, float64 and C-contiguous.
    y : ndarray of shape (n_samples,)
        Labels 0 and 1.
    coef : ndarray of shape (n_features,)
        True coefficients; only if `return_coef`.

    References
    ----------
    .. [1] C. Nemeth and P. Fearnhead (2021). Stochastic gradient Markov chain Monte
       Carlo. Journal of the American Statistical Association 116(533), 433-450.

    Examples
    --------
    >>> from skbayes_sg.datasets import make_logistic
    >>> X, y = make_logistic(1000, 5, random_state=0)
    >>> X.shape, y.shape
    ((1000, 5), (1000,))
    """
    check_scalar(n_samples, "n_samples", (int, np.integer), min_val=1)
    check_scalar(n_features, "n_features", (int, np.integer), min_val=1)
    check_scalar(
        rho, "rho", (int, float), min_val=0, max_val=1, include_boundaries="left"
    )
    scales = np.asarray(coef_scales, dtype=np.float64)
    if scales.ndim != 1 or not scales.size or not np.all(scales >= 0):
        raise ValueError(
            f"coef_scales must be standard deviations >= 0, got {coef_scales}."
        )
    if not np.isfinite(intercept):
        raise ValueError(f"intercept must be a finite number, got {intercept}.")
    rng = check_random_state(random_state)

    correlation = _random_correlation(n_features, rho, rng)
    coef = rng.choice(scales, size=n_features) * rng.normal(size=n_features)
    X = rng.normal(size=(n_samples, n_features))
    X = X @ np.linalg.cholesky(correlation).T
    y = (rng.uniform(size=n_samples) < expit(X @ coef + intercept)).astype(np.int64)
    return (X, y, coef) if return_coef else (X, y)


def _random_correlation(n_features, rho, rng, min_eigenvalue=1e-3):
    """Draw a unit-diagonal symmetric positive definite matrix of powers u^|j-k|."""
    j, k = np.indices((n_features, n_features))
    lower = np.tril(rng.uniform(-rho, rho, size=(n_features, n_features)) ** abs(j - k))
    matrix = lower + np.tril(lower, -1).T
    smallest = np.linalg.eigvalsh(matrix)[0]
    # (1 - t) S + t I has smallest eigenvalue (1 - t) smallest + t.
    t = max(0.0, (min_eigenvalue - smallest) / (1.0 - smallest)) if smallest < 1 else 0
    return (1 - t) * matrix + t * np.eye(n_features)


def make_ratings(
    n_users: int = 1000,
    n_items: int = 500,
    n_ratings: int = 30_000,
    *,
    n_factors: int = 5,
    mean: float = 3.5,
    bias_std: float = 0.4,
    factor_std: float = 0.5,
    noise_std: float = 0.9,
    levels: Sequence[float] | None = (1, 2, 3, 4, 5),
    user_exponent: float = 0.7,
    item_exponent: float = 0.7,
    random_state: Any = None,
    return_truth: bool = False,
) -> tuple[np.ndarray, ...]:
    r"""Simulate ratings of items by users from a low-rank model with biases.

    The rating of item :math:`j` by user :math:`i` is
    :math:`m + b_i + c_j + U_i^\top V_j + \varepsilon`, rounded to the nearest of
    `levels`. The rated pairs follow power laws: pairs are drawn without replacement
    with weights :math:`r_i^{-a} q_j^{-b}`, where :math:`r` and :math:`q` are random
    rankings of the users and of the items.

    Parameters
    ----------
    n_users, n_items : int, default=1000, 500
        Numbers of users and items; labels are ``0, ..., n_users - 1`` and
        ``0, ..., n_items - 1``. Rare users and items may have no rating.
    n_ratings : int, default=30_000
        Number of distinct (user, item) pairs, at most ``n_users * n_items``.
    n_factors : int, default=5
        Rank of the interaction.
    mean : float, default=3.5
        The constant :math:`m`.
    bias_std : float, default=0.4
        Standard deviation of the biases of users and of items.
    factor_std : float, default=0.5
        Standard deviation of the interaction :math:`U_i^\top V_j`.
    noise_std : float, default=0.9
        Standard deviation of the noise.
    levels : sequence of float or None, default=(1, 2, 3, 4, 5)
        Increasing rating levels; None leaves the ratings unrounded.
    user_exponent, item_exponent : float, default=0.7, 0.7
        The exponents :math:`a` and :math:`b`, in [0, 1]; 0 means equal activity.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is drawn.
    return_truth : bool, default=False
        Whether to return the generating parameters as well.

    Returns
    -------
    X : ndarray of shape (n_ratings, 2)
        Users and items, int32, rows in random order.
    y : ndarray of shape (n_ratings,)
        Ratings, float64.
    truth : :class:`~sklearn.utils.Bunch`
        Only if `return_truth`. `signal` of shape (n_ratings,) is each rating without
        noise or rounding; `mean`, `noise_std`, `user_bias`, `item_bias`,
        `user_factors` of shape (n_users, n_factors) and `item_factors` of shape
        (n_items, n_factors) are the parameters.

    Examples
    --------
    >>> from skbayes_sg.datasets import make_ratings
    >>> X, y = make_ratings(100, 50, 1000, random_state=0)
    >>> X.shape
    (1000, 2)
    >>> sorted(set(y.tolist()))
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    for name, value in (
        ("n_users", n_users),
        ("n_items", n_items),
        ("n_factors", n_factors),
    ):
        check_scalar(value, name, (int, np.integer), min_val=1)
    n_cells = int(n_users) * int(n_items)
    check_scalar(n_ratings, "n_ratings", (int, np.integer), min_val=1, max_val=n_cells)
    for name, number in (
        ("bias", bias_std),
        ("factor", factor_std),
        ("noise", noise_std),
    ):
        check_scalar(number, f"{name}_std", (int, float), min_val=0)
    for name, number in (("user", user_exponent), ("item", item_exponent)):
        check_scalar(number, f"{name}_exponent", (int, float), min_val=0, max_val=1)
    steps = None
    if levels is not None:
        steps = np.asarray(levels, dtype=np.float64)
        if steps.ndim != 1 or not steps.size or not np.all(np.diff(steps) > 0):
            raise ValueError(f"levels must be increasing numbers, got {levels}.")
    # RandomState's normals and choices are several times slower than Generator's.
    seed = check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32)
    rng = np.random.default_rng(seed)

    X = _draw_pairs(
        _power_law(n_users, user_exponent, rng),
        _power_law(n_items, item_exponent, rng),
        n_ratings,
        rng,
    )
    entry_std = np.sqrt(factor_std / np.sqrt(n_factors))
    truth = Bunch(
        mean=mean,
        noise_std=noise_std,
        user_bias=rng.normal(0, bias_std, n_users),
        item_bias=rng.normal(0, bias_std, n_items),
        user_factors=rng.normal(0, entry_std, (n_users, n_factors)),
        item_factors=rng.normal(0, entry_std, (n_items, n_factors)),
    )
    truth.signal = _signal(X, truth)
    y = rng.standard_normal(n_ratings)
    y *= noise_std
    y += truth.signal
    if steps is not None:
        y = steps[np.searchsorted((steps[1:] + steps[:-1]) / 2, y)]
    return (X, y, truth) if return_truth else (X, y)


def _power_law(size, exponent, rng):
    """Return probabilities proportional to rank^-exponent, in random order."""
    weights = np.arange(1, size + 1, dtype=np.float64) ** -exponent
    return rng.permutation(weights / weights.sum())


def _draw_pairs(p_user, p_item, n_pairs, rng):
    """Draw distinct pairs one by one, each with probability ~ p_user * p_item.

    Both branches sample from this distribution. The first orders all pairs by
    exponential arrival times with rate p_user * p_item. The second draws repeated pairs
    again, never more than are missing, so that it need not drop any.
    """
    n_items = p_item.size
    if p_user.size * n_items <= 4 * n_pairs:
        arrival = rng.standard_exponential((p_user.size, n_items))
        arrival /= p_user[:, None]
        arrival /= p_item
        codes = np.argpartition(arrival.ravel(), n_pairs - 1)[:n_pairs]
        codes.sort()  # the order of argpartition depends on the processor
    else:
        codes = np.empty(0, dtype=np.int64)
        while codes.size < n_pairs:
            n_missing = n_pairs - codes.size
            users = _draw_labels(p_user, n_missing, rng)
            items = rng.permutation(_draw_labels(p_item, n_missing, rng))
            codes = np.concatenate((codes, np.sort(users * n_items + items)))
            codes.sort(kind="stable")  # merges two sorted runs in linear time
            codes = codes[np.diff(codes, prepend=-1) > 0]
    rng.shuffle(codes)
    X = np.empty((n_pairs, 2), dtype=np.int32)
    np.divmod(codes, n_items, out=(X[:, 0], X[:, 1]), casting="same_kind")
    return X


def _draw_labels(p, size, rng):
    """Draw labels with probabilities p, in sorted order."""
    return np.repeat(np.arange(p.size), rng.multinomial(size, p))


def _signal(X, truth):
    """Return each pair's rating without noise, computed in chunks."""
    signal = np.empty(len(X))
    for start in range(0, len(X), _CHUNK):
        users, items = X[start : start + _CHUNK].T
        signal[start : start + _CHUNK] = (
            truth.mean
            + truth.user_bias[users]
            + truth.item_bias[items]
            + np.einsum(
                "ij,ij->i", truth.user_factors[users], truth.item_factors[items]
            )
        )
    return signal
