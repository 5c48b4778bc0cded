"""Bayesian regressions of counts."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples

from skbayes_sg.base._callbacks import with_callbacks
from skbayes_sg.base._streaming import takes_batches
from skbayes_sg.kernels.likelihoods import NegativeBinomial, Poisson
from skbayes_sg.kernels.models.glm_units import Units
from skbayes_sg.linear_model._regressor import NOTHING, BaseRegressor
from skbayes_sg.utils._typing import MatrixLike, Predictions, RandomState

MOST = 1e15  # counts beyond which predictive distributions count as this


class BaseCounts(BaseRegressor):
    """Base of regressions of counts, with a log link and exposures."""

    _is_discrete = True

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Draw from the posterior of the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Counts; any numbers that are not negative.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.
        exposure : array-like of shape (n_samples,), default=None
            Time, area or number of people in which each count was made: the mean count
            is proportional to it. None is 1 for all.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_rows(X, y, sample_weight, _logarithms(exposure))

    @available_if(takes_batches)
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        *,
        total_samples: int | None = None,
    ) -> Self:
        """Advance the chains, with these rows as the minibatch.

        The rows of a call stand for all rows seen so far, or for `total_samples`. Each
        call makes `thin` iterations, one if it is "auto", and keeps one draw of each
        chain; `samples_` holds those of the last `n_draws` calls. Batches must be
        random samples of the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A batch of training data.
        y : array-like of shape (n_samples,)
            Counts.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the samples' log-likelihoods.
        exposure : array-like of shape (n_samples,), default=None
            Exposures.
        total_samples : int, default=None
            Number N of rows of the whole data set. None: all rows seen so far.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        log_exposure = _logarithms(exposure)
        return self._fit_rows(X, y, sample_weight, log_exposure, True, total_samples)

    def predict(
        self, X: MatrixLike, return_std: bool = False, exposure: ArrayLike | None = None
    ) -> Predictions:
        """Return the mean count of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        return_std : bool, default=False
            Also return the standard deviation of the predictive distribution.
        exposure : array-like of shape (n_samples,), default=None
            Exposures.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Posterior predictive means.
        std : ndarray of shape (n_samples,)
            Only with ``return_std=True``.
        """
        return self._predict(X, return_std, _logarithms(exposure)(X))

    def predict_interval(
        self, X: MatrixLike, level: float = 0.9, exposure: ArrayLike | None = None
    ) -> np.ndarray:
        """Return intervals that contain new counts with at least a given probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        level : float, default=0.9
            Least predictive probability of each interval; counts are whole numbers, so
            that it is seldom met exactly.
        exposure : array-like of shape (n_samples,), default=None
            Exposures.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper bounds, both inside.
        """
        return self._predict_interval(X, level, _logarithms(exposure)(X))

    def sample_y(
        self,
        X: MatrixLike,
        n_samples: int = 1,
        random_state: RandomState = 0,
        exposure: ArrayLike | None = None,
    ) -> np.ndarray:
        """Draw counts from the posterior predictive distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
            Samples.
        n_samples : int, default=1
            Draws of each sample's count.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.
        exposure : array-like of shape (n_samples_X,), default=None
            Exposures.

        Returns
        -------
        y : ndarray of shape (n_samples_X, n_samples)
            Draws.
        """
        return self._sample_y(X, n_samples, random_state, _logarithms(exposure)(X))

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """Return D^2, the share of the Poisson deviance that the model explains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Counts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.
        exposure : array-like of shape (n_samples,), default=None
            Exposures.

        Returns
        -------
        score : float
            1 is a perfect prediction, 0 that of a constant.
        """
        mean = self.predict(X, exposure=exposure)
        return d2_tweedie_score(y, mean, sample_weight=sample_weight, power=1)

    def _laws_of_targets(self, X, exposure=None):
        return super()._laws_of_targets(X, _logarithms(exposure)(X))

    def _checked_targets(self, y):
        y = super()._checked_targets(y)
        if (y < 0).any():
            raise ValueError(
                f"y holds {y.min():g}, but counts are not negative; use "
                "SGMCMCLinearRegression or SGMCMCRobustRegressor"
            )
        return y

    def _unit_of(self, targets, weights, offsets):
        # Chains start at the mean rate, about which the intercept's prior lies.
        exposure = np.exp(offsets) if offsets.size else np.ones(targets.shape[1])
        total = np.average(targets[0], weights=weights) or 0.5 / targets.shape[1]
        rate = np.log(total / np.average(exposure, weights=weights))
        return Units(shift=np.array([rate]) if self.fit_intercept else NOTHING)

    def _in_units(self, targets, offsets):
        if self._unit.shift.size:
            base = offsets if offsets.size else np.zeros(targets.shape[1])
            offsets = base + self._unit.shift[0]
        return targets, offsets

    def _mean(self, eta, noise):
        return np.exp(np.minimum(eta, np.log(MOST)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


class SGMCMCPoissonRegressor(BaseCounts):
    """Poisson regression of counts by stochastic-gradient MCMC, with any sampler.

    The mean count is exposure * exp(x . coefficients + intercept), and every
    coefficient has the prior N(0, `prior_variance`). The prior of the intercept is
    about the logarithm of the mean rate.

    See Also
    --------
    SGMCMCNegativeBinomialRegressor : For counts that vary more than their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import SGMCMCPoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, days = rng.normal(size=(500, 2)), rng.uniform(1, 10, 500)
    >>> y = rng.poisson(days * np.exp(0.5 * X[:, 0]))
    >>> model = SGMCMCPoissonRegressor(random_state=0).fit(X, y, exposure=days)
    >>> bool(abs(model.coef_[0] - 0.5) < 0.1)
    True
    >>> model.predict_interval(X[:3], exposure=days[:3]).shape
    (3, 2)
    """

    def _likelihood(self):
        return Poisson()

    def _variance(self, eta, noise):
        return self._mean(eta, noise)

    def _law(self, eta, noise):
        from scipy.stats import poisson  # a quarter of a second, and seldom needed

        return poisson(self._mean(eta, noise))


class SGMCMCNegativeBinomialRegressor(BaseCounts):
    """Regression of overdispersed counts by stochastic-gradient MCMC.

    As `SGMCMCPoissonRegressor`, but the variance of a count of mean m is m + a m^2: the
    dispersion a is learned, with the prior Exponential(1).

    Attributes
    ----------
    dispersion_, dispersion_std_ : float
        Posterior mean and standard deviation of the dispersion.

    See Also
    --------
    SGMCMCPoissonRegressor : For counts whose variance is their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import SGMCMCNegativeBinomialRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = rng.poisson(np.exp(0.5 * X[:, 0]) * rng.gamma(2.0, 0.5, 500))
    >>> model = SGMCMCNegativeBinomialRegressor(random_state=0).fit(X, y)
    >>> bool(0.2 < model.dispersion_ < 0.8)
    True
    """

    _noise_names = ("dispersion",)

    def _likelihood(self):
        return NegativeBinomial()

    def _variance(self, eta, noise):
        mean = self._mean(eta, noise)
        return mean + noise[:, :, None] * mean**2

    def _law(self, eta, noise):
        from scipy.stats import nbinom  # a quarter of a second, and seldom needed

        alpha = noise[:, :, None]
        return nbinom(1 / alpha, 1 / (1 + alpha * self._mean(eta, noise)))


def _logarithms(exposure):
    """Return a function of X: checked log exposures of its rows, empty without any."""

    def of_rows(X):
        if exposure is None:
            return NOTHING
        n, values = _num_samples(X), np.asarray(exposure, np.float64)
        if values.shape != (n,):
            raise ValueError(f"exposure.shape == {values.shape}, expected ({n},)")
        bad = values[~(np.isfinite(values) & (values > 0))]
        if bad.size:
            raise ValueError(
                f"exposure holds {bad[0]:g}, but must be finite and greater than 0; "
                "leave out rows without exposure"
            )
        return np.log(values)

    return of_rows
