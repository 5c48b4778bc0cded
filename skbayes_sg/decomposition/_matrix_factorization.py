"""Bayesian matrix factorization for ratings."""

import math
import numbers
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import (
    assert_all_finite,
    check_is_fitted,
    validate_data,
)

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.base._sampling import BaseSGMCMC, likelihood_weights
from skbayes_sg.decomposition._rating_predictions import RatingPredictionMixin
from skbayes_sg.inference.divergence import DivergenceError
from skbayes_sg.inference.exploration.matrix_factorization import (
    WARM_UP_SAMPLER,
    automatic_sampler,
    with_noise,
)
from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.kernels.models import (
    LogScaleFactorization,
    MatrixFactorization,
    RatingNoise,
    RowPrior,
)
from skbayes_sg.kernels.samplers import LazyLangevin
from skbayes_sg.utils._labels import encode, feature_table, label_columns
from skbayes_sg.utils._typing import MatrixLike
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

if TYPE_CHECKING:
    import pandas as pd


OUTER_SHARE = 0.01  # of the ratings on each side, whose distances may mean nothing
FAR_OUT = 10.0  # sds from the others, of a rating that an error names
START_SD = 0.3  # of factors, in units of the square root of the ratings' sd
HYPERPARAMETERS = ("conjugate", "log-scale")


class SGBPMFRecommender(RatingPredictionMixin, RegressorMixin, BaseSGMCMC):
    """Recommender by Bayesian probabilistic matrix factorization.

    A rating of item j by user i has mean ``U_i . V_j`` plus a bias of each. Rows of
    factors have Gaussian priors whose means and precisions are learned, and so is the
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
    batch_size : int or "auto"
        Ratings per gradient estimate; "auto" is a tenth of all.
    preconditioner : {"auto", "diagonal", "none"}
        "diagonal", the default: a row moves in units that shrink with the number of its
        ratings.
    checkpoint : path or None
        Folder to which draws and chains are written every few seconds. The same fit
        with a folder that is there repeats the warm-up and continues where a killed one
        ended, to the same draws. Needs an integer `random_state`.
    warm_start : bool
        Continue the chains of the last fit, or start from its last draws if the ratings
        have changed but not users and items. Keep the draws made so far on an
        interrupt.

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
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
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
            labels = [vars(self).get(name) for name in ("users_", "items_")]
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
            if not all(map(np.array_equal, labels, (self.users_, self.items_))):
                vars(self).pop("samples_", None)  # of other unknowns
            self.classes_ = np.unique(y)
            low, high = self.rating_range or (self.classes_[0], self.classes_[-1])
            self.rating_range_ = float(low), float(high)
            self.mean_rating_ = float(np.average(y, weights=weights))
            model = self._build_model(users, items, y, weights)
            if self.sampler is None:
                sampler = automatic_sampler(model, self._settings)
            try:
                fit = self._sample_posterior(model, sampler)
            except DivergenceError as error:
                raise DivergenceError(f"{error}{_far_out(y)}") from error
        return self._finished(fit)

    def fit_matrix(self, R: MatrixLike) -> Self:
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

    def summary(
        self, *, prob: float = 0.94, parameters: Iterable[str] | None = None
    ) -> "pd.DataFrame":
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
                    "parameters=None shows the noise, which was not learned; name "
                    f"those to show, such as {names[self.n_factors]!r}"
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
        if weights is not None:
            weights = weights[order]
        weights = likelihood_weights(weights, self.temperature, len(order))
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
        kind = MatrixFactorization
        if self.hyperparameters == "log-scale":
            kind = LogScaleFactorization
        return with_noise(
            kind(
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
                prior=RowPrior(start.astype(dtype), shape, rate.astype(dtype), True),
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
