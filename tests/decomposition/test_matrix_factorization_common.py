"""Scikit-learn's own checks: numbers in any column of X are labels of some kind."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayes_sg import SGBPMFRecommender

NOT_FOR_PAIRS = {
    "check_sample_weight_equivalence_on_dense_data": (
        "the draws differ, their law does not: see test_weights_count_as_repetitions"
    ),
    "check_regressors_no_decision_function": (
        "it forbids predict_proba, but ratings have levels, and these probabilities"
    ),
}


@parametrize_with_checks(
    [SGBPMFRecommender(n_factors=2, n_draws=5)],
    expected_failed_checks=lambda estimator: NOT_FOR_PAIRS,
)
def test_sklearn_checks(estimator, check):
    check(estimator)
