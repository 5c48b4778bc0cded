"""Operations on single rows of a GLM: tables of gradients, classes, thinning.

The gradient of row i is the outer product of d log f / d eta_i and (x_i, 1), so a table
of gradients holds K numbers per row, and one for each parameter of the likelihood.
"""

import numpy as np

from skbayes_sg.kernels.capabilities.strata import row_classes
from skbayes_sg.kernels.capabilities.tables import init_table, replace_gradients
from skbayes_sg.kernels.data.matrices import thinned_rows
from skbayes_sg.kernels.models.glm import (
    CHUNK,
    GLM,
    add_chunk,
    n_scores,
    n_targets,
    residuals,
)
from skbayes_sg.kernels.protocol.model import n_rows, thinned


@init_table.register(GLM)
def _(model):
    return np.zeros((n_scores(model), n_rows(model)), model.y.dtype)


@replace_gradients.register(GLM)
def _(model, work, theta, table, idx, out):
    for first in range(0, idx.size, CHUNK):
        chunk = idx[first : first + CHUNK]
        r = residuals(model, work, theta, chunk)
        for k in range(n_scores(model)):
            for b in range(chunk.size):
                new, i = r[k, b], chunk[b]
                r[k, b] = new - table[k, i]
                table[k, i] = new
        add_chunk(model, chunk, r, 1.0, out)


@row_classes.register(GLM)
def _(model):
    return model.y[: n_rows(model)]


@thinned.register(GLM)
def _(model, every):
    y = model.y.reshape(n_targets(model), -1)[:, ::every]
    weights = np.ones(y.shape[1], model.y.dtype)
    if model.weights.size:
        weights = model.weights[::every]
    return model._replace(
        rows=thinned_rows(model.rows, every),
        y=y.ravel(),
        weights=every * weights,
        offsets=np.ascontiguousarray(model.offsets[::every]),
    )
