"""Control variates that are linear in theta, with weighted minibatches.

    g = grad log p(theta) + sum_i l_i(theta)
        + sum_{i in S} [grad log f(y_i | theta) - l_i(theta)] / w_i

The linear functions l_i approximate the rows' gradients in the bulk of the posterior,
so that the remainder, which the minibatch estimates, is of second order. The sum of all
l_i is given by a vector and a matrix, and costs d^2 per step. Taylor expansions at the
mode are an example (Quiroz, Kohn, Villani & Tran, 2019); averages over typical draws
are more accurate if the curvature of rows changes. The weight w_i of a row follows from
its remainder at these draws and from its leverage.

Compared with differences to the mode on 1,000 weighted rows of the simulated data with
N = 100,000, the measured variance is 2,600 times smaller at d = 10, 70 times at d = 50
and 18 times at d = 100.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.anchors import anchored
from skbayes_sg.kernels.capabilities.linearization import (
    Linearized,
    add_remainder,
    is_linearizable,
    linearize,
)
from skbayes_sg.kernels.capabilities.strata import leverages
from skbayes_sg.kernels.generic import for_kernels, helper
from skbayes_sg.kernels.gradients.blocked import terms_of
from skbayes_sg.kernels.gradients.stratified import Design, draw_stratum
from skbayes_sg.kernels.gradients.weighted import (
    row_weights,
    weight_classes,
    weighted_design,
)
from skbayes_sg.kernels.gradients.weighted_control_variate import (
    SHARE,
    WeightedControlVariate,
)
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, prepare
from skbayes_sg.kernels.protocol.model import (
    add_prior_gradient,
    n_parameters,
    parameter_dtype,
)

MAX_PARAMETERS = 1024  # up to which d^2 operations per step are worthwhile


class LinearControlVariate(NamedTuple):
    """Differences to linear functions, of rows drawn in proportion to weights.

    It is replaced by `WeightedControlVariate` for models that do not implement linear
    functions or have more than `MAX_PARAMETERS` parameters.
    """

    batch_size: int = None  # n; None: to be chosen
    mode: np.ndarray = None  # (d,) in the model's coordinates; None: to be found
    draws: np.ndarray = None  # (Q, d) typical draws; None: only the mode
    weights: np.ndarray = None  # (N,) how often to draw each row, up to a factor
    linear: Linearized = None
    design: Design = None
    scales: np.ndarray = None  # (n,) 1 / w_i of the rows drawn, stratum by stratum


class LinearMemory(NamedTuple):
    """A permutation of the rows within strata, and the rows of a minibatch."""

    permutation: np.ndarray  # (N,)
    drawn: np.ndarray  # (n,)


@anchored.register(LinearControlVariate)
def _(gradient, model):
    n, mode, draws, weights, linear, *_ = gradient
    if linear is not None:
        return gradient
    if not is_linearizable(model) or n_parameters(model) > MAX_PARAMETERS:
        return WeightedControlVariate(n, mode, weights)
    draws, dtype = mode[None] if draws is None else draws, parameter_dtype(model)
    linear = linearize(model, draws)
    if weights is None:
        # A few draws may not reveal a row that alone determines a parameter, but its
        # leverage does.
        weights = linear.sizes / (linear.sizes.mean() or 1.0)
        others = leverages(model, linear.center)
        weights += others / (others.mean() or 1.0)
        weights += SHARE
    weights = row_weights(gradient._replace(weights=weights), model, None)
    linear = linear._replace(
        center=linear.center.astype(dtype),
        total=linear.total.astype(dtype),
        matrix=linear.matrix.astype(dtype),
        sizes=np.empty(0),  # contained in the weights
    )
    return gradient._replace(draws=np.empty((0, 0)), weights=weights, linear=linear)


@prepare.register(LinearControlVariate)
def _(gradient, model):
    gradient, n = anchored(gradient, model), gradient.batch_size
    if isinstance(gradient, WeightedControlVariate):
        return prepare(gradient, model)
    if gradient.design is not None:
        return gradient
    weights, linear = gradient.weights, gradient.linear
    terms = terms_of(model, n, lambda: weight_classes(weights))
    design = weighted_design(terms.size(n), terms.sums(weights), terms.min_per_stratum)
    scales = np.repeat(np.diff(design.starts) / design.counts, design.counts)
    prepared = gradient._replace(
        batch_size=terms.size(n),
        linear=linear._replace(table=terms.table(linear.table)),
        design=design,
        scales=scales.astype(parameter_dtype(model)),
    )
    return terms.estimator(for_kernels(prepared), n)


@init_memory.register(LinearControlVariate)
def _(gradient, model, theta, rng):
    rows = gradient.design.rows.copy()
    return LinearMemory(rows, np.zeros_like(rows[: gradient.batch_size]))


@estimate.register(LinearControlVariate)
def _(gradient, memory, model, work, theta, rng, out):
    linear, design, count = gradient.linear, gradient.design, 0
    # The rows of all strata are processed together, which is faster.
    for s in range(design.counts.size):
        idx, _ = draw_stratum(design, memory, s, rng)
        copy_to(idx, memory.drawn[count : count + idx.size])
        count += idx.size
    write_linear(linear, theta, out)
    add_prior_gradient(model, work, theta, out)
    add_remainder(model, work, theta, linear.table, memory.drawn, gradient.scales, out)


@helper
def write_linear(linear, theta, out):
    """Write the sum of the linear functions of all rows at `theta` to `out`."""
    # Four rows of the matrix at a time, so that theta is read once for all four.
    total, matrix, center = linear.total, linear.matrix, linear.center
    d = out.size
    whole = d - d % 4
    for i in range(0, whole, 4):
        p, q, r, s = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        a, b, c, e = total[i], total[i + 1], total[i + 2], total[i + 3]
        for j in range(d):
            away = theta[j] - center[j]
            a -= p[j] * away
            b -= q[j] * away
            c -= r[j] * away
            e -= s[j] * away
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, e
    for i in range(whole, d):
        value = total[i]
        for j in range(d):
            value -= matrix[i, j] * (theta[j] - center[j])
        out[i] = value
