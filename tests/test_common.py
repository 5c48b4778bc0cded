"""Scikit-learn's own checks, for every estimator of the package."""

import pytest
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    parametrize_with_checks,
)

from skbayes_sg import (
    SGHMCClassifierMLP,
    SGHMCLogisticRegression,
    SGHMCRegressorMLP,
    SGLDClassifierMLP,
    SGLDLogisticRegression,
    SGLDRegressorMLP,
    SGMCMCClassifierMLP,
    SGMCMCLinearRegression,
    SGMCMCLogisticRegression,
    SGMCMCNegativeBinomialRegressor,
    SGMCMCPoissonRegressor,
    SGMCMCRegressorMLP,
    SGMCMCRobustRegressor,
    SGNHTClassifierMLP,
    SGNHTLogisticRegression,
    SGNHTRegressorMLP,
)

SHORT = dict(n_draws=10, burn_in=100, thin=5, n_chains=2)


def not_to_the_last_digit(estimator):
    """Return checks that no chain of rounded numbers passes; see test_mlp.py.

    Scikit-learn's own `SGDClassifier` declares the same ones.
    """
    if not hasattr(estimator, "hidden_layer_sizes"):
        return {}
    reason = "rounding errors of weighted and repeated rows grow along the chain"
    names = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{n}_data": reason for n in names}


ESTIMATORS = [
    # Full gradients are compiled in less time than the automatic ones.
    SGLDLogisticRegression(n_draws=50, n_chains=2, gradient="full"),
    SGMCMCLinearRegression(n_draws=50, n_chains=2, gradient="full"),
    SGMCMCPoissonRegressor(n_draws=50, n_chains=2, gradient="full"),
    SGHMCClassifierMLP((10,), **SHORT),
    SGHMCRegressorMLP((10,), **SHORT),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=not_to_the_last_digit)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_column_names(estimator):
    """A check of scikit-learn that is not among those above."""
    check_dataframe_column_names_consistency(type(estimator).__name__, estimator)


@pytest.mark.long  # other samplers or gradients, each of which is compiled
@parametrize_with_checks(
    [
        SGLDLogisticRegression(n_draws=50, n_chains=2),
        SGMCMCLogisticRegression(n_draws=50, n_chains=2, gradient="full"),
        SGHMCLogisticRegression(n_draws=50, n_chains=2, gradient="full"),
        SGNHTLogisticRegression(n_draws=50, n_chains=2, gradient="full"),
        SGMCMCNegativeBinomialRegressor(n_draws=50, n_chains=2, gradient="full"),
        SGMCMCRobustRegressor(n_draws=50, n_chains=2, gradient="full"),
        SGLDClassifierMLP((10,), **SHORT),
        SGLDRegressorMLP((10,), **SHORT),
        SGNHTClassifierMLP((10,), **SHORT),
        SGNHTRegressorMLP((10,), **SHORT),
        SGMCMCClassifierMLP((10,), **SHORT),
        SGMCMCRegressorMLP((10,), **SHORT),
    ],
    expected_failed_checks=not_to_the_last_digit,
)
def test_sklearn_checks_with_other_samplers(estimator, check):
    check(estimator)
