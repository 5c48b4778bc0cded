"""Networks: where their chains start, and in which units they move.

A network's posterior has many modes and is far from Gaussian. Each chain starts from
weights of its own, trained by Adam, and the units in which it moves are measured where
the chains are: again and again during burn-in, for trained weights fit their rows more
closely than draws do.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.curvature import curvature_diagonal, largest_curvature
from skbayes_sg.inference.exploration.one_mode import explore
from skbayes_sg.inference.exploration.request import (
    Exploration,
    check_batch_size,
    chosen,
    for_diagnostics,
)
from skbayes_sg.inference.monitoring import monitored
from skbayes_sg.kernels.capabilities.curvature import add_prior_hessian_diagonal
from skbayes_sg.kernels.coordinates import Diagonal, Identity
from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import GRADIENTS, Full, Minibatch
from skbayes_sg.kernels.models.mlp import MLP, mean_precision, unpack
from skbayes_sg.kernels.models.mlp_layers import activate
from skbayes_sg.kernels.optimizers import Adam
from skbayes_sg.kernels.protocol.gradient import (
    centered_at,
    init_memory,
    needs_mode,
    prepare,
    with_batch_size,
)
from skbayes_sg.kernels.protocol.model import (
    init_work,
    n_parameters,
    n_rows,
    parameter_dtype,
    theta_of,
)
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    curvature_exponent,
    friction_of,
    stable_step,
)
from skbayes_sg.kernels.schedules import Polynomial

BATCH_SIZE = 500
ROUNDS = (0.05, 0.1, 0.25)  # shares of burn-in after which units are measured again
TOLERANCE = 0.1  # relative error of a variance that a step may cause, noise apart
FRICTION = 0.02  # of samplers with momentum: what they forget in a step
SLOWDOWN = 4.0  # that lets curvatures grow beyond those measured
HEAT = 0.1  # which gradient noise may add to the temperature of a weight
PILOT_ROWS = 2048  # rows from which curvatures are measured
PILOT_PAIRS = 8  # pairs of gradients that measure their noise
SPREAD, OUTPUT_SPREAD = 25.0, 1000.0  # prior variances of what units are fed
MIN_PRECISION = 1e-3
EPOCHS = 20  # of training, and
MIN_TRAINING = 1000  # steps of it at the least
MIN_THIN = 100
THINNED_EPOCHS = 2  # per draw, where that is longer: gradient noise slows the chain
BURN_IN_DRAWS = 50


class NetworkGeometry(NamedTuple):
    """Units in which the weights move."""

    coordinates: NamedTuple
    theta_sd: np.ndarray  # (d,) prior sds: weights a hundred times as large ran away
    gradient_variance: np.ndarray  # (d,) in these units


@explore.register(MLP)
def _(model, request):
    settings, sampler = request.settings, request.sampler
    size = _batch_size(model, request)
    if request.start is None:
        if "networks" not in request.memory:
            request.memory["networks"] = _train(model, request, size)
        model, thetas = request.memory["networks"]
    else:
        thetas = np.stack([theta_of(model, draw) for draw in request.start])
    gradient, mode = _gradient(model, request, size, thetas[0]), thetas[0]
    if not needs_mode(gradient) and needs_mode(_named(settings.gradient)):
        thetas = np.tile(mode, (settings.n_chains, 1))
    h = request.share * accurate_step(sampler, 0.0, TOLERANCE)
    h = chosen(settings.step_size, h)
    burn_in, thin = _lengths(model, settings, size)
    rng, spent = np.random.default_rng(request.seed("units")), 0
    if request.start is None:
        for length in filter(None, (int(share * burn_in) for share in ROUNDS)):
            region = _region(model, request, size, thetas, h, rng)
            name = f"burn-in-{spent}-share-{request.share:g}"
            thetas = _leave_modes(
                *(model, sampler, gradient, region, h, thetas, length),
                request.run_options(name),
            )
            spent += length
    region = _region(model, request, size, thetas, h, rng)
    return Exploration(
        model=model,
        sampler=sampler,
        gradient=gradient,
        coordinates=region.coordinates,
        start=thetas,
        mode=mode,
        theta_sd=region.theta_sd,
        gradient_variance=region.gradient_variance,
        step_size=h,
        burn_in=burn_in - spent,
        thin=thin,
        step_limit=stable_step(sampler),
        spent=spent,
    )


@for_diagnostics.register(MLP)
def _(model):
    if not model.learns_precision:
        return model
    return for_kernels(model._replace(precision=np.zeros_like(model.precision)))


@monitored.register(MLP)
def _(model, draws):
    # Weights of equivalent networks differ from chain to chain and mean nothing.
    return np.empty((*draws.shape[:2], 0))


def _batch_size(model, request):
    """Return the rows per gradient estimate; a batch of a stream is taken whole."""
    n, size = n_rows(model), request.settings.batch_size
    if request.total is not None:
        return n
    check_batch_size(size, n)
    return chosen(size, min(BATCH_SIZE, n))


def _train(model, request, size):
    """Return the model with precisions to start from, and trained weights."""
    n_chains = request.settings.n_chains
    rng = np.random.default_rng(request.seed("weights"))
    burn_in, thin = _lengths(model, request.settings, size)
    n_iter = training_length(model, size) + burn_in + request.settings.n_draws * thin
    request.progress.expect(n_chains * n_iter)
    if model.learns_precision:
        precision = starting_precision(model, rng)
        model = for_kernels(model._replace(precision=precision))
    starts = np.stack([random_weights(model, rng) for _ in range(n_chains)])
    return model, train(model, starts, size, **request.run_options("training"))


def _lengths(model, settings, size):
    """Return burn-in and thinning."""
    burn_in, thin = automatic_network_lengths(model, size)
    return chosen(settings.burn_in, burn_in), chosen(settings.thin, thin)


def _named(gradient):
    """Return a gradient estimator given by its name or as it is."""
    if not isinstance(gradient, str):
        return gradient
    return GRADIENTS["minibatch" if gradient == "auto" else gradient]()


def _gradient(model, request, size, mode):
    """Return the gradient estimator; control variates are centered at `mode`."""
    if request.total is not None:
        return Full()
    name = request.settings.gradient
    gradient = _named(name)
    if not isinstance(name, str):
        return gradient
    gradient = centered_at(with_batch_size(gradient, size), mode)
    try:
        return prepare(gradient, model)
    except (NotImplementedError, ValueError) as error:
        raise ValueError(
            f"gradient={name!r} is not for networks: {error}; use "
            '"minibatch", "cv" or "svrg"'
        ) from error


def _region(model, request, size, thetas, h, rng):
    """Return the units in which weights move from `thetas`, (n_chains, d)."""
    unit, variance = network_units(
        model, size, thetas, request.sampler, h, rng, request.total
    )
    if request.settings.preconditioner == "none":
        unit, coordinates = np.ones_like(unit), Identity()
    else:
        scale = unit.astype(thetas.dtype)
        coordinates = Diagonal(np.zeros_like(scale), scale)
    reach = np.full(unit.size, max(1.0, model.precision.min() ** -0.5))
    return NetworkGeometry(coordinates, reach, unit**2 * variance)


def _leave_modes(model, sampler, gradient, region, h, thetas, length, options):
    """Return where the chains from `thetas` are after `length` steps.

    Trained weights are small, and precisions learned from them so large that they would
    take long to come down: meanwhile they are held.
    """
    draws = sample(
        model._replace(learns_precision=False),
        sampler,
        gradient,
        step_size=h,
        n_draws=1,
        thin=length,
        n_chains=len(thetas),
        start=thetas,
        coordinates=region.coordinates,
        scale=region.theta_sd,
        step_limit=stable_step(sampler),
        **options,
    )
    return draws[:, 0, : thetas.shape[1]]


def starting_precision(model, rng):
    """Return lambdas under which a network says something, but not too much; (2 L,).

    Inputs z of hidden units have variance `SPREAD` under the prior, outputs z_L of
    classes `OUTPUT_SPREAD`: what the data say of the product of all layers' scales is
    seen soon, while chains cross slowly from one scale to another.
    """
    n = n_rows(model)
    idx = rng.choice(n, min(n, PILOT_ROWS // 8), replace=False)
    a = _dense(_take(model.rows, idx)).astype(float)
    out, last = np.ones_like(model.precision), model.sizes.size - 2
    for k, m in enumerate(model.sizes[1:]):
        spread = OUTPUT_SPREAD if k == last else SPREAD
        mean = np.mean(np.sum(a * a, axis=1))
        out[2 * k] = max(mean / spread, MIN_PRECISION)
        a = a @ rng.standard_normal((a.shape[1], m)) / math.sqrt(out[2 * k])
        activate(model.activation, a)
    return out


def random_weights(model, rng):
    """Return theta with the random weights of Glorot & Bengio (2010), (d,)."""
    theta = np.zeros(n_parameters(model), parameter_dtype(model))
    for w in unpack(theta, model.sizes)[0]:
        w[:] = rng.standard_normal(w.shape) * math.sqrt(2.0 / sum(w.shape))
    return theta


def train(model, starts, batch_size, **options):
    """Maximize log p from each of `starts` by Adam; return (n_chains, d)."""
    n_iter = training_length(model, batch_size)
    draws = sample(
        # Learned without noise, precisions would rise until all weights are zero.
        model._replace(learns_precision=False),
        Adam(),
        Minibatch(batch_size),
        step_size=Polynomial(0.005, 1.0, n_iter / 10),
        thin=n_iter,
        n_draws=1,
        n_chains=len(starts),
        start=starts,
        scale=np.ones(starts.shape[1]),
        **options,
    )
    return draws[:, 0, : starts.shape[1]]


def training_length(model, batch_size):
    """Return the steps of training."""
    return max(MIN_TRAINING, EPOCHS * n_rows(model) // batch_size)


def network_units(model, batch_size, thetas, sampler, h, rng, total=None):
    """Return units for steps of size h, and the variance V of the gradient; (d,) each.

    A weight moves in units of (M (c F + lambda) + h V T / (4 C q))^-1/2, where F is its
    Fisher information, C the sampler's friction and T the likelihood's temperature.
    What the data say of single weights, times c, covers what they say of all together;
    M lets curvatures grow, at the price of chains `SLOWDOWN` times as slow: those of a
    network that fits all its rows are small until it no longer does, and momentum would
    carry a chain far away then. And gradient noise raises no weight's temperature from
    T to more than T + q, q being `HEAT`: chains forget as fast at all temperatures
    then. F and V are means over `thetas`, (n_chains, d), and over exchangeable units; V
    is that of simple minibatches, which no other estimator exceeds by much. A weight of
    which the data say nothing moves at the speed of its prior.
    """
    thetas = np.ascontiguousarray(thetas, parameter_dtype(model))
    fisher, prior, variance = np.zeros((3, thetas.shape[1]))
    for theta in thetas:
        pilot, own = pilot_model(model, theta, rng), np.zeros(theta.size)
        add_prior_hessian_diagonal(pilot, init_work(pilot), theta, own)
        fisher += (curvature_diagonal(pilot, theta) - own) / len(thetas)
        prior += own / len(thetas)
        own = _gradient_variance(model, batch_size, theta, rng, total)
        variance += own / len(thetas)
    squares = _column_squares(model.rows)
    fisher = _of_rare_features(np.maximum(fisher, 0.0), squares, model.sizes)
    variance = _of_rare_features(variance, squares, model.sizes)
    c = 30.0
    for _ in range(2):
        unit = 1.0 / np.sqrt(c * fisher + prior)
        c = max(1.0, c * largest_curvature(pilot, theta, unit, n_iter=10))
    # In the units of a metric of its own (exponent 0) a sampler meets no curvature.
    margin = SLOWDOWN ** (1.0 / (curvature_exponent(sampler) or 1.0))
    curvature = margin * (c * fisher + prior)
    heat = h * variance * model.temperature / (4.0 * friction_of(sampler) * HEAT)
    return 1.0 / np.sqrt(curvature + heat), variance


def automatic_network_lengths(model, batch_size):
    """Return burn-in and thinning."""
    thin = max(MIN_THIN, THINNED_EPOCHS * n_rows(model) // batch_size)
    return BURN_IN_DRAWS * thin, thin


def pilot_model(model, theta, rng):
    """Return the model with fewer rows, of more weight, and lambdas to suit theta."""
    n = n_rows(model)
    if n > PILOT_ROWS:
        idx = np.sort(rng.choice(n, PILOT_ROWS, replace=False))
        weights = model.weights[idx] if model.weights.size else np.ones(PILOT_ROWS)
        model = model._replace(
            rows=_take(model.rows, idx),
            y=model.y[idx],
            weights=(weights * (n / PILOT_ROWS)).astype(parameter_dtype(model)),
        )
    if model.learns_precision:
        pairs = zip(*unpack(theta, model.sizes)[:2], strict=True)
        means = [mean_precision(w.ravel()) for pair in pairs for w in pair]
        model = model._replace(precision=np.array(means, parameter_dtype(model)))
    return for_kernels(model)


def exchangeable_mean(values, sizes):
    """Average (d,) values over the hidden units of a layer, which have no order.

    What is left differs by feature in the first layer and by output in the last.
    """
    out = values.copy()
    weights, biases, _ = unpack(out, sizes)
    last = len(weights) - 1
    for k, (w, b) in enumerate(zip(weights, biases, strict=True)):
        if k > 0:
            w[:] = w.mean(axis=0)
        if k < last:
            w[:] = w.mean(axis=1, keepdims=True)
            b[:] = b.mean()
    return out


def _of_rare_features(values, squares, sizes):
    """Return exchangeable means of (d,) values, none too small where x_j is rare.

    Few of the rows that were looked at may hold a feature, or none. Both information
    and variance grow with the sum of its squares over all rows, (p,) `squares`.
    """
    out = exchangeable_mean(values, sizes)
    w = unpack(out, sizes)[0][0]
    if squares.any():
        w[:] = np.maximum(w, np.outer(squares, w.sum(axis=0) / squares.sum()))
    return out


def _column_squares(rows):
    if isinstance(rows, CSRRows):
        weights = rows.data.astype(float) ** 2
        return np.bincount(rows.indices, weights, rows.n_features)
    return np.einsum("ij,ij->j", rows, rows).astype(float)


def _gradient_variance(model, batch_size, theta, rng, total=None):
    """Return the variance of gradient estimates at theta, (d,).

    Where all rows are a batch that stands for `total` rows, that of halves of the batch
    is extrapolated.
    """
    n = n_rows(model)
    size, factor = batch_size, 1.0
    if batch_size == n and total is not None and 1 < n < total:
        size = n // 2
        factor = (1 / n - 1 / total) / (1 / size - 1 / n)
    if size == n:
        return np.zeros(theta.size)
    gradient = for_kernels(Minibatch(size))
    memory = init_memory(gradient, model, theta, rng)
    out = np.empty((2 * PILOT_PAIRS, theta.size), theta.dtype)
    thetas = np.tile(theta, (len(out), 1))
    estimate_gradient(gradient, memory, model, init_work(model), thetas, rng, out)
    return factor * 0.5 * np.mean((out[::2].astype(float) - out[1::2]) ** 2, axis=0)


def _take(rows, idx):
    if not isinstance(rows, CSRRows):
        return rows[idx]
    some = _matrix(rows)[idx]
    indices = some.indices.astype(rows.indices.dtype)
    indptr = some.indptr.astype(rows.indptr.dtype)
    return CSRRows(some.data, indices, indptr, rows.n_features)


def _dense(rows):
    return _matrix(rows).toarray() if isinstance(rows, CSRRows) else rows


def _matrix(rows):
    shape = rows.indptr.size - 1, rows.n_features
    return csr_array((rows.data, rows.indices, rows.indptr), shape)
