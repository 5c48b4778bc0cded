"""Neural networks for classes."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.base._classes import ClassesMixin, class_weights
from skbayes_sg.kernels.likelihoods import Categorical
from skbayes_sg.kernels.samplers import (
    BADODAB,
    BAOAB,
    SGHMC,
    SGLD,
    SGNHT,
    LeimkuhlerMatthews,
)
from skbayes_sg.neural_network._base import BaseMLP, Uncertainty
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import all_or_nothing


class SGMCMCClassifierMLP(ClassesMixin, ClassifierMixin, BaseMLP):
    """Neural network for classes by stochastic-gradient MCMC, with any sampler.

    Weights have Gaussian priors of unknown precision, one for the weights and one for
    the biases of each layer. Each chain starts from different weights, trained by Adam,
    and predictions average over the draws of all chains. The units in which the weights
    move are computed from their information and gradient noise, so nothing has to be
    tuned.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the likelihood.

    Attributes
    ----------
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Posterior draws: for each layer the weights (inputs, outputs) by rows and the
        biases, then the precisions of the weights and the biases of each layer.
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skbayes_sg import SGMCMCClassifierMLP
    >>> X, y = load_iris(return_X_y=True)
    >>> network = SGMCMCClassifierMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model = make_pipeline(StandardScaler(), network).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    _likelihood, _y_ndim = Categorical(), 1
    _automatic = ("temperature",)

    def __init__(
        self,
        hidden_layer_sizes=(100,),
        *,
        activation="relu",
        weight_precision="fan-in",
        step_size="auto",
        gradient="minibatch",
        batch_size="auto",
        preconditioner="auto",
        n_draws=100,
        burn_in="auto",
        thin="auto",
        n_chains=4,
        schedule="constant",
        temperature="auto",
        noise_correction=False,
        class_weight=None,
        sampler=None,
        dtype="float32",
        storage=None,
        storage_dtype=None,
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        super().__init__(
            hidden_layer_sizes,
            activation=activation,
            weight_precision=weight_precision,
            step_size=step_size,
            gradient=gradient,
            batch_size=batch_size,
            preconditioner=preconditioner,
            n_draws=n_draws,
            burn_in=burn_in,
            thin=thin,
            n_chains=n_chains,
            schedule=schedule,
            temperature=temperature,
            noise_correction=noise_correction,
            sampler=sampler,
            dtype=dtype,
            storage=storage,
            storage_dtype=storage_dtype,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Draw from the posterior of the weights.

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
        return self._fit_or_continue(X, y, sample_weight)

    @with_callbacks
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

        The likelihood is scaled up to all rows seen so far, or to `total_samples` rows.
        Each call makes `thin` iterations and keeps one draw of each chain; `samples_`
        holds those of the last `n_draws` calls. The first call trains the networks.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A batch of training data, a random sample of all.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            The labels of all calls; only needed in the first call, and only if its `y`
            does not contain all of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.
        total_samples : int, default=None
            Number of rows of the whole data set. None is the number seen so far.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_or_continue(X, y, sample_weight, True, classes, total_samples)

    def _fit_or_continue(
        self, X, y, sample_weight, partial=False, classes=None, total_samples=None
    ):
        sampler = self._check_network()
        first = not (partial and hasattr(self, "samples_"))
        with all_or_nothing(self):
            X, y = self._validate(X, y, reset=first)
            check_classification_targets(y)
            classes = self._all_classes(y, classes, None if first else self.classes_)
            weights = class_weights(self.class_weight, sample_weight, y)
            batch = self._rows_of_batch(len(y), total_samples) if partial else None
            codes = np.searchsorted(classes, y)
            fit = self._fit_network(X, codes, weights, len(classes), sampler, batch)
            self.classes_ = classes
        return self._finished(fit)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return class probabilities, averaged over the posterior draws.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`.
        """
        total = sum(weight * softmax(z, axis=1) for z, _, weight in self._outputs(X))
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
        every = np.stack([softmax(z, axis=1) for z, _, _ in self._outputs(X)])
        return every.reshape(*self.samples_.shape[:2], *every.shape[1:])

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
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def predict_uncertainty(self, X: MatrixLike) -> Any:
        """Return how uncertain each prediction is, and why, as entropies in nats.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        uncertainty : Uncertainty
            Arrays of shape (n_samples,): ``total`` is the entropy of the averaged
            probabilities, ``aleatoric`` the average entropy of the draws, and
            ``epistemic`` the difference. It is the mutual information of label and
            weights, and measures how much the draws disagree.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skbayes_sg import SGHMCClassifierMLP
        >>> X, y = load_iris(return_X_y=True)
        >>> model = SGHMCClassifierMLP((10,), n_draws=20, n_chains=2, random_state=0)
        >>> model.fit(X, y).predict_uncertainty(X).epistemic.shape
        (150,)
        """
        mean, aleatoric = 0.0, 0.0
        for z, _, weight in self._outputs(X):
            p = softmax(z.astype(np.float64), axis=1)
            mean = mean + weight * p
            aleatoric = aleatoric + weight * entr(p).sum(axis=1)
        total = entr(mean).sum(axis=1)
        return Uncertainty(total, aleatoric, np.maximum(total - aleatoric, 0.0))


class SGLDClassifierMLP(SGMCMCClassifierMLP):
    """Neural network for classes by Langevin dynamics.

    The sampler is `LeimkuhlerMatthews`, SGLD with second-order noise, or plain `SGLD`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skbayes_sg import SGLDClassifierMLP
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SGLDClassifierMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (150,)
    """

    _default_sampler = "sgld-lm"
    _sampler_kinds = (SGLD, LeimkuhlerMatthews)


class SGHMCClassifierMLP(SGMCMCClassifierMLP):
    """Neural network for classes by stochastic gradient HMC.

    The sampler is `BAOAB`, a second-order splitting, or `SGHMC`, Euler steps as
    published.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skbayes_sg import SGHMCClassifierMLP
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SGHMCClassifierMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (150,)
    """

    _default_sampler = "baoab"
    _sampler_kinds = (SGHMC, BAOAB)


class SGNHTClassifierMLP(SGMCMCClassifierMLP):
    """Neural network for classes by the Nose-Hoover thermostat.

    The sampler is `BADODAB`, a second-order splitting, or `SGNHT`, Euler steps as
    published.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skbayes_sg import SGNHTClassifierMLP
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SGNHTClassifierMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (150,)
    """

    _default_sampler = "badodab"
    _sampler_kinds = (SGNHT, BADODAB)
