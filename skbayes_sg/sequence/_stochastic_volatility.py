"""Stochastic volatility of returns."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.inference.volatility import (
    approximate_mode,
    around,
    state_grid,
    windows_alone,
)
from skbayes_sg.kernels.capabilities.buffers import no_messages
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.maps import Exp, Tanh, joined
from skbayes_sg.kernels.models import (
    FreeSequences,
    FreeVolatility,
    GridVolatility,
    StochasticVolatility,
)
from skbayes_sg.kernels.models.particles import Scaled
from skbayes_sg.kernels.models.stochastic_volatility import VolatilityPrior
from skbayes_sg.kernels.samplers import HMC
from skbayes_sg.sequence._base import BaseSequences, check_lengths, check_observations
from skbayes_sg.sequence._volatility_answers import VolatilityAnswersMixin
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import all_or_nothing, check_integer, check_number

WHOLE = 2500  # points up to which all sequences are read at every step
FIRST_BLOCK = 512  # points per block, before their length is chosen
TAU_SD = 2.0  # prior sd of log tau


class SGMCMCStochasticVolatility(VolatilityAnswersMixin, BaseSequences):
    """Stochastic volatility of returns, with the uncertainty of all of it.

    The log variance of returns is a hidden autoregression::

        x_t = phi x_(t-1) + sigma N(0, 1),    y_t = tau exp(x_t / 2) N(0, 1)

    The hidden state is one number, so that its filters and smoothers are sums over a
    fine grid of places, and gradients have no error of Monte Carlo. Series of up to
    2,500 points are read as a whole, and sampled by Hamiltonian Monte Carlo. Longer
    ones are cut into blocks, and the states of a block are inferred from a window with
    buffers on both sides [1]_. With `n_particles`, gradients are averages
    over paths drawn by a particle filter with backward simulation instead, as in [1]_,
    which is much slower. NaN means missing.

    Parameters
    ----------
    n_particles : int or None, default=None
        Particles of the filter. The bias of the gradients falls as one over it. None
        computes gradients on a grid.
    n_paths : int, default=20
        Paths of the states over which a gradient is averaged; for particles only.
    persistence_prior : tuple of two floats, default=(20.0, 1.5)
        Beta prior of ``(1 + phi) / 2`` [2]_.
    variance_prior : tuple of two floats, default=(2.5, 0.025)
        Shape and scale of the inverse Gamma prior of ``sigma^2`` [2]_.

    Attributes
    ----------
    phi_, phi_std_, sigma_, sigma_std_, tau_, tau_std_ : float
        Posterior means and standard deviations of persistence, sd of log variances
        and scale of the returns. The prior of log tau has the log sd of X as its mean,
        and an sd of 2.
    samples_ : ndarray of shape (n_chains, n_draws, 3)
        Draws of phi, sigma and tau.
    buffer_bias_ : float
        The bias that windows cause, in posterior standard deviations; 0 if each
        sequence is one block.

    References
    ----------
    .. [1] C. Aicher, S. Putcha, C. Nemeth, P. Fearnhead and E. Fox (2019). Stochastic
       gradient MCMC for nonlinear state space models. arXiv:1901.10568.
    .. [2] S. Kim, N. Shephard and S. Chib (1998). Stochastic volatility: likelihood
       inference and comparison with ARCH models. Review of Economic Studies 65.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import SGMCMCStochasticVolatility
    >>> rng = np.random.default_rng(0)
    >>> x = np.zeros(300)
    >>> for t in range(1, 300):
    ...     x[t] = 0.95 * x[t - 1] + 0.3 * rng.normal()
    >>> y = np.exp(x / 2) * rng.normal(size=300)
    >>> model = SGMCMCStochasticVolatility(n_draws=50, n_chains=2, random_state=0)
    >>> low, middle, high = model.fit(y[:, None]).volatility(y[:, None], level=0.9)
    >>> bool((low < middle).all() and (middle < high).all())
    True
    """

    # Parameters of other estimators.
    storage, noise_correction = None, False

    def __init__(
        self,
        n_particles=None,
        *,
        n_paths=20,
        persistence_prior=(20.0, 1.5),
        variance_prior=(2.5, 0.025),
        block_length="auto",
        buffer_length="auto",
        sampler=None,
        step_size="auto",
        gradient="auto",
        batch_size="auto",
        preconditioner="auto",
        n_draws=100,
        burn_in="auto",
        thin="auto",
        n_chains=4,
        schedule="constant",
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._store(locals())

    @with_callbacks
    def fit(self, X: MatrixLike, lengths: ArrayLike | None = None) -> Self:
        """Draw from the posterior of phi, sigma and tau.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
            Returns of all sequences, one after the other: differences of log prices,
            less their mean. NaN means missing.
        lengths : array-like of shape (n_sequences,), default=None
            Lengths of the sequences, which add up to n_samples; None is one sequence.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if self.n_particles is not None:
            check_integer("n_particles", self.n_particles, at_least=2)
        check_integer("n_paths", self.n_paths, at_least=1)
        sampler = self._check_sampling()
        with all_or_nothing(self):
            y = self._check_returns(X, reset=True)
            lengths = check_lengths(lengths, len(y))
            seeds = np.random.SeedSequence(self._entropy()).spawn(2)
            model, start = self._build(y, lengths)
            blocked = self._block_at_mode(model.model, lambda: (model, start), seeds[0])
            if self.n_particles is not None:
                blocked = self._with_particles(blocked, lengths)
            elif self._is_short(lengths) and self.sampler is None:
                sampler = HMC() if self.gradient in ("auto", "full") else sampler
            fit = self._sample_posterior(blocked, sampler)
            weights, draws = self._flat_weights(), self._flat_draws()
            mean = weights @ draws
            std = np.sqrt(weights @ (draws - mean) ** 2)
            self.phi_, self.sigma_, self.tau_ = map(float, mean)
            self.phi_std_, self.sigma_std_, self.tau_std_ = map(float, std)
            self._prior = blocked.model.prior
            last = y[-int(lengths[-1]) :]
            rng = np.random.default_rng(seeds[1])
            paths = self._paths(last, [len(last)], self._some_draws(), rng)
            self._last_states = paths[:, -1].copy()
        return self._finished(fit)

    def _check_returns(self, X, reset):
        """Return the only column of X."""
        X = check_observations(self, X, reset=reset)
        if X.shape[1] != 1:
            raise ValueError(
                f"X has {X.shape[1]} features; stochastic volatility is for one series "
                "of returns, of shape (n_samples, 1)"
            )
        return np.ascontiguousarray(X[:, 0], np.float64)

    def _build(self, y, lengths):
        """Return the posterior in free parameters, and a start near its mode."""
        spread = float(np.nanstd(y))
        if not spread > 0.0 or np.isfinite(y).sum() < 3:
            raise ValueError(
                "X is constant, or has fewer than 3 returns; volatility needs a series "
                "that varies"
            )
        a, b = _two_numbers("persistence_prior", self.persistence_prior)
        shape, scale = _two_numbers("variance_prior", self.variance_prior)
        prior = VolatilityPrior(a, b, shape, scale, float(np.log(spread)), TAU_SD)
        one = np.linspace(-1.0, 1.0, 2)
        blocks = make_blocks(lengths, FIRST_BLOCK)
        inner = GridVolatility(y, blocks, no_messages(2), one, prior)
        model = FreeSequences(inner, joined(Tanh(1), Exp(2)))
        _, mode, root = approximate_mode(model)
        grid = state_grid(y, lengths, around(model, mode, root))
        inner = inner._replace(grid=grid, messages=no_messages(grid.size))
        return model._replace(model=inner), mode

    def _block_settings(self, lengths):
        if self._is_short(lengths):
            return int(np.max(lengths)), 0
        return self.block_length, self.buffer_length

    def _is_short(self, lengths):
        """Whether all sequences are read as a whole at every step."""
        automatic = self.block_length == "auto" and self.buffer_length == "auto"
        return automatic and np.sum(lengths) <= WHOLE

    def _with_particles(self, blocked, lengths):
        """Return the posterior with gradients by particles, around the same mode."""
        inner, mode = blocked.model, blocked.model.messages.anchor
        settings = self._block_settings(lengths)
        blocks, size, buffer, bias = windows_alone(blocked, lengths, mode, *settings)
        self.block_length_ = min(size, int(np.max(lengths)))
        self.buffer_length_, self.buffer_bias_ = buffer, bias
        inner = StochasticVolatility(
            y=inner.y,
            blocks=blocks,
            law=Scaled(),
            n_particles=self.n_particles,
            n_paths=self.n_paths,
            prior=inner.prior,
        )
        return FreeVolatility(inner, blocked.map)

    def _parameter_names(self):
        return ["phi", "sigma", "tau"]


def _two_numbers(name, value):
    if np.shape(value) != (2,):
        raise ValueError(f"{name}={value!r} must be two positive numbers")
    for each in value:
        check_number(name, each, above=0)
    return float(value[0]), float(value[1])
