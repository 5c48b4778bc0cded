"""Networks: where their chains start, and in which units they move.

A network's posterior has many modes and is far from Gaussian. Each chain starts from
weights of its own, trained by Adam, and the units in which it moves are measured where
the chains are: again and again during burn-in, for trained weights fit their rows more
closely than draws do.
"""

import math

import numpy as np
from scipy.sparse import csr_array

from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.curvature import curvature_diagonal, largest_curvature
from skbayes_sg.kernels.capabilities.curvature import add_prior_hessian_diagonal
from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.models.mlp import mean_precision, unpack
from skbayes_sg.kernels.models.mlp_layers import activate
from skbayes_sg.kernels.optimizers import Adam
from skbayes_sg.kernels.protocol.gradient import init_memory
from skbayes_sg.kernels.protocol.model import (
    init_work,
    n_parameters,
    n_rows,
    parameter_dtype,
)
from skbayes_sg.kernels.protocol.sampler import curvature_exponent
from skbayes_sg.kernels.schedules import Polynomial

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
    """Maximise log p from each of `starts` by Adam; return (n_chains, d)."""
    n_iter = training_length(model, batch_size)
    draws = sample(
        # Learnt without noise, precisions would rise until all weights are zero.
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


def network_units(model, batch_size, thetas, sampler, h, rng, temperature=1.0):
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
        variance += _gradient_variance(model, batch_size, theta, rng) / len(thetas)
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
    heat = h * variance * temperature / (4.0 * damping(sampler) * HEAT)
    return 1.0 / np.sqrt(curvature + heat), variance


def automatic_network_lengths(model, batch_size):
    """Return burn-in and thinning."""
    thin = max(MIN_THIN, THINNED_EPOCHS * n_rows(model) // batch_size)
    return BURN_IN_DRAWS * thin, thin


def damping(sampler):
    """Return the friction of a sampler with momentum, 1 for all others."""
    return getattr(sampler, "friction", getattr(sampler, "diffusion", 1.0))


def damped(sampler):
    """Return the sampler with the friction that suits networks."""
    given = {"friction": FRICTION, "diffusion": FRICTION}
    return sampler._replace(**{k: given[k] for k in sampler._fields if k in given})


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


def _gradient_variance(model, batch_size, theta, rng):
    """Return the variance of gradient estimates at theta, (d,)."""
    if batch_size == n_rows(model):
        return np.zeros(theta.size)
    gradient = for_kernels(Minibatch(batch_size))
    memory = init_memory(gradient, model, theta, rng)
    out = np.empty((2 * PILOT_PAIRS, theta.size), theta.dtype)
    thetas = np.tile(theta, (len(out), 1))
    estimate_gradient(gradient, memory, model, init_work(model), thetas, rng, out)
    return 0.5 * np.mean((out[::2].astype(float) - out[1::2]) ** 2, axis=0)


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
