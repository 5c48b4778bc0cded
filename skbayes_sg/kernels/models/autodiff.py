"""Models whose log-likelihood and prior are compiled elsewhere, and called by address.

All such models have one type, so that one compiled loop serves every one of them: a row
is a row of machine words (its weight, then its values in all columns), and the
functions are numbers in the work. They are

    f(theta, center, rows, idx, each, scale, buffer, total, out)    of rows
    f(theta, total, out)                                            of the prior
    f(theta, out)                                                   of what is recorded

and add to ``total[0]`` and `out`. An index stands for `each` rows that follow one
another. What compiles them registers `init_work` and `init_expansion`.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import overload

from skbayes_sg.kernels.capabilities.expansion import (
    add_beyond_linear,
    add_by_differences,
)
from skbayes_sg.kernels.capabilities.row_blocks import in_blocks, rows_per_term
from skbayes_sg.kernels.data.blocks import rows_per_block
from skbayes_sg.kernels.data.minibatch import fill_rows, row_buffer
from skbayes_sg.kernels.generic import entry_point, helper
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    add_value_and_gradient,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    n_rows,
    record,
    theta_of,
    thinned,
)
from skbayes_sg.kernels.separate import call_by


class Autodiff(NamedTuple):
    """Rows, and the program of which the functions are made."""

    rows: np.ndarray  # (N, w) uint64: the weight of a row and its values, as words
    program: np.ndarray  # (16,) uint8, the program's digest
    d: int  # free parameters, theta
    m: int  # constrained parameters, which are recorded before theta; 0: theta alone
    each: int = 1  # rows of a likelihood term


class AutodiffWork(NamedTuple):
    """Addresses of the functions in this process, and buffers."""

    gradient: int
    value_and_gradient: int
    prior: int
    record: int
    buffer: np.ndarray  # of gathered rows, uint64
    recorded: np.ndarray  # (m,)
    g: np.ndarray  # (d,) of a gradient that nobody asked for
    total: np.ndarray  # (1,)


class AutodiffExpansion(NamedTuple):
    """The point of an expansion, and the address of what is beyond it."""

    address: int  # 0: there is none
    center: np.ndarray  # (d,)
    ahead: np.ndarray  # (d,)
    behind: np.ndarray  # (d,)


def check_theta(theta):
    """Refuse parameters of another type, whose bits the functions would misread."""
    if theta.dtype != np.float64:
        raise TypeError(wrong_type(theta.dtype))


@overload(check_theta)
def _(theta):
    if theta.dtype != types.float64:
        raise TypingError(wrong_type(theta.dtype))
    return lambda theta: None


def wrong_type(dtype):
    """Return what is said of parameters of this type."""
    return (
        f"theta has dtype {dtype}, but models of your own compute in float64; pass "
        "theta.astype(np.float64)"
    )


@n_parameters.register(Autodiff)
def _(model):
    return model.d


@n_recorded.register(Autodiff)
def _(model):
    return model.m + model.d


@n_rows.register(Autodiff)
def _(model):
    return model.rows.shape[0] // model.each


@helper
def add_rows_by(address, model, work, theta, center, idx, scale, out):
    """Call a function of rows, for as many at a time as the buffer holds."""
    check_theta(theta)
    most = work.buffer.size // (model.rows.shape[1] * model.each)
    for first in range(0, idx.size, most):
        part = idx[first : first + most]
        args = model.rows, part, model.each, float(scale), work.buffer, work.total
        call_by(address, (theta, center, *args, out))


@entry_point
def add_all_rows_by(address, model, work, theta, out):
    """Call a function of rows for all of them."""
    idx, center = row_buffer(), theta.copy()
    for first in range(0, n_rows(model), idx.size):
        rows = fill_rows(idx, first, n_rows(model))
        add_rows_by(address, model, work, theta, center, rows, 1.0, out)


@add_gradient.register(Autodiff)
def _(model, work, theta, idx, scale, out):
    add_rows_by(work.gradient, model, work, theta, theta, idx, scale, out)


@add_value_and_gradient.register(Autodiff)
def _(model, work, theta, idx, scale, out):
    work.total[0] = 0.0
    add_rows_by(work.value_and_gradient, model, work, theta, theta, idx, scale, out)
    return work.total[0]


@log_likelihood.register(Autodiff)
def _(model, work, theta, idx):
    return add_value_and_gradient(model, work, theta, idx, 1.0, work.g)


@add_prior_gradient.register(Autodiff)
def _(model, work, theta, out):
    check_theta(theta)
    call_by(work.prior, (theta, work.total, out))


@log_prior.register(Autodiff)
def _(model, work, theta):
    check_theta(theta)
    work.total[0] = 0.0
    call_by(work.prior, (theta, work.total, work.g))
    return work.total[0]


@add_beyond_linear.register(Autodiff)
def _(model, work, theta, expansion, idx, scale, out):
    if expansion.address == 0:
        add_by_differences(model, work, theta, expansion, idx, scale, out)
        return
    center = expansion.center
    add_rows_by(expansion.address, model, work, theta, center, idx, scale, out)


@record.register(Autodiff)
def _(model, work, theta, out):
    if model.m > 0:
        # Draws may be kept in another type than that of all computations.
        call_by(work.record, (theta, work.recorded))
        copy_to(work.recorded, out[: model.m])
    copy_to(theta, out[model.m :])


@theta_of.register(Autodiff)
def _(model, draw):
    return np.ascontiguousarray(draw[model.m :], np.float64)


@thinned.register(Autodiff)
def _(model, every):
    rows = model.rows[::every].copy()
    rows.view(np.float64)[:, 0] *= every
    return model._replace(rows=rows)


@rows_per_term.register(Autodiff)
def _(model):
    return rows_per_block(model.rows, model.d) if model.each == 1 else 1


@in_blocks.register(Autodiff)
def _(model, order):
    k = rows_per_term(model)
    missing = -len(order) % k
    rows = model.rows[np.concatenate([order, order[:missing]])]
    if missing:
        rows[-missing:, 0] = 0  # the bits of a weight of 0.0
    return model._replace(rows=rows, each=k)
