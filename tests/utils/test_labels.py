"""Codes of labels: integers are counted where their range is short."""

import numpy as np
import pytest

from skbayes_sg.utils._labels import encode


@pytest.mark.parametrize(
    "column",
    [
        np.random.default_rng(0).integers(-5, 20, 1000),
        np.random.default_rng(0).integers(0, 9, 50).astype(np.uint8),
        np.array([2**63 + 1, 2**63 + 2, 2**63 + 1], np.uint64),
        np.array([-(2**63), 2**63 - 1, -(2**63)]),
        np.array([2**63 - 1, 2**63 - 2]),
        np.array([10**9, 7]),
    ],
    ids=["negative", "bytes", "beyond int64", "whole range", "largest", "far apart"],
)
def test_integers_are_encoded_as_by_sorting(column):
    labels, codes = encode(column)
    expected, inverse = np.unique(column, return_inverse=True)
    assert labels.dtype == column.dtype
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(codes, inverse)
