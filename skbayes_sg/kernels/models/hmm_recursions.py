"""Forward and backward recursions of hidden Markov models, for points in a buffer.

    r_t = (r_{t-1} A) e_t / c_t,    c_t = p(y_t | past),    q_{t-1} = A (e_t q_t) / c_t

If q is scaled at the last point so that r q adds up to one over the states, it does so
at all points: r_t q_t are the probabilities of states, and r_{t-1,j} A_jk e_tk q_tk
over c_t those of transitions, without further sums or divisions.
"""

import math

from skbayes_sg.kernels.generic import helper, loop_helper
from skbayes_sg.kernels.numerics.exponential import exp

LEAST_LOG = -700.0


@loop_helper
def exponentiate(density, tops, n):
    """Replace log e by e over the largest e of the point; write its logarithm."""
    k = density.shape[1]
    for t in range(n):
        row = density[t]
        top = row[0]
        for j in range(1, k):
            top = max(top, row[j])
        tops[t] = top
        for j in range(k):
            row[j] -= top
    values = density.reshape(-1)
    for i in range(n * k):  # no numbers below the smallest normal one, which are slow
        values[i] = exp(values[i]) if values[i] > LEAST_LOG else 0.0


@helper
def filter_forward(before, work, n):
    """Write filters r of n points, from the one before them, ``filters[0]``, and c.

    Without a state `before`, the first filter is the law of the first state itself.
    """
    density, filters, norms = work.density, work.filters, work.norms
    arriving, k = work.arriving, work.arriving.shape[0]
    for t in range(n):
        past, now, e = filters[t], filters[t + 1], density[t]
        total = 0.0
        for j in range(k):
            value = past[j]
            if before or t > 0:
                row, value = arriving[j], 0.0
                for i in range(k):
                    value += past[i] * row[i]
            value *= e[j]
            now[j] = value
            total += value
        norms[t] = total
        total = 1.0 / total
        for j in range(k):
            now[j] *= total


@helper
def norm_of(r, q):
    """Return the sum of r q."""
    total = 0.0
    for j in range(q.size):
        total += r[j] * q[j]
    return total


@helper
def scale_to(r, q):
    """Divide q by a number, so that r q adds up to one."""
    unit = 1.0 / norm_of(r, q)
    for j in range(q.size):
        q[j] *= unit


@helper
def step_back(transitions, e, norm, q, v):
    """Replace q_t by q_{t-1}, and write e q / c to `v`."""
    k, unit = q.size, 1.0 / norm
    for j in range(k):
        v[j] = e[j] * q[j] * unit
    for i in range(k):
        row, value = transitions[i], 0.0
        for j in range(k):
            value += row[j] * v[j]
        q[i] = value


@helper
def add_transitions(r, v, counts):
    """Add the expected transitions between two points, over A, to (K, K) `counts`."""
    for i in range(r.size):
        row, share = counts[i], r[i]
        for j in range(v.size):
            row[j] += share * v[j]


@helper
def log_product(tops, norms, first, last):
    """Return the sum of logarithms of e^top c, taken of products of many factors."""
    value, product = 0.0, 1.0
    for t in range(first, last):
        value += tops[t]
        product *= norms[t]
        if not 1e-200 < product < 1e200:
            value += math.log(product)
            product = 1.0
    return value + math.log(product)
