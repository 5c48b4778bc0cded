"""Sums of waves against complex exponentials."""

import numpy as np
import pytest

from skbayes_sg.kernels.stein_features import feature_sums


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("tile_size", [7, 64])
def test_definition(rng, scale, tile_size):
    x, s = rng.standard_normal((2, 50, 3))
    frequencies = scale * rng.standard_normal((5, 3))
    real, imaginary = feature_sums(x, s, frequencies, tile_size)
    waves = np.exp(1j * x @ frequencies.T)
    expected = waves.T @ s + 1j * frequencies * waves.sum(axis=0)[:, None]
    size = scale**2 * 50  # phases of size `scale` have errors of 1e-16 times that
    np.testing.assert_allclose(real, expected.real, atol=1e-14 * size)
    np.testing.assert_allclose(imaginary, expected.imag, atol=1e-14 * size)
