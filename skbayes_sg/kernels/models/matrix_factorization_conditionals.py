"""Conjugate conditionals of matrix factorisation: one sweep of Gibbs sampling.

    m_f | lambda_f ~ N(0, 1 / lambda_f),        lambda_f ~ Gamma(shape, rate_f)
    B_gf ~ N(0, 1 / (kappa lambda_f)),          kappa ~ Gamma(1, 1)
    s_i, t_j ~ Gamma(dof / 2, dof / 2),         alpha ~ Gamma(1, rate)

Given theta each of them has a Gamma or a Gaussian law, raised to the power beta, the
inverse temperature: Gamma(a, b) becomes Gamma(1 + beta (a - 1), beta b). The noise
needs a pass over all ratings, so a sweep is made every `refresh_every` iterations only;
keeping the unknowns as they are in between leaves the posterior invariant.
"""

import math

from skbayes_sg.kernels.models.matrix_factorization import (
    BLOCK,
    MatrixFactorization,
    deviations,
    read_hyper,
    residuals,
    side_links,
    side_mean,
    side_rows,
)
from skbayes_sg.kernels.ops import helper, locate, refresh
from skbayes_sg.kernels.passes import fill_rows


@refresh.register(MatrixFactorization)
def _(model, target, position, rng):
    work = target.work
    work.count[0] += 1
    if work.count[0] % model.refresh_every != 0:
        return
    work.count[1] += 1
    theta, beta = locate(target, position), target.inverse_temperature
    read_hyper(model, work, theta)
    for side in range(2):
        if model.prior.learns and not model.prior.on_log_scale:
            _draw_prior(model, work, theta, side, beta, rng)
        features = model.user_features if side == 0 else model.item_features
        if features.indptr.size > 1:
            _draw_links(features, work, side_rows(model, theta, side), side, beta, rng)
    if model.noise.learns or model.noise.dof > 0.0:
        _draw_noise(model, work, theta, beta, rng)


@helper
def _draw_prior(model, work, theta, side, beta, rng):
    """Draw lambda, then m given lambda, of one side."""
    hyper, mean = work.hyper[side], side_mean(work, side)
    n = model.n_users if side == 0 else model.n_items
    for f in range(hyper.shape[1]):
        # In terms of r_i = x_i - B'z_i, m has precision lambda (n + 1) and mean
        # sum r / (n + 1); sums of r follow from those of the deviations r - m.
        count, total, squares = deviations(model, work, theta, side, f)
        m = hyper[0, f]
        center = (total + n * m) / (n + 1)
        squares += 2.0 * m * total + n * m * m - (n + 1) * center * center
        shape = 0.5 + beta * (model.prior.shape - 1.0 + 0.5 * (count + 1))
        rate = beta * (model.prior.rate[f] + 0.5 * squares)
        hyper[1, f] = rng.standard_gamma(shape) / rate
        sd = 1.0 / math.sqrt(beta * hyper[1, f] * (n + 1))
        hyper[0, f] = center + sd * rng.standard_normal()
        for i in range(mean.shape[0]):
            mean[i, f] += hyper[0, f] - m


@helper
def _draw_links(features, work, x, side, beta, rng):
    """Draw B feature by feature, then kappa, of one side."""
    hyper, mean, links = work.hyper[side], side_mean(work, side), side_links(work, side)
    kappa, squares = work.link_precision[side], 0.0
    mean[:] = hyper[0]
    for g in range(links.shape[0]):
        for k in range(features.indptr[g], features.indptr[g + 1]):
            for f in range(links.shape[1]):
                mean[features.indices[k], f] += features.data[k] * links[g, f]
    for g in range(links.shape[0]):
        first, last = features.indptr[g], features.indptr[g + 1]
        size = 0.0
        for k in range(first, last):
            size += features.data[k] ** 2
        for f in range(links.shape[1]):
            total = size * links[g, f]
            for k in range(first, last):
                i = features.indices[k]
                total += features.data[k] * (x[i, f] - mean[i, f])
            sd = 1.0 / math.sqrt(beta * hyper[1, f] * (size + kappa))
            new = total / (size + kappa) + sd * rng.standard_normal()
            for k in range(first, last):
                mean[features.indices[k], f] += features.data[k] * (new - links[g, f])
            links[g, f] = new
            squares += hyper[1, f] * new * new
    rate = beta * (1.0 + 0.5 * squares)
    work.link_precision[side] = rng.standard_gamma(1.0 + 0.5 * beta * links.size) / rate


@helper
def _draw_noise(model, work, theta, beta, rng):
    """Draw the precisions of users and of items in turn, and alpha each time."""
    side, pairs, weights = work.count[1] % 2, model.pairs, model.weights
    first_row = 0 if side == 0 else model.n_users
    n = model.n_users if side == 0 else model.n_items
    own = work.noise[1 + first_row : 1 + first_row + n]
    squares, counts = work.sums[0, :n], work.sums[1, :n]
    squares[:] = 0.0
    counts[:] = 0.0
    for first in range(0, model.y.size, BLOCK):
        block = fill_rows(work.rows, first, model.y.size)
        residual, alpha = residuals(model, work, theta, block)
        for b in range(block.size):
            w = weights[block[b]] if weights.size else 1.0
            i = pairs[block[b], side] - first_row
            squares[i] += w * alpha[b] * residual[b] * residual[b]
            counts[i] += w
    total, count = 0.0, 0.0
    half = 0.5 * model.noise.dof
    for i in range(n):
        squares[i] /= own[i]
        if half > 0.0:
            shape = 1.0 + beta * (half - 1.0 + 0.5 * counts[i])
            rate = beta * (half + 0.5 * squares[i])
            own[i] = rng.standard_gamma(shape) / rate
        total += own[i] * squares[i]
        count += counts[i]
    if model.noise.learns:
        rate = beta * (model.noise.rate + 0.5 * total / work.noise[0])
        work.noise[0] = rng.standard_gamma(1.0 + 0.5 * beta * count) / rate
