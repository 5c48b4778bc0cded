"""Models of sequences in free parameters: `Transformed`, with blocks as rows.

The rows' gradients are near linear where the posterior of a long series is, so that
linear functions of theta replace them up to a small remainder. Each has d numbers and a
d x d matrix, from differences of the row's gradient at the anchor.
"""

import numpy as np

from skbayes_sg.kernels.capabilities.buffers import (
    Messages,
    blocks_of,
    selected,
    with_blocks,
    with_messages,
)
from skbayes_sg.kernels.capabilities.linearization import (
    Linearized,
    add_remainder,
    is_linearizable,
    linearize,
)
from skbayes_sg.kernels.capabilities.maps import constrain, n_constrained
from skbayes_sg.kernels.capabilities.strata import leverages
from skbayes_sg.kernels.capabilities.tables import MAX_TABLE_BYTES
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.models.transformed import Transformed
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    init_work,
    n_parameters,
    n_rows,
    thinned,
)

WIDTH = 1e-6  # of differences


class FreeSequences(Transformed):
    """A blocked model in free parameters; its fields are those of `Transformed`."""

    __slots__ = ()
    __annotations__ = Transformed.__annotations__


@blocks_of.register(FreeSequences)
def _(model):
    return blocks_of(model.model)


@with_blocks.register(FreeSequences)
def _(model, blocks):
    return model._replace(model=with_blocks(model.model, blocks))


@with_messages.register(FreeSequences)
def _(model, theta):
    x = np.zeros(n_constrained(model.map))
    constrain(model.map, np.asarray(theta, np.float64), x)
    inner = with_messages(model.model, x)
    messages = Messages(np.array(theta, np.float64), *inner.messages[1:])
    return model._replace(model=inner._replace(messages=messages))


@selected.register(FreeSequences)
def _(model, rows, factor=1.0):
    return model._replace(model=selected(model.model, rows, factor))


@thinned.register(FreeSequences)
def _(model, every):
    return selected(model, np.arange(0, n_rows(model), every), float(every))


def row_gradients(model, theta):
    """Return the gradient of each row at `theta`, (N, d)."""
    out = np.zeros((n_rows(model), n_parameters(model)))
    _add_row_gradients(model, init_work(model), np.asarray(theta, float), out)
    return out


@entry_point
def _add_row_gradients(model, work, theta, out):
    idx = np.zeros(1, INDEX)
    for i in range(len(out)):
        idx[0] = i
        add_gradient(model, work, theta, idx, 1.0, out[i])


@is_linearizable.register(FreeSequences)
def _(model):
    d = n_parameters(model)
    return n_rows(model) * d * (d + 1) * 8 <= MAX_TABLE_BYTES


@linearize.register(FreeSequences)
def _(model, draws):
    center, d = model.model.messages.anchor, n_parameters(model)
    if center.size == 0:
        center = draws.mean(axis=0)
    # An F-ordered table of N columns: the numbers of a row are adjacent. Differences to
    # one side cost half: estimates are unbiased for any linear functions.
    table = np.zeros((n_rows(model), d + d * d))
    at_center = row_gradients(model, center)
    for j in range(d):
        ahead = center.copy()
        ahead[j] += WIDTH * max(1.0, abs(center[j]))
        slope = at_center - row_gradients(model, ahead)
        table[:, d + j :: d] = slope / (ahead[j] - center[j])
    total = at_center.sum(axis=0)
    matrix = table[:, d:].sum(axis=0).reshape(d, d)
    matrices = table[:, d:].reshape(-1, d, d)
    table[:, :d] = at_center + matrices @ center
    unit = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
    sizes = np.zeros(n_rows(model))
    for theta in draws[:: max(1, len(draws) // 8)]:
        rest = row_gradients(model, theta) - table[:, :d] + matrices @ theta
        sizes += np.square(rest * unit).sum(axis=1)
    return Linearized(center, total, matrix, table.T, np.sqrt(sizes))


@add_remainder.register(FreeSequences)
def _(model, work, theta, table, idx, scales, out):
    d, b = theta.size, 0
    while b < idx.size:  # rows of a stratum have one scale
        stop = b + 1
        while stop < idx.size and scales[stop] == scales[b]:
            stop += 1
        add_gradient(model, work, theta, idx[b:stop], scales[b], out)
        b = stop
    for b in range(idx.size):
        i, scale = idx[b], scales[b]
        for j in range(d):
            value = table[j, i]
            for k in range(d):
                value -= table[d + d * j + k, i] * theta[k]
            out[j] -= scale * value


@leverages.register(FreeSequences)
def _(model, mode):
    # By the outer products of the rows' gradients, whose sum is about the information.
    g = row_gradients(model, mode)
    unit = np.linalg.norm(g, axis=0)
    g /= np.where(unit > 0.0, unit, 1.0)
    inverse = np.linalg.pinv(g.T @ g, rcond=1e-10, hermitian=True)
    return np.einsum("ij,jk,ik->i", g, inverse, g)
