"""Sums of the inverse-multiquadric Stein kernel over pairs of draws.

With draws x and y, scores s and t (gradients of log pi there), delta = x - y and
k = q^beta, q = c^2 + |delta|^2 (Gorham & Mackey, 2017), dimension j has the kernel

    k0_j = s_j t_j k + s_j dk/dy_j + t_j dk/dx_j + d2k/dx_j dy_j
         = s_j t_j q^beta + 2 beta q^(beta-1) ((t_j - s_j) delta_j - 1)
           - 4 beta (beta-1) q^(beta-2) delta_j^2

and the joint kernel k0 is its sum over j. Pairs are processed in tiles, for which
|delta|^2 and the products with s and t come from matrix products. These suffer from
cancellation if two draws are much nearer to each other than to the origin; such pairs
are summed from their differences instead.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import compiled, helper, loop_helper

# Draws are near if q < NEAR (|x|^2 + |y|^2): up to here q loses 4 of its 16 digits.
NEAR = 1e-4


class Points(NamedTuple):
    """Draws, scores and precomputed products."""

    x: np.ndarray  # (n, d) draws, centered
    s: np.ndarray  # (n, d) scores, scaled to the size of x so that x + s is accurate
    z: np.ndarray  # (n, d) x + s
    xx: np.ndarray  # (n,) |x|^2
    xs: np.ndarray  # (n,) x's


@compiled
def pair_sum(points, start, tile_size, c2, beta):
    """Return the sum of k0 over pairs i < j, i in the `tile_size` rows from `start`.

    Three matrix products suffice, as x't + s'y = (x + s)'(y + t) - x'y - s't.
    """
    x, s, z, xx, xs = points
    n, d = x.shape
    stop = min(start + tile_size, n)
    rows = stop - start
    buffers = np.empty((3, rows * tile_size))
    total = 0.0
    for a in range(start, n, tile_size):
        b = min(a + tile_size, n)
        columns = b - a
        xy = buffers[0, : rows * columns].reshape(rows, columns)
        st = buffers[1, : rows * columns].reshape(rows, columns)
        zz = buffers[2, : rows * columns].reshape(rows, columns)
        np.dot(x[start:stop], x[a:b].T, xy)
        np.dot(s[start:stop], s[a:b].T, st)
        np.dot(z[start:stop], z[a:b].T, zz)
        for row in range(rows):
            i = start + row
            first = row + 1 if a == start else 0
            products = xy[row], st[row], zz[row], xx[a:b], xs[a:b]
            part, near = _row_sum(products, first, xx[i], xs[i] + d, c2, beta)
            if near > 0:
                part = 0.0
                for j in range(first, columns):
                    k0, near = _pair(products, j, xx[i], xs[i] + d, c2, beta)
                    part += _stein_kernel(x, s, i, a + j, c2, beta) if near else k0
            total += part
    return total


@compiled
def pair_sums(points, start, tile_size, c2, beta):
    """Return the sums of each k0_j over the pairs of `pair_sum`, an array of length d.

    With A = q^beta, B = 2 beta q^(beta-1), C = -4 beta (beta-1) q^(beta-2), and columns
    j of the draws and scores, a tile of pairs has the sum

        [s' x'] [A B; B -2C] [t; y] + sum of C (x^2 + y^2) - B (s x + t y + 1).
    """
    x, s, _, xx, _ = points
    n, d = x.shape
    stop = min(start + tile_size, n)
    rows = stop - start
    left = np.concatenate((s[start:stop], x[start:stop]))
    product = np.empty_like(left)
    buffers = np.empty((5, rows * tile_size))
    b_sum = np.zeros(n)
    c_sum = np.zeros(n)
    sums = np.zeros(d)
    for a in range(start, n, tile_size):
        b = min(a + tile_size, n)
        columns = b - a
        xy = buffers[0, : rows * columns].reshape(rows, columns)
        weights = (
            buffers[1:].ravel()[: 4 * rows * columns].reshape(2 * rows, 2 * columns)
        )
        np.dot(x[start:stop], x[a:b].T, xy)
        for row in range(rows):
            i = start + row
            first = row + 1 if a == start else 0
            upper = weights[row]
            lower = weights[rows + row]
            upper[:] = 0.0
            lower[:] = 0.0
            for j in range(first, columns):
                w, near = _inverse(xy[row, j], xx[i] + xx[a + j], c2)
                if near:
                    _add_stein_kernels(x, s, i, a + j, c2, beta, sums)
                    continue
                k = _power(w, beta)
                b_pair = 2 * beta * k * w
                c_pair = -2 * (beta - 1) * b_pair * w
                upper[j] = k
                upper[columns + j] = b_pair
                lower[j] = b_pair
                lower[columns + j] = -2 * c_pair
                b_sum[i] += b_pair
                c_sum[i] += c_pair
                b_sum[a + j] += b_pair
                c_sum[a + j] += c_pair
        np.dot(weights, np.concatenate((s[a:b], x[a:b])), product)
        for i in range(2 * rows):
            for dim in range(d):
                sums[dim] += left[i, dim] * product[i, dim]
    for i in range(start, n):
        for dim in range(d):
            own = c_sum[i] * x[i, dim] - b_sum[i] * s[i, dim]
            sums[dim] += own * x[i, dim] - 0.5 * b_sum[i]
    return sums


@compiled
def add_column(x, s, j, c2, beta, out):
    """Add k0 of every draw with draw `j` to `out`."""
    for i in range(x.shape[0]):
        out[i] += _stein_kernel(x, s, i, j, c2, beta)


@loop_helper
def _row_sum(products, first, xx, xs, c2, beta):
    """Return the sum of k0 over a row of pairs, and how many of them are near."""
    total = 0.0
    n_near = 0
    for j in range(first, products[0].size):
        k0, near = _pair(products, j, xx, xs, c2, beta)
        total += k0
        n_near += near
    return total, n_near


@helper
def _pair(products, j, xx, xs, c2, beta):
    """Return k0 of one pair from the matrix products, and whether it is near."""
    xy, st, zz, yy, yt = products
    w, near = _inverse(xy[j], xx + yy[j], c2)
    # (t - s)'delta = x't + s'y - x's - y't
    cross = zz[j] - xy[j] - st[j] - xs - yt[j]
    slope = 2 * beta * (cross - 2 * (beta - 1) * (1 - c2 * w))
    return _power(w, beta) * (st[j] + w * slope), near


@helper
def _inverse(xy, norms, c2):
    """Return 1 / q, and whether the pair is too near for it to be exact."""
    q = max(c2 + norms - 2 * xy, c2)
    # np.divide, since numba checks the divisor of `/`, which prevents vectorization.
    return np.divide(1.0, q), q < NEAR * norms


@helper
def _power(w, beta):
    return math.sqrt(w) if beta == -0.5 else w**-beta


@helper
def _stein_kernel(x, s, i, j, c2, beta):
    """Return k0 of draws i and j from their differences."""
    d = x.shape[1]
    r2 = 0.0
    st = 0.0
    cross = 0.0
    for dim in range(d):
        delta = x[i, dim] - x[j, dim]
        r2 += delta * delta
        st += s[i, dim] * s[j, dim]
        cross += (s[j, dim] - s[i, dim]) * delta
    w = 1 / (c2 + r2)
    return _power(w, beta) * (st + 2 * beta * w * (cross - d - 2 * (beta - 1) * r2 * w))


@helper
def _add_stein_kernels(x, s, i, j, c2, beta, out):
    """Add k0_1 ... k0_d of draws i and j to `out`."""
    r2 = 0.0
    for dim in range(x.shape[1]):
        r2 += (x[i, dim] - x[j, dim]) ** 2
    w = 1 / (c2 + r2)
    k = _power(w, beta)
    for dim in range(x.shape[1]):
        delta = x[i, dim] - x[j, dim]
        slope = (s[j, dim] - s[i, dim] - 2 * (beta - 1) * w * delta) * delta - 1
        out[dim] += k * (s[i, dim] * s[j, dim] + 2 * beta * w * slope)
