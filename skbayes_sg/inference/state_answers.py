"""States and likelihoods of sequences, given draws of a hidden Markov model."""

import numpy as np
from scipy.special import logsumexp

from skbayes_sg.inference.alignment import align
from skbayes_sg.kernels.capabilities.buffers import no_messages, with_blocks
from skbayes_sg.kernels.capabilities.emissions import relabeled
from skbayes_sg.kernels.data.sequences import Blocks, make_blocks
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.models.hmm import hmm_work
from skbayes_sg.kernels.models.hmm_messages import PASS
from skbayes_sg.kernels.models.hmm_paths import (
    add_state_probabilities,
    sequence_log_likelihoods,
    write_best_path,
)

N_WINDOWS, WINDOW = 8, 64  # points at which the states of draws are compared
N_COMPARED = 25  # draws of each chain; all of them if the labels of one are others


def on_sequences(model, X, lengths):
    """Return the hidden Markov model with other data, a block for each sequence."""
    model = model._replace(X=X, messages=no_messages(model.start_prior.size))
    return for_kernels(with_blocks(model, make_blocks(lengths)))


def without_data(model):
    """Return the hidden Markov model without its data, for `on_sequences`."""
    return on_sequences(model, np.empty((1, model.X.shape[1])), [1])


def log_likelihoods(model, draws):
    """Return log p(X | draw) for each of (n, d) draws of constrained parameters, (n,).

    The blocks of `model` are whole sequences.
    """
    work, each = hmm_work(model, PASS), np.zeros(model.blocks.first.size)
    values = np.empty(len(draws))
    for i, x in enumerate(np.ascontiguousarray(draws, np.float64)):
        sequence_log_likelihoods(model, work, x, each)
        values[i] = each.sum()
    return values


def predictive_log_likelihood(model, draws):
    """Return the logarithm of the mean of p(X | draw) over (n, d) draws."""
    return float(logsumexp(log_likelihoods(model, draws)) - np.log(len(draws)))


def state_probabilities(model, draws, weights=None):
    """Return p(z_t | X), (T, K), averaged over (n, d) draws, and each draw's log p."""
    shape = len(model.X), model.start_prior.size
    out, filters, work = np.zeros(shape), np.empty(shape), hmm_work(model, PASS)
    share = np.full(len(draws), 1.0 / len(draws)) if weights is None else weights
    values = [
        add_state_probabilities(model, work, x, filters, w, out)
        for x, w in zip(np.ascontiguousarray(draws, np.float64), share, strict=True)
    ]
    return out, np.array(values)


def best_path(model, x):
    """Return the most probable states, (T,), and their log p with X."""
    back = np.empty((len(model.X), model.start_prior.size), np.uint8)
    out = np.empty(len(model.X), np.int64)
    x = np.ascontiguousarray(x, np.float64)
    value = write_best_path(model, hmm_work(model, PASS), x, back, out)
    return out, float(value)


def reorder(model, x, order):
    """Return (..., d) constrained parameters with the states in another order."""
    k, shape = model.start_prior.size, x.shape[:-1]
    transitions = x[..., k : k + k * k].reshape(*shape, k, k)
    transitions = transitions[..., order, :][..., order]
    emitted = relabeled(model.emission, x[..., k + k * k :], order)
    parts = x[..., :k][..., order], transitions.reshape(*shape, k * k), emitted
    return np.concatenate(parts, axis=-1)


def align_states(model, draws, reference):
    """Give the states of all draws the labels of a reference, in place.

    States are compared by the points that belong to them: the Hellinger affinity of
    their probabilities at some points of the data.

    Parameters
    ----------
    model : HMM
        With any blocks.
    draws : ndarray of shape (n_chains, n_draws, d)
        Constrained parameters.
    reference : ndarray of shape (d,)
        Parameters that define the labels.

    Returns
    -------
    affinity : ndarray of shape (n_chains, K)
        Mean affinity of the states of each chain's draws with the reference's.
    """
    part = _some_points(model)
    shape, k = draws.shape[:2], model.start_prior.size
    if k == 1:
        return np.ones((shape[0], 1))

    def matched(draws):
        members = [state_probabilities(part, x[None])[0].T + 1e-12 for x in draws]
        return align(members[1:], members[0])

    def among(rows):
        flat = draws[:, rows].reshape(-1, draws.shape[-1])
        return matched([np.asarray(reference, np.float64), *flat])

    rows = np.unique(np.linspace(0, shape[1] - 1, N_COMPARED).astype(int))
    found = among(rows)
    if np.any(found.order != np.arange(k)):  # some chain has other labels: ask all
        rows = np.arange(shape[1])
        found = among(rows)
        orders = found.order.reshape(*shape, k)
        for at in zip(*np.nonzero((orders != np.arange(k)).any(axis=2)), strict=True):
            draws[at] = reorder(model, draws[at], orders[at])
    return found.affinity.reshape(shape[0], rows.size, k).mean(axis=1)


def _some_points(model):
    """Return the model given windows that are spread over the data."""
    blocks = model.blocks
    rows = np.linspace(0, blocks.first.size - 1, N_WINDOWS).astype(np.int64)
    rows = np.unique(rows)
    first = blocks.first[rows]
    last = np.minimum(first + WINDOW, blocks.end[rows])
    X = np.concatenate([model.X[a:b] for a, b in zip(first, last, strict=True)])
    ends = np.cumsum(last - first)
    bounds = ends - (last - first), ends
    part = model._replace(
        X=np.ascontiguousarray(X), messages=no_messages(model.start_prior.size)
    )
    return for_kernels(part._replace(blocks=Blocks(*bounds, *bounds, 0, 1.0)))


def stationary(transitions):
    """Return the stationary law of a transition matrix, (K,)."""
    k = len(transitions)
    system = np.vstack([transitions.T - np.eye(k), np.ones(k)])
    law = np.linalg.lstsq(system, np.r_[np.zeros(k), 1.0], rcond=None)[0]
    return np.maximum(law, 0.0) / np.maximum(law, 0.0).sum()
