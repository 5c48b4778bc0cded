"""Where the chains of a hidden Markov model start: expectation maximization, often.

The likelihood has many local maxima. EM starts many times, on windows of up to `POINTS`
points that are spread over the series; the best starts go on, and the best of them is
the answer. Groups of points to start with are those of k-means, of points alone or of
points and their differences, which sees states that the levels alone do not; centers
of k-means++ alone; and slices along the direction of largest variance. A step of EM
needs the gradient only, see `maximized`.
"""

import warnings

import numpy as np
from scipy.cluster.vq import kmeans2, vq

from skbayes_sg.inference.state_answers import stationary
from skbayes_sg.kernels.capabilities.buffers import with_blocks
from skbayes_sg.kernels.capabilities.emissions import (
    emission_map,
    maximized,
    starting_emission,
)
from skbayes_sg.kernels.data.sequences import Blocks
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.maps import NormalizedGammas, joined
from skbayes_sg.kernels.models import FreeSequences
from skbayes_sg.kernels.models.hmm import split
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.passes import row_log_posterior
from skbayes_sg.kernels.protocol.model import init_work, n_parameters

POINTS = 20_000  # of all windows
WINDOW = 1_000  # points
SHORT = 10  # steps of EM of every start
ROUNDS = (4, 20), (2, 100)  # how many of the best go on, and steps of each
ENOUGH = 1e-6  # gain per point after which EM stops


def best_start(model, lengths, n_starts, rng):
    """Return constrained parameters near the best of many local maxima, (d,).

    Parameters
    ----------
    model : HMM
        The posterior, with any blocks.
    lengths : ndarray of shape (n_sequences,)
        Lengths of the sequences.
    n_starts : int
        Starts of EM.
    rng : numpy.random.Generator
        Source of randomness.
    """
    part = for_kernels(in_windows(model, lengths, rng))
    blocks = part.blocks
    points = np.concatenate(
        [part.X[a:b] for a, b in zip(blocks.first, blocks.last, strict=True)]
    ).astype(np.float64)
    heads = np.cumsum(blocks.last - blocks.first) - (blocks.last - blocks.first)
    previous = np.roll(points, 1, axis=0)
    previous[heads] = points[heads]
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # groups of k-means may be empty
        found = []
        for number in range(n_starts):
            labels = groups(points, previous, model.start_prior.size, number, rng)
            x = starting_point(part, points, previous, labels, rng)
            found.append(climb(part, x, SHORT))
        for count, n_steps in ROUNDS:
            found.sort(key=lambda one: -one[1])
            found = [climb(part, x, n_steps) for x, _ in found[:count]]
    return max(found, key=lambda one: one[1])[0]


def in_free_parameters(model, x, lengths):
    """Return the posterior in free parameters, for draws near (d,) `x`."""
    k, n = model.start_prior.size, len(lengths)
    _, transitions, _ = split(model, x)
    sizes = float(np.sum(lengths)) * stationary(transitions)
    starts = np.array([n + model.start_prior.sum()])
    moves = sizes + model.transition_prior.sum(axis=1)
    maps = (
        NormalizedGammas(k, starts),
        NormalizedGammas(k, moves),
        emission_map(model.emission, sizes),
    )
    return FreeSequences(model, joined(*maps))


def in_windows(model, lengths, rng):
    """Return the posterior given some windows, each a sequence of its own."""
    ends = np.cumsum(lengths)
    begin, end = ends - lengths, ends
    if end[-1] > POINTS:
        pieces = -(-lengths // WINDOW)
        number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        first = np.repeat(begin, pieces) + WINDOW * number
        last = np.minimum(first + WINDOW, np.repeat(end, pieces))
        order = rng.permutation(first.size)
        enough = np.searchsorted(np.cumsum((last - first)[order]), POINTS) + 1
        rows = np.sort(order[:enough])
        begin, end = first[rows], last[rows]
    parts = begin.astype(np.int64), end.astype(np.int64)
    return with_blocks(model, Blocks(*parts, *parts, 0, 1.0))


def groups(points, previous, n_groups, number, rng):
    """Return a group for each point, (n,), for start `number`."""
    known = np.maximum(np.sum(~np.isnan(points), axis=0), 1)
    mean = np.nansum(points, axis=0) / known
    filled = np.where(np.isnan(points), mean, points)
    before = np.where(np.isnan(previous), filled, previous)
    unit = np.maximum(filled.std(axis=0), np.finfo(float).tiny)
    features = (filled - filled.mean(axis=0)) / unit
    if number < 2 or n_groups == 1:
        # Along the direction of the largest variance: equal steps, or equal numbers.
        score = features @ np.linalg.eigh(features.T @ features)[1][:, -1]
        if number == 1:
            return np.argsort(np.argsort(score, kind="stable")) * n_groups // len(score)
        low, high = np.quantile(score, [0.001, 0.999])
        steps = (score - low) / max(high - low, np.finfo(float).tiny) * n_groups
        return np.clip(steps, 0, n_groups - 1).astype(np.int64)
    if number % 3 == 2:
        features = np.c_[features, (filled - before) / unit]
    centers = features[plus_plus(features, n_groups, rng)]
    if number % 3 == 1:  # k-means would give up the centers of rare states
        return vq(features, centers)[0]
    return kmeans2(features, centers, iter=10, minit="matrix", missing="warn")[1]


def plus_plus(features, n_groups, rng):
    """Return indices of points that are far apart (k-means++, Arthur 2007)."""
    chosen = [int(rng.integers(len(features)))]
    distance = np.full(len(features), np.inf)
    while len(chosen) < n_groups:
        away = np.square(features - features[chosen[-1]]).sum(axis=1)
        distance = np.minimum(distance, away)
        total = distance.sum()
        if total == 0.0:  # fewer distinct points than groups
            chosen.append(int(rng.integers(len(features))))
            continue
        chosen.append(int(rng.choice(len(features), p=distance / total)))
    return np.array(chosen)


def starting_point(model, points, previous, labels, rng):
    """Return constrained parameters by groups of points."""
    k = model.start_prior.size
    counts = np.ones((k, k))
    np.add.at(counts, (labels[:-1], labels[1:]), 1.0)
    counts += len(points) / (10 * k * k)  # labels of noisy points change too often
    x = np.zeros(n_parameters(model))
    x[:k] = 1.0 / k
    x[k : k + k * k] = (counts / counts.sum(axis=1, keepdims=True)).ravel()
    emitted = starting_emission(model.emission, points, previous, labels, rng)
    x[k + k * k :] = emitted
    return x


def climb(model, x, n_steps):
    """Return the parameters after some steps of EM, and the log posterior there."""
    work, g, last = init_work(model), np.empty(x.size), -np.inf
    n_points = int(np.sum(model.blocks.last - model.blocks.first))
    best = x, -np.inf
    for _ in range(n_steps):
        value = row_log_posterior(model, work, x, g)
        if not np.isfinite(value):
            break
        if value > best[1]:
            best = x.copy(), value
        if abs(value - last) < ENOUGH * n_points:
            break
        last = value
        x = em_step(model, x, g)
    return best


def em_step(model, x, g):
    """Return the parameters after a step of EM; `g` is the gradient at `x`."""
    k, new = model.start_prior.size, x.copy()
    startprob, transitions, emitted = split(model, x)
    slopes = split(model, g)
    # Expected numbers plus prior less one; one more for the mode in log ratios.
    starts = np.maximum(startprob * slopes[0] + 1.0, 1e-3)
    moves = np.maximum(transitions * slopes[1] + 1.0, 1e-3)
    new[:k] = starts / starts.sum()
    new[k : k + k * k] = (moves / moves.sum(axis=1, keepdims=True)).ravel()
    sizes = starts + moves.sum(axis=0) - (model.transition_prior.sum(axis=0))
    new[k + k * k :] = maximized(model.emission, emitted, slopes[2], sizes)
    return new
