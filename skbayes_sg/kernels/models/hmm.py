"""Hidden Markov models, whose rows are blocks of sequences with buffers.

    z_1 ~ startprob,    z_t | z_{t-1} ~ row z_{t-1} of A,    y_t | z_t ~ emission

The recursions are those of `hmm_recursions`: filters r, and q, what the future says. A
row is log p(block | past). By Fisher's identity its gradient is the expectation of the
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
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.hmm_recursions import (
    add_transitions,
    exponentiate,
    filter_forward,
    log_product,
    scale_to,
    step_back,
)
from skbayes_sg.kernels.numerics.small_matrices import clear
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
from skbayes_sg.kernels.separate import without_refcounts


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
    arriving: np.ndarray  # (K, K) A by columns
    density: np.ndarray  # (n, K) log e, then e over the largest e of the point
    tops: np.ndarray  # (n,) the largest log e
    filters: np.ndarray  # (n + 1, K) r from the point before the window on
    norms: np.ndarray  # (n,) c = p(y_t | past) over the largest e
    gamma: np.ndarray  # (n, K) probabilities of states
    q: np.ndarray  # (K,) what the future says
    v: np.ndarray  # (K,) e q / c
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
        arriving=np.zeros((k, k)),
        density=np.zeros((n, k)),
        tops=np.zeros(n),
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
def prepare(model, work, x):
    """Compute what densities and filters need of x; return its three parts."""
    startprob, transitions, emitted = split(model, x)
    prepare_emission(model.emission, emitted, work.cache)
    for i in range(startprob.size):
        for j in range(startprob.size):
            work.arriving[j, i] = transitions[i, j]
    return startprob, transitions, emitted


@helper
def write_densities(model, work, emitted, low, high, begin):
    """Write e of the points low ... high - 1 of the sequence that starts at `begin`."""
    density = work.density
    write_log_emissions(
        model.emission, emitted, work.cache, model.X, low, high, begin, density
    )
    exponentiate(density, work.tops, high - low)


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
def filter_row(model, work, startprob, emitted, i, high):
    """Filter the window of row i up to the point `high`; return its log-likelihood."""
    blocks, filters = model.blocks, work.filters
    low, _ = window(blocks, i)
    write_densities(model, work, emitted, low, high, blocks.begin[i])
    before = begin_window(model, i, low, startprob, filters[0])
    filter_forward(before, work, high - low)
    first, last = blocks.first[i] - low, blocks.last[i] - low
    return log_product(work.tops, work.norms, first, last)


@helper
def end_window(model, i, high, r, q):
    """Write what is known after the window of row i, scaled to its last filter r."""
    messages = model.messages
    known = high < model.blocks.end[i] and messages.backward.shape[0] > 0
    for j in range(q.size):
        q[j] = messages.backward[i, j] if known else 1.0
    scale_to(r, q)


@helper
def add_row(model, work, parts, i, scale, out):
    """Add scale times the gradient of row i to `out`; return its log-likelihood."""
    startprob, transitions, emitted = parts
    blocks, k = model.blocks, startprob.size
    low, high = window(blocks, i)
    begin, first, last = blocks.begin[i], blocks.first[i] - low, blocks.last[i] - low
    value = filter_row(model, work, startprob, emitted, i, high)
    density, filters, norms, gamma = work.density, work.filters, work.norms, work.gamma
    q, v, counts = work.q, work.v, work.counts
    end_window(model, i, high, filters[high - low], q)
    clear(counts)
    for t in range(high - low - 1, last - 1, -1):
        step_back(transitions, density[t], norms[t], q, v)
    for t in range(last - 1, first - 1, -1):
        now, weights = filters[t + 1], gamma[t]
        for j in range(k):
            weights[j] = scale * now[j] * q[j]
        if low + t > begin:
            step_back(transitions, density[t], norms[t], q, v)
            add_transitions(filters[t], v, counts)
        else:
            for j in range(k):
                out[j] += weights[j] / max(startprob[j], 1e-300)
    for j in range(k):
        for m in range(k):
            out[k + j * k + m] += scale * counts[j, m]
    add_emission_score(
        model.emission,
        emitted,
        work.cache,
        model.X,
        low + first,
        low + last,
        begin,
        gamma[first:],
        out[k + k * k :],
    )
    return value


@add_value_and_gradient.register(HMM)
def _(model, work, theta, idx, scale, out):
    model, work, theta, out = without_refcounts((model, work, theta, out))
    parts, scale, value = prepare(model, work, theta), scale * model.blocks.weight, 0.0
    for b in range(idx.size):
        value += add_row(model, work, parts, idx[b], scale, out)
    return scale * value


@add_gradient.register(HMM)
def _(model, work, theta, idx, scale, out):
    model, work, theta, out = without_refcounts((model, work, theta, out))
    parts, scale = prepare(model, work, theta), scale * model.blocks.weight
    for b in range(idx.size):
        add_row(model, work, parts, idx[b], scale, out)


@log_likelihood.register(HMM)
def _(model, work, theta, idx):
    model, work, theta = without_refcounts((model, work, theta))
    (startprob, _, emitted), value = prepare(model, work, theta), 0.0
    for i in idx:
        last = model.blocks.last[i]
        value += filter_row(model, work, startprob, emitted, i, last)
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
