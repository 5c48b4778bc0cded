"""Scikit-learn's own checks, for every estimator of the package."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayes_sg import (
    SGHMCLogisticRegression,
    SGLDLogisticRegression,
    SGMCMCLogisticRegression,
    SGNHTLogisticRegression,
)


@parametrize_with_checks(
    [
        SGLDLogisticRegression(n_draws=50, n_chains=2),
        SGMCMCLogisticRegression(n_draws=50, n_chains=2, sampler="mala"),
        SGHMCLogisticRegression(n_draws=50, n_chains=2),
        SGNHTLogisticRegression(n_draws=50, n_chains=2),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)
