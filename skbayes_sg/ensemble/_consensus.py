"""Consensus Monte Carlo: shards of the data are sampled separately and merged."""

import os
from collections.abc import Iterable
from typing import Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from skbayes_sg.base._saving import VersionedMixin
from skbayes_sg.inference.consensus import merge_draws, merge_moments
from skbayes_sg.inference.control import Control
from skbayes_sg.linear_model._logistic import (
    SGLDLogisticRegression,
    SGMCMCLogisticRegression,
)
from skbayes_sg.utils._design import with_valid_indices
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import (
    all_or_nothing,
    check_integer,
    check_n_jobs,
    check_option,
    check_path,
    check_sample_weight,
)


def _of_merged(name):
    """Return a property: the attribute `name` of the merged estimator."""
    doc = f"`{name}` of `estimator_`."
    return property(lambda self: getattr(self.estimator_, name), doc=doc)


class ConsensusClassifier(ClassifierMixin, VersionedMixin, BaseEstimator):
    """Classifier for data split over machines, by consensus Monte Carlo.

    Every shard of the data is sampled separately, with the prior's density raised to
    the power of one over the number of shards. The posterior is proportional to the
    product of the posteriors of the shards. Draws are averaged over shards, weighted by
    the inverse of their covariance in each shard [1]_. This is exact if the posteriors
    of the shards are Gaussian, and accurate if they are nearly so: every shard should
    have at least a hundred rows per parameter.

    Parameters
    ----------
    estimator : estimator, default=None
        A logistic regression of this package, :class:`SGLDLogisticRegression` by
        default. Its `prior_variance` is that of the full posterior; its `schedule` must
        be constant. With its ``keep="moments"`` only means and covariances of the
        shards are merged, and no draws are transferred. Scale the columns beforehand,
        not in each shard.
    n_shards : int, default=4
        Number of shards into which `fit` splits the rows if it gets no `groups`, at
        random with equal proportions of the classes.
    weighting : {"auto", "dense", "diagonal"}, default="auto"
        Whether to weight by precision matrices of the shards' draws or only by their
        diagonals. "auto" is dense if a shard has ten draws per parameter.
    n_jobs : int, default=None
        Number of shards sampled at the same time, on any backend of joblib: threads by
        default, a cluster with ``joblib.parallel_config("dask")``. The draws do not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the split and of the chains. A `random_state` of `estimator` is not
        used.

    Attributes
    ----------
    estimator_ : estimator
        A copy of `estimator` with the merged draws. All its methods work, except `ksd`
        and `check`, which need the data.
    estimators_ : list of estimator
        The fitted estimator of each shard, in order.
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Merged draws, if `estimator` keeps draws.
    coef_, intercept_, coef_std_, intercept_std_ : ndarray
        Posterior means and standard deviations, as in `estimator`.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X has string column names.

    References
    ----------
    .. [1] S. L. Scott, A. W. Blocker, F. V. Bonassi, H. A. Chipman, E. I. George and
       R. E. McCulloch, "Bayes and big data: the consensus Monte Carlo algorithm",
       International Journal of Management Science and Engineering Management 11,
       2016.

    Examples
    --------
    >>> from skbayes_sg import ConsensusClassifier, SGLDLogisticRegression
    >>> from skbayes_sg.datasets import make_logistic
    >>> X, y = make_logistic(8000, 3, coef_scales=(1.0,), random_state=0)
    >>> model = ConsensusClassifier(n_shards=4, random_state=0).fit(X, y)
    >>> whole = SGLDLogisticRegression(random_state=0).fit(X, y)
    >>> (abs(model.coef_ - whole.coef_) < 0.2 * whole.coef_std_).all()
    np.True_
    """

    def __init__(
        self,
        estimator=None,
        *,
        n_shards=4,
        weighting="auto",
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.n_shards = n_shards
        self.weighting = weighting
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Split the rows, sample every shard and merge the draws.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.
        groups : array-like of shape (n_samples,), default=None
            Label of the shard of each row, instead of a random split.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        estimator = self._check_parameters()
        with all_or_nothing(self):
            X, y = validate_data(
                self,
                with_valid_indices(X),
                y,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                accept_large_sparse=False,
            )
            check_classification_targets(y)
            weights = check_sample_weight(sample_weight, len(y))
            rng = check_random_state(self.random_state)
            codes = self._groups(y, groups, rng)
            rows = [np.flatnonzero(codes == k) for k in range(codes.max() + 1)]
            shards = (
                (X[i], y[i], None if weights is None else weights[i]) for i in rows
            )
            self._fit_shards(estimator, shards, len(rows), rng)
        return self

    def fit_shards(self, shards: Iterable) -> Self:
        """Sample data that are already split into shards, and merge the draws.

        Parameters
        ----------
        shards : sequence
            For each shard, either ``(X, y)`` or ``(X, y, sample_weight)``, or a
            function without arguments that returns one of these. The function is called
            where the shard is sampled, so that every machine can read its own files.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from skbayes_sg import ConsensusClassifier
        >>> from skbayes_sg.datasets import make_logistic
        >>> X, y = make_logistic(3000, 3, random_state=0)
        >>> shards = [(X[k::3], y[k::3]) for k in range(3)]  # or functions that read
        >>> ConsensusClassifier(random_state=0).fit_shards(shards).coef_.shape
        (1, 3)
        """
        estimator, shards = self._check_parameters(), list(shards)
        if not shards:
            raise ValueError("shards=[] is empty; give at least one (X, y) or function")
        with all_or_nothing(self):
            rng = check_random_state(self.random_state)
            for name in ("n_features_in_", "feature_names_in_"):
                vars(self).pop(name, None)  # of an earlier fit
            self._fit_shards(estimator, shards, len(shards), rng)
        return self

    def _check_parameters(self):
        check_integer("n_shards", self.n_shards, at_least=1)
        check_option("weighting", self.weighting, ("auto", "dense", "diagonal"))
        check_n_jobs(self.n_jobs)
        estimator = self._estimator()
        if not isinstance(estimator, SGMCMCLogisticRegression):
            raise TypeError(
                f"estimator={estimator!r} cannot be merged; it must be a logistic "
                "regression of skbayes_sg. Other steps of a pipeline go before the "
                "ConsensusClassifier"
            )
        estimator._check_parameters()
        if estimator.schedule != "constant":
            raise ValueError(
                f"estimator__schedule={estimator.schedule!r} weights draws unequally; "
                'it must be "constant"'
            )
        self._check_prior(estimator)
        check_path("checkpoint", estimator.checkpoint)
        if estimator.checkpoint is not None:
            check_integer("random_state", self.random_state, at_least=0)
        return estimator

    def _check_prior(self, estimator):
        """Raise a ValueError unless each shard can have a share of the prior."""
        if estimator.prior != "normal" or isinstance(estimator.prior_variance, str):
            raise ValueError(
                f"estimator__prior={estimator.prior!r} and estimator__prior_variance="
                f"{estimator.prior_variance!r} have no share for each shard; use "
                '"normal" and a number'
            )
        if estimator.positive or estimator.bounds is not None:
            raise ValueError(
                "estimator__bounds and estimator__positive are not for shards, whose "
                "merged draws may leave all bounds; use bounds=None and positive=False"
            )

    def _estimator(self):
        return SGLDLogisticRegression() if self.estimator is None else self.estimator

    def _groups(self, y, groups, rng):
        """Return the number of each row's shard, (n_samples,)."""
        if groups is not None:
            check_consistent_length(y, groups)
            return np.unique(column_or_1d(groups), return_inverse=True)[1]
        classes, counts = np.unique(y, return_counts=True)
        if counts.min() < self.n_shards:
            label = classes[np.argmin(counts)]
            raise ValueError(
                f"n_shards={self.n_shards} is more than the {counts.min()} sample(s) "
                f"of class {label!r}; every shard needs all classes, so use fewer"
            )
        # Rows are shuffled, sorted by class and assigned to the shards in turn.
        order = rng.permutation(len(y))
        order = order[np.argsort(y[order], kind="stable")]
        codes = np.empty(len(y), np.intp)
        codes[order] = np.arange(len(y)) % self.n_shards
        return codes

    def _fit_shards(self, estimator, shards, n_shards, rng):
        vars(self).pop("classes_", None)
        seeds = rng.randint(2**31, size=n_shards)
        estimators = [_with_share(estimator, n_shards, seed) for seed in seeds]
        control = Control()
        with control.all_or_none():
            fitted = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(_fit_shard)(*part, number, control)
                for number, part in enumerate(zip(estimators, shards, strict=True))
            )
        _check_agreement(fitted)
        merged, whole = clone(estimator), vars(self)
        if estimator.keep == "draws":
            draws = [shard.samples_ for shard in fitted]
            merged.samples_ = merge_draws(draws, self.weighting)
            merged.draw_weights_ = fitted[0].draw_weights_
        else:
            moments = [shard.moments_ for shard in fitted]
            merged.moments_ = merge_moments(moments, self.weighting)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(fitted[0], name):
                whole.setdefault(name, getattr(fitted[0], name))
            if name in whole:
                setattr(merged, name, whole[name])
        merged._set_moments(fitted[0]._n_outputs)
        self.estimators_, self.estimator_ = fitted, merged

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return the most probable class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return class probabilities, averaged over the merged posterior.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def predict_proba_samples(self, X: MatrixLike) -> np.ndarray:
        """Return the class probabilities under every merged draw.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        proba : ndarray of shape (n_chains, n_draws, n_samples, n_classes)
            Probabilities in the order of `classes_`.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba_samples(X)

    samples_, coef_, intercept_, coef_std_, intercept_std_ = map(
        _of_merged,
        ("samples_", "coef_", "intercept_", "coef_std_", "intercept_std_"),
    )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._estimator()).input_tags
        return tags


def _with_share(estimator, n_shards, seed):
    """Return a clone whose prior is that of `estimator` to the power 1/n_shards."""
    wider = {"prior_variance": n_shards * np.asarray(estimator.prior_variance)}
    if estimator.intercept_variance != "auto":  # which is so wide that it has no effect
        wider["intercept_variance"] = n_shards * estimator.intercept_variance
    return clone(estimator).set_params(**wider, random_state=int(seed))


def _fit_shard(estimator, shard, number, control):
    """Return the estimator fitted to one shard, without references to its data."""
    if estimator.checkpoint is not None:
        folder = os.path.join(estimator.checkpoint, f"shard-{number}")
        estimator.set_params(checkpoint=folder)
    try:
        # The chains run in threads, so that the data are not copied.
        with joblib.parallel_config("threading"), control.task(number):
            estimator.fit(*(shard() if callable(shard) else shard))
    except Exception as error:
        error.add_note(f"This was shard {number}.")
        raise
    for name in [name for name in vars(estimator) if name.startswith("_")]:
        delattr(estimator, name)
    return estimator


def _check_agreement(fitted):
    """Raise a ValueError unless all shards have the same classes and columns."""
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        first, *others = (getattr(shard, name, None) for shard in fitted)
        for number, other in enumerate(others, start=1):
            if not np.array_equal(first, other):
                raise ValueError(
                    f"shards disagree: {name} is {first!r} in shard 0 and {other!r} in "
                    f"shard {number}; every shard needs the same"
                )
