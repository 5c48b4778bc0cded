"""Neural networks for numbers."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.kernels.likelihoods import Gaussian
from skbayes_sg.kernels.samplers import (
    BADODAB,
    BAOAB,
    SGHMC,
    SGLD,
    SGNHT,
    LeimkuhlerMatthews,
)
from skbayes_sg.neural_network._base import BaseMLP, Uncertainty
from skbayes_sg.utils._typing import MatrixLike, Predictions
from skbayes_sg.utils._validation import (
    all_or_nothing,
    check_magnitude,
    check_sample_weight,
)


class SGMCMCRegressorMLP(RegressorMixin, BaseMLP):
    """Neural network for numbers by stochastic-gradient MCMC, with any sampler.

    The noise is Gaussian, and its precision is a parameter with a Gamma(1, 1) prior.
    Targets are standardized for the fit and predictions are transformed back, so that
    the priors suit targets of any scale.

    Attributes
    ----------
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Posterior draws for standardized targets: for each layer the weights (inputs,
        outputs) by rows and the biases, then the log precision of the noise of each
        output, then the precisions of the weights and the biases of each layer.
    y_mean_, y_scale_ : ndarray of shape (n_outputs,)
        Mean and standard deviation of the targets of the first fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGMCMCRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGMCMCRegressorMLP((20,), n_draws=20, n_chains=2, random_state=0)
    >>> mean, std = model.fit(X, y).predict(X[:3], return_std=True)
    >>> mean.shape, std.shape
    ((3,), (3,))
    """

    _likelihood, _y_ndim = Gaussian(), 2

    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Draw from the posterior of the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
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
        sample_weight: ArrayLike | None = None,
        *,
        total_samples: int | None = None,
    ) -> Self:
        """Advance the chains, with these rows as the minibatch.

        The likelihood is scaled up to all rows seen so far, or to `total_samples` rows.
        Each call makes `thin` iterations and keeps one draw of each chain; `samples_`
        holds those of the last `n_draws` calls. The first call trains the networks and
        determines the scale of the targets for all calls.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A batch of training data, a random sample of all.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.
        total_samples : int, default=None
            Number of rows of the whole data set. None is the number seen so far.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_or_continue(X, y, sample_weight, True, total_samples)

    def _fit_or_continue(self, X, y, sample_weight, partial=False, total_samples=None):
        sampler = self._check_network()
        first = not (partial and hasattr(self, "samples_"))
        with all_or_nothing(self):
            X, y = self._validate(X, y, reset=first, multi_output=True, y_numeric=True)
            weights = check_sample_weight(sample_weight, len(y))
            targets = np.asarray(y, np.float64).reshape(len(y), -1)
            check_magnitude("y", targets, np.float64, "measure it in larger units")
            if first:
                self.y_mean_ = np.average(targets, axis=0, weights=weights)
                spread = np.average(
                    (targets - self.y_mean_) ** 2, axis=0, weights=weights
                )
                self.y_scale_ = np.where(spread > 0, np.sqrt(spread), 1.0)
                self._y_shape = y.shape[1:]
            elif targets.shape[1] != len(self.y_mean_):
                raise ValueError(
                    f"y has {targets.shape[1]} columns, but the first call had "
                    f"{len(self.y_mean_)}"
                )
            batch = self._rows_of_batch(len(y), total_samples) if partial else None
            targets = (targets - self.y_mean_) / self.y_scale_
            fit = self._fit_network(
                X, targets, weights, targets.shape[1], sampler, batch
            )
        return self._finished(fit)

    def predict(self, X: MatrixLike, return_std: bool = False) -> Predictions:
        """Return the mean of each sample's predictive distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        return_std : bool, default=False
            Also return its standard deviation, including the noise.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Posterior predictive means.
        std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        mean, inner, between = self._moments(X)
        return (mean, np.sqrt(inner + between)) if return_std else mean

    def predict_samples(self, X: MatrixLike) -> np.ndarray:
        """Return the mean of each sample under every posterior draw.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        means : ndarray of shape (n_chains, n_draws, n_samples[, n_outputs])
            Outputs of the networks, without noise.
        """
        every = np.stack([self._scaled_back(z) for z, _, _ in self._outputs(X)])
        return every.reshape(*self.samples_.shape[:2], *every.shape[1:])

    def predict_uncertainty(self, X: MatrixLike) -> Any:
        """Return how uncertain each prediction is, and why, as variances.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        uncertainty : Uncertainty
            Arrays of shape (n_samples,) or (n_samples, n_outputs): ``aleatoric`` is the
            variance of the noise, ``epistemic`` the variance of the means of the draws
            and ``total`` their sum.
        """
        _, inner, between = self._moments(X)
        return Uncertainty(inner + between, inner, between)

    def log_predictive_density(self, X: MatrixLike, y: ArrayLike) -> np.ndarray:
        """Return the log density of each target, averaged over the posterior draws.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log of the averaged density of all outputs of a sample.
        """
        check_is_fitted(self)
        y = np.asarray(y, np.float64).reshape(-1, len(self.y_mean_))
        targets, total = (y - self.y_mean_) / self.y_scale_, -np.inf
        for z, noise, weight in self._outputs(X):
            terms = noise - np.exp(noise) * (targets - z) ** 2 - np.log(2 * np.pi)
            density = 0.5 * terms.sum(axis=1) + np.log(weight)
            total = np.logaddexp(total, density)
        return total - np.log(self.y_scale_).sum()

    def _moments(self, X):
        """Return means, variances within draws and of the means between draws."""
        mean, square, inner = 0.0, 0.0, 0.0
        for z, noise, weight in self._outputs(X):
            z = z.astype(np.float64)
            mean, square = mean + weight * z, square + weight * z**2
            with np.errstate(over="ignore"):  # the noise of a draw may be infinite
                inner = inner + weight * np.exp(-noise.astype(np.float64))
        between = np.maximum(square - mean**2, 0.0)
        inner = np.broadcast_to(inner, between.shape)
        shape = (len(mean), *self._y_shape)
        return (
            self._scaled_back(mean),
            (inner * self.y_scale_**2).reshape(shape),
            (between * self.y_scale_**2).reshape(shape),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _scaled_back(self, z):
        return (self.y_mean_ + self.y_scale_ * z).reshape(len(z), *self._y_shape)


class SGLDRegressorMLP(SGMCMCRegressorMLP):
    """Neural network for numbers by Langevin dynamics.

    The sampler is `LeimkuhlerMatthews`, SGLD with second-order noise, or plain `SGLD`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGLDRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGLDRegressorMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (442,)
    """

    _default_sampler = "sgld-lm"
    _sampler_kinds = (SGLD, LeimkuhlerMatthews)


class SGHMCRegressorMLP(SGMCMCRegressorMLP):
    """Neural network for numbers by stochastic gradient HMC.

    The sampler is `BAOAB`, a second-order splitting, or `SGHMC`, Euler steps as
    published.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGHMCRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGHMCRegressorMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (442,)
    """

    _default_sampler = "baoab"
    _sampler_kinds = (SGHMC, BAOAB)


class SGNHTRegressorMLP(SGMCMCRegressorMLP):
    """Neural network for numbers by the Nose-Hoover thermostat.

    The sampler is `BADODAB`, a second-order splitting, or `SGNHT`, Euler steps as
    published.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGNHTRegressorMLP
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGNHTRegressorMLP((10,), n_draws=20, n_chains=2, random_state=0)
    >>> model.fit(X, y).predict(X).shape
    (442,)
    """

    _default_sampler = "badodab"
    _sampler_kinds = (SGNHT, BADODAB)
