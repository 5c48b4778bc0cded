"""Priors and bounds of the coefficients of regressions."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.models.glm_bounds import bounded_glm
from skbayes_sg.kernels.models.glm_priors import ShrunkGLM
from skbayes_sg.kernels.priors import Given, Horseshoe, Laplace, Mixture, Normal
from skbayes_sg.kernels.protocol.model import n_parameters
from skbayes_sg.utils._validation import (
    check_bool,
    check_bounds,
    check_option,
    check_variances,
    shown,
)
from skbayes_sg.utils._warnings import warn_user

LAWS = {"normal": Normal, "laplace": Laplace, "horseshoe": Horseshoe}


class PriorMixin:
    """Estimators whose coefficients have priors, and bounds if one likes.

    Parameters
    ----------
    prior : {"normal", "laplace", "horseshoe"}
        Law of the coefficients. "laplace" has heavier tails and a peak at zero. Under
        "horseshoe" most coefficients are all but zero and some are as large as they
        like, up to the slab N(0, `prior_variance`); how many, it learns from the data,
        with the prior half-Cauchy(1 / sqrt(n_samples)) of its scale.
    prior_variance : float, array-like of shape (n_features,) or "learn"
        Variance of the prior of each coefficient, one for all or one for each feature.
        "learn" learns one from the data: its square root has the prior half-Cauchy(1).
    positive : bool
        Whether no coefficient is negative.
    bounds : pair of floats, array-like of shape (n_features, 2) or None
        Lowest and highest value of all coefficients or of each one, infinite where
        there is no bound. The prior is the Gaussian one within them.

    Attributes
    ----------
    prior_scale_, prior_scale_std_ : float or ndarray of shape (n_outputs,)
        Where it is learned, posterior mean and standard deviation of the scale of the
        prior: the coefficients' standard deviation, or the global scale of a horseshoe.
    """

    # Of files of version 0.1.0, which had none of these:
    prior, positive, bounds = "normal", False, None

    def _check_prior(self):
        """Check the parameters."""
        check_option("prior", self.prior, LAWS)
        if not self._learns_variance:
            if isinstance(self.prior_variance, str):
                raise ValueError(
                    f"prior_variance={self.prior_variance!r} is not allowed; use a "
                    'number, one for each feature, or "learn"'
                )
            check_variances("prior_variance", self.prior_variance, None)
        elif self.prior == "horseshoe":
            raise ValueError(
                'prior_variance="learn" is not for prior="horseshoe", which learns its '
                "scale anyway; give the variance of its slab, 10.0 for instance"
            )
        check_bool("positive", self.positive)
        self._checked_bounds()

    def _checked_bounds(self, n_features=None):
        """Return lower and upper bounds of coefficients, (n_features,) each, or None.

        Without `n_features`, the number of them is not checked.
        """
        if self.positive and self.bounds is not None:
            raise ValueError(
                "positive=True and bounds say the same; set positive=False, or "
                "bounds=None"
            )
        if not self.positive and self.bounds is None:
            return None
        bounds = (0.0, np.inf) if self.positive else self.bounds
        low, high = check_bounds("bounds", bounds, n_features)
        if self.prior != "normal" or self._learns_variance:
            raise ValueError(
                f"bounds of coefficients are not for prior={shown(self.prior)} and "
                f"prior_variance={shown(self.prior_variance)}; use "
                'prior="normal" and a number'
            )
        return low, high

    def _bounded(self, model, low, high):
        """Return a model whose coefficients have bounds, given in the data's units."""
        K, width = model.n_outputs, model.prior_precision.size // model.n_outputs
        scale = model.units.scale if model.units.scale.size else np.ones(K)
        bounds = []
        for values, none in ((low, -np.inf), (high, np.inf)):
            every = np.full((K, width), none)
            every[:, : len(values)] = values / scale[:, None]
            noise = np.full(n_parameters(model) - every.size, none)
            bounds.append(np.append(every.ravel(), noise))
        return bounded_glm(model, *bounds)

    @property
    def _learns_variance(self):
        value = self.prior_variance
        return isinstance(value, str) and value == "learn"

    @property
    def _learns_scale(self):
        return self.prior == "horseshoe" or self._learns_variance

    def _warn_of_separation(self, n_samples, n_features):
        """Warn if classes cannot tell how large coefficients may be.

        So few rows are separated by some coefficients, and by all multiples of these:
        the likelihood of large scales does not vanish, and neither does their prior.
        """
        if self._learns_variance and n_samples <= n_features + int(self.fit_intercept):
            warn_user(
                f'prior_variance="learn" with {n_samples} rows and {n_features} '
                "features: such classes can always be separated, so that nothing "
                "bounds their coefficients, whose posterior means do not exist. Use "
                'prior="horseshoe", which has bounds, or a number for prior_variance.',
                ConvergenceWarning,
            )

    def _given_variances(self, n_features):
        """Return variances of the Gaussian part of the prior, (n_features,)."""
        if self._learns_variance or self.prior == "laplace":
            return np.full(n_features, np.inf)
        return check_variances("prior_variance", self.prior_variance, n_features)

    def _prior_of(self, n_features, n_samples):
        """Return the class of the model and the prior of its coefficients."""
        if self.prior == "normal" and not self._learns_scale:
            return GLM, Given()
        unit, width = np.ones(n_features), 1.0
        if self.prior == "horseshoe":  # half of the coefficients are large, a priori
            width = 1.0 / np.sqrt(n_samples)
        elif not self._learns_scale:
            variance = self.prior_variance
            unit = np.sqrt(check_variances("prior_variance", variance, n_features))
            width = 0.0
        return ShrunkGLM, Mixture(LAWS[self.prior](), unit, width)
