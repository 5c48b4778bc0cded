"""Metrics, for samplers that adapt to the curvature at every position.

Any positive definite function G(theta) is valid, provided that it depends on theta
only: the rows in `idx` stay the same throughout a chain.
"""

from skbayes_sg.kernels.generic import kernel_op


@kernel_op
def metric(model, work, theta, idx, out):
    """Write the metric G(theta), estimated from the rows in `idx`, to (d, d) `out`."""
    raise NotImplementedError


@kernel_op
def metric_divergence(model, work, theta, idx, factor, out):
    """Write sum_jm (d_j G_km) P_mj to (d,) `out`, where P = factor' factor."""
    raise NotImplementedError


@kernel_op
def metric_diagonal(model, work, theta, idx, out, slope):
    """Write G_jj(theta) of a diagonal metric to `out` and d_j G_jj to `slope`."""
    raise NotImplementedError


@kernel_op
def pull_back_metric(coordinates, matrix):
    """Replace the metric of theta by that of the position, L' G L, in place."""
    raise NotImplementedError


@kernel_op
def pull_back_diagonal(coordinates, diagonal, slope):
    """Do the same as `pull_back_metric` for G_jj and d_j G_jj, if L is diagonal."""
    raise NotImplementedError
