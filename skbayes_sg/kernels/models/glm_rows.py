"""What a GLM knows of its single rows: remembered gradients, classes, fewer of them.

The gradient of row i is the outer product of d log f / d eta_i and (x_i, 1), so a table
of gradients holds K numbers per row.
"""

import numpy as np

from skbayes_sg.kernels.capabilities.strata import row_classes
from skbayes_sg.kernels.capabilities.tables import init_table, replace_gradients
from skbayes_sg.kernels.data.matrices import thinned_rows
from skbayes_sg.kernels.models.glm import CHUNK, GLM, add_chunk, residuals
from skbayes_sg.kernels.protocol.model import n_rows, thinned


@init_table.register(GLM)
def _(model):
    return np.zeros((model.n_outputs, n_rows(model)), model.y.dtype)


@replace_gradients.register(GLM)
def _(model, work, theta, table, idx, out):
    for first in range(0, idx.size, CHUNK):
        chunk = idx[first : first + CHUNK]
        r = residuals(model, work, theta, chunk)
        for k in range(model.n_outputs):
            for b in range(chunk.size):
                new, i = r[k, b], chunk[b]
                r[k, b] = new - table[k, i]
                table[k, i] = new
        add_chunk(model, chunk, r, 1.0, out)


@row_classes.register(GLM)
def _(model):
    return model.y


@thinned.register(GLM)
def _(model, every):
    weights = model.weights if model.weights.size else np.ones_like(model.y)
    return model._replace(
        rows=thinned_rows(model.rows, every),
        y=np.ascontiguousarray(model.y[::every]),
        weights=every * weights[::every],
    )
