"""Strata: what a model knows of its rows before any gradient is computed."""

from skbayes_sg.kernels.generic import kernel_op, missing, python_op


@python_op
def row_classes(model):
    """Return the class of each row, (N,), for strata."""
    raise missing(row_classes, model)


@python_op
def leverages(model, mode):
    """Return each row's share in the information at `mode`, (N,), up to a factor."""
    raise missing(leverages, model)


@kernel_op
def choose_rows(model, work, rng, idx, scale):
    """Draw the rows of a minibatch in the model's own way, to fill `idx`.

    ``scale[b]`` is the factor of row ``idx[b]``, one over how often it is drawn on
    average. For models whose minibatches are not uniform sets of rows.
    """
    raise NotImplementedError
