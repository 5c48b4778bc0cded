"""Numbers with Gaussian noise whose precision is a function of the inputs.

    log f = 1/2 sum_k (t_k - exp(t_k) (y_k - eta_k)^2),    t_k = eta_{m + k}

for m numbers and 2 m predictors: first the means, then the log precisions. Log
precisions are bounded by `REACH` on both sides, in a smooth way: t = R tanh(eta / R).
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.likelihoods.protocol import (
    curvature_factor,
    log_density,
    score,
)

REACH = 12.0  # R: standard deviations between 0.0025 and 400


class InputDependentGaussian(NamedTuple):
    """Gaussian law with identity link and noise that depends on the inputs."""


@helper
def bounded_log_precision(eta):
    """Return t of a predictor."""
    return REACH * math.tanh(eta / REACH)


@log_density.register(InputDependentGaussian)
def _(likelihood, eta, y, noise, out):
    m = y.shape[0]
    for b in range(y.shape[1]):
        total = 0.0
        for k in range(m):
            t, error = bounded_log_precision(eta[m + k, b]), y[k, b] - eta[k, b]
            total += 0.5 * (t - math.exp(t) * error * error)
        out[b] = total


@score.register(InputDependentGaussian)
def _(likelihood, eta, y, noise, out):
    m = y.shape[0]
    for k in range(m):
        for b in range(y.shape[1]):
            t, error = bounded_log_precision(eta[m + k, b]), y[k, b] - eta[k, b]
            precision = math.exp(t)
            out[k, b] = precision * error
            half = 0.5 * (1.0 - precision * error * error)
            out[m + k, b] = half * (1.0 - (t / REACH) ** 2)


@curvature_factor.register(InputDependentGaussian)
def _(likelihood, eta, k, noise, out):
    # exp(t) of a mean; of a log precision the variance of (1 - chi^2) / 2, 1/2.
    m = out.shape[0] // 2
    for j in range(out.shape[0]):
        for b in range(out.shape[1]):
            out[j, b] = 0.0
    for b in range(out.shape[1]):
        t = bounded_log_precision(eta[m + k % m, b])
        if k < m:
            out[k, b] = math.exp(0.5 * t)
        else:
            out[k, b] = math.sqrt(0.5) * (1.0 - (t / REACH) ** 2)
