"""Control variates with weighted minibatches.

    g = g(mode) + grad log p(theta) - grad log p(mode)
        + sum_{i in S} [grad log f(y_i | theta) - grad log f(y_i | mode)] / w_i

Near the mode, the difference of row i in units of posterior sds is about its leverage.
It can be larger elsewhere, where the curvature of a row changes, so every weight is the
row's leverage plus `SHARE` times the mean leverage. Compared with weights that are the
roots of leverages, the largest measured variance of a coordinate with 1,000 rows is one
tenth on a9a and at most 1.2 times on the simulated data with 100 features.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.anchors import add_difference
from skbayes_sg.kernels.data.minibatch import MinibatchMemory
from skbayes_sg.kernels.gradients.blocked import terms_of
from skbayes_sg.kernels.gradients.control_variate import (
    ControlVariate,
    centered,
    is_far,
)
from skbayes_sg.kernels.gradients.stratified import Design, draw_stratum
from skbayes_sg.kernels.gradients.weighted import (
    row_weights,
    weight_classes,
    weighted_design,
)
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, prepare
from skbayes_sg.kernels.protocol.model import add_gradient, add_prior_gradient, n_rows

SHARE = 0.3  # of the mean leverage that is added to the weight of every row


class WeightedControlVariate(NamedTuple):
    """Differences to the gradient at `mode`, of rows drawn in proportion to weights."""

    batch_size: int = None  # n; None: to be chosen
    mode: np.ndarray = None  # (d,) in the model's coordinates; None: to be found
    weights: np.ndarray = None  # (N,) how often to draw each row, up to a factor
    center: ControlVariate = None
    design: Design = None


@prepare.register(WeightedControlVariate)
def _(gradient, model):
    if gradient.design is not None:
        return gradient
    n, weights = gradient.batch_size, row_weights(gradient, model, _mixed)
    terms = terms_of(model, n, lambda: weight_classes(weights))
    prepared = gradient._replace(
        batch_size=terms.size(n),
        weights=weights,
        center=centered(ControlVariate(n, gradient.mode), model, terms),
        design=weighted_design(
            terms.size(n), terms.sums(weights), terms.min_per_stratum
        ),
    )
    return terms.estimator(prepared, n)


@init_memory.register(WeightedControlVariate)
def _(gradient, model, theta, rng):
    return MinibatchMemory(gradient.design.rows.copy())


@estimate.register(WeightedControlVariate)
def _(gradient, memory, model, work, theta, rng, out):
    center = gradient.center
    far = is_far(center, theta, n_rows(model))
    for j in range(out.size):
        out[j] = 0.0 if far else center.likelihood[j]
    add_prior_gradient(model, work, theta, out)
    for s in range(gradient.design.counts.size):
        idx, scale = draw_stratum(gradient.design, memory, s, rng)
        if far:
            add_gradient(model, work, theta, idx, scale, out)
        else:
            add_difference(model, work, theta, center.anchor, idx, scale, out)


def _mixed(leverages):
    return leverages + SHARE * leverages.mean()
