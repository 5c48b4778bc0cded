"""Linearization: linear functions of theta that approximate the rows' gradients."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import kernel_op, missing, python_op


class Linearized(NamedTuple):
    """Linear approximations of the rows' gradients.

    Their sum is ``total - matrix (theta - center)``.
    """

    center: np.ndarray  # (d,)
    total: np.ndarray  # (d,)
    matrix: np.ndarray  # (d, d), symmetric
    table: np.ndarray  # (..., N) what `add_remainder` needs of each row
    sizes: np.ndarray  # (N,) typical sizes of the remainders, up to a factor


@kernel_op
def add_remainder(model, work, theta, table, idx, scales, out):
    """Add the sum over b of scales_b (grad log f_i(theta) - l_i(theta)), i = idx_b.

    The linear functions l_i are given by `table`, a result of `linearize`.
    """
    raise NotImplementedError


@python_op
def is_linearizable(model):
    """Whether the model implements `linearize` and its table fits into memory."""
    return False


@python_op
def linearize(model, draws):
    """Return a `Linearized` that is accurate on average over (Q, d) `draws`."""
    raise missing(linearize, model)
