"""The step size of samplers of positive blocks, from the variance of the counts."""

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.capabilities.positive_blocks import (
    add_gain_and_loss,
    positive_prior,
)
from skbayes_sg.kernels.capabilities.theta_blocks import draw_rows
from skbayes_sg.kernels.generic import entry_point, for_kernels
from skbayes_sg.kernels.protocol.gradient import init_memory, prepare
from skbayes_sg.kernels.protocol.model import init_work, n_rows
from skbayes_sg.kernels.protocol.sampler import accurate_step


def counts_step(
    model, sampler, gradient, theta, *, tolerance=0.02, n_pairs=100, random_state=None
):
    """Return the step size at which noisy counts inflate variances by `tolerance`.

    With shapes b estimated from minibatches, the variance of a parameter is b +
    tanh(h / 4) Var(b estimated): h = 4 artanh(tolerance b / Var(b estimated)), for the
    parameter that is worst.

    Parameters
    ----------
    model, sampler, gradient : NamedTuple
        A model with `add_gain_and_loss`, `SCIR` or `ConstantMassCIR`, and `Minibatch`.
    theta : ndarray of shape (n_parameters,)
        A typical point, for models whose counts depend on it.
    tolerance : float, default=0.02
        Relative error of a variance that is allowed.
    n_pairs : int, default=100
        Pairs of minibatches to measure with.
    random_state : int or None
        Seed of the minibatches.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg.inference.positive_blocks import counts_step
    >>> from skbayes_sg.kernels.gradients import Minibatch
    >>> from skbayes_sg.kernels.models import ExpandedDirichlet
    >>> from skbayes_sg.kernels.samplers import SCIR
    >>> model = ExpandedDirichlet(np.arange(1000) % 2, np.ones(2))
    >>> h = counts_step(model, SCIR(), Minibatch(100), np.ones(2), random_state=0)
    >>> 0.005 < h < 0.05
    True
    """
    model = for_kernels(model)
    rng, theta = np.random.default_rng(random_state), np.asarray(theta, float)
    gradient = for_kernels(prepare(gradient, model))
    memory = init_memory(gradient, model, theta, rng)
    shapes = np.zeros((2 * n_pairs, theta.size))
    _estimate_shapes(
        model, init_work(model), gradient, memory, theta.copy(), rng, shapes
    )
    variance = 0.5 * np.mean((shapes[::2] - shapes[1::2]) ** 2, axis=0)
    return float(accurate_step(sampler, variance / shapes.mean(axis=0), tolerance))


@entry_point
def _estimate_shapes(model, work, gradient, memory, theta, rng, out):
    rate = np.zeros(theta.size)
    for k in range(len(out)):
        positive_prior(model, work, out[k], rate)
        idx = draw_rows(gradient, memory, rng)
        draw_local(model, work, theta, idx, rng)
        scale = n_rows(model) / idx.size
        add_gain_and_loss(model, work, theta, idx, scale, out[k], rate)
