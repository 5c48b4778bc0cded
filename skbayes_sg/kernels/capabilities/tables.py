"""Tables: the gradient of each row at the theta where the row was last used."""

import numpy as np

from skbayes_sg.kernels.generic import kernel_op, python_op
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    n_parameters,
    n_rows,
    parameter_dtype,
)

MAX_TABLE_BYTES = 2**30  # of a chain's table of row gradients


@kernel_op
def replace_gradients(model, work, theta, table, idx, out):
    """Store grad log f_i(theta) of rows `idx` in the table, add the change to `out`.

    `table` is the result of `init_table`; by default, one gradient per row.
    """
    for b in range(idx.size):
        row = table[idx[b]]
        for j in range(out.size):
            out[j] -= row[j]
            row[j] = 0.0
        add_gradient(model, work, theta, idx[b : b + 1], 1.0, row)
        for j in range(out.size):
            out[j] += row[j]


@python_op
def init_table(model):
    """Allocate a table of row gradients, all zero, for `replace_gradients`."""
    shape = n_rows(model), n_parameters(model)
    n_bytes = shape[0] * shape[1] * parameter_dtype(model).itemsize
    if n_bytes > MAX_TABLE_BYTES:
        raise ValueError(
            f"a table of the gradients of {shape[0]} rows with {shape[1]} parameters "
            f"needs {n_bytes / 2**30:.1f} GiB per chain, more than the "
            f'{MAX_TABLE_BYTES / 2**30:.0f} GiB allowed; gradient="svrg" needs none'
        )
    return np.zeros(shape, parameter_dtype(model))
