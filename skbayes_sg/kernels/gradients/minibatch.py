"""The simple estimator (Welling & Teh, 2011): a uniform minibatch S of n rows.

g = grad log p(theta) + N/n sum_{i in S} grad log f(y_i | theta)
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import add_fresh_gradient
from skbayes_sg.kernels.capabilities.theta_blocks import draw_rows
from skbayes_sg.kernels.data.minibatch import INDEX, MinibatchMemory, draw_minibatch
from skbayes_sg.kernels.gradients.blocked import terms_of
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, prepare
from skbayes_sg.kernels.protocol.model import add_prior_gradient, n_rows


class Minibatch(NamedTuple):
    """New rows at every step, drawn without replacement."""

    batch_size: int = None  # n; None: to be chosen


@prepare.register(Minibatch)
def _(gradient, model):
    n = gradient.batch_size
    terms = terms_of(model, n)
    return terms.estimator(Minibatch(terms.size(n)), n)


@init_memory.register(Minibatch)
def _(gradient, model, theta, rng):
    return MinibatchMemory(np.arange(n_rows(model), dtype=INDEX))


@draw_rows.register(Minibatch)
def _(gradient, memory, rng):
    return draw_minibatch(memory.permutation, gradient.batch_size, rng)


@estimate.register(Minibatch)
def _(gradient, memory, model, work, theta, rng, out):
    idx = draw_rows(gradient, memory, rng)
    out[:] = 0.0
    add_prior_gradient(model, work, theta, out)
    add_fresh_gradient(model, work, theta, idx, n_rows(model) / idx.size, rng, out)
