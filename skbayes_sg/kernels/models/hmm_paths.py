"""States of sequences given the parameters of a hidden Markov model: passes over X.

The blocks of the model are whole sequences here.
"""

import math

import numpy as np

from skbayes_sg.kernels.capabilities.emissions import write_log_emissions
from skbayes_sg.kernels.generic import entry_point, helper
from skbayes_sg.kernels.models.hmm import prepare, write_densities
from skbayes_sg.kernels.models.hmm_messages import PASS
from skbayes_sg.kernels.models.hmm_recursions import (
    filter_forward,
    log_product,
    norm_of,
    step_back,
)
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.separate import without_refcounts


@entry_point
def sequence_log_likelihoods(model, work, x, out):
    """Write log p of each sequence to (n_sequences,) `out`."""
    model, work, x, out = without_refcounts((model, work, x, out))
    parts = prepare(model, work, x)
    for i in range(model.blocks.first.size):
        begin, end, out[i] = model.blocks.begin[i], model.blocks.end[i], 0.0
        for low in range(begin, end, PASS):
            out[i] += _filter(model, work, parts, low, min(PASS, end - low), begin)


@helper
def _filter(model, work, parts, low, n, begin):
    """Filter n points of a sequence from `low` on; return their log-likelihood."""
    startprob, _, emitted = parts
    write_densities(model, work, emitted, low, low + n, begin)
    if low == begin:
        copy_to(startprob, work.filters[0])
    filter_forward(low > begin, work, n)
    copy_to(work.filters[n], work.filters[0])
    return log_product(work.tops, work.norms, 0, n)


@entry_point
def add_state_probabilities(model, work, x, filters, weight, out):
    """Add weight times p(z_t | all of the sequence) to (T, K) `out`; return log p.

    `filters` is a buffer of the same shape. Its last rows hold p(z_t | past) after.
    """
    model, work, x, filters, out = without_refcounts((model, work, x, filters, out))
    parts = prepare(model, work, x)
    _, transitions, emitted = parts
    value, q, v = 0.0, work.q, work.v
    for i in range(model.blocks.first.size):
        begin, end = model.blocks.begin[i], model.blocks.end[i]
        for low in range(begin, end, PASS):
            n = min(PASS, end - low)
            value += _filter(model, work, parts, low, n, begin)
            for t in range(n):
                copy_to(work.filters[t + 1], filters[low + t])
        for j in range(q.size):
            q[j] = 1.0
        for high in range(end, begin, -PASS):
            low = max(begin, high - PASS)
            write_densities(model, work, emitted, low, high, begin)
            for t in range(high - 1, low - 1, -1):
                r, shares, e = filters[t], out[t], work.density[t - low]
                share = weight / norm_of(r, q)
                for j in range(q.size):
                    shares[j] += share * r[j] * q[j]
                step_back(transitions, e, norm_of(e, q), q, v)
    return value


@entry_point
def write_best_path(model, work, x, back, out):
    """Write the most probable states, (T,), by Viterbi; return their log p with X.

    `back` is a buffer (T, K) of uint8: the best state before each.
    """
    model, work, x, back, out = without_refcounts((model, work, x, back, out))
    startprob, transitions, emitted = prepare(model, work, x)
    k, total = startprob.size, 0.0
    logs, best, fresh = np.empty((k, k)), np.empty(k), np.empty(k)
    for i in range(k):
        for j in range(k):
            logs[i, j] = math.log(max(transitions[i, j], 1e-300))
    for i in range(model.blocks.first.size):
        begin, end = model.blocks.begin[i], model.blocks.end[i]
        for low in range(begin, end, PASS):
            high = min(low + PASS, end)
            write_log_emissions(
                model.emission,
                emitted,
                work.cache,
                model.X,
                low,
                high,
                begin,
                work.density,
            )
            for t in range(low, high):
                for j in range(k):
                    if t == begin:
                        value, where = math.log(max(startprob[j], 1e-300)), 0
                    else:
                        value, where = best[0] + logs[0, j], 0
                        for m in range(1, k):
                            other = best[m] + logs[m, j]
                            if other > value:
                                value, where = other, m
                    fresh[j] = value + work.density[t - low, j]
                    back[t, j] = where
                for j in range(k):
                    best[j] = fresh[j]
        last = np.argmax(best)
        total += best[last]
        for t in range(end - 1, begin - 1, -1):
            out[t] = last
            last = back[t, last]
    return total
