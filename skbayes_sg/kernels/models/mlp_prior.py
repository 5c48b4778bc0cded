"""The weights of a network that share a lambda, and the prior of that lambda.

Parts are W_1, b_1, W_2, b_2, ..., or, if each input has a lambda of its own, the rows
of W_1 and then b_1, W_2, b_2, ...
"""

from skbayes_sg.kernels.generic import helper


@helper
def part_size(model, part):
    """Return the number of weights that share lambda number `part`."""
    sizes = model.sizes
    if model.by_input:
        if part < sizes[0]:
            return sizes[1]
        part -= sizes[0] - 1
    k = part // 2
    return sizes[k] * sizes[k + 1] if part % 2 == 0 else sizes[k + 1]


@helper
def prior_shape(model, part):
    """Return the shape a of a lambda's Gamma prior."""
    return model.shape[part] if model.shape.size > 0 else 1.0


@helper
def prior_rate(model, part):
    """Return the rate b of a lambda's Gamma prior."""
    return model.rate[part] if model.rate.size > 0 else 1.0


@helper
def mean_precision(model, part, w):
    """Return E(lambda | w)."""
    a, b = prior_shape(model, part), prior_rate(model, part)
    return (a + 0.5 * w.size) / (b + 0.5 * sum_squares(w))


@helper
def sum_squares(x):
    """Return |x|^2."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * x[j]
    return total
