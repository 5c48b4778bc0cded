"""The step size of samplers of positive blocks, from the variance of the counts."""

import math

import numpy as np
from scipy.optimize import bisect

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.capabilities.positive_blocks import (
    add_gain_and_loss,
    positive_prior,
    typical_rates,
)
from skbayes_sg.kernels.capabilities.theta_blocks import draw_rows
from skbayes_sg.kernels.generic import entry_point, for_kernels
from skbayes_sg.kernels.protocol.gradient import init_memory, prepare
from skbayes_sg.kernels.protocol.model import init_work, n_rows

LONGEST = 12.0  # c h of steps that forget everything


def counts_step(
    model,
    sampler,
    gradient,
    theta,
    *,
    tolerance=0.02,
    n_steps=math.inf,
    n_pairs=100,
    random_state=None,
):
    """Return the step size at which noisy counts inflate variances by `tolerance`.

    With shapes b estimated from minibatches, the variance of a parameter of rate c is
    (b + tanh(c h / 4) Var(b estimated)) / c^2: h = 4 / c artanh(tolerance b / Var(b
    estimated)), for the parameter that is worst. Where the rate changes on the way, as
    that of `FrozenCountsCIR` does, the mean of tanh(c h / 4) over a chain counts.

    Parameters
    ----------
    model, sampler, gradient : NamedTuple
        A model with `add_gain_and_loss`; `SCIR`, `ConstantMassCIR` or
        `FrozenCountsCIR`; and `Minibatch`.
    theta : ndarray of shape (n_parameters,)
        Where a chain starts; a typical point for models whose counts depend on it.
    tolerance : float, default=0.02
        Relative error of a variance that is allowed.
    n_steps : float, default=inf
        Length of the chain, for samplers whose rate changes on the way.
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
    parts = np.zeros((4, 2 * n_pairs, theta.size))
    work = init_work(model)
    _estimate_shapes(model, work, gradient, memory, theta.copy(), rng, parts)
    prior, rate, gain, loss = parts
    variance = 0.5 * np.mean((gain[::2] - gain[1::2]) ** 2, axis=0)
    prior, gain = prior[0], gain.mean(axis=0)
    noise, rate = variance / (prior + gain), rate[0] + loss.mean(axis=0)

    def rates(time):
        return typical_rates(sampler, model, prior, rate, gain, theta, time)

    def excess(log_h):
        h = math.exp(log_h)
        share = np.tanh(0.25 * h * rates(n_steps * h)).mean(axis=0)
        return np.max(share * noise) - tolerance

    largest = math.log(LONGEST / np.median(rates(math.inf), axis=0).min())
    if excess(largest) <= 0.0:
        return math.exp(largest)
    return math.exp(bisect(excess, largest - 30.0, largest, xtol=1e-6))


@entry_point
def _estimate_shapes(model, work, gradient, memory, theta, rng, out):
    prior, rate, gain, loss = out[0], out[1], out[2], out[3]
    for k in range(len(gain)):
        positive_prior(model, work, prior[k], rate[k])
        idx = draw_rows(gradient, memory, rng)
        draw_local(model, work, theta, idx, rng)
        scale = n_rows(model) / idx.size
        add_gain_and_loss(model, work, theta, idx, scale, gain[k], loss[k])
