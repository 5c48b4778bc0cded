"""Control variates around a mode (Baker, Fearnhead, Fox & Nemeth, 2019).

    g = g(mode) + grad log p(theta) - grad log p(mode)
        + N/n sum_{i in S} [grad log f(y_i | theta) - grad log f(y_i | mode)]

The variance is that of differences: it vanishes at the mode, where the simple
estimator's is as large as anywhere.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.minibatch import INDEX, MinibatchMemory, draw_minibatch
from skbayes_sg.kernels.ops import (
    add_difference,
    add_prior_gradient,
    estimate,
    init_anchor,
    init_memory,
    init_work,
    n_rows,
    prepare,
)
from skbayes_sg.kernels.passes import likelihood_gradient


class ControlVariate(NamedTuple):
    """Differences to the gradient at `mode`, on a fresh minibatch at every step."""

    batch_size: int  # n
    mode: np.ndarray = None  # (d,) in the model's coordinates; None: to be found
    anchor: np.ndarray = None  # what the model remembers of the mode
    likelihood: np.ndarray = None  # (d,) the likelihood's full gradient at the mode


@prepare.register(ControlVariate)
def _(gradient, model):
    mode, work = gradient.mode, init_work(model)
    likelihood = np.zeros_like(mode)
    likelihood_gradient(model, work, mode, likelihood)
    return gradient._replace(
        anchor=init_anchor(model, work, mode), likelihood=likelihood
    )


@init_memory.register(ControlVariate)
def _(gradient, model, theta, rng):
    return MinibatchMemory(np.arange(n_rows(model), dtype=INDEX))


@estimate.register(ControlVariate)
def _(gradient, memory, model, work, theta, rng, out):
    idx = draw_minibatch(memory.permutation, gradient.batch_size, rng)
    out[:] = gradient.likelihood
    add_prior_gradient(model, work, theta, out)
    scale = n_rows(model) / idx.size
    add_difference(model, work, theta, gradient.anchor, idx, scale, out)
