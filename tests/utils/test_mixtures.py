"""Quantiles of mixtures against their distribution functions."""

import numpy as np
import pytest
from scipy import stats

from skbayes_sg.utils._mixtures import mixture_quantile


@pytest.mark.parametrize("means", [(5.0, 8.0), (0.0, 1e6), (5.0, 1e14), (1e12, 1e15)])
@pytest.mark.parametrize("q", [0.05, 0.5, 0.6, 0.95])
def test_quantiles_of_counts(means, q):
    """The smallest count with at least this probability; SciPy has none of 1e14."""
    law = stats.poisson(np.array(means)[:, None, None])
    found = mixture_quantile([law], q, True)
    assert law.cdf(found).mean() >= q
    if found < 1e9:  # beyond, distribution functions are rounded
        assert found == 0 or law.cdf(found - 1).mean() < q


def test_quantiles_of_numbers():
    laws = [stats.norm(np.full((2, 1, 3), m), 1.0) for m in (0.0, 3.0)]
    found = mixture_quantile(laws, 0.9, False)
    cdf = np.mean([law.cdf(found) for law in laws], axis=(0, 1))
    np.testing.assert_allclose(cdf, 0.9, atol=1e-6)
