"""Likelihoods of a network's outputs z, by rows of a block.

Categorical:    log f = z_y - log sum_k exp(z_k),                   y in {0, ..., K - 1}
GaussianNoise:  log f = 1/2 sum_k (t_k - exp(t_k) (y_k - z_k)^2),   t_k = log precision
                exp(t_k) ~ Gamma(1, 1)

The log precisions t of the noise are parameters like the weights: with its Jacobian,
the prior's log density is t - exp(t).
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import kernel_op
from skbayes_sg.kernels.models.mlp_layers import softmax_rows


class Categorical(NamedTuple):
    """Classes; y is (N,)."""


class GaussianNoise(NamedTuple):
    """Numbers with noise of unknown precision; y is (N, K)."""


@kernel_op
def n_noise(likelihood, n_outputs):
    """Return the number of the likelihood's own parameters."""
    return 0


@kernel_op
def log_density(likelihood, z, y, idx, noise, out):
    """Write log f(y_i | z_b) of the rows i in `idx` to (b,) `out`, constants apart."""
    raise NotImplementedError


@kernel_op
def score(likelihood, z, y, idx, noise, out):
    """Write d log f / dz to (b, K) `out`; `z` may be overwritten."""
    raise NotImplementedError


@kernel_op
def add_noise_score(likelihood, z, y, idx, noise, scale, out):
    """Add the sum of scale_b * d log f(y_i | z_b) / d noise to `out`."""


@kernel_op
def curvature_factor(likelihood, z, noise, k, out):
    """Write column k of F_b, -d2 log f / dz dz' = F_b F_b', to (b, K) `out`."""
    raise NotImplementedError


@kernel_op
def noise_curvature(likelihood):
    """Return -d2 log f / dt dt of a row, in expectation over y."""
    return 0.0


@log_density.register(Categorical)
def _(likelihood, z, y, idx, noise, out):
    for b in range(idx.size):
        top = z[b, 0]
        for k in range(1, z.shape[1]):
            top = max(top, z[b, k])
        total = 0.0
        for k in range(z.shape[1]):
            total += math.exp(z[b, k] - top)
        out[b] = z[b, int(y[idx[b]])] - top - math.log(total)


@score.register(Categorical)
def _(likelihood, z, y, idx, noise, out):
    softmax_rows(z)
    for b in range(idx.size):
        for k in range(z.shape[1]):
            out[b, k] = -z[b, k]
        out[b, int(y[idx[b]])] += 1.0


@curvature_factor.register(Categorical)
def _(likelihood, z, noise, k, out):
    # diag(p) - p p' = sum_k p_k (e_k - p) (e_k - p)'
    for b in range(z.shape[0]):
        top = z[b, 0]
        for m in range(1, z.shape[1]):
            top = max(top, z[b, m])
        total = 0.0
        for m in range(z.shape[1]):
            out[b, m] = math.exp(z[b, m] - top)
            total += out[b, m]
        root = math.sqrt(out[b, k] / total)
        for m in range(z.shape[1]):
            out[b, m] *= -root / total
        out[b, k] += root


@n_noise.register(GaussianNoise)
def _(likelihood, n_outputs):
    return n_outputs


@log_density.register(GaussianNoise)
def _(likelihood, z, y, idx, noise, out):
    for b in range(idx.size):
        total = 0.0
        for k in range(z.shape[1]):
            error = y[idx[b], k] - z[b, k]
            total += 0.5 * (noise[k] - math.exp(noise[k]) * error * error)
        out[b] = total


@score.register(GaussianNoise)
def _(likelihood, z, y, idx, noise, out):
    for k in range(z.shape[1]):
        precision = math.exp(noise[k])
        for b in range(idx.size):
            out[b, k] = precision * (y[idx[b], k] - z[b, k])


@add_noise_score.register(GaussianNoise)
def _(likelihood, z, y, idx, noise, scale, out):
    for k in range(z.shape[1]):
        precision = math.exp(noise[k])
        for b in range(idx.size):
            error = y[idx[b], k] - z[b, k]
            out[k] += scale[b] * 0.5 * (1.0 - precision * error * error)


@curvature_factor.register(GaussianNoise)
def _(likelihood, z, noise, k, out):
    root = math.exp(0.5 * noise[k])
    for b in range(z.shape[0]):
        for m in range(z.shape[1]):
            out[b, m] = root if m == k else 0.0


@noise_curvature.register(GaussianNoise)
def _(likelihood):
    return 0.5
