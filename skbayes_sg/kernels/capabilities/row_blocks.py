"""Row blocks: likelihood terms of several rows, which are faster to read together."""

from skbayes_sg.kernels.generic import missing, python_op


@python_op
def rows_per_term(model):
    """Return the number of rows per block of `in_blocks`; 1 if there are no blocks."""
    return 1


@python_op
def in_blocks(model, order):
    """Return the same posterior with row blocks as likelihood terms.

    `order` is the order in which rows are assigned to blocks. Estimators use it if they
    give equal weight to the rows of a block.
    """
    raise missing(in_blocks, model)
