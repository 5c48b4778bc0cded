"""Control variates with preferential minibatches.

    g = g(mode) + grad log p(theta) - grad log p(mode)
        + sum_{i in S} [grad log f(y_i | theta) - grad log f(y_i | mode)] / w_i

The difference of row i grows with its curvature at the mode times the spread of its
predictor, that is with its leverage, so weights by leverage serve here too.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.gradients.control_variate import ControlVariate, is_far
from skbayes_sg.kernels.gradients.stratified import Design, draw_stratum
from skbayes_sg.kernels.gradients.weighted import row_weights, weighted_design
from skbayes_sg.kernels.minibatch import MinibatchMemory
from skbayes_sg.kernels.ops import (
    add_difference,
    add_gradient,
    add_prior_gradient,
    estimate,
    init_memory,
    n_rows,
    prepare,
)


class WeightedControlVariate(NamedTuple):
    """Differences to the gradient at `mode`, of rows drawn in proportion to weights."""

    batch_size: int  # n
    mode: np.ndarray = None  # (d,) in the model's coordinates; None: to be found
    weights: np.ndarray = None  # (N,) how often to draw each row, up to a factor
    center: ControlVariate = None
    design: Design = None


@prepare.register(WeightedControlVariate)
def _(gradient, model):
    n, weights = gradient.batch_size, row_weights(gradient, model)
    center = prepare(ControlVariate(n, gradient.mode), model)
    design = weighted_design(n, weights)
    return gradient._replace(weights=weights, center=center, design=design)


@init_memory.register(WeightedControlVariate)
def _(gradient, model, theta, rng):
    return MinibatchMemory(gradient.design.rows.copy())


@estimate.register(WeightedControlVariate)
def _(gradient, memory, model, work, theta, rng, out):
    center = gradient.center
    far = is_far(center, theta, n_rows(model))
    out[:] = 0.0
    add_prior_gradient(model, work, theta, out)
    if not far:
        out += center.likelihood
    for s in range(gradient.design.counts.size):
        idx, scale = draw_stratum(gradient.design, memory, s, rng)
        if far:
            add_gradient(model, work, theta, idx, scale, out)
        else:
            add_difference(model, work, theta, center.anchor, idx, scale, out)
