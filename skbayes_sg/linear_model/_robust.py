"""Bayesian linear regression that outliers do not bend."""

import numpy as np

from skbayes_sg.kernels.likelihoods import StudentT
from skbayes_sg.linear_model._regressor import BaseRegressor
from skbayes_sg.utils._validation import check_number

MAD = 1.4826  # standard deviation of a Gaussian over its median absolute deviation


class SGMCMCRobustRegressor(BaseRegressor):
    """Linear regression with Student-t noise by stochastic-gradient MCMC.

    Outliers are rare but possible under a law with heavy tails, so they bend the
    coefficients little. How heavy the tails are is learned with the rest. Targets are
    standardized by their median and median absolute deviation before they are learned;
    priors of coefficients and noise are those of `SGMCMCLinearRegression` in that unit.

    Parameters
    ----------
    df : float or "learn"
        Degrees of freedom of the noise: 1 is Cauchy's law, many are a Gaussian. "learn"
        has the prior df - 2 ~ Gamma(2, rate 0.1), under which the noise has a variance.

    Attributes
    ----------
    noise_scale_, noise_scale_std_ : float
        Posterior mean and standard deviation of the noise's scale.
    df_, df_std_ : float
        The same of the degrees of freedom, where they are learned.
    y_center_, y_scale_ : float
        Median and scaled median absolute deviation of the targets of the first fit.

    See Also
    --------
    SGMCMCLinearRegression : The same with Gaussian noise.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import SGMCMCRobustRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> y = 3 * X[:, 0] + rng.normal(size=200)
    >>> y[:10] += 100  # outliers
    >>> model = SGMCMCRobustRegressor(random_state=0).fit(X, y)
    >>> bool(abs(model.coef_[0] - 3) < 0.3)
    True
    """

    def __init__(
        self,
        *,
        df="learn",
        step_size="auto",
        gradient="auto",
        batch_size="auto",
        preconditioner="auto",
        n_draws=1000,
        burn_in="auto",
        thin="auto",
        n_chains=4,
        schedule="constant",
        temperature=1.0,
        noise_correction=False,
        prior="normal",
        prior_variance=10.0,
        intercept_variance="auto",
        positive=False,
        bounds=None,
        fit_intercept=True,
        sampler=None,
        storage=None,
        keep="draws",
        warm_start=False,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.df = df
        super().__init__(
            step_size=step_size,
            gradient=gradient,
            batch_size=batch_size,
            preconditioner=preconditioner,
            n_draws=n_draws,
            burn_in=burn_in,
            thin=thin,
            n_chains=n_chains,
            schedule=schedule,
            temperature=temperature,
            noise_correction=noise_correction,
            prior=prior,
            prior_variance=prior_variance,
            intercept_variance=intercept_variance,
            positive=positive,
            bounds=bounds,
            fit_intercept=fit_intercept,
            sampler=sampler,
            storage=storage,
            keep=keep,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )

    _noise_is_scale = True

    @property
    def _noise_names(self):
        return ("noise_scale", "df") if self._learns_df else ("noise_scale",)

    @property
    def _learns_df(self):
        return isinstance(self.df, str)

    def _check_parameters(self):
        if self.df != "learn":
            check_number("df", self.df, above=0)
        return super()._check_parameters()

    def _likelihood(self):
        return StudentT(0.0 if self._learns_df else float(self.df))

    def _location_and_scale(self, targets, weights):
        y = targets[0]
        weights = np.ones(len(y)) if weights is None else weights
        center = _median(y, weights) if self.fit_intercept else 0.0
        scale = MAD * _median(np.abs(y - center), weights)
        if scale == 0.0:  # more than half of them are equal
            scale = np.sqrt(np.average((y - center) ** 2, weights=weights)) or 1.0
        return np.array([center]), np.array([scale])

    def _mean(self, eta, noise):
        return eta

    def _variance(self, eta, noise):
        df = self._degrees(noise)
        with np.errstate(divide="ignore"):
            inflated = np.where(df > 2, df / np.maximum(df - 2, 0.0), np.inf)
        return noise[:, :1, None] ** 2 * inflated

    def _law(self, eta, noise):
        from scipy.stats import t  # a quarter of a second, and seldom needed

        return t(self._degrees(noise), eta, noise[:, :1, None])

    def _degrees(self, noise):
        fixed = np.full_like(noise[:, :1], 0.0 if self._learns_df else self.df)
        return (noise[:, 1:] if self._learns_df else fixed)[..., None]


def _median(values, weights):
    """Return the weighted median, the lower one of two."""
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return values[order][np.searchsorted(share, 0.5 * share[-1])]
