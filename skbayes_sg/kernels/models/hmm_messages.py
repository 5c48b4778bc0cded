"""Messages of a hidden Markov model: one pass over all points in both directions.

If the windows are few and far apart, only the points near to them are read.
"""

import numpy as np

from skbayes_sg.kernels.capabilities.buffers import Messages, with_messages
from skbayes_sg.kernels.data.sequences import window
from skbayes_sg.kernels.generic import entry_point, for_kernels, helper
from skbayes_sg.kernels.models.hmm import HMM, hmm_work, prepare, write_densities
from skbayes_sg.kernels.models.hmm_recursions import filter_forward, norm_of, step_back
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.separate import without_refcounts

PASS = 1024  # points that a pass over a sequence processes together
REACH = 16 * PASS  # points beyond which nothing is remembered, if no window is between


@with_messages.register(HMM)
def _(model, theta):
    n, k = model.blocks.first.size, model.start_prior.size
    forward, backward = np.full((2, n, k), 1.0 / k)
    model = for_kernels(model)
    write_messages(model, hmm_work(model, PASS), theta, forward, backward)
    return model._replace(messages=Messages(np.array(theta), forward, backward))


@entry_point
def write_messages(model, work, x, forward, backward):
    """Write filters before all windows and messages of the future after them.

    Windows are in the order of their points, as blocks are.
    """
    model, work, x, forward, backward = without_refcounts(
        (model, work, x, forward, backward)
    )
    parts = prepare(model, work, x)
    begin, n, row = model.blocks.begin, model.blocks.first.size, 0
    while row < n:  # a sequence at a time
        stop = row
        while stop < n and begin[stop] == begin[row]:
            stop += 1
        _write_forward(model, work, parts, row, stop, forward)
        _write_backward(model, work, parts, row, stop, backward)
        row = stop


@helper
def _write_forward(model, work, parts, row, stop, out):
    startprob, _, emitted = parts
    blocks, filters = model.blocks, work.filters
    begin, farthest = blocks.begin[row], window(blocks, stop - 1)[0]
    t, before = begin, False
    copy_to(startprob, filters[0])
    while t < farthest:
        if t < window(blocks, row)[0] - REACH:
            t, before = window(blocks, row)[0] - REACH, True
            for j in range(startprob.size):
                filters[0, j] = 1.0 / startprob.size
        high = min(t + PASS, farthest)
        write_densities(model, work, emitted, t, high, begin)
        filter_forward(before, work, high - t)
        while row < stop and window(blocks, row)[0] <= high:
            low = window(blocks, row)[0]
            if low > begin:
                copy_to(filters[low - t], out[row])
            row += 1
        copy_to(filters[high - t], filters[0])
        t, before = high, True


@helper
def _write_backward(model, work, parts, row, stop, out):
    _, transitions, emitted = parts
    blocks, density, q = model.blocks, work.density, work.q
    begin, nearest = blocks.begin[row], window(blocks, row)[1]
    i, high = stop - 1, blocks.end[row]
    for j in range(q.size):
        q[j] = 1.0
    while high > nearest:
        if high > window(blocks, i)[1] + REACH:
            high = window(blocks, i)[1] + REACH
            for j in range(q.size):
                q[j] = 1.0
        low = max(high - PASS, nearest)
        write_densities(model, work, emitted, low, high, begin)
        for t in range(high - 1, low - 1, -1):
            e = density[t - low]
            step_back(transitions, e, norm_of(e, q), q, work.v)
            while i >= row and window(blocks, i)[1] >= t:
                if window(blocks, i)[1] == t:
                    copy_to(q, out[i])
                i -= 1
        high = low
