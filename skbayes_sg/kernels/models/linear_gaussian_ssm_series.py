"""Whole sequences of a linear Gaussian state-space model: states, and moments for EM.

The blocks of the models are whole sequences here, so that no window has a buffer. They
are run by the linked code of the rows, which has their smoothed states as well.
"""

from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.models.linear_gaussian_ssm_rows import (
    add_row,
    filter_row,
    set_parameters,
)


@entry_point
def run_states(model, work, i, smooth):
    """Filter sequence i, and smooth it if asked for, given ``work.x``.

    The states are in ``work.states``; place k is that of the k-th point, from 1 on. The
    log-likelihood is ``work.value``.
    """
    set_parameters(model, work, 0)
    if smooth:
        add_row(model, work, i)
    else:
        filter_row(model, work, i)


@entry_point
def sum_moments(model, work):
    """Write the moments of all sequences to the sums in `work`, given ``work.x``."""
    set_parameters(model, work, 0)
    for i in range(model.blocks.first.size):
        add_row(model, work, i)
