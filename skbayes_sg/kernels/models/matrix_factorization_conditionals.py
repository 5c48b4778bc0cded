"""Conjugate conditionals of matrix factorization: one sweep of Gibbs sampling.

    m_f | lambda_f ~ N(0, 1 / lambda_f),        lambda_f ~ Gamma(shape, rate_f)
    B_gf ~ N(0, 1 / (kappa lambda_f)),          kappa ~ Gamma(1, 1)
    s_i, t_j ~ Gamma(dof / 2, dof / 2),         alpha ~ Gamma(1, rate)

Given theta each of them has a Gamma or a Gaussian law, raised to the power beta, the
inverse temperature: Gamma(a, b) becomes Gamma(1 + beta (a - 1), beta b). The noise
needs a pass over all ratings, so a sweep is made every `refresh_every` iterations only;
keeping the unknowns as they are in between leaves the posterior invariant. The scale
that alpha shares with s or t is drawn by itself.
"""

import math

from skbayes_sg.kernels.data.minibatch import fill_rows
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.matrix_factorization import MatrixFactorization
from skbayes_sg.kernels.models.matrix_factorization_ratings import CHUNK, residuals
from skbayes_sg.kernels.models.matrix_factorization_rows import (
    as_matrix,
    side_moments,
    width,
)
from skbayes_sg.kernels.protocol.model import refresh
from skbayes_sg.kernels.protocol.target import locate


@refresh.register(MatrixFactorization)
def _(model, target, position, rng):
    x = as_matrix(locate(target, position), width(model))
    draw_row_priors(model, target.work, x, target.inverse_temperature, rng)
    draw_links_and_noise(model, target.work, x, target.inverse_temperature, rng)


@helper
def draw_row_priors(model, work, x, beta, rng):
    """Draw m and lambda of users, of items and of further columns."""
    for side in range(model.firsts.size - 1):
        if model.prior.learns:
            mean = work.mean[model.firsts[side] : model.firsts[side + 1]]
            count = side_moments(model, work, x, side)
            hyper, moments = work.hyper[side], work.moments
            _draw_prior(model.prior, moments, count, hyper, mean, beta, rng)


@helper
def draw_links_and_noise(model, work, x, beta, rng):
    """Draw all that does not depend on the prior of m and lambda."""
    draw_links(model, work, x, beta, rng)
    if model.noise.learns or model.noise.dof > 0.0:
        _draw_noise(model, work, x, beta, rng)


@helper
def _draw_prior(prior, moments, count, hyper, mean, beta, rng):
    """Draw lambda, then m given lambda, of one side with `count` rows and links."""
    n, q = mean.shape
    for f in range(q):
        # In terms of r_i = x_i - B' z_i, m has precision lambda (n + 1) and mean
        # sum r / (n + 1); sums of r follow from those of the deviations r - m.
        m, total, squares = hyper[0, f], moments[0, f], moments[1, f]
        center = (total + n * m) / (n + 1)
        squares += 2.0 * m * total + n * m * m - (n + 1) * center * center
        shape = 0.5 + beta * (prior.shape - 1.0 + 0.5 * (count + 1))
        rate = beta * (prior.rate[f] + 0.5 * squares)
        hyper[1, f] = rng.standard_gamma(shape) / rate
        sd = 1.0 / math.sqrt(beta * hyper[1, f] * (n + 1))
        hyper[0, f] = center + sd * rng.standard_normal()
        moments[0, f] = hyper[0, f] - m
    for i in range(n):
        for f in range(q):
            mean[i, f] += moments[0, f]


@helper
def draw_links(model, work, x, beta, rng):
    """Draw B feature by feature, then kappa."""
    if work.links.size == 0:
        return
    features, firsts = model.features, model.firsts
    n_user_features = model.n_user_features
    data, indices, indptr = features.data, features.indices, features.indptr
    hyper, mean, links, kappa = work.hyper, work.mean, work.links, work.kappa
    p, q = links.shape
    for side in range(hyper.shape[0]):  # afresh, so that rounding does not add up
        for i in range(firsts[side], firsts[side + 1]):
            for f in range(q):
                mean[i, f] = hyper[side, 0, f]
    for g in range(p):
        for k in range(indptr[g], indptr[g + 1]):
            for f in range(q):
                mean[indices[k], f] += data[k] * links[g, f]
    total = work.moments[0]
    for g in range(p):
        side = 0 if g < n_user_features else 1
        size = 0.0
        total[:] = 0.0
        for k in range(indptr[g], indptr[g + 1]):
            z, row, center = data[k], x[indices[k]], mean[indices[k]]
            size += z * z
            for f in range(q):
                total[f] += z * (row[f] - center[f])
        for f in range(q):
            center = (total[f] + size * links[g, f]) / (size + kappa[side])
            sd = 1.0 / math.sqrt(beta * hyper[side, 1, f] * (size + kappa[side]))
            new = center + sd * rng.standard_normal()
            total[f] = new - links[g, f]
            links[g, f] = new
        for k in range(indptr[g], indptr[g + 1]):
            z, center = data[k], mean[indices[k]]
            for f in range(q):
                center[f] += z * total[f]
    for side in range(2):
        first, last = (0, n_user_features) if side == 0 else (n_user_features, p)
        squares = 0.0
        for g in range(first, last):
            for f in range(q):
                squares += hyper[side, 1, f] * links[g, f] * links[g, f]
        shape = 1.0 + 0.5 * beta * (last - first) * q
        kappa[side] = rng.standard_gamma(shape) / (beta * (1.0 + 0.5 * squares))


@helper
def _draw_noise(model, work, x, beta, rng):
    """Draw s of the users and t of the items in turn, and alpha after each.

    All of them depend on the rows only through the squares of the residuals.
    """
    _square_residuals(model, work, x)
    for side in range(2 if model.noise.dof > 0.0 else 1):
        _draw_side(model, work, side, beta, rng)


@helper
def _square_residuals(model, work, x):
    """Write the weighted squares of all residuals to the work."""
    squares, weights = work.squares, model.weights
    for first in range(0, squares.size, CHUNK):
        block = fill_rows(work.block, first, squares.size)
        residual = residuals(model, work, x, block)[0]
        for b in range(block.size):
            square = residual[b] * residual[b]
            if weights.size:
                square *= weights[first + b]
            squares[first + b] = square


@helper
def _draw_side(model, work, side, beta, rng):
    """Draw the precisions of users or of items, then alpha."""
    pairs, weights, noise = model.pairs, model.weights, work.noise
    first = 0 if side == 0 else model.n_users
    n = model.n_users if side == 0 else model.n_items
    own, all_own = noise[1 + first : 1 + first + n], noise[1:]
    sums, counts = work.sums[0, :n], work.sums[1, :n]
    sums[:] = 0.0
    counts[:] = 0.0
    for k in range(pairs.shape[0]):
        i = pairs[k, side] - first
        sums[i] += all_own[pairs[k, 1 - side]] * work.squares[k]
        counts[i] += weights[k] if weights.size else 1.0
    total, count, half = 0.0, 0.0, 0.5 * model.noise.dof
    for i in range(n):
        if half > 0.0:
            shape = 1.0 + beta * (half - 1.0 + 0.5 * counts[i])
            rate = beta * (half + 0.5 * noise[0] * sums[i])
            own[i] = rng.standard_gamma(shape) / rate
        total += own[i] * sums[i]
        count += counts[i]
    if model.noise.learns:
        rate = beta * (model.noise.rate + 0.5 * total)
        noise[0] = rng.standard_gamma(1.0 + 0.5 * beta * count) / rate
        if half > 0.0:
            _share_scale(model.noise.rate, half, noise, own, beta, rng)


@helper
def _share_scale(alpha_rate, half, noise, own, beta, rng):
    """Draw c, and replace alpha and the precisions s of a side by alpha / c and c s.

    The ratings are as likely for any c, so that alpha and s, each drawn given the
    other, would drift along it slowly. By the prior and the Jacobian, c has the density
    c^k exp(-beta (half sum(s) c + alpha_rate alpha / c)) dc / c (Liu & Sabatti, 2000):
    the Gamma law of its first two factors is proposed, the third accepts.
    """
    n, total = own.size, 0.0
    for i in range(n):
        total += own[i]
    k = n - 1.0 + beta * n * (half - 1.0)
    c = rng.standard_gamma(k) / (beta * half * total)
    if math.log(rng.random()) < beta * alpha_rate * noise[0] * (1.0 - 1.0 / c):
        noise[0] /= c
        for i in range(n):
            own[i] *= c
