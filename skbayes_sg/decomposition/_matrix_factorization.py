"""Bayesian matrix factorisation for ratings."""

import math
import numbers

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import (
    assert_all_finite,
    check_is_fitted,
    check_random_state,
    validate_data,
)

from skbayes_sg.base._callbacks import FitTasks, with_callbacks
from skbayes_sg.base._sampling import BaseSGMCMC, Run
from skbayes_sg.decomposition._rating_predictions import RatingPredictionMixin
from skbayes_sg.inference.divergence import DivergenceError
from skbayes_sg.inference.exploration.matrix_factorization import (
    WARM_UP_SAMPLER,
    automatic_row_lengths,
    automatic_row_step,
    check_fit,
    continued,
    factor_scores,
    random_start,
    row_geometry,
    theta_of,
    warm_up,
    with_noise,
    with_retries,
)
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import GRADIENTS, Full, Minibatch
from skbayes_sg.kernels.models import MatrixFactorization, RatingNoise, RowPrior
from skbayes_sg.kernels.protocol.model import n_recorded
from skbayes_sg.kernels.protocol.sampler import curvature_exponent, stable_step
from skbayes_sg.kernels.samplers import LazyLangevin, LeimkuhlerMatthews
from skbayes_sg.metrics import kernel_stein_discrepancy
from skbayes_sg.utils._labels import encode, feature_table, label_columns
from skbayes_sg.utils._validation import (
    all_or_nothing,
    check_bool,
    check_integer,
    check_magnitude,
    check_number,
    check_option,
    check_precision,
    check_sample_weight,
)

OUTER_SHARE = 0.01  # of the ratings on each side, whose distances may mean nothing
FAR_OUT = 10.0  # sds from the others, of a rating that an error names
START_SD = 0.3  # of factors, in units of the square root of the ratings' sd
MAX_FULL = 10_000_000  # ratings up to which the full gradient is the cheapest
LAZY_SHARE = 0.04  # of all rows; lazy steps pay where a minibatch touches fewer
MODE_STEPS = 10_000  # of the search for the centre of a control variate
HYPERPARAMETERS = ("conjugate", "log-scale")


class SGBPMFRecommender(RatingPredictionMixin, RegressorMixin, BaseSGMCMC):
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
        of a data frame are its index. Prior means of the rows are linear in it; labels
        without a row have zeros.
    rating_range : tuple of (float, float) or None, default=None
        Predictions are clipped to it; None is the range of the ratings in `fit`.
    sampler : str, sampler or None, default=None
        One of `skbayes_sg.kernels.samplers.SAMPLERS`. None is BAOAB with low friction
        for the full gradient; for minibatches `LeimkuhlerMatthews`, or `LazyLangevin`,
        whose cost does not grow with the number of users and items, where these are
        small.
    gradient : str or gradient estimator, default="auto"
        One of `skbayes_sg.kernels.gradients.GRADIENTS`, for instance "full",
        "minibatch" or "cv". "auto" is the full gradient for up to ten million ratings,
        minibatches beyond or if there is a `batch_size`.
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
    checkpoint : path, default=None
        Folder to which draws and chains are written every few seconds. The same fit
        with a folder that is there makes the warm-up again and goes on where a killed
        one ended, to the same draws. Needs an integer `random_state`.
    warm_start : bool, default=False
        Go on with the chains of the last fit, or from its last draws if the ratings
        have changed but not users and items. Keep the draws made so far on an
        interrupt.
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

    _default_sampler = WARM_UP_SAMPLER

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
        checkpoint=None,
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
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
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
            last = self._last_draws()
            users, items = self._label_columns(X, reset=True)
            if y is None:
                raise ValueError(
                    f"{type(self).__name__} requires y to be passed, but the target y "
                    "is None; it holds the ratings"
                )
            y = column_or_1d(y, warn=True, dtype=np.float64)
            assert_all_finite(y, input_name="y")
            check_magnitude("y", y, self.dtype, "measure it in larger units")
            check_consistent_length(users, y)
            weights = check_sample_weight(sample_weight, len(y))
            self.users_, users = encode(users)
            self.items_, items = encode(items)
            self.classes_ = np.unique(y)
            low, high = self.rating_range or (self.classes_[0], self.classes_[-1])
            self.rating_range_ = float(low), float(high)
            self.mean_rating_ = float(np.average(y, weights=weights))
            model = self._build_model(users, items, y, weights)
            if last is not None and not self._continues(*last, model):
                last = None
            try:
                self._sample_factors(model, sampler, None if last is None else last[2])
            except DivergenceError as error:
                raise DivergenceError(f"{error}{_far_out(y)}") from error
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

    def summary(self, *, prob=0.94, parameters=None):
        """Table of the posterior and of how well the chains explored it.

        Factors turn from draw to draw, and another way in every chain, so that their
        averages mean nothing and their chains never agree. By default only the noise
        is shown, which does not turn.

        Parameters
        ----------
        prob : float, default=0.94
            Probability of the highest density interval.
        parameters : list of str, default=None
            Names of the parameters to show, None for the precisions of the noise.

        Returns
        -------
        table : pandas.DataFrame
            One row per parameter: ``mean``, ``sd``, the bounds of the interval
            (``hdi_3%`` and ``hdi_97%`` by default), effective sample size ``ess``,
            ``rhat``, and the Monte Carlo error of the mean ``mcse``.
        """
        check_is_fitted(self)
        if parameters is None:
            names = self._parameter_names()
            noise = [name for name in names if name.startswith("noise")]
            fixed = not isinstance(self.noise_precision, str)
            parameters = noise[int(fixed) : len(noise) if self.noise_dof else 1]
            if not parameters:
                raise ValueError(
                    "parameters=None shows the noise, which was not learnt; name those "
                    f"to show, such as {names[self.n_factors]!r}"
                )
        return super().summary(prob=prob, parameters=parameters)

    def _check_parameters(self):
        """Validate the parameters; return the sampler."""
        sampler = self._check_sampling()
        check_integer("n_factors", self.n_factors, at_least=1)
        check_bool("biases", self.biases)
        check_option("dtype", self.dtype, ("float32", "float64"))
        if isinstance(self.noise_precision, str):
            check_option("noise_precision", self.noise_precision, ("learn",))
        else:
            check_precision("noise_precision", self.noise_precision, self.dtype)
        if self.noise_dof is not None:
            check_number("noise_dof", self.noise_dof, above=2)
        check_option("hyperparameters", self.hyperparameters, HYPERPARAMETERS)
        shape, rate = _check_pair("precision_prior", self.precision_prior)
        check_number("precision_prior", shape, above=0)
        if not isinstance(rate, str) or rate != "auto":
            check_number("precision_prior", rate, above=0)
        if self.rating_range is not None:
            low, high = _check_pair("rating_range", self.rating_range)
            real = isinstance(low, numbers.Real) and isinstance(high, numbers.Real)
            if not (real and low < high):
                raise ValueError(
                    f"rating_range={self.rating_range!r} is not allowed; it must be a "
                    "pair of increasing numbers, or None"
                )
        if self.hyperparameters == "log-scale" and isinstance(sampler, LazyLangevin):
            raise ValueError(
                "sampler=LazyLangevin() moves rows alone, which have a fixed prior "
                'between its draws; use hyperparameters="conjugate"'
            )
        if self.preconditioner == "dense":
            raise ValueError(
                "preconditioner='dense' is not for factors, of which there are too "
                'many; use "diagonal" or "none"'
            )
        if self.preconditioner == "none" and self.step_size == "auto":
            raise ValueError(
                "step_size='auto' is in the units of a preconditioner; with "
                'preconditioner="none" it must be a number'
            )
        return sampler

    def _label_columns(self, X, reset):
        """Return the columns of users and of items."""
        if sp.issparse(X):
            raise TypeError(
                "X is a sparse matrix; it must have a row (user, item) for each "
                "rating. fit_matrix takes a sparse matrix of ratings"
            )
        columns = label_columns(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return columns

    def _build_model(self, users, items, y, weights):
        """Return the model of ratings by the codes of users and items."""
        dtype, d = np.dtype(self.dtype), self.n_factors
        sizes = len(self.users_), len(self.items_)
        order = np.lexsort((items, users))  # ratings of a user side by side in memory
        pairs = np.stack([users, sizes[0] + items], axis=1)[order]
        weights = np.empty(0) if weights is None else weights[order]
        ones = np.ones(len(users), bool)
        seen = sp.csr_array((ones, (users, items)), sizes)
        self._seen = seen.indptr, seen.indices  # skops would not trust the matrix
        self._feature_tables = [
            feature_table("user_features", self.user_features, self.users_),
            feature_table("item_features", self.item_features, self.items_),
        ]
        Z = [self._features_of(0, self.users_), self._features_of(1, self.items_)]
        columns = sp.csc_array(sp.block_diag(Z), dtype=dtype)
        variance = _typical_variance(y)
        # Factors have the units of the square root of a rating, biases of a rating.
        units = np.array([math.sqrt(variance)] * d + [variance] * bool(self.biases))
        shape, rate = self.precision_prior
        rate = 0.1 * units if isinstance(rate, str) else np.full(units.size, rate)
        start = np.zeros((2, 2, units.size))
        start[:, 1] = 1.0 / (START_SD**2 * units)
        learns = isinstance(self.noise_precision, str)
        dof = float(self.noise_dof or 0.0)
        self._layout = d, units.size, Z[0].shape[1], dof
        return with_noise(
            MatrixFactorization(
                pairs=pairs.astype(np.int32),
                y=(y[order] - self.mean_rating_).astype(dtype),
                weights=weights.astype(dtype),
                n_users=sizes[0],
                n_items=sizes[1],
                n_factors=d,
                biases=self.biases,
                features=CSRRows(
                    columns.data,
                    columns.indices.astype(np.int32),
                    columns.indptr.astype(np.int64),
                    sum(sizes),
                ),
                n_user_features=Z[0].shape[1],
                prior=RowPrior(
                    start.astype(dtype),
                    shape,
                    rate.astype(dtype),
                    True,
                    self.hyperparameters == "log-scale",
                ),
                noise=RatingNoise(
                    2.0 / variance if learns else self.noise_precision,
                    variance,
                    learns,
                    dof,
                    np.ones(sum(sizes), dtype),
                ),
                refresh_every=1,
            )
        )

    def _sample_factors(self, model, sampler, draws):
        """Find the chains' region, choose what is "auto", run the chains.

        `draws` are where an earlier fit ended, or None.
        """
        entropy = check_random_state(self.random_state).randint(2**31, size=4)
        seeds = np.random.SeedSequence(entropy.tolist()).spawn(3)
        size = self._rating_batch_size(model.y.size)
        model = for_kernels(model._replace(refresh_every=_refresh_every(model, size)))
        sampler = self._rating_sampler(model, sampler, size)
        options = {"temperature": self.temperature, "n_jobs": self.n_jobs}
        if draws is None:
            rng = np.random.default_rng(seeds[0])
            draws = np.stack([random_start(model, rng) for _ in range(self.n_chains)])
        plain = self.preconditioner == "none"

        def region(share=1.0):
            if plain:
                where = row_geometry(model, draws)
                return draws, where._replace(coordinates=Identity())
            return warm_up(model, draws, seeds[1], share, progress=tasks.bar, **options)

        def attempt(share=1.0, found=None):
            draws, where = region(share) if found is None else found
            near = model if plain else for_kernels(continued(model, draws))
            gradient = self._rating_gradient(near, size, theta_of(near, draws[0]))
            h, limit = self.step_size, stable_step(sampler)
            if h == "auto":
                h = share * automatic_row_step(
                    near, sampler, gradient, where, self.temperature
                )
            burn_in, thin = automatic_row_lengths(sampler, h)
            run = Run(
                key=self._key(model, sampler),
                where=where,
                gradient=gradient,
                noise=None,
                step_size=h,
                burn_in=burn_in if self.burn_in == "auto" else self.burn_in,
                thin=thin if self.thin == "auto" else self.thin,
                limit=None
                if plain
                else limit / where.largest ** curvature_exponent(sampler),
            )
            start = np.stack([theta_of(near, draw) for draw in draws])
            folder = round(-math.log2(share))
            run.draw(self, near, sampler, tasks, seeds[2], start, folder)
            check_fit(near, run.draws[:, -1:], h)
            return run

        with FitTasks(self) as tasks:
            run = self._last_run(model, sampler)
            if run is not None:
                run.draw(self, model, sampler, tasks, seeds[2])
            elif self.step_size == "auto":
                run = with_retries(attempt)
            else:
                run = attempt(found=with_retries(region))
        self._model = model
        self.samples_, self.step_size_ = run.draws, run.step_size
        self.batch_size_ = getattr(run.gradient, "batch_size", model.y.size)
        self.burn_in_, self.thin_, self.n_iter_ = run.burn_in, run.thin, run.info.n_iter
        self.draw_weights_ = run.info.step_sizes / run.info.step_sizes.sum()
        self.sampler_stats_ = run.info.stats
        goes_on = self.warm_start and run.info.chains is not None
        self._run = run if goes_on else None

    def _rating_batch_size(self, n):
        """Return the ratings per gradient of the simple estimator."""
        size = self.batch_size
        if size == "auto":
            size = getattr(self.gradient, "batch_size", "auto")
        if size != "auto":
            if size > n:
                raise ValueError(
                    f"batch_size={size} is larger than n_samples={n}; "
                    'use at most n_samples, or "auto"'
                )
            return size
        exact = self.gradient == "full" or isinstance(self.gradient, Full)
        if exact or (self.gradient == "auto" and n <= MAX_FULL):
            return n
        return min(n, max(1000, n // 10))

    def _rating_sampler(self, model, sampler, size):
        """Return the sampler, for minibatches if it is the default one."""
        n = model.n_users + model.n_items
        if self.sampler is None and size < model.y.size:
            few = 2 * size < LAZY_SHARE * n and not model.prior.on_log_scale
            sampler = LazyLangevin() if few else LeimkuhlerMatthews()
        if isinstance(sampler, LazyLangevin):
            sampler = sampler._replace(width=self._layout[1])
        return sampler

    def _rating_gradient(self, model, size, near):
        """Return the gradient estimator; a control variate is centred close by."""
        gradient = self.gradient
        if gradient == "auto":
            return Minibatch(size) if size < model.y.size else Full()
        if isinstance(gradient, str):
            kind = GRADIENTS[gradient]
            gradient = kind(size) if "batch_size" in kind._fields else kind()
        if "mode" in gradient._fields and gradient.mode is None:
            mode = find_mode(model, near, n_iter=MODE_STEPS, random_state=0)
            gradient = gradient._replace(mode=mode)
        return gradient

    def _last_draws(self):
        """Return labels and last draws if this fit is to go on from the last."""
        if self.warm_start and hasattr(self, "samples_"):
            return self.users_, self.items_, self.samples_[:, -1]
        return None

    def _continues(self, users, items, draws, model):
        """Whether draws of an earlier fit are of the same unknowns as these."""
        return (
            np.array_equal(users, self.users_)
            and np.array_equal(items, self.items_)
            and draws.shape == (self.n_chains, n_recorded(model))
        )

    def _parameter_names(self):
        d, q, p, _ = self._layout
        sides = ("U", "V"), (self.users_.tolist(), self.items_.tolist())
        entries = [*range(d), *["bias"] * (q - d)]
        names = [
            f"{letter}[{label},{f}]"
            for letter, labels in zip(*sides, strict=True)
            for label in labels
            for f in entries
        ]
        kinds = ("mean", "precision")
        names += [f"{k} of {z}[{f}]" for z in sides[0] for k in kinds for f in entries]
        names += ["noise precision"]
        names += [
            f"noise of {letter}[{label}]"
            for letter, labels in zip(*sides, strict=True)
            for label in labels
        ]
        n_links = (self.samples_.shape[-1] - len(names)) // q
        for g in range(n_links):
            side, k = ("U", g) if g < p else ("V", g - p)
            names += [f"feature {k} of {side}[{f}]" for f in entries]
        return names


def _check_pair(name, value):
    """Return `value` if it is a pair."""
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise ValueError(f"{name}={value!r} is not allowed; it must be a pair")
    return value


def _typical_variance(y):
    """Return the variance of the ratings, the outermost hundredths drawn in."""
    low = np.quantile(y, OUTER_SHARE, method="lower")
    high = np.quantile(y, 1.0 - OUTER_SHARE, method="higher")
    return float(np.var(np.clip(y, low, high)) or np.var(y)) or 1.0


def _far_out(y):
    """Return a sentence on a rating that may be none, or nothing."""
    center, sd = np.median(y), math.sqrt(_typical_variance(y))
    worst = y[np.argmax(np.abs(y - center))]
    if abs(worst - center) <= FAR_OUT * sd:
        return ""
    return (
        f". y holds {worst:g}, {abs(worst - center) / sd:.0f} standard deviations of "
        "the other ratings from their median: correct it or leave it out if it is none"
    )


def _refresh_every(model, batch_size):
    """Return how often to draw the noise: its pass over all ratings is kept cheap."""
    return max(4, math.ceil(1.5 * model.y.size / batch_size))
