"""Every map: pulled-back gradients, Jacobians and inverses, all by differences."""

import numpy as np
import pytest

from skbayes_sg.kernels.capabilities.maps import (
    add_pulled_back,
    constrain,
    is_affine,
    log_jacobian,
    n_constrained,
    n_free,
    n_redundant,
    unconstrain,
)
from skbayes_sg.kernels.maps import (
    AdditiveLogRatio,
    Bounds,
    CholeskyCovariance,
    Correlation,
    Exp,
    Interval,
    NormalizedGammas,
    Ordered,
    Real,
    Repeated,
    Softplus,
    Stationary,
    StickBreaking,
    Tanh,
    joined,
)
from skbayes_sg.kernels.maps.noise_units import noise_units

STEP = 1e-5


def few_rows():
    """Return the map of two outputs with three coefficients each, one row of no use."""
    A = np.array([[1.0, 0.3, -0.5], [0.2, -1.0, 0.1], [0.0, 0.0, 0.01]])
    y = np.array([[1.0, -0.5, 0.2], [0.3, 0.1, -1.0]])
    map_ = noise_units(A, y, np.array([1.0, 0.5, 2.0]), size=9)
    assert map_.left.shape == (2, 3)
    return map_


# Each map, and which of its constrained numbers are free.
MAPS = {
    "real": (Real(2), [0, 1]),
    "exp": (Exp(2), [0, 1]),
    "softplus": (Softplus(2), [0, 1]),
    "interval": (Interval(np.array([-1.0, 2.0]), np.array([1.0, 7.0])), [0, 1]),
    "bounds": (
        Bounds(
            np.array([-np.inf, 0.0, -np.inf, -1.0]),
            np.array([np.inf, np.inf, 3.0, 2.0]),
            np.array([1.0, 0.5, 2.0, 1.0]),
        ),
        [0, 1, 2, 3],
    ),
    "tanh": (Tanh(2), [0, 1]),
    "log ratio": (AdditiveLogRatio(4), [0, 1, 2]),
    "stick breaking": (StickBreaking(4), [0, 1, 2]),
    "ordered": (Ordered(3), [0, 1, 2]),
    "covariance": (CholeskyCovariance(3), [0, 3, 4, 6, 7, 8]),
    "stationary number": (Stationary(1), [0]),
    "stationary": (Stationary(3), list(range(9))),
    "correlation": (Correlation(4), [4, 8, 9, 12, 13, 14]),
    "joined": (joined(Real(1), AdditiveLogRatio(3), Exp(2)), [0, 1, 2, 4, 5]),
    "noise units": (few_rows(), list(range(9))),
    "repeated": (Repeated(AdditiveLogRatio(3), 2), [0, 1, 3, 4]),
}


def image(map_, u):
    x = np.zeros(n_constrained(map_))
    constrain(map_, u, x)
    return x


def differences(function, u):
    steps = STEP * np.eye(u.size)
    return np.array([(function(u + e) - function(u - e)) / (2 * STEP) for e in steps])


def pulled_back(map_, u, g, share):
    out = np.zeros(u.size)
    add_pulled_back(map_, u, image(map_, u), g, share, out)
    return out


def check_map(map_, free, u):
    """Assert all that a map has to satisfy at u."""
    x, g = image(map_, u), np.random.default_rng(1).normal(size=n_constrained(map_))
    jacobian = differences(lambda v: image(map_, v), u)
    np.testing.assert_allclose(
        pulled_back(map_, u, g, 0.0), jacobian @ g, rtol=1e-7, atol=1e-8
    )
    volume = np.linalg.slogdet(jacobian[:, free])[1]
    np.testing.assert_allclose(log_jacobian(map_, u, x), volume, rtol=1e-8, atol=1e-8)
    slope = differences(lambda v: log_jacobian(map_, v, image(map_, v)), u)
    both = pulled_back(map_, u, g, 1.0) - pulled_back(map_, u, g, 0.0)
    np.testing.assert_allclose(both, slope, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(unconstrain(map_, x), u, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MAPS)
def test_map(name):
    map_, free = MAPS[name]
    assert n_free(map_) == len(free)
    for seed in range(3):
        check_map(map_, free, np.random.default_rng(seed).normal(size=len(free)))


@pytest.mark.parametrize("name", MAPS)
def test_far_points_stay_finite(name):
    map_, free = MAPS[name]
    for size in (-30.0, 30.0):
        u = np.full(len(free), size)
        assert np.isfinite(image(map_, u)).all()
        assert np.isfinite(log_jacobian(map_, u, image(map_, u)))
        assert np.isfinite(
            pulled_back(map_, u, np.ones(n_constrained(map_)), 1.0)
        ).all()


def test_images_satisfy_their_constraints():
    u = np.random.default_rng(0).normal(size=6)
    for map_ in (AdditiveLogRatio(7), StickBreaking(7)):
        x = image(map_, u)
        assert (x > 0).all() and abs(x.sum() - 1) < 1e-12
        np.testing.assert_allclose(image(map_, 0 * u), 1 / 7)
    for map_, size in ((CholeskyCovariance(3), 6), (Correlation(4), 6)):
        matrix = image(map_, u).reshape(map_.dim, map_.dim)
        np.testing.assert_array_equal(matrix, matrix.T)
        assert n_free(map_) == size and np.linalg.eigvalsh(matrix).min() > 0
    np.testing.assert_allclose(np.diag(matrix), 1)
    matrix = image(Stationary(2), 10 * u[:4]).reshape(2, 2)
    assert np.abs(np.linalg.eigvals(matrix)).max() < 1 < np.abs(matrix).max()
    assert (np.diff(image(Ordered(6), u)) > 0).all()


def test_affine_maps():
    assert is_affine(joined(Real(1), Repeated(Real(2), 2)))
    assert not is_affine(joined(Real(1), Exp(1)))


def test_forgotten_jacobians_are_noticed():
    """The check rejects a map without its Jacobian."""
    map_, free = MAPS["exp"]

    class Forgetful(Exp):
        pass

    @log_jacobian.register(Forgetful)
    def _(map_, u, x):
        return 0.0

    with pytest.raises(AssertionError):
        check_map(Forgetful(2), free, np.array([0.3, -0.4]))


def test_normalized_gammas_are_independent_gammas():
    """The law of v given Dirichlet(a) is that of independent Gamma(a_j) variables."""
    shapes = np.array([[0.3, 1.0, 4.0], [2.0, 1.0, 30.0]])
    map_ = NormalizedGammas(3, shapes.sum(axis=1))
    assert n_free(map_) == n_constrained(map_) == 6 and n_redundant(map_) == 2
    both = Repeated(map_, 2)
    assert n_redundant(joined(Real(1), both)) == 4
    rng, found, expected = np.random.default_rng(0), [], []
    for _ in range(5):
        u = rng.normal(0.5, 2.0, 6)
        x = image(map_, u)
        np.testing.assert_allclose(x.reshape(2, 3).sum(axis=1), 1.0)
        inside = np.sum((shapes.ravel() - 1.0) * np.log(x))
        found.append(inside + log_jacobian(map_, u, x))
        s = np.log1p(np.exp(u))
        v, slope = 0.5 * s**2, s / (1.0 + np.exp(-u))
        expected.append(np.sum((shapes.ravel() - 1.0) * np.log(v) - v + np.log(slope)))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_normalized_gammas_by_differences():
    map_, rng = NormalizedGammas(3, np.array([5.0, 40.0])), np.random.default_rng(0)
    for size in (1.0, 4.0):
        u, g = size * rng.normal(size=6), rng.normal(size=6)
        jacobian = differences(lambda v: image(map_, v), u)
        found = pulled_back(map_, u, g, 0.0)
        np.testing.assert_allclose(found, jacobian @ g, rtol=1e-6, atol=1e-8)
        slope = differences(lambda v: log_jacobian(map_, v, image(map_, v)), u)
        both = pulled_back(map_, u, g, 1.0) - found
        np.testing.assert_allclose(both, slope, rtol=1e-6, atol=1e-7)
        x = image(map_, u)
        np.testing.assert_allclose(image(map_, unconstrain(map_, x)), x, rtol=1e-10)
        for far in (-30.0, 30.0):
            assert np.isfinite(pulled_back(map_, np.full(6, far), g, 1.0)).all()
