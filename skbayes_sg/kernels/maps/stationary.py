"""Transitions of stationary linear systems: A = B L^-1, L L' = I + B B'.

x_t = A x_(t-1) + noise of covariance I has the stationary covariance G = I + A G A'. A
matrix whose eigenvalues are inside of the unit circle has such a G, and with G = L L',
B = A L is any matrix (Ansley & Kohn, 1986, have partial autocorrelations instead). The
volume of symmetric matrices D shrinks by prod_(i <= j) (1 - l_i l_j) under D - A D A',
where l are the eigenvalues of A, so that

    log|det J| = -d log|L| + log|det(I - A (x) A)| / 2 + log|det(I - A^2)| / 2

For d = 1 it is A = B / sqrt(1 + B^2) with dA / dB = (1 + B^2)^(-3/2).
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.maps import (
    add_pulled_back,
    constrain,
    log_jacobian,
    n_free,
    unconstrain,
)
from skbayes_sg.kernels.numerics.small_matrices import (
    cholesky,
    invert,
    invert_lower,
    multiply,
    multiply_transposed,
    small_helper,
    transposed_multiply,
)


class Stationary(NamedTuple):
    """A d x d matrix of spectral radius below one, its d^2 numbers by rows."""

    dim: int  # d


@n_free.register(Stationary)
def _(map_):
    return map_.dim * map_.dim


@small_helper
def _inverse_root(b):
    """Return L^-1, and log|L|."""
    d = b.shape[0]
    g, lower, root = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    multiply_transposed(b, b, g)
    for i in range(d):
        g[i, i] += 1.0
    log_determinant = cholesky(g, lower)
    invert_lower(lower, root)
    return root, 0.5 * log_determinant


@constrain.register(Stationary)
def _(map_, u, out):
    d = map_.dim
    b = u.reshape(d, d)
    multiply(b, _inverse_root(b)[0], out.reshape(d, d))


@small_helper
def _squares(a):
    """Return the inverses of I - A (x) A and I - A^2, and log|det| of both."""
    d = a.shape[0]
    pairs, inverse = np.empty((d * d, d * d)), np.empty((d * d, d * d))
    for i in range(d):
        for k in range(d):
            for j in range(d):
                for h in range(d):
                    same = 1.0 if i == j and k == h else 0.0
                    pairs[i * d + k, j * d + h] = same - a[i, j] * a[k, h]
    square, other = np.empty((d, d)), np.empty((d, d))
    multiply(a, a, square)
    for i in range(d):
        for j in range(d):
            square[i, j] = (1.0 if i == j else 0.0) - square[i, j]
    log_determinant = invert(pairs, inverse) + invert(square, other)
    return inverse, other, log_determinant


@log_jacobian.register(Stationary)
def _(map_, u, x):
    d = map_.dim
    half = _inverse_root(u.reshape(d, d))[1]
    return -d * half + 0.5 * _squares(x.reshape(d, d))[2]


@add_pulled_back.register(Stationary)
def _(map_, u, x, g, share, out):
    d = map_.dim
    a, b, out = x.reshape(d, d), u.reshape(d, d), out.reshape(d, d)
    slope, product, inner = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    for i in range(d):
        for j in range(d):
            slope[i, j] = g[i * d + j]
    if share != 0.0:
        _add_volume_slope(a, share, slope)
    # dA = (dB - B D) L^-1, D the lower half of L^-1 (dB B' + B dB') L'^-1
    root = _inverse_root(b)[0]
    multiply_transposed(slope, root, product)
    for i in range(d):
        for j in range(d):
            out[i, j] += product[i, j]
    transposed_multiply(b, product, inner)
    for i in range(d):
        for j in range(i + 1):
            # The slope in the symmetric matrix; -d log|L| adds to its diagonal.
            half = 0.5 * inner[i, j]
            inner[i, j] = half + (0.5 * share * d if i == j else 0.0)
            inner[j, i] = inner[i, j]
    multiply(inner, root, product)
    transposed_multiply(root, product, inner)
    multiply(inner, b, product)
    for i in range(d):
        for j in range(d):
            out[i, j] -= 2.0 * product[i, j]


@small_helper
def _add_volume_slope(a, share, out):
    """Add share times the derivative in A of half of the last two logarithms."""
    d = a.shape[0]
    inverse, other, _ = _squares(a)
    product = np.empty((d, d))
    multiply(a, other, product)
    for i in range(d):
        for j in range(d):
            total = product[j, i]
            for k in range(d):
                for h in range(d):
                    total += inverse[j * d + h, i * d + k] * a[k, h]
            out[i, j] -= share * total


@unconstrain.register(Stationary)
def _(map_, x):
    d = map_.dim
    a = x.reshape(d, d)
    covariance = np.linalg.solve(np.eye(d * d) - np.kron(a, a), np.eye(d).ravel())
    covariance = covariance.reshape(d, d)
    root = np.linalg.cholesky(0.5 * (covariance + covariance.T))
    return (a @ root).ravel()
