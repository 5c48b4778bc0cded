"""Sums over blocks of a linear Gaussian state-space model, and their gradient."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.data import sequences
from skbayes_sg.kernels.data.sequences import window
from skbayes_sg.kernels.linked import linked
from skbayes_sg.kernels.models import kalman
from skbayes_sg.kernels.models.kalman import (
    Buffers,
    States,
    System,
    absorb,
    find_known,
    invert_known,
    run_filter,
    run_smoother,
    set_place,
    set_system,
)
from skbayes_sg.kernels.numerics import small_matrices
from skbayes_sg.kernels.numerics.small_matrices import (
    clear,
    copy_matrix,
    invert_covariance,
    multiply,
    small_helper,
    sum_of_powers,
)
from skbayes_sg.kernels.separate import without_refcounts


class SSMWork(NamedTuple):
    """A system with the states of a window, and sums over the points of blocks."""

    system: System
    states: States
    buffers: Buffers
    sums: np.ndarray  # (4, d, d) E x_t x_t', x_t x_(t-1)', x_(t-1) x_(t-1)', x_1 x_1'
    counts: np.ndarray  # (3,) transitions, starts, points without missing values
    rest: np.ndarray  # (m,) sum of E (y_t - c - C x_t)
    noise: np.ndarray  # (m, m) of E (y_t - c - C x_t) (...)'
    g_c: np.ndarray  # (m,) gradients of points with missing values
    g_R: np.ndarray  # (m, m)
    square: np.ndarray  # (6, k, k), k the larger of m and d
    x: np.ndarray  # the parameters: c, A, Q and R
    g: np.ndarray  # the gradient that follows from the sums
    value: np.ndarray  # (1,) log p(block | past)


@small_helper
def write_message(mean, cov, k, out):
    """Write the vector and the matrix of place k to the message `out`."""
    d = mean.shape[1]
    for i in range(d):
        out[i] = mean[k, i]
        for j in range(d):
            out[d + d * i + j] = cov[k, i, j]


@small_helper
def read_message(messages, i, vector, matrix):
    """Read message i."""
    d = vector.size
    for j in range(d):
        vector[j] = messages[i, j]
        for k in range(d):
            matrix[j, k] = messages[i, d + d * j + k]


@small_helper
def filter_window(model, work, i, until):
    """Filter window i up to point `until`; return log p(block | past) of what it has.

    Place k of the states is point low + k - 1, low the first point of the window.
    """
    blocks, states = model.blocks, work.states
    low, _ = window(blocks, i)
    if low > blocks.begin[i]:
        if len(model.messages.forward):
            read_message(model.messages.forward, i, states.mean[0], states.cov[0])
        else:
            set_place(states.mean, states.cov, 0, work.system.G)
    run_filter(model.X, low, until, blocks.begin[i], work.system, states, work.buffers)
    value = 0.0
    for t in range(blocks.first[i], min(until, blocks.last[i])):
        value += states.density[t - low + 1]
    return value


@small_helper
def smooth_window(model, work, i):
    """Add the sums over block i, given its filtered window."""
    blocks, states, buffers = model.blocks, work.states, work.buffers
    low, high = window(blocks, i)
    last, k = high - low, blocks.first[i] - low + 1
    mean, cov = states.smooth_mean, states.smooth_cov
    J, h = buffers.J, buffers.h
    if high < blocks.end[i] and len(model.messages.backward):
        read_message(model.messages.backward, i, h, J)
    else:
        clear(J)
        for j in range(h.size):
            h[j] = 0.0
    square, vector = buffers.square, buffers.vector
    absorb(states.mean, states.cov, last, J, h, mean, cov, last, square, vector)
    is_start = blocks.first[i] == blocks.begin[i]
    run_smoother(work.system.A, last, k if is_start else k - 1, states, square)
    if is_start:
        _add_moment(work.sums, 3, mean, k, k, cov, k)
        work.counts[1] += 1.0
    X, begin, sums, cross = model.X, blocks.begin[i], work.sums, states.cross
    C, c, rest, known = work.system.C, work.system.c, buffers.rest, buffers.known
    total, noise = work.rest, work.noise
    for t in range(blocks.first[i], blocks.last[i]):
        k = t - low + 1
        if t > begin:
            _add_moment(sums, 0, mean, k, k, cov, k)
            _add_moment(sums, 1, mean, k, k - 1, cross, k)
            _add_moment(sums, 2, mean, k - 1, k - 1, cov, k - 1)
        count = find_known(X, t, c, known, rest)
        for a in range(count):
            for j in range(h.size):
                rest[a] -= C[known[a], j] * mean[k, j]
        if count == c.size:
            work.counts[2] += 1.0
            _add_residuals(rest, C, cov, k, total, noise)
        elif count > 0:
            _add_partial(work, count, cov, k)
    work.counts[0] += blocks.last[i] - blocks.first[i] - (1.0 if is_start else 0.0)


@small_helper
def _add_moment(sums, place, mean, k, n, cov, c):
    for i in range(mean.shape[1]):
        for j in range(mean.shape[1]):
            sums[place, i, j] += mean[k, i] * mean[n, j] + cov[c, i, j]


@small_helper
def _add_residuals(rest, C, cov, k, total, moment):
    m, d = C.shape
    for i in range(m):
        total[i] += rest[i]
        for j in range(m):
            moment[i, j] += rest[i] * rest[j] + _spread(C, cov, k, i, j, d)


@small_helper
def _spread(C, cov, k, i, j, d):
    """Return the covariance of two numbers of C x, x of place k."""
    total = 0.0
    for a in range(d):
        for b in range(d):
            total += C[i, a] * cov[k, a, b] * C[j, b]
    return total


@small_helper
def _add_partial(work, count, cov, k):
    """Add gradients in c and R of a point with missing values, given residuals."""
    C, rest, known = work.system.C, work.buffers.rest, work.buffers.known
    invert_known(work.system.R, known, count, work.buffers.R_known)
    inverse = work.buffers.R_known[1, :count, :count]
    moment, product = work.square[0, :count, :count], work.square[1, :count, :count]
    slope = work.square[2, :count, :count]
    for a in range(count):
        for b in range(count):
            spread = _spread(C, cov, k, known[a], known[b], C.shape[1])
            moment[a, b] = rest[a] * rest[b] + spread
    multiply(inverse, moment, product)
    multiply(product, inverse, slope)
    for a in range(count):
        for b in range(count):
            work.g_c[known[a]] += inverse[a, b] * rest[b]
            work.g_R[known[a], known[b]] += 0.5 * (slope[a, b] - inverse[a, b])


@small_helper
def clear_sums(work):
    """Set all sums to zero."""
    for k in range(4):
        clear(work.sums[k])
    clear(work.noise)
    clear(work.g_R)
    for i in range(work.rest.size):
        work.rest[i] = 0.0
        work.g_c[i] = 0.0
    for i in range(3):
        work.counts[i] = 0.0


@small_helper
def add_sums(model, work, scale, out):
    """Add the gradient that follows from the sums to `out`."""
    m, d = model.C.shape
    system = work.system
    g_A, g_Q = out[m : m + d * d], out[m + d * d : m + 2 * d * d]
    g_A, g_Q, g_R = g_A.reshape(d, d), g_Q.reshape(d, d), out[m + 2 * d * d :]
    rest, moment = work.square[0, :d, :d], work.square[1, :d, :d]
    product, slope = work.square[2, :d, :d], work.square[3, :d, :d]
    now, lag, before = work.sums[0], work.sums[1], work.sums[2]
    multiply(system.A, before, product)
    for i in range(d):
        for j in range(d):
            rest[i, j] = lag[i, j] - product[i, j]
            moment[i, j] = now[i, j]
            for k in range(d):
                moment[i, j] -= lag[i, k] * system.A[j, k]
    for i in range(d):
        for j in range(d):
            for k in range(d):
                moment[i, j] -= system.A[i, k] * rest[j, k]
    multiply(system.Q_inverse, rest, product)
    _add_scaled(product, scale, g_A)
    _covariance_slope(moment, system.Q_inverse, work.counts[0], product, slope)
    _add_scaled(slope, scale, g_Q)
    if work.counts[1] > 0.0:
        _add_start(work, scale, g_A, g_Q)
    product, slope = work.square[0, :m, :m], work.square[1, :m, :m]
    _covariance_slope(work.noise, system.R_inverse, work.counts[2], product, slope)
    for i in range(m):
        total = work.g_c[i]
        for j in range(m):
            total += system.R_inverse[i, j] * work.rest[j]
            g_R[i * m + j] += scale * (slope[i, j] + work.g_R[i, j])
        out[i] += scale * total


@small_helper
def _add_scaled(matrix, scale, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] += scale * matrix[i, j]


@small_helper
def _covariance_slope(moment, inverse, n, product, out):
    """Write S^-1 (moment - n S) S^-1 / 2 to `out`, the slope of n normal densities."""
    multiply(inverse, moment, product)
    multiply(product, inverse, out)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.5 * (out[i, j] - n * inverse[i, j])


@small_helper
def _add_start(work, scale, g_A, g_Q):
    """Add the gradient of the law N(0, G) of first states, G = A G A' + Q.

    With S the slope in G, that in Q is L = S + A' L A, and that in A is 2 L A G.
    """
    system, d = work.system, work.sums.shape[1]
    inverse, slope = work.square[0, :d, :d], work.square[1, :d, :d]
    product, turned = work.square[2, :d, :d], work.square[3, :d, :d]
    power, total = work.square[4, :d, :d], work.square[5, :d, :d]
    invert_covariance(system.G, product, inverse)
    _covariance_slope(work.sums[3], inverse, work.counts[1], product, slope)
    for i in range(d):
        for j in range(d):
            turned[i, j] = system.A[j, i]
    sum_of_powers(turned, slope, power, product, total)
    _add_scaled(total, scale, g_Q)
    multiply(total, system.A, product)
    multiply(product, system.G, slope)
    _add_scaled(slope, 2.0 * scale, g_A)


@linked(kalman, small_matrices, sequences)
def set_parameters(model, work, i):
    """Take c, A, Q and R from ``work.x``, and compute what follows; clear all sums."""
    model, work = without_refcounts((model, work))
    m, d = model.C.shape
    x, system, a, q = work.x, work.system, m, m + d * d
    r = q + d * d
    for j in range(m):
        system.c[j] = x[j]
    copy_matrix(x[a:q].reshape(d, d), system.A)
    copy_matrix(x[q:r].reshape(d, d), system.Q)
    copy_matrix(x[r:].reshape(m, m), system.R)
    set_system(system, work.buffers)
    clear_sums(work)


@linked(kalman, small_matrices, sequences)
def add_row(model, work, i):
    """Add the moments of block i to the sums; its log-likelihood is ``work.value``."""
    model, work = without_refcounts((model, work))
    work.value[0] = filter_window(model, work, i, window(model.blocks, i)[1])
    smooth_window(model, work, i)


@linked(kalman, small_matrices, sequences)
def filter_row(model, work, i):
    """Write the log-likelihood of block i to ``work.value``."""
    model, work = without_refcounts((model, work))
    work.value[0] = filter_window(model, work, i, model.blocks.last[i])


@linked(kalman, small_matrices, sequences)
def finish_sums(model, work, i):
    """Write the gradient that follows from the sums to ``work.g``."""
    model, work = without_refcounts((model, work))
    for j in range(work.g.size):
        work.g[j] = 0.0
    add_sums(model, work, 1.0, work.g)


LINKED = set_parameters, add_row, filter_row, finish_sums
