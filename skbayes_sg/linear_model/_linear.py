"""Bayesian linear regression."""

import numpy as np

from skbayes_sg.kernels.likelihoods import Gaussian
from skbayes_sg.linear_model._regressor import BaseRegressor

VAGUE = 1e-3  # shape and rate of the prior of the noise's precision


class SGMCMCLinearRegression(BaseRegressor):
    """Linear regression by stochastic-gradient MCMC, with any sampler.

    The noise is Gaussian, of unknown standard deviation. Targets are standardized
    before the fit, so that priors suit targets of any unit: with s the standard
    deviation of y, a coefficient has the prior N(0, s^2 `prior_variance`), and the
    precision of the noise, in units of 1 / s^2, the vague prior Gamma(0.001, 0.001).
    Draws, coefficients and predictions are in the units of the data. Of several
    outputs, each has its own coefficients and noise.

    Attributes
    ----------
    noise_sd_, noise_sd_std_ : float or ndarray of shape (n_outputs,)
        Posterior mean and standard deviation of the noise's standard deviation.
    y_center_, y_scale_ : float or ndarray of shape (n_outputs,)
        Mean and standard deviation of the targets of the first fit.

    See Also
    --------
    SGMCMCRobustRegressor : The same with noise of heavy tails.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes_sg import SGMCMCLinearRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SGMCMCLinearRegression(random_state=0).fit(X, y)
    >>> model.predict_interval(X[:3], level=0.9).shape
    (3, 2)
    >>> bool(model.summary().loc["bmi", "P(>0)"] > 0.99)
    True
    """

    _noise_names = ("noise_sd",)
    _noise_is_scale = True
    _y_options = {"y_numeric": True, "multi_output": True}

    def _likelihood(self):
        return Gaussian(VAGUE, VAGUE)

    def _location_and_scale(self, targets, weights):
        shift = np.zeros(len(targets))
        if self.fit_intercept:
            shift = np.average(targets, axis=1, weights=weights)
        squares = (targets - shift[:, None]) ** 2
        spread = np.average(squares, axis=1, weights=weights)
        return shift, np.where(spread > 0, np.sqrt(spread), 1.0)

    def _mean(self, eta, noise):
        return eta

    def _variance(self, eta, noise):
        return noise[:, :, None] ** 2

    def _law(self, eta, noise):
        from scipy.stats import norm  # a quarter of a second, and seldom needed

        return norm(eta, noise[:, :, None])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
