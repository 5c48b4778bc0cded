import numpy as np

from skbayes_sg.inference.optimize import adam
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.models.mean_field import MeanField


def test_mean_field_of_a_gaussian_is_exact(rng):
    """The best one has the posterior's means and the inverse of its precisions."""
    y, factor = rng.normal([1.0, -1.0], 1.0, (200, 2)), np.array([[3.0, 1.0], [0, 2.0]])
    model = for_kernels(GaussianMean(y, factor @ factor.T))
    found = adam(MeanField(model), np.zeros(4), 20_000, random_state=0)
    # Adam's last steps are 0.001 long; the sds are 0.32 and 0.5.
    assert np.allclose(found[:2], y.mean(axis=0), atol=0.03)
    sd = np.diag(factor @ factor.T) ** -0.5
    assert np.allclose(np.exp(found[2:]), sd, rtol=0.06)
