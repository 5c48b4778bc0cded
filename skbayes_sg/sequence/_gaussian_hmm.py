"""Hidden Markov models with Gaussian emissions."""

import numpy as np

from skbayes_sg.kernels.models import DiagonalGaussian, FullGaussian
from skbayes_sg.kernels.models.hmm_full_gaussian import full_parts
from skbayes_sg.kernels.models.hmm_gaussian import diagonal_parts
from skbayes_sg.sequence._base import check_distinct, column_moments
from skbayes_sg.sequence._hmm import BaseHMM
from skbayes_sg.utils._validation import check_number, check_option

COVARIANCES = ("spherical", "diag", "full", "tied")


class SGMCMCGaussianHMM(BaseHMM):
    """Hidden Markov model with Gaussian emissions, with the uncertainty of all of it.

    The posterior of starting probabilities, transition probabilities, means and
    covariances, given one or many sequences of any length. Gradients are estimated
    from blocks of the sequences with buffers on both sides [1]_, [2]_, whose length is
    chosen so that the bias stays below 0.02 posterior standard deviations. So the time
    of an iteration does not depend on how long the series is. Chains start at the best
    of many local maxima. States are labeled by the mean of the first feature, in
    ascending order at the mode. Methods have the names of hmmlearn; NaN means missing.

    Parameters
    ----------
    covariance_type : {"spherical", "diag", "full", "tied"}, default="diag"
        One variance for each state, one for each state and feature, a matrix for each
        state, or one matrix for all.
    means_prior : float, array-like of shape (n_features,) or None, default=None
        Mean of the Gaussian prior of the means; None is the mean of X.
    means_weight : float, array-like of shape (n_features,) or None, default=None
        Precision of that prior; None is 0.01 over the variance of the feature, a prior
        sd of ten times the feature's.
    covars_prior : float, array-like of shape (n_features,) or None, default=None
        Scale b of the inverse Gamma prior of variances, or b of the inverse Wishart
        prior of matrices, whose scale matrix has 2 b on its diagonal; None is 0.01
        times the variance of the feature.
    covars_weight : float, default=1.0
        Shape a of the inverse Gamma prior; the inverse Wishart prior has
        ``2 a + n_features - 1`` degrees of freedom.

    Attributes
    ----------
    means_, means_std_ : ndarray of shape (n_components, n_features)
        Means of the states: posterior means and standard deviations.
    covars_, covars_std_ : ndarray
        Covariances: (n_components,) if spherical, (n_components, n_features) if diag,
        (n_components, n_features, n_features) if full, (n_features, n_features) if
        tied.

    References
    ----------
    .. [1] Y. Ma, N. Foti and E. Fox (2017). Stochastic gradient MCMC methods for hidden
       Markov models. ICML.
    .. [2] C. Aicher, Y. Ma, N. Foti and E. Fox (2019). Stochastic gradient MCMC for
       state space models. SIAM Journal on Mathematics of Data Science 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import SGMCMCGaussianHMM
    >>> rng = np.random.default_rng(0)
    >>> states = np.repeat([0, 1, 0, 1], 250)
    >>> X = rng.normal(3.0 * states, 1.0)[:, None]
    >>> model = SGMCMCGaussianHMM(2, random_state=0).fit(X)
    >>> bool(np.mean(model.predict(X) == states) > 0.98)
    True
    >>> model.means_.shape, model.means_std_.shape, model.transmat_.shape
    ((2, 1), (2, 1), (2, 2))
    """

    def __init__(
        self,
        n_components=1,
        covariance_type="diag",
        *,
        startprob_prior=1.0,
        transmat_prior=1.0,
        means_prior=None,
        means_weight=None,
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

    def _check_parameters(self):
        check_option("covariance_type", self.covariance_type, COVARIANCES)
        check_number("covars_weight", self.covars_weight, above=0)
        return super()._check_parameters()

    def _emission(self, X):
        kind = self.covariance_type
        if kind in ("spherical", "diag"):
            return gaussian_emission(self, X, spherical=kind == "spherical")
        mean, precision, scale = gaussian_priors(self, X)
        return FullGaussian(
            n_states=self.n_components,
            tied=kind == "tied",
            mean=mean,
            precision=precision,
            shape=float(self.covars_weight),
            scale=scale,
        )

    def _emission_shapes(self):
        return ("means", self.means_.shape), ("covars", self.covars_.shape)

    def _set_emission(self, mean, std):
        emission = self._inner.emission
        if isinstance(emission, FullGaussian):
            self.means_, covars = full_parts(emission, mean)
            self.means_std_, covars_std = full_parts(emission, std)
            self.covars_ = covars[0] if emission.tied else covars
            self.covars_std_ = covars_std[0] if emission.tied else covars_std
        else:
            self.means_, _, self.covars_ = diagonal_parts(emission, mean)
            self.means_std_, _, self.covars_std_ = diagonal_parts(emission, std)


def gaussian_priors(estimator, X):
    """Return mean, precision, and scale of variances for each feature, (p,)."""
    check_distinct(X, estimator.n_components)
    center, variance = column_moments(X)
    values = []
    for name, automatic, positive in (
        ("means_prior", center, False),
        ("means_weight", 0.01 / variance, True),
        ("covars_prior", 0.01 * variance, True),
    ):
        given = getattr(estimator, name)
        given = automatic if given is None else given
        try:
            value = np.array(np.broadcast_to(np.asarray(given, float), center.shape))
        except (TypeError, ValueError):
            raise ValueError(
                f"{name}={given!r} must be a number, or one for each of the "
                f"{center.size} features"
            ) from None
        if not np.isfinite(value).all() or (positive and (value <= 0).any()):
            raise ValueError(f"{name}={given!r} must be finite, and a weight positive")
        values.append(value)
    return values


def gaussian_emission(estimator, X, *, spherical, n_lags=0, lag_precision=1.0):
    """Return the emission with independent features."""
    mean, precision, scale = gaussian_priors(estimator, X)
    return DiagonalGaussian(
        n_states=estimator.n_components,
        n_lags=n_lags,
        spherical=spherical,
        mean=mean,
        precision=precision,
        lag_precision=lag_precision,
        shape=float(estimator.covars_weight),
        scale=scale,
        gram=lag_moments(X, n_lags),
    )


def lag_moments(X, n_lags):
    """Return second moments of 1 and the lags of each feature, (p, L + 1, L + 1)."""
    gram = np.zeros((X.shape[1], n_lags + 1, n_lags + 1))
    part = np.asarray(X[:100_000], np.float64)
    for j in range(X.shape[1]):
        lags = [part[n_lags - lag : len(part) - lag, j] for lag in range(1, n_lags + 1)]
        design = np.column_stack([np.ones(len(part) - n_lags), *lags])
        design = design[~np.isnan(design).any(axis=1)]
        gram[j] = design.T @ design / max(1, len(design))
        gram[j] += 1e-9 * np.eye(n_lags + 1) * np.trace(gram[j])
    return gram
