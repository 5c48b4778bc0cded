"""Predictions of networks for numbers."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._arviz import ScipyLaws
from skbayes_sg.base._diagnostics import check_probability
from skbayes_sg.kernels.likelihoods.input_dependent import REACH
from skbayes_sg.neural_network._base import Uncertainty
from skbayes_sg.utils._mixtures import INTERVAL_DRAWS, mixture_quantile
from skbayes_sg.utils._typing import MatrixLike, Predictions


class RegressorPredictionsMixin:
    """Means, intervals and densities of targets."""

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
        every = np.stack([self._scaled_back(z) for z, _, _ in self._laws(X)])
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
        for z, variance, weight in self._laws(X):
            terms = (targets - z) ** 2 / variance + np.log(2 * np.pi * variance)
            density = -0.5 * terms.sum(axis=1) + np.log(weight)
            total = np.logaddexp(total, density)
        return total - np.log(self.y_scale_).sum()

    def predict_interval(self, X: MatrixLike, level: float = 0.9) -> np.ndarray:
        """Return intervals that contain new targets with a given probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        level : float, default=0.9
            Predictive probability of each interval, with equal tails.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper bounds.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from skbayes_sg import SGHMCRegressorMLP
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = SGHMCRegressorMLP((10,), n_draws=20, n_chains=2, random_state=0)
        >>> model.fit(X, y).predict_interval(X).shape
        (442, 2)
        """
        check_is_fitted(self)
        check_probability(level, "level")
        draws = self._representative_draws(INTERVAL_DRAWS)
        laws = [
            norm(z[None].astype(np.float64), np.sqrt(variance)[None])
            for z, variance, _ in self._laws(X, draws)
        ]
        tails = 0.5 * (1 - level), 0.5 * (1 + level)
        bounds = [self._scaled_back(mixture_quantile(laws, q, False)) for q in tails]
        return np.stack(bounds, axis=-1)

    def _laws_of_targets(self, X):
        every = [(z.T.copy(), variance.T) for z, variance, _ in self._laws(X)]
        mean, variance = (
            np.stack(part).astype(float) for part in zip(*every, strict=True)
        )
        shift, scale = self.y_mean_[:, None], self.y_scale_[:, None]
        law = norm(shift + scale * mean, scale * np.sqrt(variance))
        return ScipyLaws(law, mean.shape, self._y_shape)

    def _laws(self, X, draws=None):
        """Yield mean and variance, (n_samples, n_outputs), and weight of each draw.

        They are those of standardized targets. The means are overwritten by those of
        the next draw, unless draws are given.
        """
        check_is_fitted(self)
        m = len(self.y_mean_)
        for z, noise, weight in self._outputs(X, draws):
            mean = z[:, :m] if draws is None else z[:, :m].copy()
            if z.shape[1] > m:  # the noise depends on the inputs
                log_precision = REACH * np.tanh(z[:, m:].astype(np.float64) / REACH)
            else:
                log_precision = noise.astype(np.float64)
            with np.errstate(over="ignore"):
                variance = np.exp(-log_precision)
            yield mean, np.broadcast_to(variance, mean.shape), weight

    def _moments(self, X):
        """Return means, variances within draws and of the means between draws."""
        mean, square, inner = 0.0, 0.0, 0.0
        for z, variance, weight in self._laws(X):
            z = z.astype(np.float64)
            mean, square = mean + weight * z, square + weight * z**2
            inner = inner + weight * variance
        between = np.maximum(square - mean**2, 0.0)
        shape = (len(mean), *self._y_shape)
        return (
            self._scaled_back(mean),
            (inner * self.y_scale_**2).reshape(shape),
            (between * self.y_scale_**2).reshape(shape),
        )

    def _scaled_back(self, z):
        return (self.y_mean_ + self.y_scale_ * z).reshape(len(z), *self._y_shape)
