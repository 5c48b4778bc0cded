"""Answers of hidden Markov models: states, likelihoods, and new sequences."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, check_random_state

from skbayes_sg.inference.state_answers import (
    best_path,
    log_likelihoods,
    on_sequences,
    predictive_log_likelihood,
    state_probabilities,
    stationary,
)
from skbayes_sg.kernels.capabilities.emissions import draw_emissions, log_base
from skbayes_sg.sequence._base import check_lengths
from skbayes_sg.utils._typing import MatrixLike, RandomState
from skbayes_sg.utils._validation import check_integer, check_option

N_DRAWS = 50  # draws over which probabilities of states are averaged


class StateAnswersMixin:
    """Methods of hidden Markov models with the names of hmmlearn."""

    def predict(self, X: MatrixLike, lengths: ArrayLike | None = None) -> np.ndarray:
        """Return the states of all points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of all sequences; NaN means missing.
        lengths : array-like of shape (n_sequences,), default=None
            Lengths of the sequences.

        Returns
        -------
        states : ndarray of shape (n_samples,)
            By Viterbi's algorithm at the posterior means of the parameters, or the most
            probable state of each point, see `algorithm`.
        """
        return self.decode(X, lengths)[1]

    def decode(
        self,
        X: MatrixLike,
        lengths: ArrayLike | None = None,
        algorithm: str | None = None,
    ) -> tuple[float, np.ndarray]:
        """Return the most probable states and their log probability.

        Parameters
        ----------
        X, lengths
            As for `predict`.
        algorithm : {"viterbi", "map"} or None, default=None
            "viterbi" returns the most probable sequence of states at the posterior
            means, "map" the most probable state of each point, by `predict_proba`.
            None is the parameter of the class.

        Returns
        -------
        log_prob : float
            Log probability of the states and X, or of "map" the expected number of
            right states, as in hmmlearn.
        states : ndarray of shape (n_samples,)
            States.
        """
        name = self.algorithm if algorithm is None else algorithm
        check_option("algorithm", name, ("viterbi", "map"))
        if name == "map":
            probabilities = self.predict_proba(X, lengths)
            states = probabilities.argmax(axis=1)
            return float(probabilities.max(axis=1).sum()), states
        model = self._on(X, lengths)
        states, value = best_path(model, self._mean_draw())
        return value + log_base(model.emission, model.X), states

    def predict_proba(
        self, X: MatrixLike, lengths: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the probabilities of states given all points of the sequence.

        Parameters
        ----------
        X, lengths
            As for `predict`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_components)
            Averages over 50 draws of the posterior.
        """
        return state_probabilities(self._on(X, lengths), self._some_draws())[0]

    def score_samples(
        self, X: MatrixLike, lengths: ArrayLike | None = None
    ) -> tuple[float, np.ndarray]:
        """Return `score` and `predict_proba` in one pass.

        Parameters
        ----------
        X, lengths
            As for `predict`.

        Returns
        -------
        log_prob : float
            As `score`.
        probabilities : ndarray of shape (n_samples, n_components)
            As `predict_proba`.
        """
        model = self._on(X, lengths)
        probabilities, values = state_probabilities(model, self._some_draws())
        value = np.logaddexp.reduce(values) - np.log(len(values))
        return float(value + log_base(model.emission, model.X)), probabilities

    def score(self, X: MatrixLike, lengths: ArrayLike | None = None) -> float:
        """Return the log probability of all points together.

        Parameters
        ----------
        X, lengths
            As for `predict`.

        Returns
        -------
        log_prob : float
            Logarithm of the mean of p(X) over 50 draws of the posterior.
        """
        model = self._on(X, lengths)
        value = predictive_log_likelihood(model, self._some_draws())
        return value + log_base(model.emission, model.X)

    def aic(self, X: MatrixLike, lengths: ArrayLike | None = None) -> float:
        """Return Akaike's information criterion at the posterior means; less is better.

        Parameters
        ----------
        X, lengths
            As for `predict`.

        Returns
        -------
        aic : float
            -2 log p(X) + 2 times the number of free parameters.
        """
        return -2.0 * self._log_likelihood(X, lengths) + 2.0 * self._n_parameters

    def bic(self, X: MatrixLike, lengths: ArrayLike | None = None) -> float:
        """Return the Bayesian information criterion at the posterior means.

        Parameters
        ----------
        X, lengths
            As for `predict`.

        Returns
        -------
        bic : float
            -2 log p(X) + log n_samples times the number of free parameters.
        """
        penalty = np.log(len(X)) * self._n_parameters
        return -2.0 * self._log_likelihood(X, lengths) + float(penalty)

    def get_stationary_distribution(self) -> np.ndarray:
        """Return the long-run shares of the states under `transmat_`.

        Returns
        -------
        shares : ndarray of shape (n_components,)
            They sum to one.
        """
        check_is_fitted(self)
        return stationary(self.transmat_)

    def sample(
        self,
        n_samples: int = 1,
        random_state: RandomState = None,
        currstate: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw a new sequence from the posterior predictive distribution.

        Parameters
        ----------
        n_samples : int, default=1
            Its length.
        random_state : int, RandomState instance or None, default=None
            Seed; None is that of the class.
        currstate : int, default=None
            The first state; None draws it.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Points, given one random draw of the parameters.
        states : ndarray of shape (n_samples,)
            Their states.
        """
        check_is_fitted(self)
        check_integer("n_samples", n_samples, at_least=1)
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(check_random_state(seed).randint(2**31, size=4))
        draws, k = self._flat_draws(), self.n_components
        x = draws[rng.choice(len(draws), p=self._flat_weights())].astype(np.float64)
        cumulated = np.cumsum(x[k : k + k * k].reshape(k, k), axis=1)
        states = np.empty(n_samples, np.int64)
        uniforms = rng.random(n_samples)
        first = np.searchsorted(np.cumsum(x[:k]), uniforms[0])
        states[0] = min(first, k - 1) if currstate is None else currstate
        if not 0 <= states[0] < k:
            raise ValueError(f"currstate={currstate!r} must be a state, 0 to {k - 1}")
        for t in range(1, n_samples):
            row = cumulated[states[t - 1]]
            states[t] = min(np.searchsorted(row, uniforms[t]), k - 1)
        emission, past = self._inner.emission, self._past()
        return draw_emissions(emission, x[k + k * k :], states, past, rng), states

    def _past(self):
        """Return the points before a new sequence, where its law depends on them."""
        return None

    def _on(self, X, lengths):
        """Return the model with other data."""
        check_is_fitted(self)
        X = self._check_data(X, reset=False)
        return on_sequences(self._inner, X, check_lengths(lengths, len(X)))

    def _log_likelihood(self, X, lengths):
        model = self._on(X, lengths)
        value = log_likelihoods(model, self._mean_draw()[None])[0]
        return float(value + log_base(model.emission, model.X))

    def _mean_draw(self):
        return self._flat_weights() @ self._flat_draws()

    def _some_draws(self):
        """Return draws of equal weight, far apart in their order."""
        weights, draws = self._flat_weights(), self._flat_draws()
        count = min(N_DRAWS, len(draws))
        places = np.searchsorted(np.cumsum(weights), (np.arange(count) + 0.5) / count)
        return draws[np.minimum(places, len(draws) - 1)]
