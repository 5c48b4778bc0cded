"""Row blocks: likelihood terms of several rows, which are faster to read than rows."""

from skbayes_sg.kernels.generic import missing, python_op


@python_op
def rows_per_term(model):
    """Return the rows that a likelihood term of `in_blocks` has; 1: no blocks."""
    return 1


@python_op
def in_blocks(model, order):
    """Return the same posterior, each likelihood term of several rows in this order.

    For estimators that weigh rows alike.
    """
    raise missing(in_blocks, model)
