"""Blocked models of sequences before sampling: exact mode, messages, buffer length.

The buffer length B is the smallest power of two whose bias is below `TOLERANCE`. The
bias is that of the gradient in posterior standard deviations, which moves a draw as
much: at typical draws around the anchor the gradients of some blocks are computed with
buffers of B points and exactly, their difference is whitened by the curvature and
scaled up to all blocks.
"""

from typing import NamedTuple

import numpy as np
import scipy.optimize

from skbayes_sg.inference.curvature import curvature_matrix, whitening
from skbayes_sg.kernels.capabilities.buffers import (
    blocks_of,
    selected,
    with_blocks,
    with_messages,
)
from skbayes_sg.kernels.capabilities.tables import MAX_TABLE_BYTES
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.models.free_sequences import row_gradients
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.model import init_work

TOLERANCE = 0.02  # posterior standard deviations
N_BLOCKS = 50  # at which the bias is measured
N_DRAWS = 4  # typical draws at which it is measured
MAX_BUFFER = 4096
MIN_BLOCK = 40  # points; the overhead of a block is small then
PER_BUFFER = 4  # points of a block per point of its buffer, at least
EXACT_BLOCK = 512  # points per block of exact passes
ROUGH_BLOCKS = 24  # from which a rough curvature is measured
ROUGH_BUFFER = 32


class Blocked(NamedTuple):
    """A blocked model with messages at its mode, and what its buffers cost."""

    model: NamedTuple
    block_length: int
    buffer_length: int
    buffer_bias: float  # posterior standard deviations


def block_at_mode(
    model, start, block_length="auto", buffer_length="auto", seed=0
) -> Blocked:
    """Find the mode next to `start`, and block the model for sampling around it.

    Parameters
    ----------
    model : FreeSequences
        The posterior, with any blocks.
    start : ndarray of shape (d,)
        Free parameters in the basin of a mode.
    block_length, buffer_length : int or "auto"
        Points per block and on both sides of it.
    seed : int or SeedSequence
        For the blocks and draws at which the bias is measured.

    Returns
    -------
    blocked : Blocked
        The model with messages at its mode, ready for `explore`.
    """
    lengths = sequence_lengths(model)
    longest, rng = int(lengths.max()), np.random.default_rng(seed)
    # So many blocks at most have a table of linear functions that is not too large.
    most = MAX_TABLE_BYTES // (8 * start.size * (start.size + 1))
    least = max(MIN_BLOCK, int(lengths.sum() / most) + 1)
    with one_blas_thread():
        mode, factor = exact_mode(model, start)
        z = rng.standard_normal((N_DRAWS, mode.size))
        draws = mode + z @ factor.T
        automatic = buffer_length == "auto"
        buffer = 1 if automatic else int(buffer_length)
        while True:
            size = max(least, PER_BUFFER * buffer)
            size = size if block_length == "auto" else int(block_length)
            size = min(size, longest)
            blocks = make_blocks(lengths, size, buffer, blocks_of(model).weight)
            bias = buffer_bias(model, blocks, mode, draws, factor, rng)
            enough = bias <= TOLERANCE or buffer >= min(MAX_BUFFER, longest)
            if enough or not automatic:
                break
            buffer *= 2
        blocked = with_messages(with_blocks(model, blocks), mode)
    return Blocked(for_kernels(blocked), size, buffer, float(bias))


def sequence_lengths(model):
    """Return the lengths of the sequences, (n_sequences,)."""
    blocks = blocks_of(model)
    heads = blocks.first == blocks.begin
    return (blocks.end - blocks.begin)[heads]


def exact_log_posterior(model, theta, out):
    """Return log p(theta | all data) and write its gradient to `out`, without bias."""
    weight = blocks_of(model).weight
    blocks = make_blocks(sequence_lengths(model), EXACT_BLOCK, 0, weight)
    exact = for_kernels(with_messages(with_blocks(model, blocks), theta))
    return log_posterior(exact, init_work(exact), np.asarray(theta, float), out)


def exact_mode(model, start, n_rounds=3):
    """Return a mode of the exact posterior, and F, F F' its rough covariance.

    L-BFGS in units of a curvature that is measured on some blocks, until the gradient
    is 0.01 in these units.
    """
    mode = np.array(start, np.float64)
    g = np.empty_like(mode)
    for _ in range(n_rounds):
        factor = rough_factor(model, mode)

        def negative(z, mode=mode, factor=factor):
            value = exact_log_posterior(model, mode + factor @ z, g)
            if not np.isfinite(value):
                return 1e300, np.zeros_like(z)
            return -value, -(factor.T @ g)

        result = scipy.optimize.minimize(
            negative,
            np.zeros(mode.size),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 15, "gtol": 1e-2, "ftol": 0.0},
        )
        mode = mode + factor @ result.x
        if np.abs(result.jac).max() <= 1e-2 or np.abs(result.x).max() < 1e-3:
            break
    return mode, rough_factor(model, mode)


def rough_factor(model, theta):
    """Return F, F F' the inverse curvature at `theta`, estimated from some blocks."""
    weight, lengths = blocks_of(model).weight, sequence_lengths(model)
    blocks = make_blocks(lengths, EXACT_BLOCK, ROUGH_BUFFER, weight)
    some = some_blocks(model, blocks, theta, ROUGH_BLOCKS)
    return whitening(curvature_matrix(some, theta))


def some_blocks(model, blocks, theta, count, rng=None):
    """Return the posterior by at most `count` of the blocks, which stand for all.

    They are evenly spread, or random ones; messages are computed at `theta`.
    """
    n = blocks.first.size
    if n <= count:
        return for_kernels(with_messages(with_blocks(model, blocks), theta))
    rows = np.linspace(0, n - 1, count).astype(np.int64)
    if rng is not None:
        rows = np.sort(rng.choice(n, count, replace=False))
    part = selected(with_blocks(model, blocks), rows, n / count)
    return for_kernels(with_messages(part, theta))


def buffer_bias(model, blocks, mode, draws, factor, rng):
    """Return the bias of gradients at `draws`, in posterior standard deviations.

    Gradients with messages of the mode at the ends of buffers are compared with those
    that have messages of the draw itself, which are exact. The root mean square over
    the draws, of the parameter with the largest.
    """
    part = some_blocks(model, blocks, mode, N_BLOCKS, rng)
    difference = [
        row_gradients(part, theta).sum(axis=0)
        - row_gradients(for_kernels(with_messages(part, theta)), theta).sum(axis=0)
        for theta in draws
    ]
    difference = np.array(difference) @ factor
    return np.sqrt(np.mean(difference**2, axis=0)).max()
