"""Scikit-learn's checks, for which y takes the place of the lengths of sequences."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayes_sg import (
    SGMCMCGaussianHMM,
    SGMCMCLinearGaussianSSM,
    SGMCMCStochasticVolatility,
)

SHORT = dict(n_draws=5, n_chains=1, thin=1, burn_in=10)
IN_ORDER = "the points of a sequence depend on each other"
DEPENDENT = {
    "check_methods_sample_order_invariance": IN_ORDER,
    "check_methods_subset_invariance": IN_ORDER,
}


class GaussianHMM(SGMCMCGaussianHMM):
    """The methods that take y in other estimators ignore it."""

    def fit(self, X, y=None):
        return super().fit(X)

    def score(self, X, y=None):
        return super().score(X)


class LinearGaussianSSM(SGMCMCLinearGaussianSSM):
    """The methods that take y in other estimators ignore it."""

    def fit(self, X, y=None):
        return super().fit(X)

    def score(self, X, y=None):
        return super().score(X)


@pytest.mark.long
@parametrize_with_checks(
    [GaussianHMM(2, n_init=2, **SHORT), LinearGaussianSSM(**SHORT)],
    expected_failed_checks=lambda estimator: DEPENDENT,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "kind", [SGMCMCGaussianHMM, SGMCMCLinearGaussianSSM, SGMCMCStochasticVolatility]
)
def test_missing_values_are_declared(kind):
    assert kind().__sklearn_tags__().input_tags.allow_nan
