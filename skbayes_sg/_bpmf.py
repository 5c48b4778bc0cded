"""Bayesian matrix factorisation for ratings."""

import math
import numbers

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtr, ndtri
from sklearn.base import RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import (
    assert_all_finite,
    check_is_fitted,
    check_random_state,
    validate_data,
)

from skbayes_sg._base import MAX_RETRIES, BaseSGMCMC
from skbayes_sg._labels import encode, label_columns, label_list, lookup
from skbayes_sg._validation import (
    all_or_nothing,
    check_bool,
    check_integer,
    check_number,
    check_option,
    check_sample_weight,
)
from skbayes_sg.inference.chains import DivergenceError, sample
from skbayes_sg.inference.factorization import (
    automatic_row_lengths,
    automatic_row_step,
    continued,
    factor_scores,
    random_start,
    theta_of,
    unpack,
    warm_up,
)
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.inference.ratings import (
    RatingDraws,
    grid_moments,
    pair_moments,
    similarities,
)
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.gradients import GRADIENTS, Full, Minibatch
from skbayes_sg.kernels.models import MatrixFactorization, RatingNoise, RowPrior
from skbayes_sg.kernels.ops import (
    curvature_exponent,
    is_exact,
    n_recorded,
    stable_step,
    typed,
)
from skbayes_sg.kernels.rows import CSRRows
from skbayes_sg.kernels.samplers import BAOAB, LeimkuhlerMatthews
from skbayes_sg.kernels.schedules import SCHEDULES
from skbayes_sg.metrics import kernel_stein_discrepancy

START_SD = 0.3  # of factors, in units of the square root of the ratings' sd
MAX_FULL = 1_000_000  # ratings up to which the full gradient is the cheapest
HYPERPARAMETERS = ("conjugate", "log-scale")
PAIRS_AT_ONCE = 2**16  # pairs whose predictions are held in memory together


class SGBPMFRecommender(RegressorMixin, BaseSGMCMC):
    """Recommender by Bayesian probabilistic matrix factorisation.

    A rating of item j by user i has mean ``U_i . V_j`` plus a bias of each. Rows of
    factors have Gaussian priors whose means and precisions are learnt, and so is the
    noise. Predictions average over posterior draws and come with their uncertainty;
    unknown users and items get the prior's predictive.

    Parameters
    ----------
    n_factors : int, default=20
        Length of the factors U_i and V_j.
    biases : bool, default=True
        Whether users and items have biases beside their factors.
    noise_precision : "learn" or float, default="learn"
        Precision of the ratings given their mean, in units of the ratings.
    noise_dof : float or None, default=10.0
        Users and items have noise precisions of their own: factors of
        `noise_precision` with Gamma(`noise_dof` / 2, `noise_dof` / 2) priors. More than
        2; None for one precision of all ratings.
    precision_prior : tuple of (float, float or "auto"), default=(1.0, "auto")
        Shape and rate of the Gamma prior of the precision of each factor. "auto" is a
        tenth of the ratings' standard deviation, or of their variance for biases.
    hyperparameters : {"conjugate", "log-scale"}, default="conjugate"
        Draw means and precisions of the rows from their conditional laws, or let the
        sampler move them with the rows, the precisions on the log scale.
    user_features, item_features : DataFrame, pair of (labels, matrix), default=None
        Side information: a row of numbers for each label, dense or sparse; the labels
        of a data frame are its index. Prior means of the rows are linear in it.
    rating_range : tuple of (float, float) or None, default=None
        Predictions are clipped to it; None is the range of the ratings in `fit`.
    sampler : str, sampler or None, default=None
        One of `skbayes_sg.kernels.samplers.SAMPLERS`; None is BAOAB with low friction.
    gradient : str or gradient estimator, default="auto"
        One of `skbayes_sg.kernels.gradients.GRADIENTS`, for instance "full",
        "minibatch" or "cv". "auto" is the full gradient for up to a million ratings,
        minibatches beyond.
    step_size : float or "auto", default="auto"
        Step size h, in the units of the preconditioner.
    batch_size : int or "auto", default="auto"
        Ratings per gradient estimate; "auto" is a tenth of all.
    preconditioner : {"auto", "diagonal", "none"}, default="auto"
        "diagonal", the default: a row moves in units that shrink with the number of its
        ratings.
    n_draws : int, default=100
        Draws kept of each chain.
    burn_in : int or "auto", default="auto"
        Iterations before the first draw.
    thin : int or "auto", default="auto"
        Iterations per draw.
    n_chains : int, default=2
        Independent chains.
    schedule : {"constant", "polynomial", "cyclical"}, default="constant"
        How the step size changes with the iterations; averages weigh draws by it.
    temperature : float, default=1.0
        Temperature of the posterior.
    noise_correction : bool, default=False
        Inject less noise by what the minibatches add, estimated while running.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the computations and of the draws.
    storage : path, default=None
        Folder for memory-mapped draws; they are held in memory by default.
    warm_start : bool, default=False
        Go on from where the chains of the last fit ended, if users and items are the
        same.
    n_jobs : int, default=None
        Chains at a time; the draws do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the chains.
    verbose : int, default=0
        Show a progress bar if positive.

    Attributes
    ----------
    users_, items_ : ndarray of shape (n_users,) and (n_items,)
        Labels of the users and the items.
    classes_ : ndarray of shape (n_levels,)
        The rating levels, in order.
    mean_rating_ : float
        Mean of the ratings, to which all predictions are relative.
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Posterior draws: factors and bias of each user, then of each item; mean and
        precision of the rows of users, then of items; the noise precision and its
        factors of users and items; the weights of user and item features.
    step_size_, batch_size_, burn_in_, thin_, n_iter_ : float and int
        The settings used, and the iterations of each chain.
    n_features_in_ : int
        2, the user and the item.
    feature_names_in_ : ndarray of shape (2,)
        Names of the columns, where X is a data frame.

    References
    ----------
    .. [1] R. Salakhutdinov and A. Mnih (2008). Bayesian probabilistic matrix
       factorization using Markov chain Monte Carlo. ICML.
    .. [2] J. Simm et al. (2017). Macau: scalable Bayesian factorization with
       high-dimensional side information using MCMC. MLSP.

    Examples
    --------
    >>> from skbayes_sg import SGBPMFRecommender
    >>> from skbayes_sg.datasets import make_ratings
    >>> X, y = make_ratings(40, 30, 600, random_state=0)
    >>> model = SGBPMFRecommender(n_factors=3, n_draws=20, random_state=0).fit(X, y)
    >>> mean, std = model.predict(X[:2], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    >>> items, scores = model.recommend(X[0, 0], n=5)
    >>> items.shape
    (5,)
    """

    _default_sampler = BAOAB(friction=0.2)

    def __init__(
        self,
        n_factors=20,
        *,
        biases=True,
        noise_precision="learn",
        noise_dof=10.0,
        precision_prior=(1.0, "auto"),
        hyperparameters="conjugate",
        user_features=None,
        item_features=None,
        rating_range=None,
        sampler=None,
        gradient="auto",
        step_size="auto",
        batch_size="auto",
        preconditioner="auto",
        n_draws=100,
        burn_in="auto",
        thin="auto",
        n_chains=2,
        schedule="constant",
        temperature=1.0,
        noise_correction=False,
        dtype="float32",
        storage=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_factors = n_factors
        self.biases = biases
        self.noise_precision = noise_precision
        self.noise_dof = noise_dof
        self.precision_prior = precision_prior
        self.hyperparameters = hyperparameters
        self.user_features = user_features
        self.item_features = item_features
        self.rating_range = rating_range
        self.sampler = sampler
        self.gradient = gradient
        self.step_size = step_size
        self.batch_size = batch_size
        self.preconditioner = preconditioner
        self.n_draws = n_draws
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.schedule = schedule
        self.temperature = temperature
        self.noise_correction = noise_correction
        self.dtype = dtype
        self.storage = storage
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        """Draw from the posterior of the factors.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, 2)
            User and item of each rating; labels of any hashable type.
        y : array-like of shape (n_samples,)
            Ratings.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the ratings' log-likelihoods.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        sampler = self._check_parameters()
        with all_or_nothing(self):
            users, items = self._label_columns(X, reset=True)
            y = column_or_1d(y, warn=True).astype(np.float64)
            assert_all_finite(y, input_name="y")
            check_consistent_length(users, y)
            weights = check_sample_weight(sample_weight, len(y))
            previous = getattr(self, "users_", None), getattr(self, "items_", None)
            self.users_, users = encode(users)
            self.items_, items = encode(items)
            same = all(
                np.array_equal(*pair)
                for pair in zip(previous, (self.users_, self.items_), strict=True)
            )
            self._fit_codes(users, items, y, weights, sampler, same)
        return self

    def fit_matrix(self, R):
        """Draw from the posterior of the factors, given a sparse matrix of ratings.

        Parameters
        ----------
        R : sparse matrix of shape (n_users, n_items)
            Ratings; entries that are not stored are unknown, stored zeros are ratings.
            The labels of users and items are their numbers.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if not sp.issparse(R):
            raise TypeError(
                f"R is of type {type(R).__name__}; it must be a sparse matrix, whose "
                "stored entries are the ratings"
            )
        R = sp.coo_array(R)
        return self.fit(np.stack([R.row, R.col], axis=1), R.data)

    def predict(self, X, return_std=False):
        """Return the mean rating of each pair.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, 2)
            User and item of each rating, known or not.
        return_std : bool, default=False
            Also return the standard deviation of the rating, noise included.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,)
            Means, clipped to the rating range.
        y_std : ndarray of shape (n_samples,)
            Standard deviations. Only with ``return_std=True``.
        """
        mean, std = self._predictive(X)
        mean = np.clip(mean, *self._range)
        return (mean, std) if return_std else mean

    def predict_interval(self, X, level=0.9):
        """Return an interval for the rating of each pair.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, 2)
            User and item of each rating, known or not.
        level : float, default=0.9
            Probability of the interval.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper end, clipped to the rating range.
        """
        check_number("level", level, above=0)
        if level >= 1:
            raise ValueError(f"level={level!r} is not allowed; it must be less than 1")
        mean, std = self._predictive(X)
        half = ndtri(0.5 + 0.5 * level) * std
        return np.clip(np.stack([mean - half, mean + half], axis=1), *self._range)

    def predict_proba(self, X):
        """Return the probability of each rating level.

        The predictive Gaussian is integrated between the mid-points of the levels.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, 2)
            User and item of each rating, known or not.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_levels)
            Probabilities in the order of `classes_`.
        """
        mean, std = self._predictive(X)
        middle = 0.5 * (self.classes_[1:] + self.classes_[:-1])
        below = ndtr((middle - mean[:, None]) / std[:, None])
        ends = np.zeros((len(mean), 1)), np.ones((len(mean), 1))
        return np.diff(np.hstack([ends[0], below, ends[1]]), axis=1)

    def recommend(self, users, n=10, filter_seen=True, return_std=False):
        """Return the items with the highest mean rating, best first.

        Parameters
        ----------
        users : label or array-like of labels of shape (n_users,)
            One user or several, known or not.
        n : int, default=10
            Items for each user.
        filter_seen : bool, default=True
            Leave out the items that a user rated in `fit`.
        return_std : bool, default=False
            Also return standard deviations of the ratings.

        Returns
        -------
        items : ndarray of shape (n,) or (n_users, n)
            Labels of items; one row for each user if several were given. Where fewer
            than `n` are left, the last repeat the best, with score -inf.
        scores : ndarray of shape (n,) or (n_users, n)
            Mean ratings, not clipped.
        stds : ndarray of shape (n,) or (n_users, n)
            Only with ``return_std=True``.
        """
        check_is_fitted(self)
        check_integer("n", n, at_least=1)
        single = isinstance(users, str | bytes) or np.ndim(users) == 0
        labels = label_list([users] if single else users)
        codes = lookup(self.users_, labels)
        features = self._features_of(0, labels)
        n = min(n, len(self.items_))
        parts = []
        step = max(1, PAIRS_AT_ONCE * 16 // len(self.items_))
        for first in range(0, len(codes), step):
            block = slice(first, first + step)
            some = None if features is None else features[block]
            moments = grid_moments(self._draws(), codes[block], some)
            parts.append(self._best(moments, codes[block], n, filter_seen))
        items, scores, stds = (
            np.concatenate(part) for part in zip(*parts, strict=True)
        )
        out = (self.items_[items], scores, stds)
        out = tuple(part[0] for part in out) if single else out
        return out if return_std else out[:2]

    def similar_items(self, item, n=10):
        """Return the items whose factors point the same way, most similar first.

        Parameters
        ----------
        item : label
            An item of the fit.
        n : int, default=10
            Number of items, the item itself included.

        Returns
        -------
        items : ndarray of shape (n,)
            Labels of items.
        scores : ndarray of shape (n,)
            Cosines of their factors with those of `item`, averaged over draws.
        """
        check_is_fitted(self)
        check_integer("n", n, at_least=1)
        code = lookup(self.items_, label_list([item]))[0]
        if code < 0:
            raise ValueError(f"item={item!r} is not among the items of the fit")
        scores = similarities(self._draws(), code)
        best = np.argsort(-scores, kind="stable")[:n]
        return self.items_[best], scores[best]

    def ksd(self, *, max_draws=1000, n_jobs=None, **options):
        """Kernel Stein discrepancy between the draws and the posterior.

        Of the factors given each draw's own hyperparameters and noise. It needs the
        training data, which the estimator refers to until it is saved.

        Parameters
        ----------
        max_draws : int, default=1000
            Use so many draws at most, evenly spread over all chains.
        n_jobs : int, default=None
            Threads. The result does not depend on it.
        **options : dict
            Of :func:`~skbayes_sg.metrics.kernel_stein_discrepancy`.

        Returns
        -------
        ksd : float
            The discrepancy.
        floor : float
            What to expect of as many perfect, independent draws. Only with
            ``return_floor=True``.
        """
        check_is_fitted(self)
        check_integer("max_draws", max_draws, at_least=2)
        if not hasattr(self, "_model"):
            raise ValueError(
                "ksd() needs the training data, which a saved or copied estimator does "
                "not carry; call it before, or fit again"
            )
        draws = self._representative_draws(max_draws)
        thetas = np.stack([theta_of(self._model, draw) for draw in draws])
        scores = factor_scores(self._model, draws) / self.temperature
        return kernel_stein_discrepancy(thetas, scores, n_jobs=n_jobs, **options)

    def _check_parameters(self):
        """Validate the parameters; return the sampler."""
        sampler = self._check_sampling()
        check_integer("n_factors", self.n_factors, at_least=1)
        check_bool("biases", self.biases)
        if isinstance(self.noise_precision, str):
            check_option("noise_precision", self.noise_precision, ("learn",))
        else:
            check_number("noise_precision", self.noise_precision, above=0)
        if self.noise_dof is not None:
            check_number("noise_dof", self.noise_dof, above=2)
        _check_pair("precision_prior", self.precision_prior)
        shape, rate = self.precision_prior
        check_number("precision_prior", shape, above=0)
        if rate != "auto":
            check_number("precision_prior", rate, above=0)
        check_option("hyperparameters", self.hyperparameters, HYPERPARAMETERS)
        check_option("dtype", self.dtype, ("float32", "float64"))
        if self.rating_range is not None:
            _check_pair("rating_range", self.rating_range)
            low, high = self.rating_range
            if not all(isinstance(end, numbers.Real) for end in (low, high)) or not (
                low < high
            ):
                raise ValueError(
                    f"rating_range={self.rating_range!r} is not allowed; it must be a "
                    "pair of increasing numbers, or None"
                )
        if self.preconditioner == "dense":
            raise ValueError(
                'preconditioner="dense" is not for factors; use "diagonal" or "none"'
            )
        if self.preconditioner == "none" and self.step_size == "auto":
            raise ValueError(
                'step_size="auto" is in the units of a preconditioner; with '
                'preconditioner="none" give a number'
            )
        return sampler

    def _label_columns(self, X, reset):
        """Return the columns of users and of items."""
        if sp.issparse(X):
            raise TypeError(
                "X is a sparse matrix; it must have a row (user, item) for each "
                "rating. fit_matrix takes a sparse matrix of ratings"
            )
        validate_data(self, X, reset=reset, skip_check_array=True)
        if self.n_features_in_ != 2:
            raise ValueError(
                f"X has {self.n_features_in_} features; it must have 2 columns, the "
                "user and the item of each rating"
            )
        columns = label_columns(X)
        if not len(columns[0]):
            raise ValueError("X holds 0 samples; at least one rating is needed")
        return columns

    def _fit_codes(self, users, items, y, weights, sampler, same):
        order = np.lexsort((items, users))  # ratings of a user side by side in memory
        users, items = users[order], items[order]
        weights = np.empty(0) if weights is None else weights[order]
        n_users, n_items = len(self.users_), len(self.items_)
        self._feature_tables = [
            _feature_table("user_features", self.user_features),
            _feature_table("item_features", self.item_features),
        ]
        self._dof = 0.0 if self.noise_dof is None else float(self.noise_dof)
        self.mean_rating_ = float(
            np.average(y[order], weights=weights if weights.size else None)
        )
        self.classes_ = np.unique(y)
        low, high = self.rating_range or (y.min(), y.max())
        self._range = float(low), float(high)
        self._seen = sp.csr_array(
            (np.ones(len(users), bool), (users, items)), (n_users, n_items)
        )
        model = self._build_model(users, n_users + items, y[order], weights)
        self._sample_posterior(model, sampler, same)

    def _build_model(self, users, items, y, weights):
        """Return the model; `users` and `items` are rows of theta."""
        dtype, d = np.dtype(self.dtype), self.n_factors
        n_users, n_items = len(self.users_), len(self.items_)
        variance = float(np.var(y)) or 1.0
        # Factors have the units of the square root of a rating, biases of a rating.
        units = np.array([math.sqrt(variance)] * d + [variance] * bool(self.biases))
        shape, rate = self.precision_prior
        start = np.zeros((2, 2, units.size))
        start[:, 1] = 1.0 / (START_SD**2 * units)
        learns = self.noise_precision == "learn"
        tables = [self._features_of(0, self.users_), self._features_of(1, self.items_)]
        sizes = n_users, n_items
        Z = [
            sp.csr_array((size, 0)) if table is None else table
            for size, table in zip(sizes, tables, strict=True)
        ]
        columns = sp.csc_array(sp.block_diag(Z), dtype=dtype)
        return typed(
            MatrixFactorization(
                pairs=np.stack([users, items], axis=1).astype(np.int32),
                y=(y - self.mean_rating_).astype(dtype),
                weights=weights.astype(dtype),
                n_users=n_users,
                n_items=n_items,
                n_factors=d,
                biases=self.biases,
                features=CSRRows(
                    columns.data,
                    columns.indices.astype(np.int32),
                    columns.indptr.astype(np.int64),
                    n_users + n_items,
                ),
                n_user_features=Z[0].shape[1],
                prior=RowPrior(
                    start.astype(dtype),
                    shape,
                    np.broadcast_to(
                        0.1 * units if rate == "auto" else rate, units.shape
                    ).astype(dtype),
                    True,
                    self.hyperparameters == "log-scale",
                ),
                noise=RatingNoise(
                    2.0 / variance if learns else self.noise_precision,
                    variance,
                    learns,
                    self._dof,
                ),
                refresh_every=2,
            )
        )

    def _sample_posterior(self, model, sampler, same):
        """Find the chains' region, choose what is "auto", run the chains."""
        entropy = check_random_state(self.random_state).randint(2**31, size=4)
        seeds = np.random.SeedSequence(entropy.tolist()).spawn(4)
        rng = np.random.default_rng(seeds[0])
        size = self._rating_batch_size(model.y.size)
        simple = Minibatch(size) if size < model.y.size else Full()
        model = typed(model._replace(refresh_every=_refresh_every(model, simple)))
        if self.sampler is None and not is_exact(simple):
            sampler = LeimkuhlerMatthews()
        options = {
            "temperature": self.temperature,
            "n_jobs": self.n_jobs,
            "progress": bool(self.verbose),
        }
        draws = self._last_draws(model, same)
        if draws is None:
            draws = np.stack([random_start(model, rng) for _ in range(self.n_chains)])
        warm = self._default_sampler if is_exact(simple) else LeimkuhlerMatthews()
        draws, where = warm_up(model, warm, simple, draws, seeds[1], **options)
        model = typed(continued(model, draws))
        gradient = self._rating_gradient(model, size, theta_of(model, draws[0]))
        h, auto = self.step_size, self.step_size == "auto"
        if auto:
            h = automatic_row_step(model, sampler, gradient, where, self.temperature)
        limit = stable_step(sampler) / where.largest ** curvature_exponent(sampler)
        plain = self.preconditioner == "none"
        for last in [False] * MAX_RETRIES + [True]:
            burn_in, thin = automatic_row_lengths(sampler, h)
            burn_in = burn_in if self.burn_in == "auto" else self.burn_in
            thin = thin if self.thin == "auto" else self.thin
            try:
                samples, info = sample(
                    model,
                    sampler,
                    gradient,
                    step_size=SCHEDULES[self.schedule](h),
                    n_draws=self.n_draws,
                    burn_in=burn_in,
                    thin=thin,
                    n_chains=self.n_chains,
                    start=np.stack([theta_of(model, draw) for draw in draws]),
                    coordinates=Identity() if plain else where.coordinates,
                    noise_correction=self.noise_correction,
                    scale=where.theta_sd,
                    step_limit=None if plain else limit,
                    storage=self.storage,
                    random_state=seeds[2],
                    return_info=True,
                    **options,
                )
                break
            except DivergenceError:
                if not auto or last:
                    raise
                h /= 2
        self._model = model
        self.samples_ = samples
        self.step_size_ = h
        self.batch_size_ = getattr(gradient, "batch_size", model.y.size)
        self.burn_in_, self.thin_, self.n_iter_ = burn_in, thin, info.n_iter
        self.draw_weights_ = info.step_sizes / info.step_sizes.sum()
        self.sampler_stats_ = info.stats

    def _rating_batch_size(self, n):
        """Return the ratings per gradient of the simple estimator."""
        size = self.batch_size
        if size != "auto":
            if size > n:
                raise ValueError(
                    f"batch_size={size} is larger than n_samples={n}; "
                    'use at most n_samples, or "auto"'
                )
            return size
        size = getattr(self.gradient, "batch_size", None)
        if size is not None:
            return size
        exact = self.gradient == "full" or isinstance(self.gradient, Full)
        if exact or (self.gradient == "auto" and n <= MAX_FULL):
            return n
        return min(n, max(1000, n // 10))

    def _rating_gradient(self, model, size, near):
        """Return the gradient estimator; a control variate is centred close by."""
        gradient = self.gradient
        if gradient == "auto":
            return Minibatch(size) if size < model.y.size else Full()
        if isinstance(gradient, str):
            kind = GRADIENTS[gradient]
            gradient = kind(size) if "batch_size" in kind._fields else kind()
        if "mode" in gradient._fields and gradient.mode is None:
            gradient = gradient._replace(mode=find_mode(model, near))
        return gradient

    def _last_draws(self, model, same):
        """Return the last draw of each chain if this fit goes on from the last."""
        if not (self.warm_start and same and hasattr(self, "samples_")):
            return None
        last = self.samples_[:, -1]
        return last if last.shape == (self.n_chains, n_recorded(model)) else None

    def _draws(self):
        """Return all draws, as predictions take them."""
        width = self.n_factors + bool(self.biases)
        parts = unpack(self._flat_draws(), len(self.users_) + len(self.items_), width)
        table = self._feature_tables[0]
        return RatingDraws(
            *parts,
            weights=self._flat_weights(),
            n_users=len(self.users_),
            n_factors=self.n_factors,
            n_user_features=0 if table is None else table[1].shape[1],
            dof=self._dof,
        )

    def _predictive(self, X):
        """Return mean, not clipped, and standard deviation of each rating."""
        check_is_fitted(self)
        columns = self._label_columns(X, reset=False)
        tables = zip((self.users_, self.items_), columns, strict=True)
        users, items = (lookup(labels, column) for labels, column in tables)
        draws, parts = self._draws(), []
        for first in range(0, len(users), PAIRS_AT_ONCE):
            block = slice(first, first + PAIRS_AT_ONCE)
            features = [self._features_of(z, columns[z][block]) for z in (0, 1)]
            m = pair_moments(draws, users[block], items[block], *features)
            std = np.sqrt(m.variance + m.noise)
            parts.append((self.mean_rating_ + m.mean, std))
        mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, std

    def _features_of(self, side, labels):
        """Return the features of labels, (n, p), zero for those without."""
        if self._feature_tables[side] is None:
            return None
        known, matrix = self._feature_tables[side]
        codes = lookup(known, labels)
        rows = matrix[np.maximum(codes, 0)]
        return sp.csr_array(sp.diags_array((codes >= 0).astype(matrix.dtype)) @ rows)

    def _best(self, moments, codes, n, filter_seen):
        """Return the best items of some users, their scores and deviations."""
        scores = self.mean_rating_ + moments.mean
        if filter_seen:
            known = np.flatnonzero(codes >= 0)
            rows, columns = self._seen[codes[known]].nonzero()
            scores[known[rows], columns] = -np.inf
        best = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        std = np.sqrt(moments.variance + moments.noise)
        return best, *(np.take_along_axis(part, best, axis=1) for part in (scores, std))


def _check_pair(name, value):
    if isinstance(value, str) or np.shape(value) != (2,):
        raise ValueError(f"{name}={value!r} is not allowed; it must be a pair")


def _feature_table(name, features):
    """Return labels and matrix (CSR) of side information, or None."""
    if features is None:
        return None
    if hasattr(features, "index") and hasattr(features, "to_numpy"):
        labels, matrix = features.index, features.to_numpy()
    elif isinstance(features, tuple | list) and len(features) == 2:
        labels, matrix = features
    else:
        raise TypeError(
            f"{name} must be a data frame whose index holds the labels, or a pair of "
            f"labels and a matrix; it is of type {type(features).__name__}"
        )
    matrix = sp.csr_array(matrix, dtype=np.float64)
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{name} holds NaN or infinite values")
    labels, codes = encode(label_list(labels))
    if matrix.shape[0] != len(codes) or len(labels) != len(codes):
        raise ValueError(
            f"{name} has {len(codes)} labels, {len(labels)} of them distinct, and "
            f"{matrix.shape[0]} rows; there must be one row for each label"
        )
    return labels, matrix[np.argsort(codes)]


def _refresh_every(model, gradient):
    """Return how often to draw the noise: its pass over all ratings is kept cheap."""
    n = model.y.size
    return max(2, math.ceil(1.5 * n / getattr(gradient, "batch_size", n)))
