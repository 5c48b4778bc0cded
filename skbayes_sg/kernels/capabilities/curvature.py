"""Curvature: the Hessian of -log p, or its diagonal.

The Hessian of a model that registers none of these is computed from differences of its
gradients, see `skbayes_sg.kernels.passes`.
"""

from skbayes_sg.kernels.generic import kernel_op, python_op


@kernel_op
def add_hessian(model, work, theta, idx, scale, out):
    """Add -scale * Hessian of the log-likelihood of rows `idx` to (d, d) `out`."""
    raise NotImplementedError


@kernel_op
def add_hessian_diagonal(model, work, theta, idx, scale, out):
    """Add the diagonal of what `add_hessian` adds to (d,) `out`."""
    raise NotImplementedError


@kernel_op
def add_prior_hessian_diagonal(model, work, theta, out):
    """Add the diagonal of -Hessian of log p(theta) to (d,) `out`."""
    raise NotImplementedError


@python_op
def add_prior_hessian(model, work, theta, out):
    """Add -Hessian of log p(theta) to (d, d) `out`; by default a diagonal one."""
    diagonal = out.diagonal().copy()
    add_prior_hessian_diagonal(model, work, theta, diagonal)
    out.flat[:: len(out) + 1] = diagonal
