"""Theta blocks: parts of theta of equal width; each row depends on a few of them.

They are for lazy samplers, which move only the blocks that a minibatch depends on.
"""

from skbayes_sg.kernels.generic import kernel_op, missing, python_op


@kernel_op
def blocks_of(model, i):
    """Return the indices of the theta blocks that row i depends on, as a tuple."""
    raise NotImplementedError


@kernel_op
def block_prior(model, work, block, mean, precision):
    """Write mean and precisions of a theta block's independent Gaussian prior."""
    raise NotImplementedError


@kernel_op
def draw_rows(gradient, memory, rng):
    """Return the rows of a new minibatch; the estimator weights all rows equally."""
    raise NotImplementedError


@kernel_op
def part_of(coordinates, first, last):
    """Return the coordinates of the parameters from `first` to `last` only."""
    raise NotImplementedError


@python_op
def block_width(model):
    """Return the number of parameters of a theta block."""
    raise missing(block_width, model)


@python_op
def is_lazy(sampler):
    """Whether the sampler only moves the theta blocks that a minibatch depends on."""
    return False
