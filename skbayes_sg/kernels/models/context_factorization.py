"""Matrix factorization with further columns, such as the day or device of a rating.

The mean of a rating is that of a factorization machine (Rendle, 2010),

    U_i . V_j + b_i + c_j + sum_c z_kc (W_c . (U_i + V_j) + e_c)
                          + sum_(c < c') z_kc z_kc' W_c . W_c',

where rating k has the row (W_c, e_c) of column c, and z_kc is 1 if the column holds
labels, or else the number in it. Everything else is as in `matrix_factorization`.
"""

from skbayes_sg.kernels.models.matrix_factorization import MatrixFactorization
from skbayes_sg.kernels.models.matrix_factorization_curvature import add_squared_slope
from skbayes_sg.kernels.models.matrix_factorization_ratings import (
    add_further_means,
    add_further_slopes,
    subtract_further_means,
)
from skbayes_sg.kernels.numerics.short_rows import add_row, dot_rows


class ContextFactorization(MatrixFactorization):
    """The same data and priors, with rows of further columns in `pairs`."""


@subtract_further_means.register(ContextFactorization)
def _(model, x, block, residual):
    pairs, values, d, q = model.pairs, model.values, model.n_factors, x.shape[1]
    for k in range(block.size):
        row = block[k]
        i, j = pairs[row, 0], pairs[row, 1]
        for c in range(2, pairs.shape[1]):
            a = pairs[row, c]
            own = dot_rows(x, a, x, i, d) + dot_rows(x, a, x, j, d)
            for f in range(d, q):
                own += x[a, f]
            for e in range(2, c):
                own += values[row, e - 2] * dot_rows(x, a, x, pairs[row, e], d)
            residual[k] -= values[row, c - 2] * own


@add_further_means.register(ContextFactorization)
def _(model, x, v, block, out):
    pairs, values, d, q = model.pairs, model.values, model.n_factors, x.shape[1]
    for k in range(block.size):
        row = block[k]
        i, j = pairs[row, 0], pairs[row, 1]
        for c in range(2, pairs.shape[1]):
            a = pairs[row, c]
            own = dot_rows(v, a, x, i, d) + dot_rows(v, a, x, j, d)
            own += dot_rows(x, a, v, i, d) + dot_rows(x, a, v, j, d)
            for f in range(d, q):
                own += v[a, f]
            for e in range(2, c):
                b, z = pairs[row, e], values[row, e - 2]
                own += z * (dot_rows(v, a, x, b, d) + dot_rows(x, a, v, b, d))
            out[k] += values[row, c - 2] * own


@add_further_slopes.register(ContextFactorization)
def _(model, x, block, r, out):
    pairs, values, d, q = model.pairs, model.values, model.n_factors, x.shape[1]
    for k in range(block.size):
        row = block[k]
        i, j = pairs[row, 0], pairs[row, 1]
        for c in range(2, pairs.shape[1]):
            a, ra = pairs[row, c], r[k] * values[row, c - 2]
            for other in (i, j):
                add_row(ra, x, other, d, out, a)
                add_row(ra, x, a, d, out, other)
            for f in range(d, q):
                out[a, f] += ra
            for e in range(2, c):
                b, rb = pairs[row, e], ra * values[row, e - 2]
                add_row(rb, x, b, d, out, a)
                add_row(rb, x, a, d, out, b)


@add_squared_slope.register(ContextFactorization)
def _(model, work, k, x, w, out):
    pairs, values, d, q = model.pairs, model.values, model.n_factors, x.shape[1]
    one = x.dtype.type(1.0)
    for a in range(pairs.shape[1]):
        row, z = pairs[k, a], values[k, a - 2] if a > 1 else one
        for f in range(d):
            slope = x.dtype.type(0.0)
            for c in range(pairs.shape[1]):
                if c != a:
                    slope += (values[k, c - 2] if c > 1 else one) * x[pairs[k, c], f]
            out[row, f] += w * z * z * slope * slope
        for f in range(d, q):
            out[row, f] += w * z * z
