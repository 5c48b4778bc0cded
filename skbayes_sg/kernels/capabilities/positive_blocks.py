"""Positive blocks: parts of theta that move by exact transitions of a positive process.

Instead of a gradient, a model provides *gains* and *losses*: near theta > 0 the log
posterior is that of independent Gamma variables with shape ``gain`` and rate ``loss``,

    theta_j d log p / d theta_j = gain_j - loss_j theta_j - 1 + ...
"""

from skbayes_sg.kernels.generic import kernel_op, python_op


@kernel_op
def positive_prior(model, work, shape, rate):
    """Write shapes and rates of the Gamma priors of all of theta to (d,) arrays."""
    raise NotImplementedError


@kernel_op
def add_gain_and_loss(model, work, theta, idx, scale, gain, loss):
    """Add scale * the contributions of the rows in `idx` to shapes and rates.

    Gains are (expected) counts. If theta / sum(theta) are probabilities, there are no
    losses: the sum keeps its prior distribution, and the probabilities have their own
    posterior.
    """
    raise NotImplementedError


@kernel_op
def n_simplexes(model):
    """Return the number of simplexes of equal size of which theta consists.

    It is for models of probabilities, and one by default.
    """
    return 1


@python_op
def typical_rates(sampler, model, shape, rate, gain, theta, time):
    """Return rates c at which a sampler moves parameters, (n, d), equally likely ones.

    They are those of a chain that starts at `theta` and moves for `time`, infinite for
    a chain that has forgotten its start. `shape` is that of the prior, `gain` the
    contribution of all rows to it, and `rate` that of the posterior, at which samplers
    move by default.
    """
    return rate[None]
