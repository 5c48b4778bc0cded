"""Bayesian logistic regression."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.base._classes import ClassesMixin, class_weights
from skbayes_sg.base._diagnostics import check_probability
from skbayes_sg.base._streaming import takes_batches
from skbayes_sg.kernels.likelihoods import Bernoulli, Categorical
from skbayes_sg.kernels.samplers import (
    BADODAB,
    BAOAB,
    SGHMC,
    SGLD,
    SGNHT,
    LeimkuhlerMatthews,
)
from skbayes_sg.linear_model._glm import BaseGLM
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import all_or_nothing

INTERVAL_DRAWS = 1000  # of which quantiles are taken, at the most


class SGMCMCLogisticRegression(ClassesMixin, ClassifierMixin, BaseGLM):
    """Logistic regression by stochastic-gradient MCMC, with any sampler.

    Every coefficient has the prior N(0, `prior_variance`), the intercept a wide one of
    its own. Predictions average over draws from the posterior. Nothing has to be tuned:
    by default the posterior mode is found first, the chains run with control variates
    in coordinates whitened by the curvature there, and the step size and the minibatch
    size follow from the curvature and the measured gradient noise.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes in the likelihood.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Posterior means of the coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Posterior means of the intercepts.
    classes_ : ndarray of shape (n_classes,)
        Class labels.

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
        prior="normal",
        prior_variance=10.0,
        intercept_variance="auto",
        positive=False,
        bounds=None,
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
        self.prior = prior
        self.prior_variance = prior_variance
        self.intercept_variance = intercept_variance
        self.positive = positive
        self.bounds = bounds
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
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
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
            check_classification_targets(y)
            classes = self._all_classes(y)
            self._warn_of_separation(*X.shape)
            model = self._build(X, y, classes, sample_weight, first=True)
            fit = self._sample_posterior(model, sampler)
            self.n_samples_seen_, self.classes_ = len(y), classes
            self._set_moments(_n_outputs(classes))
        return self._finished(fit)

    @available_if(takes_batches)
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        total_samples: int | None = None,
    ) -> Self:
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
            check_classification_targets(y)
            classes = self._all_classes(y, classes, None if first else self.classes_)
            seen, total = self._rows_of_batch(len(y), total_samples)
            model = self._build(
                X, y, classes, sample_weight, first=first, factor=total / len(y)
            )
            self._sample_batch(model, sampler, total)
            self.n_samples_seen_, self.classes_ = seen, classes
            self._set_moments(_n_outputs(classes))
        return self

    def _build(self, X, y, classes, sample_weight, **options):
        """Return the model of validated data."""
        return self._model_of(
            Bernoulli() if len(classes) == 2 else Categorical(),
            X,
            np.searchsorted(classes, y),
            class_weights(self.class_weight, sample_weight, y),
            _n_outputs(classes),
            **options,
        )

    def _output_names(self):
        return list(self.classes_)

    def _probabilities(self, X, draws=None):
        """Yield probabilities, (draws, n_samples, n_classes), and draw weights."""
        for eta, _, weights in self._predictors(X, draws):
            if eta.shape[1] == 1:
                probabilities = np.stack([expit(-eta[:, 0]), expit(eta[:, 0])], axis=-1)
            else:
                probabilities = np.moveaxis(softmax(eta, axis=1), 1, 2)
            yield probabilities, weights

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
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
        for _, rows in self._row_blocks(X):
            block = self._probabilities(rows)
            parts.append(sum(np.tensordot(w, p, axes=1) for p, w in block))
        total = np.concatenate(parts)
        return total / total.sum(axis=1, keepdims=True)

    def predict_proba_samples(self, X: MatrixLike) -> np.ndarray:
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
        proba = self.predict_proba(X)
        return self.classes_[np.argmax(proba, axis=1)]

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Return logarithms of the class probabilities of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Log probabilities in the order of `classes_`.
        """
        proba = self.predict_proba(X)
        return np.log(np.maximum(proba, np.finfo(proba.dtype).tiny))

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return how much each class is preferred; `predict` takes the largest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Log odds of the second of two classes, or log probabilities of all classes,
            both of probabilities that are averaged over the posterior.
        """
        scores = self.predict_log_proba(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_interval(self, X: MatrixLike, level: float = 0.9) -> np.ndarray:
        """Return intervals that contain the class probabilities, given the data.

        They tell how well the data determine the probabilities: the more rows, the
        narrower they are.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        level : float, default=0.9
            Posterior probability of each interval, with equal tails.

        Returns
        -------
        interval : ndarray of shape (n_samples, n_classes, 2)
            Lower and upper bounds.

        Examples
        --------
        >>> from skbayes_sg import SGMCMCLogisticRegression
        >>> from skbayes_sg.datasets import make_logistic
        >>> X, y = make_logistic(1000, 3, random_state=0)
        >>> model = SGMCMCLogisticRegression(random_state=0).fit(X, y)
        >>> model.predict_interval(X[:5]).shape
        (5, 2, 2)
        """
        check_probability(level, "level")
        X, parts, draws = self._validated(X), [], None
        if not hasattr(self, "moments_"):
            draws = self._representative_draws(INTERVAL_DRAWS)
        for _, rows in self._row_blocks(X):
            every = np.concatenate([p for p, _ in self._probabilities(rows, draws)])
            tails = 0.5 * (1 - level), 0.5 * (1 + level)
            parts.append(np.moveaxis(np.quantile(every, tails, axis=0), 0, -1))
        return np.concatenate(parts)


def _n_outputs(classes):
    return 1 if len(classes) == 2 else len(classes)


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
