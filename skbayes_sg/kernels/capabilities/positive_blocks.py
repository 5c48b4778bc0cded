"""Positive blocks: parts of theta that move by exact transitions of a positive process.

In place of a gradient, a model gives *gains* and *losses*: near theta > 0 the log
posterior is that of independent Gamma laws with shape ``gain`` and rate ``loss``,

    theta_j d log p / d theta_j = gain_j - loss_j theta_j - 1 + ...
"""

from skbayes_sg.kernels.generic import kernel_op, python_op


@kernel_op
def positive_prior(model, work, shape, rate):
    """Write shapes and rates of the Gamma priors of all of theta to (d,) arrays."""
    raise NotImplementedError


@kernel_op
def add_gain_and_loss(model, work, theta, idx, scale, gain, loss):
    """Add scale * what the rows in `idx` add to shapes and rates to (d,) arrays.

    Gains are (expected) counts. Where theta / sum(theta) are probabilities, there are
    gains alone: the law of the sum is then the prior's, and the probabilities have
    their own posterior.
    """
    raise NotImplementedError


@kernel_op
def n_simplexes(model):
    """Return how many simplexes theta consists of, one after the other, of equal size.

    For models of probabilities; one by default.
    """
    return 1


@python_op
def typical_rates(sampler, model, shape, rate, gain):
    """Return the rates c at which a sampler moves typical parameters, (d,).

    `shape` is that of the prior, `gain` what all rows add to it, and `rate` the rate
    of the posterior, at which samplers move by default.
    """
    return rate
