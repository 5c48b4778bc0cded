"""Bayesian matrix factorization for ratings."""

from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.base._sampling import BaseSGMCMC
from skbayes_sg.decomposition._rating_checks import (
    check_ratings,
    check_recommender,
    far_out,
)
from skbayes_sg.decomposition._rating_context import learn_context, read_context
from skbayes_sg.decomposition._rating_memory import check_memory, kept_draws
from skbayes_sg.decomposition._rating_model import (
    Layout,
    build_model,
    choices,
    in_order,
    row_width,
)
from skbayes_sg.decomposition._rating_pickles import brought_up_to_date
from skbayes_sg.decomposition._rating_predictions import RatingPredictionMixin
from skbayes_sg.decomposition._rating_sets import use_sets
from skbayes_sg.decomposition._rating_summary import RatingSummaryMixin
from skbayes_sg.decomposition._rating_updates import RatingUpdateMixin
from skbayes_sg.decomposition._recommendations import RecommendationMixin
from skbayes_sg.inference.divergence import DivergenceError
from skbayes_sg.inference.exploration.matrix_factorization import (
    WARM_UP_SAMPLER,
    automatic_sampler,
)
from skbayes_sg.inference.rating_levels import fit_levels
from skbayes_sg.utils._labels import encode, feature_table, label_columns
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import all_or_nothing

MAX_LEVELS = 256  # of ratings that have levels
MIN_VALUES = 20  # distinct ratings up to which all are levels


class SGBPMFRecommender(
    RatingPredictionMixin,
    RecommendationMixin,
    RatingUpdateMixin,
    RatingSummaryMixin,
    RegressorMixin,
    BaseSGMCMC,
):
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
    context : sequence or None, default=None
        How to read the columns of X after user and item, such as the time or the device
        of a rating, an entry for each: "labels", "numbers", or the width of bins, in
        seconds for times. Each label has factors and a bias of its own, and a number is
        standardized and multiplies those of its column. None reads floats as numbers,
        times as days, and all others as labels.
    implicit_sets : bool or "auto", default="auto"
        Whether the set of items that a user rated is a feature of the user, and the set
        of its users one of an item, beside other features. "auto" tries both on
        held-out ratings of the fit, if there are 5,000 to 2,000,000 of them and the
        draws take less than 1 GB, and is False otherwise.
    feedback : {"ratings", "implicit"}, default="ratings"
        "implicit" is for choices without ratings, such as clicks: every pair of a user
        and an item is an outcome, 1 for the pairs in X and 0 for all others, and
        `recommend` ranks by what a user is likely to choose next. y is ignored and may
        be None; `sample_weight` may hold confidences. There are no biases, noise
        factors and sets.
    unobserved_weight : float, default=1.0
        Factor of the log-likelihood of each pair that is not in X, with implicit
        feedback.
    rating_range : tuple of (float, float) or None, default=None
        Predictions are clipped to it; None is the range of the ratings in `fit`.
    sampler : str, sampler or None, default=None
        One of `skbayes_sg.kernels.samplers.SAMPLERS`. None is BAOAB with low friction
        for the full gradient; for minibatches `LeimkuhlerMatthews`, or `LazyLangevin`,
        whose cost does not grow with the number of users and items, where these are
        small.
    gradient : str or gradient estimator, default="auto"
        One of `skbayes_sg.kernels.gradients.GRADIENTS`, for instance "full",
        "minibatch" or "cv". "auto" is the full gradient, or minibatches if there is a
        `batch_size`.
    batch_size : int or "auto"
        Ratings per gradient estimate; "auto" is a tenth of all.
    preconditioner : {"auto", "diagonal", "none"}
        "diagonal", the default: a row moves in units that shrink with the number of its
        ratings.
    n_draws : int or "auto"
        Draws kept of each chain. "auto" is 100, or as few as take 256 MB, but at least
        20.
    storage_dtype : {"auto", "float16", "float32", "float64"} or None
        Type in which draws are kept. "auto" is float16 if they took more than 256 MB
        otherwise, which leaves predictions as they are to within 0.001 standard
        deviations of the ratings; None is that of the computations.
    checkpoint : path or None
        Folder to which draws and chains are written every few seconds. The same fit
        with a folder that is there repeats the warm-up and continues where a killed one
        ended, to the same draws. Needs an integer `random_state`.
    warm_start : bool
        Continue the chains of the last fit, or start from its last draws if the ratings
        have changed; rows of new users and items are folded in, see `partial_fit`. Keep
        the draws made so far on an interrupt.

    Attributes
    ----------
    users_, items_ : ndarray of shape (n_users,) and (n_items,)
        Labels of the users and the items.
    classes_ : ndarray of shape (n_levels,)
        The rating levels, in order.
    cut_points_ : ndarray of shape (n_levels - 1,) or None
        Where the levels of `predict_proba` meet; None if the ratings have no levels.
    mean_rating_ : float
        Mean of the ratings, to which all predictions are relative.
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Posterior draws: factors and bias of each user, then of each item, then of
        further columns; mean and precision of the rows of each; the noise precision and
        its factors of users and items, with 1 for further columns; the weights of user
        features and of the members of their sets, then those of items. In float16 if
        `storage_dtype` says so.
    context_labels_ : list of ndarray
        Labels of each further column of X, bins included; a 0 for numbers.
    has_implicit_sets_ : bool
        Whether sets are among the features.
    n_features_in_ : int
        Number of columns: the user, the item, and further ones.
    feature_names_in_ : ndarray of shape (n_columns,)
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
    _automatic = ("n_draws",)

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
        context=None,
        implicit_sets="auto",
        feedback="ratings",
        unobserved_weight=1.0,
        rating_range=None,
        sampler=None,
        gradient="auto",
        step_size="auto",
        batch_size="auto",
        preconditioner="auto",
        n_draws="auto",
        burn_in="auto",
        thin="auto",
        n_chains=2,
        schedule="constant",
        temperature=1.0,
        noise_correction=False,
        dtype="float32",
        storage=None,
        storage_dtype="auto",
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
        self.context = context
        self.implicit_sets = implicit_sets
        self.feedback = feedback
        self.unobserved_weight = unobserved_weight
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
        self.storage_dtype = storage_dtype
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Draw from the posterior of the factors.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            User and item of each rating, labels of any hashable type, and further
            columns that say when or how it was made, see `context`.
        y : array-like of shape (n_samples,)
            Ratings; ignored with implicit feedback.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the ratings' log-likelihoods.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        sampler = self._check_sampling()
        check_memory(self)
        check_recommender(self, sampler)
        with all_or_nothing(self):
            columns = self._label_columns(X, reset=True)
            y, weights = check_ratings(self, columns, y, sample_weight)
            context = learn_context(columns[2:], self.context)
            columns, values = self._read(columns, context)
            labels, codes = zip(*map(encode, columns), strict=True)
            sizes = [len(own) for own in labels]
            ratings = in_order(codes, y, weights, values, sizes)
            ratings = choices(ratings) if self.feedback == "implicit" else ratings
            start = self._earlier_draws(labels, ratings)
            self._set_labels(labels)
            self._context = context
            self._set_scale(ratings)
            model = self._build_model(ratings)
            self._decided = kept_draws(self, model, ratings.y)
            if self.sampler is None:
                sampler = automatic_sampler(model, self._settings)
            try:
                fit = self._sample_posterior(model, sampler, start)
            except DivergenceError as error:
                raise DivergenceError(f"{error}{far_out(y)}") from error
            self._set_levels()
        return self._finished(fit)

    def fit_matrix(
        self, R: MatrixLike, sample_weight: MatrixLike | None = None
    ) -> Self:
        """Draw from the posterior of the factors, given a sparse matrix of ratings.

        Parameters
        ----------
        R : sparse matrix of shape (n_users, n_items)
            Ratings; entries that are not stored are unknown, stored zeros are ratings.
            The labels of users and items are their numbers.
        sample_weight : sparse matrix or array-like, default=None
            Factors of the ratings' log-likelihoods: a sparse matrix of the shape of `R`
            with an entry for each rating, or an array in the order of
            ``scipy.sparse.coo_array(R).data``.

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
        weights, R = sample_weight, sp.coo_array(R)
        if sp.issparse(weights):
            if weights.shape != R.shape:
                raise ValueError(
                    f"sample_weight has the shape {weights.shape}, and R {R.shape}; "
                    "they must be the same"
                )
            weights = sp.csr_array(weights)[R.row, R.col]
        return self.fit(np.stack([R.row, R.col], axis=1), R.data, weights)

    def _label_columns(self, X, reset):
        """Return the columns of users, of items and of what else X holds."""
        if sp.issparse(X):
            raise TypeError(
                "X is a sparse matrix; it must have a row (user, item) for each "
                "rating. fit_matrix takes a sparse matrix of ratings"
            )
        is_frame, is_array = hasattr(X, "columns"), hasattr(X, "__array__")
        # A list of pairs has no names to miss.
        if not reset and (is_frame or (is_array and np.asarray(X).ndim == 2)):
            validate_data(self, X, reset=False, skip_check_array=True)
        columns = label_columns(X)
        if reset:
            validate_data(self, X, skip_check_array=True)
        elif len(columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns)} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features as input"
            )
        return columns

    def _read(self, columns, context):
        """Return columns of labels, and factors of those after user and item."""
        labels, values = read_context(context, columns[2:])
        values = np.zeros((len(columns[0]), 0)) if values is None else values
        return [*columns[:2], *labels], values

    @property
    def _labels(self):
        """Labels of users, of items and of each further column."""
        return [self.users_, self.items_, *self.context_labels_]

    def _set_labels(self, labels):
        self.users_, self.items_, *self.context_labels_ = labels

    def __setstate__(self, state):
        super().__setstate__(brought_up_to_date(state))

    def _set_scale(self, ratings):
        """Set levels, range and mean of the ratings."""
        if self.feedback == "implicit":
            self.classes_, self.mean_rating_ = np.array([0.0, 1.0]), 0.0
            self.rating_range_ = -np.inf, np.inf
            return
        self.classes_ = np.unique(ratings.y)
        low, high = self.rating_range or (self.classes_[0], self.classes_[-1])
        self.rating_range_ = float(low), float(high)
        self.mean_rating_ = float(np.average(ratings.y, weights=ratings.weights))

    def _set_levels(self):
        """Set what turns predictions into probabilities of levels, if there are any."""
        self._levels = self.cut_points_ = None
        n, n_levels = len(self._ratings.y), len(self.classes_)
        is_continuous = n_levels > MAX_LEVELS or 2 * max(n_levels, MIN_VALUES) > n
        if self.feedback == "ratings" and (n_levels <= MIN_VALUES or not is_continuous):
            ratings = self._ratings
            y = ratings.y - self.mean_rating_
            self._levels = fit_levels(self._factors(), ratings, y, self.classes_)
            self.cut_points_ = self.mean_rating_ + self._levels.cuts

    def _build_model(self, ratings):
        """Set what does not depend on draws; return the model of the ratings."""
        self._ratings = ratings
        labels = self.users_, self.items_
        self._feature_tables = [
            feature_table("user_features", self.user_features, self.users_),
            feature_table("item_features", self.item_features, self.items_),
        ]
        features = [self._features_of(side, labels[side]) for side in (0, 1)]
        self.has_implicit_sets_ = use_sets(self, ratings, features)
        self._layout = Layout(
            self.n_factors,
            row_width(self),
            tuple(Z.shape[1] for Z in features),
            self.has_implicit_sets_,
            float(self.noise_dof or 0.0) if self.feedback == "ratings" else 0.0,
            ratings.sizes[2:],
        )
        features = self._all_features(labels, ratings)
        return build_model(self, ratings, features, self.mean_rating_)

    def _earlier_draws(self, labels, ratings):
        """Return the last draws of an earlier fit, fold-in of new labels included."""
        last = self._last_draws()
        if last is None:
            return None
        known, same_rows = self._labels, (self.n_factors, row_width(self))
        if len(labels) == len(known) and all(map(np.array_equal, labels, known)):
            return last
        if self._layout[:2] != same_rows or len(labels) != len(known):
            vars(self).pop("samples_")  # of other unknowns
            return None
        return self._carried_over(last[:, None], labels, ratings)[:, 0]
