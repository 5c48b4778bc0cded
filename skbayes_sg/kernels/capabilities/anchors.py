"""Anchors: fixed points at which gradients are stored, to compute differences."""

from skbayes_sg.kernels.generic import kernel_op, python_op
from skbayes_sg.kernels.protocol.model import add_gradient


@kernel_op
def add_difference(model, work, theta, anchor, idx, scale, out):
    """Add scale * sum over `idx` of grad log f_i(theta) - grad log f_i(anchor).

    `anchor` is the result of `init_anchor`; by default, the anchor point itself.
    """
    add_gradient(model, work, theta, idx, scale, out)
    add_gradient(model, work, anchor, idx, -scale, out)


@python_op
def init_anchor(model, work, theta):
    """Return what `add_difference` needs of the anchor point `theta`."""
    return theta.copy()


@python_op
def anchored(gradient, model):
    """Return the estimator with all results that do not depend on its batch size.

    Callers use it before they prepare one estimator with several batch sizes.
    """
    return gradient
