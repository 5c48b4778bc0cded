"""Matrix factorization with further columns, such as the day or device of a rating.

The mean of a rating is that of a factorization machine (Rendle, 2010),

    U_i . V_j + b_i + c_j + sum_c z_kc (W_c . (U_i + V_j) + e_c)
                          + sum_(c < c') z_kc z_kc' W_c . W_c',

where rating k has the row (W_c, e_c) of column c, and z_kc is 1 if the column holds
labels, or else the number in it. Everything else is as in `matrix_factorization`.
"""

from skbayes_sg.kernels.models.matrix_factorization import (
    MatrixFactorization,
    add_further_slope,
    add_squared_slope,
    further_mean,
    further_slope,
)


class ContextFactorization(MatrixFactorization):
    """The same data and priors, with rows of further columns in `pairs`."""


@further_mean.register(ContextFactorization)
def _(model, k, x):
    pairs, values, d, q = model.pairs, model.values, model.n_factors, x.shape[1]
    i, j, total = pairs[k, 0], pairs[k, 1], x.dtype.type(0.0)
    for c in range(2, pairs.shape[1]):
        a, own = pairs[k, c], x.dtype.type(0.0)
        for f in range(d):
            own += x[a, f] * (x[i, f] + x[j, f])
        for f in range(d, q):
            own += x[a, f]
        for e in range(2, c):
            b, z = pairs[k, e], values[k, e - 2]
            for f in range(d):
                own += z * x[a, f] * x[b, f]
        total += values[k, c - 2] * own
    return total


@further_slope.register(ContextFactorization)
def _(model, k, x, v):
    pairs, values, d, q = model.pairs, model.values, model.n_factors, x.shape[1]
    i, j, total = pairs[k, 0], pairs[k, 1], x.dtype.type(0.0)
    for c in range(2, pairs.shape[1]):
        a, own = pairs[k, c], x.dtype.type(0.0)
        for f in range(d):
            own += v[a, f] * (x[i, f] + x[j, f]) + x[a, f] * (v[i, f] + v[j, f])
        for f in range(d, q):
            own += v[a, f]
        for e in range(2, c):
            b, z = pairs[k, e], values[k, e - 2]
            for f in range(d):
                own += z * (v[a, f] * x[b, f] + x[a, f] * v[b, f])
        total += values[k, c - 2] * own
    return total


@add_further_slope.register(ContextFactorization)
def _(model, k, x, r, out):
    pairs, values, d, q = model.pairs, model.values, model.n_factors, x.shape[1]
    i, j = pairs[k, 0], pairs[k, 1]
    for c in range(2, pairs.shape[1]):
        a, ra = pairs[k, c], r * values[k, c - 2]
        for f in range(d):
            xa, together = x[a, f], x[i, f] + x[j, f]
            out[a, f] += ra * together
            out[i, f] += ra * xa
            out[j, f] += ra * xa
        for f in range(d, q):
            out[a, f] += ra
        for e in range(2, c):
            b, rb = pairs[k, e], ra * values[k, e - 2]
            for f in range(d):
                xa, xb = x[a, f], x[b, f]
                out[a, f] += rb * xb
                out[b, f] += rb * xa


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
