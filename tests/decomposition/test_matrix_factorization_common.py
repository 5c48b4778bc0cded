"""Scikit-learn's own checks, as far as they apply to pairs of labels.

Most of them generate matrices of numbers with any number of columns, where the
recommender wants two columns of labels. `FirstTwoColumns` takes these of any matrix,
so that all checks but those listed apply.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from skbayes_sg import SGBPMFRecommender
from skbayes_sg.utils._labels import label_columns


class FirstTwoColumns(SGBPMFRecommender):
    def __sklearn_tags__(self):
        # In these data every label is there once, so that nothing tells factors from
        # noise: the R^2 of a fit scatters around 0.6, down to 0.35 with five draws.
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _label_columns(self, X, reset):
        if sp.issparse(X) or np.asarray(X).ndim != 2:
            return super()._label_columns(X, reset)
        if not reset:
            validate_data(self, X, reset=False, skip_check_array=True)
        columns = label_columns(np.asarray(X)[:, :2])
        if reset:
            validate_data(self, X, skip_check_array=True)
        return columns


NOT_FOR_PAIRS = {
    "check_complex_data": "X is one column; test_bpmf_bad_input.py has complex labels",
    "check_sample_weight_equivalence_on_dense_data": (
        "the draws differ, their law does not: see test_weights_count_as_repetitions"
    ),
    "check_regressors_no_decision_function": (
        "it forbids predict_proba, but ratings have levels, and these probabilities"
    ),
}


@parametrize_with_checks([FirstTwoColumns(n_factors=2, n_draws=5)])
def test_sklearn_checks(estimator, check):
    if why := NOT_FOR_PAIRS.get(check.func.__name__):
        pytest.skip(why)
    check(estimator)
