"""Small dense matrices: products, Cholesky factors and inverses into given arrays.

Sums are in order: vectorized sums over two or three numbers are slower, and take many
times as long to compile.
"""

import numpy as np
from numba.extending import register_jitable

from skbayes_sg.kernels.generic import INNER

small_helper = register_jitable(**(INNER | {"fastmath": False}))

DOUBLINGS = 60  # at most, of a sum of powers
CONVERGED = 1e-17  # relative size of what a further doubling would add


@small_helper
def clear(out):
    """Set all items of a matrix to zero."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0


@small_helper
def copy_matrix(a, out):
    """Write the matrix `a` to `out`."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = a[i, j]


@small_helper
def multiply(a, b, out):
    """Write a b to `out`, which is another array."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(b.shape[0]):
                total += a[i, k] * b[k, j]
            out[i, j] = total


@small_helper
def multiply_transposed(a, b, out):
    """Write a b' to `out`, which is another array."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total = 0.0
            for k in range(b.shape[1]):
                total += a[i, k] * b[j, k]
            out[i, j] = total


@small_helper
def transposed_multiply(a, b, out):
    """Write a' b to `out`, which is another array."""
    for i in range(a.shape[1]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(b.shape[0]):
                total += a[k, i] * b[k, j]
            out[i, j] = total


@small_helper
def cholesky(a, out):
    """Write the lower factor L of a = L L' to `out`; return log|a|, NaN if none."""
    log_determinant = 0.0
    for i in range(a.shape[0]):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            if i == j:
                out[i, i] = np.sqrt(total) if total > 0.0 else np.nan
                log_determinant += 2.0 * np.log(out[i, i])
            else:
                out[i, j] = total / out[j, j]
                out[j, i] = 0.0
    return log_determinant


@small_helper
def invert_lower(lower, out):
    """Write the inverse of a lower triangular matrix to `out`."""
    for j in range(lower.shape[0]):
        for i in range(lower.shape[0]):
            total = 1.0 if i == j else 0.0
            for k in range(j, i):
                total -= lower[i, k] * out[k, j]
            out[i, j] = total / lower[i, i] if i >= j else 0.0


@small_helper
def invert_covariance(a, root, out):
    """Write the inverse of a positive definite matrix to `out`; return log|a|.

    `root` is another array, which gets the inverse of the Cholesky factor of `a`.
    """
    d = a.shape[0]
    log_determinant = cholesky(a, out)
    invert_lower(out, root)
    for i in range(d):
        for j in range(d):
            total = 0.0
            for k in range(max(i, j), d):
                total += root[k, i] * root[k, j]
            out[i, j] = total
    return log_determinant


@small_helper
def invert(a, out):
    """Write the inverse of a square matrix to `out`; return the log of |det a|.

    Gauss-Jordan elimination with row pivots, which destroys `a`.
    """
    n, log_determinant = a.shape[0], 0.0
    for i in range(n):
        for j in range(n):
            out[i, j] = 1.0 if i == j else 0.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        if best != k:
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
                out[k, j], out[best, j] = out[best, j], out[k, j]
        pivot = a[k, k]
        log_determinant += np.log(abs(pivot))
        for j in range(n):
            a[k, j] /= pivot
            out[k, j] /= pivot
        for i in range(n):
            if i != k:
                factor = a[i, k]
                for j in range(n):
                    a[i, j] -= factor * a[k, j]
                    out[i, j] -= factor * out[k, j]
    return log_determinant


@small_helper
def sum_of_powers(a, q, power, product, out):
    """Write the sum over k of a^k q a'^k, for stable `a` and symmetric `q`, to `out`.

    By doubling (Smith, 1968): with S the sum of the first n terms, S + a^n S a'^n is
    that of 2 n. `power` and `product` are buffers.
    """
    copy_matrix(a, power)
    copy_matrix(q, out)
    for _ in range(DOUBLINGS):
        multiply(power, out, product)
        size, change = 0.0, 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[0]):
                total = 0.0
                for k in range(a.shape[0]):
                    total += product[i, k] * power[j, k]
                out[i, j] += total
                size, change = max(size, abs(out[i, j])), max(change, abs(total))
        if not change > CONVERGED * size:
            break
        multiply(power, power, product)
        copy_matrix(product, power)
