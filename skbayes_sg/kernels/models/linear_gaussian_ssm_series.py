"""Whole sequences of a linear Gaussian state-space model: states, and moments for EM.

The blocks of the models are whole sequences here, so that no window has a buffer.
"""

from skbayes_sg.kernels.data.sequences import window
from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.models.kalman import absorb, run_smoother
from skbayes_sg.kernels.models.linear_gaussian_ssm import set_parameters
from skbayes_sg.kernels.models.linear_gaussian_ssm_rows import (
    clear_sums,
    filter_window,
    smooth_window,
)
from skbayes_sg.kernels.numerics.small_matrices import clear
from skbayes_sg.kernels.separate import without_refcounts


@entry_point
def run_states(model, work, theta, i, smooth):
    """Filter sequence i, and smooth it if asked for; return log p(sequence).

    The states are in ``work.states``; place k is that of the k-th point, from 1 on.
    """
    model, work = without_refcounts((model, work))
    set_parameters(model, work, theta)
    low, high = window(model.blocks, i)
    value = filter_window(model, work, i, high)
    if smooth:
        states, buffers, last = work.states, work.buffers, high - low
        J, h, square, vector = buffers.J, buffers.h, buffers.square, buffers.vector
        clear(J)
        for j in range(h.size):
            h[j] = 0.0
        mean, cov = states.smooth_mean, states.smooth_cov
        absorb(states.mean, states.cov, last, J, h, mean, cov, last, square, vector)
        run_smoother(work.system.A, last, 1, states, square)
    return value


@entry_point
def sum_moments(model, work, theta):
    """Write the moments of all sequences to the sums in `work`; return log p."""
    model, work = without_refcounts((model, work))
    set_parameters(model, work, theta)
    clear_sums(work)
    value = 0.0
    for i in range(model.blocks.first.size):
        value += filter_window(model, work, i, window(model.blocks, i)[1])
        smooth_window(model, work, i)
    return value
