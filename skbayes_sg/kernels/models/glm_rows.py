"""What a GLM knows of its single rows: remembered gradients, leverages, classes.

The gradient of row i is the outer product of d log f / d eta_i and (x_i, 1), so a table
of gradients holds K numbers per row. The leverage of a row is its share in the
information I about the coefficients at a point, taken one by one:

    leverage_i = c_i sum_j x_ij^2 / I_j,    I_j = sum_i c_i x_ij^2,
    c_i = -sum_k d2 log f / d eta_ik^2
"""

import numpy as np

from skbayes_sg.kernels.models.glm import (
    BLOCK,
    GLM,
    add_block,
    curvature,
    predictors,
    residuals,
    weigh,
)
from skbayes_sg.kernels.ops import (
    entry_point,
    init_table,
    init_work,
    leverages,
    n_rows,
    replace_gradients,
    row_classes,
    total,
)
from skbayes_sg.kernels.passes import each_row, fill_rows
from skbayes_sg.kernels.rows import add_squared_rows, dot_squared_rows, shape_rows


@init_table.register(GLM)
def _(model):
    return np.zeros((model.n_outputs, n_rows(model)), model.y.dtype)


@replace_gradients.register(GLM)
def _(model, work, theta, table, idx, out):
    for first in range(0, idx.size, BLOCK):
        block = idx[first : first + BLOCK]
        r = residuals(model, work, theta, block)
        for k in range(model.n_outputs):
            for b in range(block.size):
                new, i = r[k, b], block[b]
                r[k, b] = new - table[k, i]
                table[k, i] = new
        add_block(model, block, r, 1.0, out)


@leverages.register(GLM)
def _(model, mode):
    out = np.empty(n_rows(model))
    _curvatures(model, init_work(model), mode, out)
    _leverages(model, out)
    return out


@row_classes.register(GLM)
def _(model):
    return model.y


@entry_point
def _curvatures(model, work, theta, out):
    """Write c_i of all rows to `out`."""
    idx = each_row()
    for first in range(0, n_rows(model), BLOCK):
        block = fill_rows(idx[:BLOCK], first, n_rows(model))
        eta, c = predictors(model, work, theta, block), work.r[0, : block.size]
        out[first : first + block.size] = 0.0
        for k in range(model.n_outputs):
            curvature(model.family, eta, k, k, c)
            weigh(model, work, block, 1.0, c)
            for b in range(block.size):
                out[first + b] += c[b]


@entry_point
def _leverages(model, c):
    """Replace c_i of all rows by their leverages."""
    n, p = shape_rows(model.rows)
    idx, information = each_row(), np.zeros(p)
    for first in range(0, n, idx.size):
        block = fill_rows(idx, first, n)
        add_squared_rows(model.rows, block, c[first : first + block.size], information)
    for j in range(p):
        information[j] = 1.0 / information[j] if information[j] > 0.0 else 0.0
    intercept = 1.0 / total(c) if model.intercept else 0.0
    share = np.empty(idx.size)
    for first in range(0, n, idx.size):
        block = fill_rows(idx, first, n)
        dot_squared_rows(model.rows, block, information, share)
        for b in range(block.size):
            c[first + b] *= share[b] + intercept
