"""States of sequences given the parameters of a hidden Markov model: passes over X.

The blocks of the model are whole sequences here.
"""

import math

import numpy as np

from skbayes_sg.kernels.capabilities.emissions import (
    prepare_emission,
    write_log_emissions,
)
from skbayes_sg.kernels.generic import entry_point, helper
from skbayes_sg.kernels.models.hmm import (
    PASS,
    exponentiate,
    filter_forward,
    log_product,
    log_tops,
    split,
    step_back,
)


@entry_point
def sequence_log_likelihoods(model, work, x, out):
    """Write log p of each sequence to (n_sequences,) `out`."""
    startprob, transitions, emitted = split(model, x)
    prepare_emission(model.emission, emitted, work.cache)
    for i in range(model.blocks.first.size):
        begin, end, out[i] = model.blocks.begin[i], model.blocks.end[i], 0.0
        for low in range(begin, end, PASS):
            n = min(PASS, end - low)
            out[i] += _filter(model, work, startprob, transitions, emitted, low, n, i)


@helper
def _filter(model, work, startprob, transitions, emitted, low, n, i):
    """Filter n points of sequence i from `low` on; return their log-likelihood."""
    begin = model.blocks.begin[i]
    write_log_emissions(
        model.emission, emitted, work.cache, model.X, low, low + n, begin, work.density
    )
    value = log_tops(work.density, 0, n)
    exponentiate(work.density, n)
    if low == begin:
        for j in range(startprob.size):
            work.filters[0, j] = startprob[j]
    filter_forward(low > begin, transitions, work, n)
    for j in range(startprob.size):
        work.filters[0, j] = work.filters[n, j]
    return value + log_product(work.norms, 0, n)


@entry_point
def add_state_probabilities(model, work, x, filters, weight, out):
    """Add weight times p(z_t | all of the sequence) to (T, K) `out`; return log p.

    `filters` is a buffer of the same shape. Its last rows hold p(z_t | past) after.
    """
    startprob, transitions, emitted = split(model, x)
    prepare_emission(model.emission, emitted, work.cache)
    k, value, q, v = startprob.size, 0.0, work.q, work.v
    for i in range(model.blocks.first.size):
        begin, end = model.blocks.begin[i], model.blocks.end[i]
        for low in range(begin, end, PASS):
            n = min(PASS, end - low)
            value += _filter(model, work, startprob, transitions, emitted, low, n, i)
            for t in range(n):
                for j in range(k):
                    filters[low + t, j] = work.filters[t + 1, j]
        for j in range(k):
            q[j] = 1.0
        for high in range(end, begin, -PASS):
            low = max(begin, high - PASS)
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
            exponentiate(work.density, high - low)
            for t in range(high - 1, low - 1, -1):
                total = 0.0
                for j in range(k):
                    work.counts[0, j] = filters[t, j] * q[j]
                    total += work.counts[0, j]
                total = weight / total
                for j in range(k):
                    out[t, j] += work.counts[0, j] * total
                step_back(transitions, work.density, t - low, q, v)
    return value


@entry_point
def write_best_path(model, work, x, back, out):
    """Write the most probable states, (T,), by Viterbi; return their log p with X.

    `back` is a buffer (T, K) of uint8: the best state before each.
    """
    startprob, transitions, emitted = split(model, x)
    prepare_emission(model.emission, emitted, work.cache)
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
