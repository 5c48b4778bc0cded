"""Linear Gaussian state-space models."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.inference.state_space import (
    Parts,
    first_points,
    last_states,
    on_sequences,
    starting_point,
    without_data,
)
from skbayes_sg.kernels.capabilities.buffers import no_messages
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.maps import CholeskyCovariance, Real, Stationary, joined
from skbayes_sg.kernels.models import FreeSequences, LinearGaussianSSM
from skbayes_sg.kernels.models.linear_gaussian_ssm import InverseWishart
from skbayes_sg.kernels.protocol.model import n_recorded, theta_of
from skbayes_sg.sequence._base import BaseSequences, check_lengths, check_observations
from skbayes_sg.sequence._ssm_answers import SSMAnswersMixin
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import all_or_nothing, check_number

FIRST_BLOCK = 512  # points per block, before their length is chosen
PRIOR_SHARE = 0.1  # of the variances of X that the priors' covariances have
LEAST_LENGTH = 3


class SGMCMCLinearGaussianSSM(SSMAnswersMixin, BaseSequences):
    """Linear Gaussian state-space model, with the uncertainty of all its parameters.

    Hidden states follow an autoregression, and are observed with noise::

        x_t = A x_(t-1) + N(0, Q),    y_t = level + C x_t + N(0, R)

    `A` is stationary, all of its eigenvalues are less than one in absolute value, and
    the first state of a sequence has the stationary law. `C` is given, since any other
    basis of the states would change A, Q and C together and describe the same data.
    States are inferred by Kalman filters and smoothers, and gradients are estimated
    from blocks of the sequences with buffers on both sides [1]_, so that the time of an
    iteration does not depend on how long the series is. NaN means missing, for single
    numbers as well. Forecasts have the uncertainty of the parameters.

    Parameters
    ----------
    observation_matrix : array-like of shape (n_features, n_states), default=None
        C, whose columns are linearly independent. None is the identity: as many states
        as features.
    transition_prior_scale : float, default=1.0
        Standard deviation of the Gaussian prior of the numbers of A, among all
        stationary matrices.
    state_prior, noise_prior : tuple (float, float or array-like) or None, default=None
        Degrees of freedom and scale matrix of the inverse Wishart prior of Q, and of R;
        a number is for a multiple of the identity. None has two degrees of freedom more
        than the matrix has rows, and a prior mean of 0.1 times the variances of X.

    Attributes
    ----------
    A_, A_std_ : ndarray of shape (n_states, n_states)
        Transition matrix: posterior means and standard deviations.
    Q_, Q_std_ : ndarray of shape (n_states, n_states)
        Covariance of the states' noise.
    R_, R_std_ : ndarray of shape (n_features, n_features)
        Covariance of the observations' noise.
    level_, level_std_ : ndarray of shape (n_features,)
        Mean of the observations.
    C_ : ndarray of shape (n_features, n_states)
        The observation matrix.
    samples_ : ndarray of shape (n_chains, n_draws, dim)
        Draws: the level, then A, Q and R by rows.

    References
    ----------
    .. [1] C. Aicher, Y. Ma, N. Foti and E. Fox (2019). Stochastic gradient MCMC for
       state space models. SIAM Journal on Mathematics of Data Science 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import SGMCMCLinearGaussianSSM
    >>> rng = np.random.default_rng(0)
    >>> x = np.zeros(2000)
    >>> for t in range(1, 2000):
    ...     x[t] = 0.9 * x[t - 1] + rng.normal()
    >>> y = x + 0.5 * rng.normal(size=2000)
    >>> model = SGMCMCLinearGaussianSSM(random_state=0).fit(y[:, None])
    >>> bool(abs(model.A_[0, 0] - 0.9) < 3 * model.A_std_[0, 0])
    True
    >>> mean, std = model.forecast(5, return_std=True)
    >>> mean.shape, bool((np.diff(std[:, 0]) > 0).all())
    ((5, 1), True)
    """

    def __init__(
        self,
        observation_matrix=None,
        *,
        transition_prior_scale=1.0,
        state_prior=None,
        noise_prior=None,
        block_length="auto",
        buffer_length="auto",
        sampler=None,
        step_size="auto",
        gradient="auto",
        batch_size="auto",
        preconditioner="auto",
        n_draws=500,
        burn_in="auto",
        thin="auto",
        n_chains=4,
        schedule="constant",
        noise_correction=False,
        storage=None,
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self._store(locals())

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
        check_number("transition_prior_scale", self.transition_prior_scale, above=0)
        sampler = self._check_sampling()
        with all_or_nothing(self):
            X = check_observations(self, X, reset=True)
            lengths = check_lengths(lengths, len(X))
            model = self._build(X, lengths)
            seed = np.random.SeedSequence(self._entropy())
            start = theta_of(model, self._start(model.model, lengths))
            blocked = self._block_at_mode(model.model, lambda: (model, start), seed)
            fit = self._sample_posterior(blocked, sampler)
            self._set_parameters(blocked.model, lengths)
        return self._finished(fit)

    def _build(self, X, lengths):
        """Return the posterior in free parameters."""
        m = X.shape[1]
        C = check_observation_matrix(self.observation_matrix, m)
        d = C.shape[1]
        some = first_points(X, lengths)[0]
        center, variance = np.nanmean(some, axis=0), np.nanvar(some, axis=0)
        if len(X) < LEAST_LENGTH or not (variance > 1e-12 * center**2).all():
            raise ValueError(
                f"column {int(np.argmin(variance))} of X is constant, or X has fewer "
                f"than {LEAST_LENGTH} points; a state-space model needs a series that "
                "varies"
            )
        scale = (np.linalg.pinv(C) ** 2) @ variance
        inner = LinearGaussianSSM(
            X=X,
            blocks=make_blocks(lengths, FIRST_BLOCK),
            messages=no_messages(d + d * d),
            C=C,
            level_mean=center,
            level_precision=0.01 / variance,
            transition_precision=1.0 / float(self.transition_prior_scale) ** 2,
            state_prior=check_wishart("state_prior", self.state_prior, scale),
            noise_prior=check_wishart("noise_prior", self.noise_prior, variance),
        )
        maps = Real(m), Stationary(d), CholeskyCovariance(d), CholeskyCovariance(m)
        return FreeSequences(inner, joined(*maps))

    def _start(self, model, lengths):
        """Return parameters from which the mode is found."""
        last = self._last_draws()
        if last is not None and last.shape[1] == n_recorded(model):
            return last[0]
        return starting_point(model, lengths)

    def _set_parameters(self, model, lengths):
        """Set what follows from the draws, and the last states for forecasts."""
        m, d = model.C.shape
        weights, draws = self._flat_weights(), self._flat_draws()
        mean = weights @ draws
        std = np.sqrt(weights @ (draws - mean) ** 2)
        for end, values in (("_", mean), ("_std_", std)):
            parts = Parts.of(values[None], m, d)
            for name in ("level", "A", "Q", "R"):
                setattr(self, name + end, getattr(parts, name)[0])
        self.C_ = np.array(model.C)
        self._inner = without_data(model)
        X = np.asarray(model.X[-int(lengths[-1]) :])
        last = on_sequences(model, X, lengths[-1:])
        self._last_states = last_states(last, self._some_draws())

    def _parameter_names(self):
        m, d = self.C_.shape
        names = [f"level[{i}]" for i in range(m)]
        for name, k in (("A", d), ("Q", d), ("R", m)):
            names += [f"{name}[{i}, {j}]" for i in range(k) for j in range(k)]
        return names


def check_observation_matrix(value, m):
    """Return C, (m, d), of full column rank."""
    if value is None:
        return np.eye(m)
    try:
        C = np.array(value, np.float64, ndmin=2)
    except (TypeError, ValueError):
        raise ValueError(
            f"observation_matrix={value!r} must be a matrix of numbers, or None"
        ) from None
    if C.ndim != 2 or C.shape[0] != m or not np.isfinite(C).all():
        raise ValueError(
            f"observation_matrix has shape {C.shape}; it must be ({m}, n_states), one "
            "row of finite numbers for each feature of X"
        )
    if np.linalg.matrix_rank(C) < C.shape[1]:
        raise ValueError(
            f"observation_matrix of shape {C.shape} has linearly dependent columns, so "
            "that the states could not be told apart; use at most as many states as "
            "features"
        )
    return C


def check_wishart(name, value, variances):
    """Return an inverse Wishart prior of a matrix with as many rows as `variances`."""
    d = len(variances)
    if value is None:
        return InverseWishart(d + 2.0, PRIOR_SHARE * np.diag(variances))
    try:
        freedom, scale = value
        freedom, scale = float(freedom), np.asarray(scale, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}={value!r} must be degrees of freedom and a scale matrix, or None"
        ) from None
    scale = scale * np.eye(d) if scale.ndim == 0 else np.array(scale)
    good = scale.shape == (d, d) and np.isfinite(scale).all() and freedom > d - 1
    if not (good and np.linalg.eigvalsh(0.5 * (scale + scale.T))[0] > 0):
        raise ValueError(
            f"{name}={value!r} must be more than {d - 1} degrees of freedom and a "
            f"positive definite matrix of shape ({d}, {d}), or a positive number"
        )
    return InverseWishart(freedom, 0.5 * (scale + scale.T))
