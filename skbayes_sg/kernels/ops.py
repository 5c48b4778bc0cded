"""The protocol: every generic operation, its contract and its conventions.

A chain joins a *sampler*, a *gradient estimator* and a *model*. Each is a NamedTuple
of settings and data (never written to while a chain runs) beside a NamedTuple of
arrays that belong to one chain alone: the sampler's **state**, the estimator's
**memory** and the model's **work**. Behaviour is added from outside, by registering a
function on one of the operations below::

    @step.register(SGLD)
    def _(sampler, state, target, h, rng): ...

An operation is an ordinary `functools.singledispatch` function that numba can compile
too, so the same source runs with and without the compiler.

Conventions
-----------
- ``g`` is the (estimated) gradient of the **log posterior**; never of a loss or a mean.
  Likelihood terms are scaled by N/n, the prior enters once, and a row's weight
  multiplies its log-likelihood.
- One step size ``h``: a step drifts by h/2 and adds noise of variance h. A sampler
  whose own paper differs says how it converts.
- ``theta`` is a flat vector in the model's coordinates, ``position`` (phi) the vector
  that the sampler moves: theta = center + L phi. A constant preconditioner L L' is this
  change of variables, so no sampler knows of it.
- ``out`` is written in place and comes last. All arrays of a chain have the model's
  dtype, are allocated before the loop, and nothing is allocated inside it.
- Row indices are int32. One `numpy.random.Generator` serves one chain.
"""

from typing import NamedTuple

import numba
import numpy as np
from numba.extending import overload

from skbayes_sg.kernels.generic import (
    OPTIONS,
    entry_point,
    helper,
    kernel_op,
    missing,
    python_op,
)
from skbayes_sg.kernels.separate import address_of, borrowed, call_address

MAX_TABLE_BYTES = 2**30  # of row gradients that a chain may remember


# Loops, because numpy's own take seconds to compile: the error message about unequal
# shapes brings all of numba's strings along.
@helper
def copy_to(x, out):
    """Write (d,) `x` to `out`."""
    for j in range(out.size):
        out[j] = x[j]


@helper
def add_number(x, out):
    """Add the number `x` to each item of (d,) `out`."""
    for j in range(out.size):
        out[j] += x


@helper
def total(x):
    """Return the sum of (d,) `x`."""
    value = x.dtype.type(0.0)
    for j in range(x.size):
        value += x[j]
    return value


# Models
@kernel_op
def n_parameters(model):
    """Return the length of theta."""
    raise NotImplementedError


@kernel_op
def n_rows(model):
    """Return N, the number of rows (independent likelihood terms)."""
    raise NotImplementedError


@kernel_op
def add_gradient(model, work, theta, idx, scale, out):
    """Add scale * sum of grad log f(y_i | theta) over the rows i in `idx` to `out`."""
    raise NotImplementedError


@kernel_op
def add_prior_gradient(model, work, theta, out):
    """Add grad log p(theta) to `out`."""
    raise NotImplementedError


@kernel_op
def log_likelihood(model, work, theta, idx):
    """Return the sum of log f(y_i | theta) over the rows in `idx`."""
    raise NotImplementedError


@kernel_op
def log_prior(model, work, theta):
    """Return log p(theta), up to a constant."""
    raise NotImplementedError


@kernel_op
def add_difference(model, work, theta, anchor, idx, scale, out):
    """Add scale * sum over `idx` of grad log f_i(theta) - grad log f_i(anchor).

    `anchor` is what `init_anchor` returned; here, the anchor point itself.
    """
    add_gradient(model, work, theta, idx, scale, out)
    add_gradient(model, work, anchor, idx, -scale, out)


@kernel_op
def add_remainder(model, work, theta, table, idx, scales, out):
    """Add the sum over b of scales_b (grad log f_i(theta) less a linear function).

    Here i is idx_b, and the function's numbers are in `table`, that of `linearize`.
    """
    raise NotImplementedError


@kernel_op
def replace_gradients(model, work, theta, table, idx, out):
    """Put grad log f_i(theta) of rows `idx` into the table, add the change to `out`.

    `table` is what `init_table` returned; here, one gradient per row.
    """
    for b in range(idx.size):
        row = table[idx[b]]
        for j in range(out.size):
            out[j] -= row[j]
            row[j] = 0.0
        add_gradient(model, work, theta, idx[b : b + 1], 1.0, row)
        for j in range(out.size):
            out[j] += row[j]


@kernel_op
def add_hessian(model, work, theta, idx, scale, out):
    """Add -scale * Hessian of the log-likelihood of rows `idx` to (d, d) `out`."""
    raise NotImplementedError


@kernel_op
def add_hessian_diagonal(model, work, theta, idx, scale, out):
    """Add the diagonal of what `add_hessian` adds to (d,) `out`."""
    raise NotImplementedError


@kernel_op
def add_prior_hessian_diagonal(model, work, theta, out):
    """Add the diagonal of -Hessian of log p(theta) to (d,) `out`."""
    raise NotImplementedError


@kernel_op
def refresh(model, target, position, rng):
    """Update hyperparameters in ``target.work`` given the parameters, after each step.

    The default does nothing; a model with conjugate conditionals draws them here, from
    ``locate(target, position)``.
    """


@kernel_op
def is_due(model, t):
    """Whether `refresh` is to be called after iteration t = 0, 1, ..."""
    return True


@kernel_op
def blocks_of(model, i):
    """Return the blocks of theta that row i depends on, a tuple of their numbers.

    Theta is made of blocks of equal width. For samplers that move only what a minibatch
    depends on.
    """
    raise NotImplementedError


@kernel_op
def block_prior(model, work, block, mean, precision):
    """Write mean and precisions of a block's prior, an independent Gaussian."""
    raise NotImplementedError


@kernel_op
def n_recorded(model):
    """Return the length of a recorded draw; theta alone unless a model says more."""
    return n_parameters(model)


@kernel_op
def record(model, work, theta, out):
    """Write one draw to `out`."""
    copy_to(theta, out)


# Gradient estimators
@kernel_op
def estimate(gradient, memory, model, work, theta, rng, out):
    """Write an unbiased estimate of grad log p(theta | data) to `out`."""
    raise NotImplementedError


@kernel_op
def draw_rows(gradient, memory, rng):
    """Return the rows of a fresh minibatch, of an estimator that weighs all alike."""
    raise NotImplementedError


# Coordinates
@kernel_op
def part_of(coordinates, first, last):
    """Return the coordinates of the parameters from `first` to `last` alone."""
    raise NotImplementedError


@kernel_op
def to_theta(coordinates, position, out):
    """Write theta = center + L position to `out`."""
    raise NotImplementedError


@kernel_op
def pull_back(coordinates, g, out):
    """Write L' g, the gradient with respect to the position, to `out`."""
    raise NotImplementedError


# Metrics: for samplers that adapt to the curvature at every position. Any positive
# definite function G(theta) of theta alone is valid; the rows in `idx` never change.
@kernel_op
def metric(model, work, theta, idx, out):
    """Write the metric G(theta), judged from the rows in `idx`, to (d, d) `out`."""
    raise NotImplementedError


@kernel_op
def metric_divergence(model, work, theta, idx, factor, out):
    """Write sum_jm (d_j G_km) P_mj to (d,) `out`, where P = factor' factor."""
    raise NotImplementedError


@kernel_op
def metric_diagonal(model, work, theta, idx, out, slope):
    """Write G_jj(theta) of a diagonal metric to `out` and d_j G_jj to `slope`."""
    raise NotImplementedError


@kernel_op
def pull_back_metric(coordinates, matrix):
    """Replace the metric of theta by that of the position, L' G L, in place."""
    raise NotImplementedError


@kernel_op
def push_forward(coordinates, vector, out):
    """Write L `vector`, the change of theta with the position, to `out`."""
    raise NotImplementedError


@kernel_op
def pull_back_diagonal(coordinates, diagonal, slope):
    """Do the same as `pull_back_metric` for G_jj and d_j G_jj, where L is diagonal."""
    raise NotImplementedError


# Schedules
@kernel_op
def step_size_at(schedule, t):
    """Return the step size h of iteration t = 0, 1, ..."""
    raise NotImplementedError


# Samplers
@kernel_op
def step(sampler, state, target, h, rng):
    """Move ``state.position`` by one iteration of step size h, in place."""
    raise NotImplementedError


@kernel_op
def settle(sampler, state, target, rng):
    """Bring all of ``state.position`` up to date before it is read.

    The default does nothing; it is for samplers that move parts of it late.
    """


# Outside the loop, Python only
class NoWork(NamedTuple):
    """The work of a model that needs none."""

    nothing: int = 0


@python_op
def init_work(model):
    """Allocate the model's private arrays of one chain (buffers, hyperparameters)."""
    return NoWork()


@python_op
def parameter_dtype(model):
    """Return the dtype of theta and of all arrays of a chain."""
    return np.dtype(np.float64)


@python_op
def is_log_concave(model):
    """Whether the log posterior is smooth and concave, so that it has one mode."""
    return False


@python_op
def to_position(coordinates, theta):
    """Return the position of `theta`, the inverse of `to_theta`."""
    raise missing(to_position, coordinates)


@python_op
def position_scale(coordinates, theta_scale):
    """Return the sds of the position where those of theta are `theta_scale`."""
    raise missing(position_scale, coordinates)


@python_op
def init_state(sampler, position, rng):
    """Allocate a chain's state; its field ``position`` is a copy of `position`."""
    raise missing(init_state, sampler)


@python_op
def check_parts(sampler, model, gradient, coordinates):
    """Raise a ValueError where the sampler cannot work with the other parts."""


@python_op
def preconditioner_of(sampler):
    """Return the name of the preconditioner that suits the sampler."""
    return "auto"


@python_op
def is_lazy(sampler):
    """Whether the sampler moves only what a minibatch depends on."""
    return False


@python_op
def is_exact(gradient):
    """Whether the estimator computes the gradient without error."""
    return False


@python_op
def prepare(gradient, model):
    """Return the estimator with what all chains share, computed once from the data."""
    return gradient


@python_op
def thinned(model, every):
    """Return the posterior of each `every`-th row, which stands for as many."""
    raise missing(thinned, model)


@python_op
def rows_per_term(model):
    """Return the rows that a likelihood term of `in_blocks` has; 1: no blocks."""
    return 1


@python_op
def in_blocks(model, order):
    """Return the same posterior, each likelihood term of several rows in this order.

    For estimators that weigh rows alike; the terms are faster to read than rows.
    """
    raise missing(in_blocks, model)


@python_op
def anchored(gradient, model):
    """Return the estimator with what it learns from the data whatever its batch size.

    For those who prepare one estimator with several sizes.
    """
    return gradient


@python_op
def init_memory(gradient, model, theta, rng):
    """Allocate what a gradient estimator keeps between the steps of one chain."""
    raise missing(init_memory, gradient)


@python_op
def init_anchor(model, work, theta):
    """Return what `add_difference` needs to know of the anchor point `theta`."""
    return theta.copy()


@python_op
def init_table(model):
    """Allocate a table of row gradients, all zero, for `replace_gradients`."""
    shape = n_rows(model), n_parameters(model)
    n_bytes = shape[0] * shape[1] * parameter_dtype(model).itemsize
    if n_bytes > MAX_TABLE_BYTES:
        raise ValueError(
            f"a table of the gradients of {shape[0]} rows with {shape[1]} parameters "
            f"needs {n_bytes / 2**30:.1f} GiB per chain, more than the "
            f'{MAX_TABLE_BYTES / 2**30:.0f} GiB allowed; gradient="svrg" needs none'
        )
    return np.zeros(shape, parameter_dtype(model))


class Linearized(NamedTuple):
    """Linear functions that are close to the rows' gradients.

    They add up to ``total - matrix (theta - center)``.
    """

    center: np.ndarray  # (d,)
    total: np.ndarray  # (d,)
    matrix: np.ndarray  # (d, d), symmetric
    table: np.ndarray  # (..., N) what `add_remainder` needs of each row
    sizes: np.ndarray  # (N,) how large the rest is, up to a factor


@python_op
def is_linearizable(model):
    """Whether `linearize` is there, and its table of a size to hold in memory."""
    return False


@python_op
def linearize(model, draws):
    """Return a `Linearized` that is good on average over (Q, d) `draws`."""
    raise missing(linearize, model)


@python_op
def leverages(model, mode):
    """Return each row's share in the information at `mode`, (N,), up to a factor."""
    raise missing(leverages, model)


@python_op
def row_classes(model):
    """Return the class of each row, (N,), for strata."""
    raise missing(row_classes, model)


@python_op
def stable_step(sampler):
    """Return the largest step size that is stable where the curvature is 1."""
    raise missing(stable_step, sampler)


@python_op
def accurate_step(sampler, noise, tolerance):
    """Return the step size to use where the curvature is 1.

    The largest one whose stationary variance is within a factor of 1 + `tolerance` of
    the truth, given gradient estimates of variance `noise`, and well inside the
    sampler's stability limit. `noise` is one number, or one for each coordinate, (d,).
    """
    raise missing(accurate_step, sampler)


@python_op
def with_noise_absorbed(sampler, h, noise):
    """Return the sampler of exact gradients that this one is like on noisy ones.

    The sampler itself, unless its friction answers to gradient noise. `noise` is the
    mean of its variances over the coordinates.
    """
    return sampler


@python_op
def curvature_exponent(sampler):
    """Return p such that step sizes scale with the curvature to the power of -p.

    One for diffusions of the position; a half for samplers with momentum.
    """
    return 1.0


@python_op
def relaxation(sampler, h):
    """Return the iterations in which autocorrelation falls by e, at curvature 1."""
    raise missing(relaxation, sampler)


@python_op
def sampler_stats(sampler, state):
    """Return a dict of what a finished chain has to report, acceptance for instance."""
    return {}


class Target(NamedTuple):
    """What a sampler sees: a posterior over positions, with noisy gradients."""

    model: NamedTuple
    work: NamedTuple
    gradient: NamedTuple
    memory: NamedTuple
    coordinates: NamedTuple
    inverse_temperature: float
    estimate: int  # the address of `estimate`, compiled for these parts
    theta: np.ndarray  # (d,) buffer: the last located parameters
    g: np.ndarray  # (d,) buffer: the gradient at theta
    noise: NamedTuple  # GradientNoise


class GradientNoise(NamedTuple):
    """Running estimate of the gradient's variance V, per coordinate of the position.

    Two estimates at one position differ by twice their variance in the mean square, for
    any estimator: V = E (g1 - g2)^2 / 2.
    """

    variance: np.ndarray  # (d,) V, the running estimate
    removed: np.ndarray  # (d,) V if noise correction is on, else 0
    count: np.ndarray  # (1,) measurements so far
    pair: np.ndarray  # (2, d) buffer
    corrects: bool


def estimate_by(address, gradient, memory, model, work, theta, rng, out):
    """Do what `estimate` does; once compiled, by the code at `address`."""
    estimate(gradient, memory, model, work, theta, rng, out)


@overload(estimate_by, jit_options=OPTIONS)
def _(address, gradient, memory, model, work, theta, rng, out):
    def by_address(address, gradient, memory, model, work, theta, rng, out):
        call_address(address, (gradient, memory, model, work, theta, rng, out))

    return by_address


@entry_point
def _estimate(gradient, memory, model, work, theta, rng, out):
    estimate(*borrowed((gradient, memory, model, work, theta, rng, out)))


def address_of_estimate(gradient, memory, model, work, theta, rng, out):
    """Return the address of `estimate`, compiled for these types.

    Zero without the compiler, which a stand-in for numpy's generator cannot pass.
    """
    if numba.config.DISABLE_JIT or not isinstance(rng, np.random.Generator):
        return 0
    return address_of(_estimate, gradient, memory, model, work, theta, rng, out)


@helper
def locate(target, position):
    """Return theta of `position`, in the target's buffer."""
    to_theta(target.coordinates, position, target.theta)
    return target.theta


@helper
def gradient_at(target, position, rng, out):
    """Write a fresh estimate of the gradient at `position` to `out`."""
    theta = locate(target, position)
    estimate_by(
        target.estimate,
        target.gradient,
        target.memory,
        target.model,
        target.work,
        theta,
        rng,
        target.g,
    )
    pull_back(target.coordinates, target.g, out)
    if target.inverse_temperature != 1.0:
        for j in range(out.size):
            out[j] *= target.inverse_temperature


@helper
def noise_sd(target, j, variance, c):
    """Return the sd of the noise to inject into coordinate j.

    A step that adds ``c * g`` already carries noise of variance c^2 V from the
    minibatch; with noise correction it is taken off, down to zero at the least.
    """
    if not target.noise.corrects:
        return np.sqrt(variance)  # the same for all j, so compilers compute it once
    return np.sqrt(max(variance - c * c * target.noise.removed[j], 0.0))


@helper
def measure_noise(target, position, rng):
    """Update the estimate of the gradient's variance with a fresh pair of gradients."""
    noise = target.noise
    for k in range(2):
        gradient_at(target, position, rng, noise.pair[k])
    noise.count[0] += 1.0
    weight = max(1.0 / noise.count[0], 0.01)  # a mean first, then a slow memory
    for j in range(position.size):
        half = 0.5 * (noise.pair[0, j] - noise.pair[1, j]) ** 2
        noise.variance[j] += weight * (half - noise.variance[j])
        if noise.corrects:
            noise.removed[j] = noise.variance[j]
