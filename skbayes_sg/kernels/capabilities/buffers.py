"""Buffers: models whose rows are blocks of sequences, read through windows.

A window begins with what the past says of its first state, and ends with what the
future says of its last one: two *messages*. They are computed in one pass over all data
at one point, the anchor. At the anchor all rows' gradients are exact for any buffer;
elsewhere the error falls geometrically with the buffer's length, and is proportional to
the distance from the anchor. Without messages it is not: then windows begin and end
without knowledge, and the error is there at every point.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import missing, python_op


class Messages(NamedTuple):
    """What the data outside of the windows say, at one point; empty arrays for none."""

    anchor: np.ndarray  # (d,) the parameters at which they were computed
    forward: np.ndarray  # (N, m) the past of each window
    backward: np.ndarray  # (N, m) the future of each window


def no_messages(size):
    """Return messages of `size` numbers that say nothing."""
    return Messages(np.empty(0), np.empty((0, size)), np.empty((0, size)))


def select_messages(messages, rows):
    """Return the messages of some of the blocks."""
    if len(messages.forward) == 0:
        return messages
    return Messages(messages.anchor, messages.forward[rows], messages.backward[rows])


@python_op
def blocks_of(model):
    """Return the `Blocks` that are the rows of the model."""
    return model.blocks


@python_op
def with_blocks(model, blocks):
    """Return the posterior with other blocks, and without messages."""
    size = model.messages.forward.shape[1]
    return model._replace(blocks=blocks, messages=no_messages(size))


@python_op
def with_messages(model, theta):
    """Return the posterior with messages of the whole data, computed at `theta`."""
    raise missing(with_messages, model)


@python_op
def selected(model, rows, factor=1.0):
    """Return the posterior given some of the blocks, weighted by `factor`."""
    raise missing(selected, model)
