"""Minibatches are uniform, without replacement, and cost O(n)."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from skbayes_sg.kernels.data.minibatch import INDEX, draw_minibatch


class Counting:
    """A generator that counts its uniforms."""

    def __init__(self, seed=0):
        self.rng, self.count = np.random.default_rng(seed), 0

    def random(self):
        self.count += 1
        return self.rng.random()


class Scripted:
    """A generator that returns the given uniforms."""

    def __init__(self, values):
        self.values = iter(values)

    def random(self):
        return next(self.values)


def test_every_minibatch_is_equally_likely(rng):
    # Chi-square on the 20 subsets of 3 out of 6 rows, one permutation all along.
    subsets = {subset: 0 for subset in combinations(range(6), 3)}
    permutation = np.arange(6, dtype=INDEX)
    for _ in range(4000):
        subsets[tuple(sorted(draw_minibatch(permutation, 3, rng)))] += 1
    assert stats.chisquare(list(subsets.values())).pvalue > 1e-3


def test_uniform_whatever_the_permutation_was():
    # All pairs of 4 rows, by enumeration: both uniforms pass through their cells.
    for start in permutations(range(4)):
        drawn = []
        for a in range(4):
            for b in range(3):
                permutation = np.array(start, INDEX)
                cells = Scripted([(a + 0.5) / 4, (b + 0.5) / 3])
                drawn.append(tuple(sorted(draw_minibatch(permutation, 2, cells))))
        assert sorted(drawn) == sorted(2 * list(combinations(range(4), 2)))


@pytest.mark.parametrize("size", [1, 10, 99])
def test_distinct_rows_at_linear_cost(size):
    permutation, rng = np.arange(100, dtype=INDEX), Counting()
    for _ in range(50):
        rng.count = 0
        before = permutation.copy()
        idx = draw_minibatch(permutation, size, rng)
        assert idx.size == size and np.unique(idx).size == size
        assert rng.count == size
        assert np.count_nonzero(permutation != before) <= 2 * size
        assert np.shares_memory(idx, permutation)
    np.testing.assert_array_equal(np.sort(permutation), np.arange(100))


def test_all_rows_need_no_random_number():
    permutation, rng = np.arange(8, dtype=INDEX), Counting()
    np.testing.assert_array_equal(draw_minibatch(permutation, 8, rng), np.arange(8))
    assert rng.count == 0


def test_largest_uniform_stays_inside():
    permutation = np.arange(1000, dtype=INDEX)
    almost_one = np.nextafter(1.0, 0.0)
    draw_minibatch(permutation, 999, Scripted([almost_one] * 999))
    np.testing.assert_array_equal(np.sort(permutation), np.arange(1000))
