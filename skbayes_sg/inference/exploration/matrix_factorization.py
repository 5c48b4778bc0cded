"""Matrix factorisation: where its chains start, in which units they move, how far.

The posterior is invariant under rotations of the factors, so there is no one mode to
measure it at. Each chain starts from random factors of its own, and the units are
measured again where the chains are, several times before burn-in.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.divergence import DivergenceError
from skbayes_sg.kernels.coordinates import Diagonal
from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.models.matrix_factorization import (
    largest_curvature,
    width,
)
from skbayes_sg.kernels.passes import hessian_diagonal, log_posterior
from skbayes_sg.kernels.protocol.model import init_work, n_parameters
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    curvature_exponent,
    relaxation,
    stable_step,
)
from skbayes_sg.kernels.samplers import BAOAB

TOLERANCE = 0.2  # relative excess of variance that gradient noise may cause
WARM_UP_SAMPLER = BAOAB(friction=0.2)
NOISE_ROUNDS = 3  # of conditional means, from which the noise starts
WARM_UP_REFRESH = 4  # iterations per draw of the noise, a pass over all ratings
ROUNDS = 10, 20, 40, 80  # iterations before each measurement of the units
LATE_ROUNDS = 160, 320  # where there are few ratings
FEW = 3000  # ratings
MEASURED = 100_000  # ratings at which a measurement looks, over several draws
MARGIN = 6.0  # sds of the log of the largest curvature, over draws, that steps allow
MAX_FIT = 10.0  # times the largest rating, centred, that no draw may exceed
MAX_RETRIES = 5  # of a step size after a divergence
MIN_BURN_IN, MAX_BURN_IN = 50, 5000
MIN_THIN, MAX_THIN = 5, 200


class FactorDraws(NamedTuple):
    """Recorded draws, as views; leading axes are those of the draws."""

    rows: np.ndarray  # (..., n_users + n_items, q)
    hyper: np.ndarray  # (..., 2, 2, q) m and lambda of users, of items
    noise: np.ndarray  # (..., 1 + n_users + n_items) alpha, s, t
    links: np.ndarray  # (..., p, q) B


def unpack(draws, n_rows, q):
    """Return what `draws`, (..., dim), hold of `n_rows` users and items."""
    ends = np.cumsum([n_rows * q, 4 * q, 1 + n_rows])
    rows, hyper, noise, links = np.split(draws, ends, axis=-1)
    lead = draws.shape[:-1]
    return FactorDraws(
        rows.reshape(*lead, n_rows, q),
        hyper.reshape(*lead, 2, 2, q),
        noise,
        links.reshape(*lead, -1, q),
    )


class RowGeometry(NamedTuple):
    """Units in which the rows of users and items move, whatever their ratings."""

    coordinates: Diagonal
    theta_sd: np.ndarray  # (d,) rough posterior sds of the parameters
    largest: float  # curvature of -log p in these units, at any draw
    typical: float  # largest curvature at a typical draw


def row_geometry(model, draws):
    """Measure the curvature at recorded draws, (n_draws, dim).

    All factors of a row share one unit, the root mean square of their curvatures: it
    grows with the number of ratings, and rotations leave it as it is.
    """
    d, q, n = model.n_factors, width(model), model.n_users + model.n_items
    places = [(_work_at(model, draw), theta_of(model, draw)) for draw in draws]
    total = np.zeros((n, q))
    for work, theta in places:
        out = np.zeros(theta.size)
        hessian_diagonal(model, work, theta, out)
        total += out[: n * q].reshape(n, q)
        total += np.repeat(work.hyper[:, 1], [model.n_users, model.n_items], axis=0)
    total /= len(draws)
    total[:, :d] = np.sqrt(np.mean(total[:, :d] ** 2, axis=1, keepdims=True))
    curvature = np.concatenate([total.ravel(), _hyper_curvature(model, places[0][0])])
    unit = 1.0 / np.sqrt(curvature)
    guess = np.random.default_rng(0).standard_normal(unit.size)
    logs = np.log([largest_curvature(model, *at, unit, guess, 15) for at in places])
    typical = 1.05 * math.exp(logs.mean())  # power iteration approaches from below
    largest = typical * math.exp(MARGIN * logs.std())
    dtype = model.y.dtype
    coordinates = Diagonal(np.zeros(unit.size, dtype), unit.astype(dtype))
    return RowGeometry(coordinates, unit, largest, typical)


def random_start(model, rng):
    """Return a recorded draw with factors from the prior's start and no biases."""
    n, q = model.n_users + model.n_items, width(model)
    work = init_work(model)
    rows = rng.standard_normal((n, q)) / np.sqrt(
        np.repeat(work.hyper[:, 1], [model.n_users, model.n_items], axis=0)
    )
    rows[:, model.n_factors :] = 0.0
    parts = (rows, work.hyper, work.noise, work.links)
    return np.concatenate([part.ravel() for part in parts]).astype(model.y.dtype)


def warm_up(model, draws, seed, share=1.0, **options):
    """Move recorded draws, (n_chains, dim), towards the posterior, by full gradients.

    Returns the draws and the geometry there. With few ratings the curvature is tens of
    times larger at some draws than at others, so it is measured at many of them. The
    steps are a `share` of those that suit the geometry.
    """
    sampler, gradient = WARM_UP_SAMPLER, Full()
    model = model._replace(refresh_every=WARM_UP_REFRESH)
    where, n = row_geometry(model, draws), model.y.size
    rounds = ROUNDS + LATE_ROUNDS if n <= FEW else ROUNDS
    for length, stream in zip(rounds, seed.spawn(len(rounds)), strict=True):
        places = min(max(MEASURED // n, 1), length // ROUNDS[0])
        h = 0.5 * share * automatic_row_step(model, sampler, gradient, where)
        moved = sample(
            continued(model, draws),
            sampler,
            gradient,
            step_size=h,
            n_draws=places,
            thin=length // places,
            n_chains=len(draws),
            start=np.stack([theta_of(model, draw) for draw in draws]),
            coordinates=where.coordinates,
            scale=where.theta_sd,
            random_state=stream,
            **options,
        )
        check_fit(model, moved, h)
        where = row_geometry(model, moved.reshape(-1, moved.shape[-1]))
        draws = moved[:, -1]
    return draws, where


def check_fit(model, draws, h):
    """Raise a DivergenceError if recorded draws fit some rating with an absurd number.

    One row of thousands may diverge, unseen in the mean over all of them, and so may
    the logarithm of one lambda, which never comes back from a lambda of zero. The draws
    are (n_chains, n_draws, dim).
    """
    y, d, size = model.y, model.n_factors, 2**16
    limit = MAX_FIT * (float(np.abs(y).max()) or 1.0)
    for chain, draw in ((c, draw) for c, own in enumerate(draws) for draw in own):
        parts = unpack(draw, model.n_users + model.n_items, width(model))
        x = parts.rows
        if not np.all(parts.hyper[:, 1] > 0.0):
            raise DivergenceError(
                f"chain {chain} diverged with step_size={h:.3g}: the precision of a "
                f"factor is zero. Try step_size={h / 4:.2g}, or "
                'step_size="auto"'
            )
        for first in range(0, y.size, size):
            u, v = x[model.pairs[first : first + size].T]
            fit = np.einsum("kf,kf->k", u[:, :d], v[:, :d])
            fit += u[:, d:].sum(axis=1) + v[:, d:].sum(axis=1)
            worst = np.abs(fit).max()
            if not worst <= limit:
                raise DivergenceError(
                    f"chain {chain} diverged with step_size={h:.3g}: the mean of a "
                    f"rating is {worst:.3g} from that of all. Try step_size="
                    f'{h / 4:.2g}, or step_size="auto"'
                )


def with_retries(run):
    """Return ``run(share)`` of the largest share of the steps that does not diverge.

    The posterior is steeper elsewhere than it was seen to be. Each attempt starts where
    the first did: a chain far out, its noise large, would not come back.
    """
    for attempt in range(MAX_RETRIES):
        try:
            return run(0.5**attempt)
        except DivergenceError:
            continue
    return run(0.5**MAX_RETRIES)


def continued(model, draws):
    """Return the model with m, lambda and the noise starting at means in `draws`."""
    parts = unpack(draws, model.n_users + model.n_items, width(model))
    start, noise = parts.hyper.mean(axis=0), parts.noise.mean(axis=0)
    d = model.n_factors  # their order is another one in every chain
    start[:, :, :d] = start[:, :, :d].mean(axis=2, keepdims=True)
    return model._replace(
        prior=model.prior._replace(start=start.astype(model.y.dtype)),
        noise=model.noise._replace(precision=float(noise[0]), own=noise[1:]),
    )


def with_noise(model):
    """Return the model with its noise starting where ratings without factors put it.

    A rating far out would drag its factors along before the noise of its user and its
    item has grown. Conditional means, in turn.
    """
    n, users, items = model.n_users, *model.pairs.T
    alpha, rate, learns, dof, own = model.noise
    weights = model.weights if model.weights.size else np.ones(model.y.size)
    squares, own = weights * model.y.astype(np.float64) ** 2, own.astype(np.float64)
    sides = (users, items, slice(n)), (items, users, slice(n, None))
    for _ in range(NOISE_ROUNDS):
        for code, other, here in sides:
            if dof > 0.0:
                total = np.bincount(code, own[other] * squares, own.size)[here]
                count = np.bincount(code, weights, own.size)[here]
                own[here] = (dof + count) / (dof + alpha * total)
            if learns:
                total = np.sum(own[users] * own[items] * squares)
                alpha = (2.0 + weights.sum()) / (2.0 * rate + total)
    noise = model.noise._replace(precision=float(alpha), own=own.astype(model.y.dtype))
    return model._replace(noise=noise)


def automatic_row_step(model, sampler, gradient, where, temperature=1.0):
    """Return the step size whose gradient noise heats by `TOLERANCE` at the most.

    The score of a rating has the variance of its curvature, so a minibatch of n of N
    ratings has N/n - 1 times the variance of the likelihood's own curvature.
    """
    n, power = model.y.size, curvature_exponent(sampler)
    noise = n / getattr(gradient, "batch_size", n) - 1.0
    accurate = accurate_step(sampler, noise / temperature, TOLERANCE)
    return min(
        accurate / (where.typical / temperature) ** power,
        stable_step(sampler) / (where.largest / temperature) ** power,
    )


def automatic_row_lengths(sampler, h):
    """Return burn-in and thinning, from the time in which a typical row moves.

    With little friction a position turns several times before its momentum decays.
    """
    tau, friction = relaxation(sampler, h), getattr(sampler, "friction", 1.0)
    burn_in = min(max(math.ceil(3 * tau), MIN_BURN_IN), MAX_BURN_IN)
    thin = math.ceil(tau * min(friction, 1.0))
    return burn_in, min(max(thin, MIN_THIN), MAX_THIN)


def theta_of(model, draw):
    """Return theta of a recorded draw, (n_parameters,)."""
    n, q = model.n_users + model.n_items, width(model)
    theta = draw[: n * q]
    if model.prior.on_log_scale:
        hyper = unpack(draw, n, q).hyper.copy()
        hyper[:, 1] = np.log(hyper[:, 1])
        theta = np.concatenate([theta, hyper.ravel()])
    return np.ascontiguousarray(theta, model.y.dtype)


def factor_scores(model, draws):
    """Return the gradient of log p by theta at recorded draws, (n_draws, d) float64.

    Each draw is scored given its own m, lambda, B and noise.
    """
    scores = np.empty((len(draws), n_parameters(model)))
    for draw, out in zip(draws, scores, strict=True):
        g = np.empty(out.size, model.y.dtype)
        log_posterior(model, _work_at(model, draw), theta_of(model, draw), g)
        out[:] = g
    return scores


def _work_at(model, draw):
    """Return a work with the unknowns of a recorded draw."""
    work = init_work(model)
    parts = unpack(draw, *work.mean.shape)
    work.hyper[:], work.noise[:], work.links[:] = parts.hyper, parts.noise, parts.links
    work.mean[:] = np.repeat(parts.hyper[:, 0], [model.n_users, model.n_items], axis=0)
    data, indices, indptr, _ = model.features
    for g in range(len(indptr) - 1):
        here = slice(indptr[g], indptr[g + 1])
        work.mean[indices[here]] += np.outer(data[here], parts.links[g])
    return work


def _hyper_curvature(model, work):
    """Return the curvature of m and log lambda where theta holds them, else nothing."""
    if not model.prior.on_log_scale:
        return np.empty(0)
    sizes = np.array([model.n_users, model.n_items])[:, None]
    of_m = work.hyper[:, 1] * (sizes + 1)
    of_log_precision = np.broadcast_to(0.5 * (sizes + 1), of_m.shape)
    return np.stack([of_m, of_log_precision], axis=1).ravel()
