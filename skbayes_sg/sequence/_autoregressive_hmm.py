"""Hidden Markov models whose states are autoregressions."""

import numpy as np

from skbayes_sg.kernels.models.hmm_gaussian import diagonal_parts
from skbayes_sg.sequence._gaussian_hmm import gaussian_emission
from skbayes_sg.sequence._hmm import BaseHMM
from skbayes_sg.utils._validation import check_integer, check_number


class SGMCMCAutoregressiveHMM(BaseHMM):
    """Hidden Markov model whose states are autoregressions of the points before.

    ``y_t = means + sum_l coefs[l] y_{t-l} + noise`` for each feature, with parameters
    of the state. The first points of a sequence, and those next to a missing one, are
    given: they say nothing of their states. See `SGMCMCGaussianHMM` for the algorithm.

    Parameters
    ----------
    n_lags : int, default=1
        Points before that an autoregression uses.
    means_prior, means_weight : float, array-like of shape (n_features,) or None, \
default=None
        Mean and precision of the Gaussian prior of the intercepts; None is the mean of
        X and 0.01 over its variance.
    coefs_weight : float, default=1.0
        Precision of the Gaussian prior of the coefficients, whose mean is zero.
    covars_prior, covars_weight : float, default=None and 1.0
        Scale and shape of the inverse Gamma prior of the noise variances, as for
        `SGMCMCGaussianHMM`.

    Attributes
    ----------
    means_, means_std_ : ndarray of shape (n_components, n_features)
        Intercepts: posterior means and standard deviations.
    coefs_, coefs_std_ : ndarray of shape (n_components, n_lags, n_features)
        Coefficients of the points before, the last one first.
    covars_, covars_std_ : ndarray of shape (n_components, n_features)
        Variances of the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import SGMCMCAutoregressiveHMM
    >>> rng, y = np.random.default_rng(0), np.zeros(1000)
    >>> states = np.repeat([0, 1, 0, 1], 250)
    >>> for t in range(1, 1000):
    ...     y[t] = [-0.8, 0.8][states[t]] * y[t - 1] + rng.standard_normal()
    >>> model = SGMCMCAutoregressiveHMM(2, random_state=0).fit(y[:, None])
    >>> np.sort(model.coefs_.ravel()).round()
    array([-1.,  1.])
    """

    def __init__(
        self,
        n_components=1,
        n_lags=1,
        *,
        startprob_prior=1.0,
        transmat_prior=1.0,
        means_prior=None,
        means_weight=None,
        coefs_weight=1.0,
        covars_prior=None,
        covars_weight=1.0,
        algorithm="viterbi",
        n_init=12,
        block_length="auto",
        buffer_length="auto",
        sampler=None,
        step_size="auto",
        gradient="auto",
        batch_size="auto",
        preconditioner="auto",
        n_draws=250,
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

    def _past(self):
        return np.tile(self._inner.emission.mean, (self.n_lags, 1))

    def _check_parameters(self):
        check_integer("n_lags", self.n_lags, at_least=1)
        check_number("coefs_weight", self.coefs_weight, above=0)
        check_number("covars_weight", self.covars_weight, above=0)
        return super()._check_parameters()

    def _emission(self, X):
        prior = {"n_lags": self.n_lags, "lag_precision": float(self.coefs_weight)}
        return gaussian_emission(self, X, spherical=False, **prior)

    def _emission_shapes(self):
        names = "means", "coefs", "covars"
        return [(name, getattr(self, f"{name}_").shape) for name in names]

    def _set_emission(self, mean, std):
        emission = self._inner.emission
        self.means_, self.coefs_, self.covars_ = diagonal_parts(emission, mean)
        parts = diagonal_parts(emission, std)
        self.means_std_, self.coefs_std_, self.covars_std_ = parts
