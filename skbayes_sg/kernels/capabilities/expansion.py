"""Expansions: the rows' gradients about a point, to first order in theta."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper, kernel_op, python_op
from skbayes_sg.kernels.protocol.model import add_gradient


class Differences(NamedTuple):
    """The point of an expansion by differences of gradients, and buffers."""

    center: np.ndarray  # (d,)
    ahead: np.ndarray  # (d,)
    behind: np.ndarray  # (d,)


@kernel_op
def add_beyond_linear(model, work, theta, expansion, idx, scale, out):
    """Add scale * sum over `idx` of what an expansion about c leaves of a gradient.

        grad log f_i(theta) - grad log f_i(c) - H_i (theta - c)

    H_i is the Hessian of log f_i at c, and `expansion` what `init_expansion` returned;
    here, H_i (theta - c) is a central difference of gradients.
    """
    add_by_differences(model, work, theta, expansion, idx, scale, out)


@helper
def add_by_differences(model, work, theta, expansion, idx, scale, out):
    """Do what `add_beyond_linear` does by default."""
    center, ahead, behind = expansion.center, expansion.ahead, expansion.behind
    size = 0.0
    for j in range(theta.size):
        away = abs(theta[j] - center[j]) / max(1.0, abs(center[j]))
        size = max(size, away)
    if size == 0.0:
        return
    # Balances rounding and the third derivative, as `hessian_product` does.
    width = (6e-6 if theta.itemsize == 8 else 5e-3) / size
    for j in range(theta.size):
        ahead[j] = center[j] + width * (theta[j] - center[j])
        behind[j] = center[j] - width * (theta[j] - center[j])
    add_gradient(model, work, theta, idx, scale, out)
    add_gradient(model, work, center, idx, -scale, out)
    add_gradient(model, work, ahead, idx, -0.5 * scale / width, out)
    add_gradient(model, work, behind, idx, 0.5 * scale / width, out)


@python_op
def init_expansion(model, center):
    """Return what `add_beyond_linear` needs to know of the point, with its buffers."""
    return Differences(*(np.array(center) for _ in range(3)))
