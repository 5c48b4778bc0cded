"""Positive blocks: parts of theta that move by exact transitions of a positive process.

In place of a gradient, a model gives *gains* and *losses*: near theta > 0 the log
posterior is that of independent Gamma laws with shape ``gain`` and rate ``loss``,

    theta_j d log p / d theta_j = gain_j - loss_j theta_j - 1 + ...
"""

from skbayes_sg.kernels.generic import kernel_op


@kernel_op
def gain_and_loss(model, work, theta, block, rng, gain, loss):
    """Write shapes and rates of a block of theta, prior included, to (width,) arrays.

    They may be estimates, from a minibatch that the model draws with `rng`.
    """
    raise NotImplementedError
