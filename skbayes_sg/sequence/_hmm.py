"""The base of hidden Markov models: fit, and what all of their emissions share."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.inference.hidden_states import best_start, in_free_parameters
from skbayes_sg.inference.state_answers import align_states, reorder, without_data
from skbayes_sg.kernels.capabilities.buffers import no_messages
from skbayes_sg.kernels.capabilities.emissions import state_order
from skbayes_sg.kernels.capabilities.maps import n_free, n_redundant
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.models import HMM
from skbayes_sg.kernels.protocol.model import init_work, n_recorded, record, theta_of
from skbayes_sg.sequence._base import BaseSequences, check_lengths, check_observations
from skbayes_sg.sequence._state_answers import StateAnswersMixin
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import all_or_nothing, check_integer, check_option

MAX_STATES = 255
FIRST_BLOCK = 512  # points per block, before their length is chosen


def check_dirichlet(name, value, shape):
    """Return parameters of Dirichlet laws as an array of this shape."""
    try:
        values = np.array(np.broadcast_to(np.asarray(value, np.float64), shape))
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}={value!r} must be a positive number, or an array of shape {shape}"
        ) from None
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"{name}={value!r} is not allowed; it must be greater than 0")
    return values


class BaseHMM(StateAnswersMixin, BaseSequences):
    """Base of hidden Markov models.

    A subclass builds its emission in `_emission` and sets its own attributes in
    `_set_emission`, from draws of its parameters.

    Parameters
    ----------
    n_components : int
        Number of hidden states K.
    startprob_prior : float or array-like of shape (n_components,)
        Parameters of the Dirichlet prior of `startprob_`.
    transmat_prior : float or array-like of shape (n_components, n_components)
        Parameters of the Dirichlet priors of the rows of `transmat_`.
    algorithm : {"viterbi", "map"}
        What `predict` returns: the most probable sequence of states, or the most
        probable state of each point.
    n_init : int
        Starts of the expectation maximization that finds where the chains start.

    Attributes
    ----------
    startprob_, startprob_std_ : ndarray of shape (n_components,)
        Probabilities of the first state of a sequence: posterior means and standard
        deviations.
    transmat_, transmat_std_ : ndarray of shape (n_components, n_components)
        Transition probabilities, from the state of the row to that of the column.
    affinity_ : ndarray of shape (n_chains, n_components)
        How well the states of each chain's draws match those of the mode, from 0 to 1.
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Draws: `startprob_`, the rows of `transmat_` and the emission's parameters.
    """

    @with_callbacks
    def fit(self, X: MatrixLike, lengths: ArrayLike | None = None) -> Self:
        """Draw from the posterior of the parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points of all sequences, one after the other. NaN means missing. A
            memory-mapped array of floats is not copied.
        lengths : array-like of shape (n_sequences,), default=None
            Lengths of the sequences, which add up to n_samples; None is one sequence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        sampler = self._check_parameters()
        with all_or_nothing(self):
            X = self._check_data(X, reset=True)
            lengths = check_lengths(lengths, len(X))
            model = self._build(X, lengths)
            entropy = np.random.SeedSequence(self._entropy())
            seeds = entropy.spawn(2)
            blocked = self._block_at_mode(
                model, lambda: self._start(model, lengths, seeds[0]), seeds[1]
            )
            fit = self._sample_posterior(blocked, sampler)
            self._set_states(blocked)
        return self._finished(fit)

    def _check_parameters(self):
        """Validate the parameters; return the sampler."""
        check_integer("n_components", self.n_components, at_least=1)
        if self.n_components > MAX_STATES:
            raise ValueError(
                f"n_components={self.n_components} is not allowed; use at most "
                f"{MAX_STATES}"
            )
        check_integer("n_init", self.n_init, at_least=1)
        check_option("algorithm", self.algorithm, ("viterbi", "map"))
        k = self.n_components
        check_dirichlet("startprob_prior", self.startprob_prior, (k,))
        check_dirichlet("transmat_prior", self.transmat_prior, (k, k))
        return self._check_sampling()

    def _check_data(self, X, reset):
        return check_observations(self, X, reset=reset)

    def _build(self, X, lengths):
        """Return the posterior."""
        k = self.n_components
        return HMM(
            X=X,
            blocks=make_blocks(lengths, FIRST_BLOCK),
            messages=no_messages(k),
            emission=self._emission(X),
            start_prior=check_dirichlet("startprob_prior", self.startprob_prior, (k,)),
            transition_prior=check_dirichlet(
                "transmat_prior", self.transmat_prior, (k, k)
            ),
        )

    def _start(self, model, lengths, seed):
        """Return the free posterior and parameters next to the best mode found."""
        last = self._last_draws()
        if last is not None and last.shape[1] == n_recorded(model):
            x = last.mean(axis=0)
        else:
            rng = np.random.default_rng(seed)
            x = best_start(model, lengths, self.n_init, rng)
            k = self.n_components
            order = state_order(model.emission, x[k + k * k :])
            x = reorder(model, x, order)
        free = in_free_parameters(model, x, lengths)
        return free, theta_of(free, x)

    def _theta_names(self):
        return [f"theta[{j}]" for j in range(self.mode_.size)]

    def _parameter_names(self):
        k = range(self.n_components)
        names = [f"startprob[{i}]" for i in k]
        names += [f"transmat[{i}, {j}]" for i in k for j in k]
        shapes = self._emission_shapes()
        return names + [
            f"{name}{list(at)}" for name, shape in shapes for at in np.ndindex(shape)
        ]

    def _set_states(self, model):
        """Match the states of all draws, and set what follows from them."""
        mode = np.zeros(self.samples_.shape[-1])
        record(model, init_work(model), self.mode_, mode)
        self.affinity_ = align_states(model.model, self.samples_, mode)
        self._inner = without_data(model.model)
        self._n_parameters = n_free(model.map) - n_redundant(model.map)
        weights, draws = self._flat_weights(), self._flat_draws()
        mean = weights @ draws
        std = np.sqrt(weights @ (draws - mean) ** 2)
        k = self.n_components
        self.startprob_, self.startprob_std_ = mean[:k], std[:k]
        self.transmat_ = mean[k : k + k * k].reshape(k, k)
        self.transmat_std_ = std[k : k + k * k].reshape(k, k)
        self._set_emission(mean[k + k * k :], std[k + k * k :])
