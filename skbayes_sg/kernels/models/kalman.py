"""Kalman filter and smoother, step by step, with missing values.

    x_t = A x_(t-1) + N(0, Q),    y_t = c + C x_t + N(0, R),    x_1 ~ N(0, G)

G = A G A' + Q is the stationary covariance. An observation enters by its information
J = C' R^-1 C and h = C' R^-1 (y - c), restricted to the numbers that are not missing.
Given a state N(m, P), P = F F', the filter has

    P <- F (I + F' J F)^-1 F',    m <- m + P (h - J m)

so that covariances stay positive definite. Backward messages, what the future says of a
state, are of the same form: exp(-x' J x / 2 + x' h).
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.numerics.small_matrices import (
    cholesky,
    invert_covariance,
    invert_lower,
    multiply,
    multiply_transposed,
    small_helper,
    sum_of_powers,
    transposed_multiply,
)

LOG_2PI = math.log(2.0 * math.pi)


class System(NamedTuple):
    """The matrices of a linear Gaussian system, and what follows from them."""

    c: np.ndarray  # (m,) level of the observations
    A: np.ndarray  # (d, d)
    Q: np.ndarray  # (d, d)
    R: np.ndarray  # (m, m)
    C: np.ndarray  # (m, d)
    G: np.ndarray  # (d, d) stationary covariance of the states
    Q_inverse: np.ndarray  # (d, d)
    Q_root: np.ndarray  # (d, d) Cholesky factor
    R_inverse: np.ndarray  # (m, m)
    CR: np.ndarray  # (d, m) C' R^-1
    CRC: np.ndarray  # (d, d) C' R^-1 C
    log_det_R: np.ndarray  # (1,)


class States(NamedTuple):
    """The states of a window of n points.

    Place 0 is the state before the window, and place k that of its k-th point.
    """

    mean: np.ndarray  # (n + 1, d) given the past and the point itself
    cov: np.ndarray  # (n + 1, d, d)
    predicted_mean: np.ndarray  # (n + 1, d) given the past alone
    predicted_cov: np.ndarray  # (n + 1, d, d)
    density: np.ndarray  # (n + 1,) log p(y | past)
    smooth_mean: np.ndarray  # (n + 1, d) given the whole window
    smooth_cov: np.ndarray  # (n + 1, d, d)
    cross: np.ndarray  # (n + 1, d, d) covariance with the state before


class Buffers(NamedTuple):
    """Arrays of a step. Helpers take single arrays: each costs time at every call."""

    J: np.ndarray  # (d, d) information of an observation
    h: np.ndarray  # (d,)
    square: np.ndarray  # (4, d, d)
    vector: np.ndarray  # (2, d)
    rest: np.ndarray  # (m,) y - c of the numbers that are not missing
    known: np.ndarray  # (m,) their places
    R_known: np.ndarray  # (3, m, m) R of these numbers, its inverse, and a buffer


def init_system(m, d):
    """Allocate a system of m observed numbers and d states."""
    shapes = [(m,), (d, d), (d, d), (m, m), (m, d), (d, d), (d, d), (d, d)]
    shapes += [(m, m), (d, m), (d, d), (1,)]
    return System(*map(np.zeros, shapes))


def init_states(n, d):
    """Allocate the states of windows of up to n points."""
    vectors, matrices = (n + 1, d), (n + 1, d, d)
    shapes = [vectors, matrices, vectors, matrices, (n + 1,), vectors, matrices]
    return States(*map(np.zeros, [*shapes, matrices]))


def init_buffers(m, d):
    """Allocate the buffers of a system."""
    shapes = [(d, d), (d,), (4, d, d), (2, d), (m,)]
    known = np.zeros(m, np.int64)
    return Buffers(*map(np.zeros, shapes), known, np.zeros((3, m, m)))


@small_helper
def set_system(system, buffers):
    """Compute what follows from c, A, Q, R and C."""
    square = buffers.square
    sum_of_powers(system.A, system.Q, square[0], square[1], system.G)
    invert_covariance(system.Q, square[0], system.Q_inverse)
    cholesky(system.Q, system.Q_root)
    system.log_det_R[0] = invert_covariance(
        system.R, buffers.R_known[2], system.R_inverse
    )
    transposed_multiply(system.C, system.R_inverse, system.CR)
    multiply(system.CR, system.C, system.CRC)


@small_helper
def run_filter(X, low, high, begin, system, states, buffers):
    """Filter points low ... high - 1 of X, of a sequence that starts at `begin`.

    Unless the sequence starts there, place 0 has the law of the state before.
    """
    mean, cov = states.mean, states.cov
    predicted_mean, predicted_cov = states.predicted_mean, states.predicted_cov
    A, Q, G = system.A, system.Q, system.G
    J, h, square, vector = buffers.J, buffers.h, buffers.square, buffers.vector
    c, known, rest = system.c, buffers.known, buffers.rest
    R_inverse, CR, CRC = system.R_inverse, system.CR, system.CRC
    log_det = system.log_det_R[0]
    for t in range(low, high):
        k = t - low + 1
        if t == begin:
            set_place(predicted_mean, predicted_cov, k, G)
        else:
            _predict(A, Q, mean, cov, k, predicted_mean, predicted_cov)
        count = find_known(X, t, c, known, rest)
        if count == c.size:
            value = observe_all(R_inverse, CR, CRC, log_det, rest, J, h)
        else:
            value = observe_part(system, buffers, count)
        value += absorb(
            predicted_mean, predicted_cov, k, J, h, mean, cov, k, square, vector
        )
        states.density[k] = value


@small_helper
def set_place(mean, cov, k, covariance):
    """Set the law of place k to N(0, covariance)."""
    for i in range(mean.shape[1]):
        mean[k, i] = 0.0
        for j in range(mean.shape[1]):
            cov[k, i, j] = covariance[i, j]


@small_helper
def _predict(A, Q, mean, cov, k, new_mean, new_cov):
    d = A.shape[0]
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += A[i, j] * mean[k - 1, j]
        new_mean[k, i] = total
        for j in range(i + 1):
            total = Q[i, j]
            for n in range(d):
                for o in range(d):
                    total += A[i, n] * cov[k - 1, n, o] * A[j, o]
            new_cov[k, i, j] = total
            new_cov[k, j, i] = total


@small_helper
def find_known(X, t, c, known, rest):
    """Write the places of the known numbers of X[t], and their y - c."""
    count = 0
    for i in range(c.size):
        if not np.isnan(X[t, i]):
            known[count] = i
            rest[count] = X[t, i] - c[i]
            count += 1
    return count


@small_helper
def observe_all(R_inverse, CR, CRC, log_det, rest, J, h):
    """Write the information of y = c + rest to J and h; return log N(y; c, R)."""
    m, d, square = rest.size, h.size, 0.0
    for i in range(m):
        for j in range(m):
            square += rest[i] * R_inverse[i, j] * rest[j]
    for k in range(d):
        total = 0.0
        for i in range(m):
            total += CR[k, i] * rest[i]
        h[k] = total
        for n in range(d):
            J[k, n] = CRC[k, n]
    return -0.5 * (m * LOG_2PI + log_det + square)


@small_helper
def observe_part(system, buffers, count):
    """Do the same for `count` known numbers; J and h are zero where there is none."""
    known, rest, J, h = buffers.known, buffers.rest, buffers.J, buffers.h
    log_det, inverse = invert_known(system.R, known, count, buffers.R_known), 1
    for k in range(h.size):
        h[k] = 0.0
        for n in range(h.size):
            J[k, n] = 0.0
    square = 0.0
    for i in range(count):
        for j in range(count):
            value = buffers.R_known[inverse, i, j]
            square += rest[i] * value * rest[j]
            for k in range(h.size):
                left = system.C[known[i], k] * value
                h[k] += left * rest[j]
                for n in range(h.size):
                    J[k, n] += left * system.C[known[j], n]
    return -0.5 * (count * LOG_2PI + log_det + square)


@small_helper
def invert_known(R, known, count, R_known):
    """Write the inverse of R of `count` known places to R_known[1]; return log|R|."""
    part, inverse = R_known[0, :count, :count], R_known[1, :count, :count]
    for i in range(count):
        for j in range(count):
            part[i, j] = R[known[i], known[j]]
    return invert_covariance(part, R_known[2, :count, :count], inverse)


@small_helper
def absorb(mean, cov, k, J, h, new_mean, new_cov, place, square, vector):
    """Write N(mean, cov) of place k times exp(-x' J x / 2 + x' h) to `place`.

    Returns the log of the integral of this product.
    """
    d = h.size
    if d == 1:
        factor = 1.0 / (1.0 + cov[k, 0, 0] * J[0, 0])
        rest = h[0] - J[0, 0] * mean[k, 0]
        error = mean[k, 0] * (rest + h[0])
        new_cov[place, 0, 0] = cov[k, 0, 0] * factor
        change = new_cov[place, 0, 0] * rest
        new_mean[place, 0] = mean[k, 0] + change
        return 0.5 * (error + rest * change + math.log(factor))
    log_det = _absorb_covariance(cov[k], J, square, new_cov[place])
    error = 0.0
    for i in range(d):
        total = h[i]
        for j in range(d):
            total -= J[i, j] * mean[k, j]
        vector[0, i] = total
        vector[1, i] = mean[k, i]
        error += mean[k, i] * (total + h[i])
    for i in range(d):
        change = 0.0
        for j in range(d):
            change += new_cov[place, i, j] * vector[0, j]
        error += vector[0, i] * change
        new_mean[place, i] = vector[1, i] + change
    return 0.5 * (error - log_det)


@small_helper
def _absorb_covariance(cov, J, square, out):
    root, product, inner = square[0], square[1], square[2]
    cholesky(cov, root)
    multiply(J, root, product)
    transposed_multiply(root, product, inner)
    for i in range(inner.shape[0]):
        inner[i, i] += 1.0
    log_det = cholesky(inner, product)
    invert_lower(product, inner)
    multiply_transposed(inner, root, product)
    transposed_multiply(product, product, out)
    return log_det


@small_helper
def run_smoother(A, last, least, states, square):
    """Smooth places `last` - 1 down to `least`, given smoothed moments of place `last`.

    The covariance of places k and k - 1 is written to ``cross[k]``.
    """
    mean, cov, cross = states.mean, states.cov, states.cross
    predicted_mean, predicted_cov = states.predicted_mean, states.predicted_cov
    smooth_mean, smooth_cov, d = states.smooth_mean, states.smooth_cov, A.shape[0]
    gain, product = square[2], square[3]
    for k in range(last, least, -1):
        _gain(A, cov[k - 1], predicted_cov[k], square)
        for i in range(d):
            total = mean[k - 1, i]
            for j in range(d):
                total += gain[i, j] * (smooth_mean[k, j] - predicted_mean[k, j])
            smooth_mean[k - 1, i] = total
            for j in range(d):
                moved, shared = 0.0, 0.0
                for n in range(d):
                    change = smooth_cov[k, n, j] - predicted_cov[k, n, j]
                    moved += gain[i, n] * change
                    shared += smooth_cov[k, i, n] * gain[j, n]
                product[i, j] = moved
                cross[k, i, j] = shared
        for i in range(d):
            for j in range(i + 1):
                total = cov[k - 1, i, j]
                for n in range(d):
                    total += product[i, n] * gain[j, n]
                smooth_cov[k - 1, i, j] = total
                smooth_cov[k - 1, j, i] = total


@small_helper
def _gain(A, cov, predicted, square):
    """Write the gain of the smoother, cov A' predicted^-1, to square[2]."""
    if A.shape[0] == 1:
        square[2, 0, 0] = cov[0, 0] * A[0, 0] / predicted[0, 0]
        return
    inverse, root, gain, product = square[0], square[1], square[2], square[3]
    invert_covariance(predicted, root, inverse)
    multiply_transposed(cov, A, product)
    multiply(product, inverse, gain)


@small_helper
def pass_back(X, t, system, buffers, J, h):
    """Turn what the future says of state t into what it says of the one before it.

    The future begins with the observation of point t; J and h are overwritten.
    """
    d, A, root, vector = h.size, system.A, system.Q_root, buffers.vector
    product, inner = buffers.square[0], buffers.square[1]
    inverse, scaled = buffers.square[2], buffers.square[3]
    count = find_known(X, t, system.c, buffers.known, buffers.rest)
    if count == system.c.size:
        inverse_R, CR, CRC = system.R_inverse, system.CR, system.CRC
        observe_all(inverse_R, CR, CRC, 0.0, buffers.rest, buffers.J, buffers.h)
    else:
        observe_part(system, buffers, count)
    for i in range(d):
        h[i] += buffers.h[i]
        for j in range(d):
            J[i, j] += buffers.J[i, j]
    # (Q + J^-1)^-1 = J - J M (I + M' J M)^-1 M' J, Q = M M'
    multiply(J, root, product)
    transposed_multiply(root, product, inner)
    for i in range(d):
        inner[i, i] += 1.0
    cholesky(inner, inverse)
    invert_lower(inverse, inner)
    multiply_transposed(inner, product, scaled)  # the root of what is subtracted
    for i in range(d):
        total = 0.0
        for j in range(d):
            for k in range(d):
                total += inner[i, j] * root[k, j] * h[k]
        vector[0, i] = total
    for i in range(d):
        total = h[i]
        for k in range(d):
            total -= scaled[k, i] * vector[0, k]
            value = J[i, k]
            for n in range(d):
                value -= scaled[n, i] * scaled[n, k]
            inverse[i, k] = value
        vector[1, i] = total
    multiply(inverse, A, product)
    transposed_multiply(A, product, J)
    for i in range(d):
        total = 0.0
        for k in range(d):
            total += A[k, i] * vector[1, k]
        h[i] = total
