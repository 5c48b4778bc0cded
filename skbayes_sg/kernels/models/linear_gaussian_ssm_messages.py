"""Messages of a linear Gaussian state-space model: one pass in both directions.

Forward, the law of the state before a window given all of its past, mean and
covariance; backward, what all of the future says of the window's last state, h and J.
"""

import numpy as np

from skbayes_sg.kernels.capabilities.buffers import Messages, with_messages
from skbayes_sg.kernels.data.sequences import window
from skbayes_sg.kernels.generic import entry_point, for_kernels
from skbayes_sg.kernels.models.kalman import pass_back, run_filter
from skbayes_sg.kernels.models.linear_gaussian_ssm import LinearGaussianSSM
from skbayes_sg.kernels.models.linear_gaussian_ssm_rows import (
    set_parameters,
    write_message,
)
from skbayes_sg.kernels.numerics.small_matrices import (
    clear,
    copy_matrix,
    small_helper,
)
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.model import init_work, n_rows
from skbayes_sg.kernels.separate import without_refcounts


@with_messages.register(LinearGaussianSSM)
def _(model, theta):
    d = model.C.shape[1]
    theta = np.array(theta, np.float64)
    forward, backward = np.zeros((2, n_rows(model), d + d * d))
    model = for_kernels(model)
    work = init_work(model)
    work.x[:] = theta
    _write_messages(model, work, forward, backward)
    return model._replace(messages=Messages(theta, forward, backward))


@entry_point
def _write_messages(model, work, forward, backward):
    arrays = without_refcounts((model, work, forward, backward))
    model, work, forward, backward = arrays
    set_parameters(model, work, 0)
    _write_forward(model, work, forward)
    _write_backward(model, work, backward)


@small_helper
def _write_forward(model, work, out):
    system, states, buffers = work.system, work.states, work.buffers
    blocks, at, past = model.blocks, 0, -1
    for i in range(len(out)):
        low, _ = window(blocks, i)
        if blocks.begin[i] != past:
            past = at = blocks.begin[i]
        while at < low:  # as many points at once as there are places
            stop = min(low, at + len(states.mean) - 1)
            run_filter(model.X, at, stop, past, system, states, buffers)
            copy_to(states.mean[stop - at], states.mean[0])
            copy_matrix(states.cov[stop - at], states.cov[0])
            at = stop
        write_message(states.mean, states.cov, 0, out[i])


@small_helper
def _write_backward(model, work, out):
    # Places that nothing else uses here.
    h, J, blocks = work.states.mean, work.states.cov, model.blocks
    at, future = 0, -1
    for i in range(len(out) - 1, -1, -1):
        _, high = window(blocks, i)
        if blocks.end[i] != future:
            future = at = blocks.end[i]
            clear(J[0])
            for j in range(h.shape[1]):
                h[0, j] = 0.0
        for t in range(at - 1, high - 1, -1):
            pass_back(model.X, t, work.system, work.buffers, J[0], h[0])
        at = min(at, high)
        write_message(h, J, 0, out[i])
