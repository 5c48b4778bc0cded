"""Passes of matrix factorization over blocks of ratings.

The mean of a rating is U_i . V_j + b_i + c_j, and what further columns add.
"""

from skbayes_sg.kernels.generic import helper, kernel_op
from skbayes_sg.kernels.numerics.short_rows import add_row, dot_rows

CHUNK = 256  # ratings whose residuals are held at once


@helper
def residuals(model, work, x, block):
    """Return y_k less its mean, and alpha s_i t_j, of a block of ratings."""
    pairs, y, d, q = model.pairs, model.y, model.n_factors, x.shape[1]
    common, own = work.noise[0], work.noise[1:]
    residual, alpha = work.residual[: block.size], work.alpha[: block.size]
    for b in range(block.size):
        i, j = pairs[block[b], 0], pairs[block[b], 1]
        total = dot_rows(x, i, x, j, d)
        for f in range(d, q):
            total += x[i, f] + x[j, f]
        residual[b] = y[block[b]] - total
        alpha[b] = common * own[i] * own[j]
    subtract_further_means(model, x, block, residual)
    return residual, alpha


@kernel_op
def scores(model, work, x, block):
    """Return the weighted d log f_k / d mean_k of a block of ratings."""
    residual, alpha = residuals(model, work, x, block)
    weights = model.weights
    for b in range(block.size):
        residual[b] *= alpha[b]
        if weights.size:
            residual[b] *= weights[block[b]]
    return residual


@helper
def add_slopes(model, x, block, r, out):
    """Add r_k times the derivative of the mean of rating k to `out`, for a block."""
    pairs, d, q = model.pairs, model.n_factors, x.shape[1]
    for b in range(block.size):
        i, j, rb = pairs[block[b], 0], pairs[block[b], 1], r[b]
        add_row(rb, x, j, d, out, i)
        add_row(rb, x, i, d, out, j)
        for f in range(d, q):
            out[i, f] += rb
            out[j, f] += rb
    add_further_slopes(model, x, block, r, out)


@helper
def mean_changes(model, work, x, v, block):
    """Return the derivatives in direction v of the means of a block."""
    pairs, d, q, out = model.pairs, model.n_factors, x.shape[1], work.residual
    for b in range(block.size):
        i, j = pairs[block[b], 0], pairs[block[b], 1]
        total = dot_rows(x, i, v, j, d) + dot_rows(v, i, x, j, d)
        for f in range(d, q):
            total += v[i, f] + v[j, f]
        out[b] = total
    add_further_means(model, x, v, block, out[: block.size])
    return out[: block.size]


@kernel_op
def subtract_further_means(model, x, block, residual):
    """Subtract what columns after user and item add to the means of a block.

    The default is for models without such columns, as are those of the next two.
    """


@kernel_op
def add_further_means(model, x, v, block, out):
    """Add the derivatives of these means in direction v to `out`."""


@kernel_op
def add_further_slopes(model, x, block, r, out):
    """Add r_k times the derivatives of these means to the rows of `out`."""
