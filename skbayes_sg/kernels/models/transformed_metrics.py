"""Metrics of constrained parameters, seen in free ones.

    G(u) = J' G(x) J + M(u),    J = dx/du

M is a metric of the map's own. Without it, steps in u would be steps in x, which leave
the constraint: J vanishes at the border, and noise of covariance G^-1 knows no bounds
there. Derivatives are central differences, at the cost of two metrics of the model
inside per free parameter.
"""

import numpy as np

from skbayes_sg.kernels.capabilities.maps import (
    add_map_metric,
    add_pulled_back,
    constrain,
)
from skbayes_sg.kernels.capabilities.metrics import (
    metric,
    metric_diagonal,
    metric_divergence,
)
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.transformed import Transformed


@metric.register(Transformed)
def _(model, work, theta, idx, out):
    jacobian = _jacobian(model.map, theta, work.x, work.g)
    inside = np.empty((work.x.size, work.x.size), theta.dtype)
    metric(model.model, work.inner, work.x, idx, inside)
    np.dot(jacobian.T, np.dot(inside, jacobian), out)
    own = np.zeros_like(theta)
    add_map_metric(model.map, theta, own)
    for j in range(theta.size):
        out[j, j] += own[j]


@metric_divergence.register(Transformed)
def _(model, work, theta, idx, factor, out):
    # P is the sum of f f' over the rows f of the factor, so that the sum over j and m
    # of (d_j G_km) P_mj is that of (derivative of G along f) f.
    d = theta.size
    u, here = np.empty_like(theta), np.empty((d, d), theta.dtype)
    out[:] = 0.0
    for c in range(d):
        width = _width(theta, factor[c])
        for sign in (-1.0, 1.0):
            for j in range(d):
                u[j] = theta[j] + sign * width * factor[c, j]
            metric(model, work, u, idx, here)
            for k in range(d):
                for m in range(d):
                    out[k] += sign * here[k, m] * factor[c, m] / (2.0 * width)


@metric_diagonal.register(Transformed)
def _(model, work, theta, idx, out, slope):
    u, unit, here = theta.copy(), np.zeros_like(theta), np.empty_like(theta)
    _diagonal(model, work, theta, idx, out)
    for j in range(theta.size):
        slope[j], unit[j] = 0.0, 1.0
        width = _width(theta, unit)
        for sign in (-1.0, 1.0):
            u[j] = theta[j] + sign * width
            _diagonal(model, work, u, idx, here)
            slope[j] += sign * here[j] / (2.0 * width)
        u[j], unit[j] = theta[j], 0.0


@helper
def _diagonal(model, work, theta, idx, out):
    """Write the diagonal of J' G(x) J + M, for a diagonal G, to `out`."""
    jacobian = _jacobian(model.map, theta, work.x, work.g)
    inside, unused = np.empty_like(work.x), np.empty_like(work.x)
    metric_diagonal(model.model, work.inner, work.x, idx, inside, unused)
    out[:] = 0.0
    add_map_metric(model.map, theta, out)
    for i in range(work.x.size):
        for j in range(theta.size):
            out[j] += jacobian[i, j] ** 2 * inside[i]


@helper
def _jacobian(map_, u, x, buffer):
    """Return J, (len(x), len(u)), and write T(u) to `x`."""
    constrain(map_, u, x)
    out = np.zeros((x.size, u.size), u.dtype)
    for i in range(x.size):
        buffer[:] = 0.0
        buffer[i] = 1.0
        add_pulled_back(map_, u, x, buffer, 0.0, out[i])
    return out


@helper
def _width(u, direction):
    """Return the step along `direction` that balances rounding and curvature."""
    size = 1e-300
    for j in range(u.size):
        size = max(size, abs(direction[j]) / max(1.0, abs(u[j])))
    return (6e-6 if u.itemsize == 8 else 5e-3) / size
