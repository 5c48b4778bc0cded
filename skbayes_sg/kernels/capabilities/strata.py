"""Strata: information on rows by which minibatches are drawn."""

from skbayes_sg.kernels.generic import kernel_op, missing, python_op


@python_op
def row_classes(model):
    """Return the class of each row, (N,), for strata."""
    raise missing(row_classes, model)


@python_op
def leverages(model, mode):
    """Return each row's share of the information at `mode`, (N,), up to a factor."""
    raise missing(leverages, model)


@kernel_op
def choose_rows(model, work, rng, idx, scale):
    """Draw the rows of a minibatch into `idx` from a distribution of the model.

    It is for models whose minibatches are not uniform sets of rows. ``scale[b]`` is the
    factor of row ``idx[b]``: the inverse of the expected number of its occurrences.
    """
    raise NotImplementedError
