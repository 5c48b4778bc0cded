"""Theta blocks: parts of theta of equal width, of which a row touches only a few.

For samplers that move only what a minibatch depends on.
"""

from skbayes_sg.kernels.generic import kernel_op, missing, python_op


@kernel_op
def blocks_of(model, i):
    """Return the blocks of theta that row i depends on, a tuple of their numbers."""
    raise NotImplementedError


@kernel_op
def block_prior(model, work, block, mean, precision):
    """Write mean and precisions of a block's prior, an independent Gaussian."""
    raise NotImplementedError


@kernel_op
def draw_rows(gradient, memory, rng):
    """Return the rows of a fresh minibatch, of an estimator that weighs all alike."""
    raise NotImplementedError


@kernel_op
def part_of(coordinates, first, last):
    """Return the coordinates of the parameters from `first` to `last` alone."""
    raise NotImplementedError


@python_op
def block_width(model):
    """Return the number of parameters of a block."""
    raise missing(block_width, model)


@python_op
def is_lazy(sampler):
    """Whether the sampler moves only what a minibatch depends on."""
    return False
