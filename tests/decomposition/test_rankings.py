"""Metrics of rankings, and the split that they are for."""

import numpy as np
import pytest

from skbayes_sg.metrics import ndcg_at_n, recall_at_n
from skbayes_sg.model_selection import LeaveLastOut

CHOSEN = [("a", 1), ("a", 2), ("b", 3), ("c", 9), ("z", 1)]
USERS, LISTS = ["b", "a", "d"], [[3, 1, 2], [4, 2, 1], [1, 2, 3]]


def test_scores_by_hand():
    # User b has its item first; a has items at places 2 and 3; d chose nothing, and c
    # and z have no recommendations.
    ideal = 1 + 1 / np.log2(3)
    expected = (1 + (1 / np.log2(3) + 1 / np.log2(4)) / ideal) / 2
    assert ndcg_at_n(CHOSEN, USERS, LISTS, n=3) == pytest.approx(expected)
    assert recall_at_n(CHOSEN, USERS, LISTS, n=3) == 1.0
    assert recall_at_n(CHOSEN, USERS, LISTS, n=2) == 0.75
    assert recall_at_n(CHOSEN, USERS, LISTS, n=50) == 1.0


@pytest.mark.parametrize(
    "users, lists, n, words",
    [
        (USERS, LISTS, 0, "n=0"),
        (USERS[:2], LISTS, 3, "recommended has the shape"),
        (["a", "a", "b"], LISTS, 3, "twice"),
        (["x", "y", "w"], LISTS, 3, "chose anything"),
    ],
)
def test_bad_questions(users, lists, n, words):
    with pytest.raises(ValueError, match=words):
        ndcg_at_n(CHOSEN, users, lists, n)


def test_the_last_of_each_user_are_left_out():
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(6, size=80), rng.integers(9, size=80)], axis=1)
    X[0] = 77, 0  # a user with one rating
    times = rng.permutation(80)
    train, test = next(LeaveLastOut(3).split(X, groups=times))
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(80))
    assert 0 in train
    for user in range(6):
        of_test = times[test][X[test, 0] == user]
        assert len(of_test) == 3
        assert of_test.min() > times[train][X[train, 0] == user].max()
    assert LeaveLastOut().get_n_splits() == 1
    last = next(LeaveLastOut(1).split(X))[1]  # in the order of the rows
    assert np.array_equal(last, [np.flatnonzero(X[:, 0] == u)[-1] for u in X[last, 0]])
    with pytest.raises(ValueError, match="n_last=99"):
        next(LeaveLastOut(99).split(X))
    with pytest.raises(ValueError, match="groups has the shape"):
        next(LeaveLastOut().split(X, groups=times[:3]))
