"""Answers of stochastic volatility: volatilities, forecasts and densities."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted, check_random_state

from skbayes_sg.inference.volatility import (
    draw_paths,
    future_states,
    grid_log_likelihoods,
)
from skbayes_sg.sequence._base import check_lengths
from skbayes_sg.utils._typing import MatrixLike, RandomState
from skbayes_sg.utils._validation import check_integer, check_number

N_DRAWS = 200  # paths from which volatilities are computed
N_PARTICLES = 200  # from which these paths are drawn


class VolatilityAnswersMixin:
    """Methods of stochastic volatility."""

    def volatility(
        self,
        X: MatrixLike,
        lengths: ArrayLike | None = None,
        level: float = 0.9,
        random_state: RandomState = 0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the standard deviation of each return, with an interval.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
            Returns.
        lengths : array-like of shape (n_sequences,), default=None
            Lengths of the sequences.
        level : float, default=0.9
            Probability of the intervals.
        random_state : int, RandomState instance or None, default=0
            Seed of the paths.

        Returns
        -------
        low, median, high : ndarray of shape (n_samples,)
            Quantiles of ``tau exp(x_t / 2)`` given all returns, over draws of the
            parameters and of the states.
        """
        check_is_fitted(self)
        y = self._check_returns(X, reset=False)
        lengths, rng = check_lengths(lengths, len(y)), _generator(random_state)
        draws = self._some_draws()
        paths = self._paths(y, lengths, draws, rng)
        return _quantiles(draws[:, 2:] * np.exp(0.5 * paths), level)

    def forecast(
        self, steps: int = 1, level: float = 0.9, random_state: RandomState = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the standard deviations of the returns that follow, with an interval.

        Parameters
        ----------
        steps : int, default=1
            Number of points after the last sequence of `fit`.
        level : float, default=0.9
            Probability of the intervals.
        random_state : int, RandomState instance or None, default=0
            Seed of the paths.

        Returns
        -------
        low, median, high : ndarray of shape (steps,)
            Quantiles, over draws of the parameters and of the states.
        """
        check_is_fitted(self)
        check_integer("steps", steps, at_least=1)
        draws, rng = self._some_draws(), _generator(random_state)
        states = future_states(draws, self._last_states, steps, rng)
        return _quantiles(draws[:, 2:] * np.exp(0.5 * states), level)

    def score(self, X: MatrixLike, lengths: ArrayLike | None = None) -> float:
        """Return the log density of all returns together.

        Parameters
        ----------
        X, lengths
            As for `fit`.

        Returns
        -------
        log_density : float
            Logarithm of the mean of p(X) over draws of the posterior.
        """
        check_is_fitted(self)
        y = self._check_returns(X, reset=False)
        lengths = check_lengths(lengths, len(y))
        values = grid_log_likelihoods(y, lengths, self._some_draws(), self._prior)
        return float(logsumexp(values) - np.log(len(values)))

    def _paths(self, y, lengths, draws, rng):
        """Return a path of the states for each draw."""
        return draw_paths(y, lengths, draws, self.n_particles or N_PARTICLES, rng)[0]

    def _some_draws(self):
        """Return draws over which answers are averaged, (n, 3)."""
        draws = self._flat_draws()
        some = np.linspace(0, len(draws) - 1, min(N_DRAWS, len(draws)))
        return np.asarray(draws[some.astype(int)], np.float64)


def _generator(random_state):
    seed = check_random_state(random_state).randint(2**31, size=4)
    return np.random.default_rng(seed)


def _quantiles(values, level):
    check_number("level", level, above=0)
    if level >= 1:
        raise ValueError(f"level={level!r} must be less than 1")
    tail = 0.5 * (1.0 - level)
    return tuple(np.quantile(values, [tail, 0.5, 1.0 - tail], axis=0))
