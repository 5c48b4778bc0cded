"""Answers of linear Gaussian state-space models: states, forecasts, new series."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted, check_random_state

from skbayes_sg.inference.state_space import (
    Parts,
    forecast,
    last_states,
    log_likelihoods,
    on_sequences,
    state_laws,
)
from skbayes_sg.sequence._base import check_lengths, check_observations
from skbayes_sg.utils._typing import MatrixLike, RandomState
from skbayes_sg.utils._validation import check_integer

N_DRAWS = 50  # draws over which laws of states are averaged


class SSMAnswersMixin:
    """Methods of linear Gaussian state-space models."""

    def filter(
        self,
        X: MatrixLike,
        lengths: ArrayLike | None = None,
        return_std: bool = False,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the states given the points up to each of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of all sequences; NaN means missing.
        lengths : array-like of shape (n_sequences,), default=None
            Lengths of the sequences.
        return_std : bool, default=False
            Whether to return standard deviations, too.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_states)
            Means, averaged over draws of the parameters.
        std : ndarray of shape (n_samples, n_states)
            Standard deviations, with the uncertainty of the parameters; only with
            `return_std`.
        """
        return self._states(X, lengths, return_std, smooth=False)

    def smooth(
        self,
        X: MatrixLike,
        lengths: ArrayLike | None = None,
        return_std: bool = False,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the states given all points.

        Parameters
        ----------
        X, lengths, return_std
            As for `filter`.

        Returns
        -------
        mean, std : ndarray of shape (n_samples, n_states)
            As for `filter`.
        """
        return self._states(X, lengths, return_std, smooth=True)

    def predict(
        self,
        X: MatrixLike,
        lengths: ArrayLike | None = None,
        return_std: bool = False,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the series without its noise, also where values are missing.

        Parameters
        ----------
        X, lengths, return_std
            As for `filter`.

        Returns
        -------
        mean, std : ndarray of shape (n_samples, n_features)
            Mean and standard deviation of ``level + C x_t`` given all points.
        """
        laws = state_laws(self._on(X, lengths), self._some_draws(), True)
        if return_std:
            return laws.signal_mean, np.sqrt(laws.signal_var)
        return laws.signal_mean

    def forecast(
        self, steps: int = 1, X: MatrixLike | None = None, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the next observations.

        Parameters
        ----------
        steps : int, default=1
            Number of points.
        X : array-like of shape (n_samples, n_features), default=None
            A sequence to be continued; None is the last one of `fit`.
        return_std : bool, default=False
            Whether to return standard deviations, too.

        Returns
        -------
        mean : ndarray of shape (steps, n_features)
            Means.
        std : ndarray of shape (steps, n_features)
            Standard deviations: of the states, of both noises and of the parameters.
        """
        check_is_fitted(self)
        check_integer("steps", steps, at_least=1)
        draws, states = self._some_draws(), self._last_states
        if X is not None:
            states = last_states(self._on(X, None), draws)
        parts = Parts.of(draws, *self.C_.shape)
        mean, variance = forecast(self.C_, parts, *states, steps)
        return (mean, np.sqrt(variance)) if return_std else mean

    def score(self, X: MatrixLike, lengths: ArrayLike | None = None) -> float:
        """Return the log density of all points together.

        Parameters
        ----------
        X, lengths
            As for `filter`.

        Returns
        -------
        log_density : float
            Logarithm of the mean of p(X) over 50 draws of the posterior; missing values
            are integrated out.
        """
        values = log_likelihoods(self._on(X, lengths), self._some_draws())
        return float(logsumexp(values) - np.log(len(values)))

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a new series from the posterior means of the parameters.

        Parameters
        ----------
        n_samples : int, default=1
            Number of points.
        random_state : int, RandomState instance or None, default=None
            Seed.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Observations.
        states : ndarray of shape (n_samples, n_states)
            States.
        """
        check_is_fitted(self)
        check_integer("n_samples", n_samples, at_least=1)
        rng = check_random_state(random_state)
        m, d = self.C_.shape
        covariance = np.linalg.solve(
            np.eye(d * d) - np.kron(self.A_, self.A_), self.Q_.ravel()
        ).reshape(d, d)
        states = rng.standard_normal((n_samples, d)) @ np.linalg.cholesky(self.Q_).T
        root = np.linalg.cholesky(0.5 * (covariance + covariance.T))
        states[0] = root @ rng.standard_normal(d)
        for t in range(1, n_samples):
            states[t] += self.A_ @ states[t - 1]
        noise = rng.standard_normal((n_samples, m)) @ np.linalg.cholesky(self.R_).T
        return self.level_ + states @ self.C_.T + noise, states

    def _states(self, X, lengths, return_std, smooth):
        laws = state_laws(self._on(X, lengths), self._some_draws(), smooth)
        if not return_std:
            return laws.mean
        return laws.mean, np.sqrt(np.einsum("tii->ti", laws.cov))

    def _on(self, X, lengths):
        """Return the model of new data."""
        check_is_fitted(self)
        X = check_observations(self, X, reset=False)
        return on_sequences(self._inner, X, check_lengths(lengths, len(X)))

    def _some_draws(self):
        """Return draws over which answers are averaged, (n, dim)."""
        draws = self._flat_draws()
        some = np.linspace(0, len(draws) - 1, min(N_DRAWS, len(draws)))
        return np.asarray(draws[some.astype(int)], np.float64)
