"""Linearization: linear functions of theta that are close to the rows' gradients."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import kernel_op, missing, python_op


class Linearized(NamedTuple):
    """Linear functions that are close to the rows' gradients.

    They add up to ``total - matrix (theta - center)``.
    """

    center: np.ndarray  # (d,)
    total: np.ndarray  # (d,)
    matrix: np.ndarray  # (d, d), symmetric
    table: np.ndarray  # (..., N) what `add_remainder` needs of each row
    sizes: np.ndarray  # (N,) how large the remainder is, up to a factor


@kernel_op
def add_remainder(model, work, theta, table, idx, scales, out):
    """Add the sum over b of scales_b (grad log f_i(theta) less a linear function).

    Here i is idx_b, and the function's numbers are in `table`, that of `linearize`.
    """
    raise NotImplementedError


@python_op
def is_linearizable(model):
    """Whether the model has `linearize` and its table is small enough for memory."""
    return False


@python_op
def linearize(model, draws):
    """Return a `Linearized` that is good on average over (Q, d) `draws`."""
    raise missing(linearize, model)
