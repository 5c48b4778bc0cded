"""Labels that mean the same everywhere."""

import numpy as np

from skbayes_sg.inference.alignment import align, hellinger_affinity


def test_shuffled_components_are_found_again(rng):
    laws = rng.dirichlet(np.full(30, 0.1), size=6)
    orders = [rng.permutation(6) for _ in range(8)]
    noisy = [laws[order] + 0.001 * rng.random(laws.shape) for order in orders]
    found = align(noisy)
    for order, own in zip(found.order, orders, strict=True):
        np.testing.assert_array_equal(own[order], orders[0])
    assert found.affinity.min() > 0.95


def test_a_reference_says_what_labels_mean(rng):
    laws = rng.dirichlet(np.full(30, 0.1), size=4)
    found = align([laws[[2, 0, 3, 1]]], reference=laws)
    np.testing.assert_array_equal(found.order, [[1, 3, 0, 2]])
    np.testing.assert_allclose(found.affinity, 1.0)


def test_affinity_is_that_of_hellinger(rng):
    p, q = rng.dirichlet(np.ones(5), size=2), rng.dirichlet(np.ones(5), size=2)
    expected = [[np.sqrt(a * b).sum() for b in q] for a in p]
    np.testing.assert_allclose(hellinger_affinity(3 * p, q), expected)
