"""Hidden Markov models, whose rows are blocks of sequences with buffers.

    z_1 ~ startprob,    z_t | z_{t-1} ~ row z_{t-1} of A,    y_t | z_t ~ emission

    r_t ∝ (r_{t-1} A) e_t,    q_{t-1} ∝ A (e_t q_t),    e_tk = f(y_t | k)

The forward messages r are filters, the backward messages q what the future says. A row
is log p(block | past). By Fisher's identity its gradient is the expectation of the
gradient given states: transitions j to k contribute their expected number over A_jk.
x holds startprob (K), A by rows (K^2) and the parameters of the emission.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.buffers import (
    Messages,
    select_messages,
    selected,
    with_messages,
)
from skbayes_sg.kernels.capabilities.emissions import (
    add_emission_prior_gradient,
    add_emission_score,
    emission_log_prior,
    n_cached,
    n_emitted,
    prepare_emission,
    write_log_emissions,
)
from skbayes_sg.kernels.data.sequences import (
    Blocks,
    longest_window,
    select_blocks,
    window,
)
from skbayes_sg.kernels.generic import entry_point, for_kernels, helper
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    add_value_and_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
)

PASS = 1024  # points that a pass over a sequence processes together


class HMM(NamedTuple):
    """A hidden Markov model of sequences, in constrained parameters."""

    X: np.ndarray  # (T, p)
    blocks: Blocks
    messages: Messages
    emission: NamedTuple
    start_prior: np.ndarray  # (K,) of a Dirichlet law
    transition_prior: np.ndarray  # (K, K) a Dirichlet law for each row


class HMMWork(NamedTuple):
    """Buffers for the points of one window."""

    cache: np.ndarray  # of the emission
    density: np.ndarray  # (n, K) log e, then e up to a factor for each point
    filters: np.ndarray  # (n + 1, K) r from the point before the window on
    norms: np.ndarray  # (n,) p(y_t | past), up to the factor of e
    gamma: np.ndarray  # (n, K) probabilities of states
    q: np.ndarray  # (K,) what the future says
    v: np.ndarray  # (K,) e q
    counts: np.ndarray  # (K, K) expected transitions j to k, over A_jk


@n_parameters.register(HMM)
def _(model):
    k = model.start_prior.size
    return k + k * k + n_emitted(model.emission)


@n_rows.register(HMM)
def _(model):
    return model.blocks.first.size


@init_work.register(HMM)
def _(model):
    return hmm_work(model, longest_window(model.blocks))


def hmm_work(model, n):
    """Return buffers for windows of up to `n` points."""
    k = model.start_prior.size
    return HMMWork(
        cache=np.zeros(n_cached(model.emission)),
        density=np.zeros((n, k)),
        filters=np.zeros((n + 1, k)),
        norms=np.zeros(n),
        gamma=np.zeros((n, k)),
        q=np.zeros(k),
        v=np.zeros(k),
        counts=np.zeros((k, k)),
    )


@helper
def split(model, x):
    """Return startprob, A as a matrix, and the parameters of the emission."""
    k = model.start_prior.size
    return x[:k], x[k : k + k * k].reshape(k, k), x[k + k * k :]


@helper
def exponentiate(density, n):
    """Replace log e by e over the largest e of the point."""
    k = density.shape[1]
    for t in range(n):
        top = density[t, 0]
        for j in range(1, k):
            top = max(top, density[t, j])
        for j in range(k):
            density[t, j] = math.exp(density[t, j] - top)


@helper
def filter_forward(before, transitions, work, n):
    """Write filters r of n points, from the one before them, ``filters[0]``.

    Without a state `before`, that is the law of the first state itself.
    """
    density, out, k = work.density, work.filters, work.density.shape[1]
    for t in range(n):
        if t == 0 and not before:
            for j in range(k):
                out[1, j] = out[0, j]
        else:
            for j in range(k):
                out[t + 1, j] = 0.0
            for i in range(k):
                past = out[t, i]
                for j in range(k):
                    out[t + 1, j] += past * transitions[i, j]
        total = 0.0
        for j in range(k):
            value = out[t + 1, j] * density[t, j]
            out[t + 1, j] = value
            total += value
        work.norms[t] = total
        total = 1.0 / total
        for j in range(k):
            out[t + 1, j] *= total


@helper
def step_back(transitions, density, t, q, v):
    """Replace q_t by q_{t-1}, up to a factor, and write e q, times it, to `v`."""
    k, total = q.size, 0.0
    for j in range(k):
        v[j] = density[t, j] * q[j]
        total += v[j]
    total = 1.0 / total
    for j in range(k):
        v[j] *= total
    for i in range(k):
        value = 0.0
        for j in range(k):
            value += transitions[i, j] * v[j]
        q[i] = value


@helper
def begin_window(model, i, low, startprob, out):
    """Write what is known before the window of row i; return if it is a past state."""
    messages, k = model.messages, startprob.size
    if low == model.blocks.begin[i]:
        for j in range(k):
            out[j] = startprob[j]
        return False
    for j in range(k):
        known = messages.forward.shape[0] > 0
        out[j] = messages.forward[i, j] if known else 1.0 / k
    return True


@helper
def add_row(model, work, x, i, scale, out):
    """Add scale times the gradient of row i to `out`; return its log-likelihood."""
    blocks, messages = model.blocks, model.messages
    startprob, transitions, emitted = split(model, x)
    k = startprob.size
    first, last = blocks.first[i], blocks.last[i]
    low, high = window(blocks, i)
    begin, n = blocks.begin[i], high - low
    density, filters, gamma = work.density, work.filters, work.gamma
    q, v, counts = work.q, work.v, work.counts
    write_log_emissions(
        model.emission, emitted, work.cache, model.X, low, high, begin, density
    )
    value = log_tops(density, first - low, last - low)
    exponentiate(density, n)
    before = begin_window(model, i, low, startprob, filters[0])
    filter_forward(before, transitions, work, n)
    value += log_product(work.norms, first - low, last - low)
    ends = high < blocks.end[i] and messages.backward.shape[0] > 0
    for j in range(k):
        q[j] = messages.backward[i, j] if ends else 1.0
        for m in range(k):
            counts[j, m] = 0.0
    for t in range(n - 1, last - low - 1, -1):
        step_back(transitions, density, t, q, v)
    for t in range(last - low - 1, first - low - 1, -1):
        total = 0.0
        for j in range(k):
            gamma[t, j] = filters[t + 1, j] * q[j]
            total += gamma[t, j]
        total = scale / total
        for j in range(k):
            gamma[t, j] *= total
        if low + t == begin:
            for j in range(k):
                out[j] += gamma[t, j] / max(startprob[j], 1e-300)
            break
        step_back(transitions, density, t, q, v)
        total = 0.0
        for j in range(k):
            total += filters[t, j] * q[j]
        total = scale / total
        for j in range(k):
            share = filters[t, j] * total
            for m in range(k):
                counts[j, m] += share * v[m]
    for j in range(k):
        for m in range(k):
            out[k + j * k + m] += counts[j, m]
    add_emission_score(
        model.emission,
        emitted,
        work.cache,
        model.X,
        first,
        last,
        begin,
        gamma[first - low :],
        out[k + k * k :],
    )
    return value


@helper
def log_tops(density, first, last):
    """Return the sum over points of the largest log density of a state."""
    total = 0.0
    for t in range(first, last):
        top = density[t, 0]
        for j in range(1, density.shape[1]):
            top = max(top, density[t, j])
        total += top
    return total


@helper
def log_product(factors, first, last):
    """Return the sum of logarithms, taken of products of many factors."""
    value, product = 0.0, 1.0
    for t in range(first, last):
        product *= factors[t]
        if not 1e-200 < product < 1e200:
            value += math.log(product)
            product = 1.0
    return value + math.log(product)


@add_value_and_gradient.register(HMM)
def _(model, work, theta, idx, scale, out):
    prepare_emission(model.emission, split(model, theta)[2], work.cache)
    scale, value = scale * model.blocks.weight, 0.0
    for b in range(idx.size):
        value += add_row(model, work, theta, idx[b], scale, out)
    return scale * value


@add_gradient.register(HMM)
def _(model, work, theta, idx, scale, out):
    prepare_emission(model.emission, split(model, theta)[2], work.cache)
    scale *= model.blocks.weight
    for b in range(idx.size):
        add_row(model, work, theta, idx[b], scale, out)


@log_likelihood.register(HMM)
def _(model, work, theta, idx):
    startprob, transitions, emitted = split(model, theta)
    prepare_emission(model.emission, emitted, work.cache)
    blocks, density, filters = model.blocks, work.density, work.filters
    value = 0.0
    for i in idx:
        first, last = blocks.first[i], blocks.last[i]
        low, _ = window(blocks, i)
        begin = blocks.begin[i]
        write_log_emissions(
            model.emission, emitted, work.cache, model.X, low, last, begin, density
        )
        value += log_tops(density, first - low, last - low)
        exponentiate(density, last - low)
        before = begin_window(model, i, low, startprob, filters[0])
        filter_forward(before, transitions, work, last - low)
        value += log_product(work.norms, first - low, last - low)
    return model.blocks.weight * value


@log_prior.register(HMM)
def _(model, work, theta):
    startprob, transitions, emitted = split(model, theta)
    k = startprob.size
    value = emission_log_prior(model.emission, emitted)
    for i in range(k):
        value += (model.start_prior[i] - 1.0) * math.log(max(startprob[i], 1e-300))
        for j in range(k):
            a = max(transitions[i, j], 1e-300)
            value += (model.transition_prior[i, j] - 1.0) * math.log(a)
    return value


@add_prior_gradient.register(HMM)
def _(model, work, theta, out):
    startprob, transitions, emitted = split(model, theta)
    k = startprob.size
    for i in range(k):
        out[i] += (model.start_prior[i] - 1.0) / max(startprob[i], 1e-300)
        for j in range(k):
            a = max(transitions[i, j], 1e-300)
            out[k + i * k + j] += (model.transition_prior[i, j] - 1.0) / a
    add_emission_prior_gradient(model.emission, emitted, out[k + k * k :])


@selected.register(HMM)
def _(model, rows, factor=1.0):
    return model._replace(
        blocks=select_blocks(model.blocks, rows, factor),
        messages=select_messages(model.messages, rows),
    )


@with_messages.register(HMM)
def _(model, theta):
    blocks, k = model.blocks, model.start_prior.size
    n = blocks.first.size
    forward, backward = np.full((2, n, k), 1.0 / k)
    model = for_kernels(model)
    write_messages(model, hmm_work(model, PASS), theta, forward, backward)
    return model._replace(messages=Messages(np.array(theta), forward, backward))


@entry_point
def write_messages(model, work, x, forward, backward):
    """Write filters before all windows and messages of the future after them.

    Windows are in the order of their points, as blocks are.
    """
    startprob, transitions, emitted = split(model, x)
    prepare_emission(model.emission, emitted, work.cache)
    blocks, density, filters = model.blocks, work.density, work.filters
    n, k = blocks.first.size, startprob.size
    row = 0
    while row < n:  # a sequence at a time
        begin, end = blocks.begin[row], blocks.end[row]
        stop = row
        while stop < n and blocks.begin[stop] == begin:
            stop += 1
        i, farthest = row, window(blocks, stop - 1)[0]
        for t in range(begin, farthest, PASS):
            high = min(t + PASS, farthest)
            _write_densities(model, work, emitted, t, high, begin)
            if t == begin:
                for j in range(k):
                    filters[0, j] = startprob[j]
            filter_forward(t > begin, transitions, work, high - t)
            while i < stop and window(blocks, i)[0] <= high:
                low = window(blocks, i)[0]
                if low > begin:
                    for j in range(k):
                        forward[i, j] = filters[low - t, j]
                i += 1
            for j in range(k):
                filters[0, j] = filters[high - t, j]
        i, nearest = stop - 1, window(blocks, row)[1]
        for j in range(k):
            work.q[j] = 1.0
        for high in range(end, nearest, -PASS):
            low = max(high - PASS, nearest)
            _write_densities(model, work, emitted, low, high, begin)
            for t in range(high - 1, low - 1, -1):
                step_back(transitions, density, t - low, work.q, work.v)
                while i >= row and window(blocks, i)[1] >= t:
                    if window(blocks, i)[1] == t:
                        for j in range(k):
                            backward[i, j] = work.q[j]
                    i -= 1
        row = stop


@helper
def _write_densities(model, work, emitted, low, high, begin):
    write_log_emissions(
        model.emission, emitted, work.cache, model.X, low, high, begin, work.density
    )
    exponentiate(work.density, high - low)
