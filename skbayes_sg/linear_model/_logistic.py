"""Bayesian logistic regression."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.base._classes import ClassesMixin, class_weights
from skbayes_sg.base._sampling import BaseSGMCMC, likelihood_weights
from skbayes_sg.base._streaming import StreamingMixin, takes_batches
from skbayes_sg.inference.predictors import normal_points, predictor_moments
from skbayes_sg.kernels.likelihoods import Bernoulli, Categorical
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.samplers import (
    BADODAB,
    BAOAB,
    SGHMC,
    SGLD,
    SGNHT,
    LeimkuhlerMatthews,
)
from skbayes_sg.utils._design import design_rows
from skbayes_sg.utils._validation import all_or_nothing, check_bool, check_number

DRAWS_AT_ONCE = 256  # draws whose predictions are held in memory together
ROWS_AT_ONCE = 8192  # rows of them, where only their average is wanted


class SGMCMCLogisticRegression(
    ClassesMixin, ClassifierMixin, StreamingMixin, BaseSGMCMC
):
    """Logistic regression by stochastic-gradient MCMC, with any sampler.

    Every coefficient, the intercept included, has the prior N(0, `prior_variance`).
    Predictions average over draws from the posterior. Nothing has to be tuned: by
    default the posterior mode is found first, the chains run with control variates in
    coordinates whitened by the curvature there, and the step size and the minibatch
    size follow from the curvature and the measured gradient noise.

    Parameters
    ----------
    step_size : float or "auto"
        Step size h: a step drifts by h/2 and adds noise of variance h, in the units of
        the preconditioner (posterior standard deviations for "dense"). `fit` warns of
        one above the limit of stability.
    gradient : str or gradient estimator
        One of `skbayes_sg.kernels.gradients.GRADIENTS`, for instance "full",
        "minibatch" or "cv". "auto" is linear control variates on preferential
        minibatches ("weighted-cv" for skewed posteriors), or the full gradient where
        that is cheaper.
    preconditioner : {"auto", "dense", "diagonal", "none"}
        Coordinates of the sampler, from the Hessian at the mode; "auto" is dense up to
        1,024 parameters, diagonal beyond.
    prior_variance : float
        Variance of the Gaussian prior of each coefficient and intercept.
    fit_intercept : bool
        Whether the model has an intercept.
    class_weight : dict, "balanced" or None
        Weights of the classes in the likelihood.

    Attributes
    ----------
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Posterior draws. For each output, coefficients then intercept.
    moments_ : Moments
        With ``keep="moments"`` or "variances", in place of `samples_`: ``mean`` and
        ``covariance`` of each chain's draws.
    covariance_ : ndarray of shape (dim, dim) or (dim,)
        Then, too: posterior covariance, or its diagonal, of what `samples_` would hold.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Posterior means of the coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Posterior means of the intercepts.
    coef_std_, intercept_std_ : ndarray
        Posterior standard deviations, shaped as the means.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_samples_seen_ : int
        Rows of `fit`, or of all calls of `partial_fit`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skbayes_sg import SGMCMCLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(
    ...     StandardScaler(), SGMCMCLogisticRegression(n_draws=200, random_state=0)
    ... )
    >>> model.fit(X, y).score(X, y) > 0.97
    True
    """

    def __init__(
        self,
        *,
        step_size="auto",
        gradient="auto",
        batch_size="auto",
        preconditioner="auto",
        n_draws=1000,
        burn_in="auto",
        thin="auto",
        n_chains=4,
        schedule="constant",
        temperature=1.0,
        noise_correction=False,
        prior_variance=10.0,
        fit_intercept=True,
        class_weight=None,
        sampler=None,
        storage=None,
        keep="draws",
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.step_size = step_size
        self.gradient = gradient
        self.batch_size = batch_size
        self.preconditioner = preconditioner
        self.n_draws = n_draws
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.schedule = schedule
        self.temperature = temperature
        self.noise_correction = noise_correction
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.sampler = sampler
        self.storage = storage
        self.keep = keep
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Draw from the posterior of the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        sampler = self._check_parameters()
        with all_or_nothing(self):
            X, y = self._validate(X, y)
            classes = self._all_classes(y)
            fit = self._sample_posterior(
                self._build(X, y, classes, sample_weight), sampler
            )
            self.n_samples_seen_, self.classes_ = len(y), classes
            self._set_moments()
        return self._finished(fit)

    @available_if(takes_batches)
    def partial_fit(
        self, X, y, classes=None, sample_weight=None, *, total_samples=None
    ):
        """Advance the chains, with these rows as the minibatch.

        The rows of a call stand for all rows seen so far, or for `total_samples`, and
        their gradient is scaled up to that number. Each call makes `thin` iterations,
        one if it is "auto", and keeps one draw of each chain; `samples_` holds those of
        the last `n_draws` calls. Batches must be random samples of the data, so shuffle
        first. As with all simple minibatches an automatic step is small, and the chains
        need many calls to forget where they began: several times ``2 / step_size_``.
        Where the data fit into memory or a memory map, `fit` needs far less.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A batch of training data.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels of all calls; needed in the first call if `y` lacks some.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.
        total_samples : int, default=None
            Number N of rows of the whole data set. None: all rows seen so far, so that
            the posterior narrows as data come in.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        sampler = self._check_parameters()
        first = not hasattr(self, "classes_")
        with all_or_nothing(self):
            X, y = self._validate(X, y, reset=first)
            classes = self._all_classes(y, classes, None if first else self.classes_)
            seen, total = self._rows_of_batch(len(y), total_samples)
            model = self._build(X, y, classes, sample_weight, total / len(y))
            self._sample_batch(model, sampler, total)
            self.n_samples_seen_, self.classes_ = seen, classes
            self._set_moments()
        return self

    def _check_parameters(self):
        """Check all parameters; return the sampler."""
        sampler = self._check_sampling()
        check_number("prior_variance", self.prior_variance, above=0)
        check_bool("fit_intercept", self.fit_intercept)
        return sampler

    def _validate(self, X, y, reset=True):
        X, y = validate_data(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            accept_large_sparse=False,
        )
        check_classification_targets(y)
        return X, y

    def _build(self, X, y, classes, sample_weight, factor=1.0):
        """Return the model of validated data, each row's likelihood times `factor`."""
        binary = len(classes) == 2
        weights = class_weights(self.class_weight, sample_weight, y)
        weights = likelihood_weights(weights, self.temperature, len(y), factor)
        return GLM(
            likelihood=Bernoulli() if binary else Categorical(),
            rows=design_rows(X),
            y=np.searchsorted(classes, y).astype(X.dtype),
            weights=weights.astype(X.dtype),
            prior_precision=1.0 / self.prior_variance,
            intercept=self.fit_intercept,
            n_outputs=1 if binary else len(classes),
        )

    def _set_moments(self):
        vars(self).pop("covariance_", None)
        if hasattr(self, "moments_"):
            with np.errstate(over="ignore", invalid="ignore"):
                mean, covariance = self.moments_.pooled()
            variances = np.diagonal(covariance) if covariance.ndim == 2 else covariance
            if not np.isfinite(variances).all():
                raise ValueError(
                    f"keep={self.keep!r} squares coefficients, and some of "
                    f"{np.abs(mean).max():.3g} have squares that overflow; use "
                    'keep="draws", or a smaller prior_variance or temperature'
                )
            self.covariance_ = covariance
            sd = np.sqrt(variances)
        else:
            draws, weights = self._flat_draws(), self._flat_weights()
            mean = weights @ draws
            sd = np.sqrt(weights @ (draws - mean) ** 2)
        p = self.n_features_in_
        shape = (-1, p + int(self.fit_intercept))
        self.coef_ = mean.reshape(shape)[:, :p]
        self.coef_std_ = sd.reshape(shape)[:, :p]
        if self.fit_intercept:
            self.intercept_ = mean.reshape(shape)[:, p]
            self.intercept_std_ = sd.reshape(shape)[:, p]
        else:
            self.intercept_ = np.zeros(len(self.coef_), mean.dtype)
            self.intercept_std_ = np.zeros(len(self.coef_), mean.dtype)

    def _parameter_names(self):
        features = [f"x{j}" for j in range(self.n_features_in_)]
        names = list(getattr(self, "feature_names_in_", features))
        if self.fit_intercept:
            names.append("intercept")
        if len(self.classes_) == 2:
            return names
        return [f"{name} ({label})" for label in self.classes_ for name in names]

    def _validated(self, X):
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )

    def _probabilities(self, X):
        """Yield probabilities, (draws, n_samples, n_classes), and draw weights."""
        gaussian = hasattr(self, "moments_")
        predictors = self._gaussian_predictors if gaussian else self._drawn_predictors
        for eta, weights in predictors(X):
            if eta.shape[1] == 1:
                positive = expit(eta[:, 0])
                probabilities = np.stack([1 - positive, positive], axis=-1)
            else:
                probabilities = np.moveaxis(softmax(eta, axis=1), 1, 2)
            yield probabilities, weights

    def _drawn_predictors(self, X):
        """Yield predictors of draws, (draws, outputs, n_samples), and their weights."""
        draws, weights = self._flat_draws(), self._flat_weights()
        p = self.n_features_in_
        for first in range(0, len(draws), DRAWS_AT_ONCE):
            block = draws[first : first + DRAWS_AT_ONCE]
            theta = block.reshape(len(block), -1, p + int(self.fit_intercept))
            eta = np.stack([X @ coef.T for coef in np.moveaxis(theta[..., :p], 1, 0)])
            if self.fit_intercept:
                eta += theta[..., p].T[:, None, :]
            eta = np.moveaxis(eta, 2, 0)
            yield eta, weights[first : first + DRAWS_AT_ONCE]

    def _gaussian_predictors(self, X):
        """Yield the same of points of the Gaussian that has the posterior's moments."""
        mean = self.coef_
        if self.fit_intercept:
            mean = np.column_stack([mean, self.intercept_])
        eta, root = predictor_moments(X, mean, self.covariance_, self.fit_intercept)
        points = normal_points(len(mean))
        for first in range(0, len(points), DRAWS_AT_ONCE):
            z = points[first : first + DRAWS_AT_ONCE]
            shift = np.tensordot(z, root, axes=(1, 2))  # (points, n_samples, outputs)
            yield np.moveaxis(eta + shift, 2, 1), np.full(len(z), 1 / len(points))

    def predict_proba(self, X):
        """Return class probabilities, averaged over the posterior.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`.
        """
        X, parts = self._validated(X), []
        for first in range(0, X.shape[0], ROWS_AT_ONCE):
            block = self._probabilities(X[first : first + ROWS_AT_ONCE])
            parts.append(sum(np.tensordot(w, p, axes=1) for p, w in block))
        total = np.concatenate(parts)
        return total / total.sum(axis=1, keepdims=True)

    def predict_proba_samples(self, X):
        """Return the class probabilities under every posterior draw.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        proba : ndarray of shape (n_chains, n_draws, n_samples, n_classes)
            Probabilities in the order of `classes_`.
        """
        X, shape = self._validated(X), self.samples_.shape[:2]
        parts = np.concatenate([p for p, _ in self._probabilities(X)])
        return parts.reshape(*shape, *parts.shape[1:])

    def predict(self, X):
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
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SGLDLogisticRegression(SGMCMCLogisticRegression):
    """Logistic regression by stochastic gradient Langevin dynamics.

    The sampler is `LeimkuhlerMatthews`, SGLD with second-order noise, or plain `SGLD`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skbayes_sg import SGLDLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SGLDLogisticRegression(n_draws=200, random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """

    _default_sampler = "sgld-lm"
    _sampler_kinds = (SGLD, LeimkuhlerMatthews)


class SGHMCLogisticRegression(SGMCMCLogisticRegression):
    """Logistic regression by stochastic gradient Hamiltonian Monte Carlo.

    The sampler is `BAOAB`, a second-order splitting, or `SGHMC`, Euler steps as
    published.

    Examples
    --------
    >>> from skbayes_sg import SGHMCLogisticRegression
    >>> from skbayes_sg.datasets import make_logistic
    >>> X, y = make_logistic(1000, 3, random_state=0)
    >>> SGHMCLogisticRegression(random_state=0).fit(X, y).coef_std_.shape
    (1, 3)
    """

    _default_sampler = "baoab"
    _sampler_kinds = (SGHMC, BAOAB)


class SGNHTLogisticRegression(SGMCMCLogisticRegression):
    """Logistic regression by the stochastic gradient Nose-Hoover thermostat.

    The sampler is `BADODAB`, a second-order splitting, or `SGNHT`, Euler steps as
    published.

    Examples
    --------
    >>> from skbayes_sg import SGNHTLogisticRegression
    >>> from skbayes_sg.datasets import make_logistic
    >>> X, y = make_logistic(1000, 3, random_state=0)
    >>> SGNHTLogisticRegression(random_state=0).fit(X, y).coef_std_.shape
    (1, 3)
    """

    _default_sampler = "badodab"
    _sampler_kinds = (SGNHT, BADODAB)
