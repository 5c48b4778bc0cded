"""Matrix factorization: where its chains start, in which units they move, how far.

The posterior is invariant under rotations of the factors, so there is no one mode to
measure it at. Each chain starts from random factors of its own, and the units are
measured again where the chains are, several times before burn-in.
"""

import math

import numpy as np

from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.divergence import DivergenceError
from skbayes_sg.inference.exploration.one_mode import explore
from skbayes_sg.inference.exploration.rating_axes import with_principal_axes
from skbayes_sg.inference.exploration.rating_geometry import row_geometry
from skbayes_sg.inference.exploration.rating_start import random_start
from skbayes_sg.inference.exploration.rating_sweeps import is_swept, swept
from skbayes_sg.inference.exploration.request import (
    Exploration,
    check_batch_size,
    check_draws,
    chosen,
)
from skbayes_sg.inference.monitoring import monitored
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import GRADIENTS, Full
from skbayes_sg.kernels.models.matrix_factorization import MatrixFactorization
from skbayes_sg.kernels.models.matrix_factorization_draws import (
    rating_means,
    unpack_of,
)
from skbayes_sg.kernels.models.matrix_factorization_rows import (
    has_rows_alone,
    n_theta_rows,
)
from skbayes_sg.kernels.protocol.gradient import (
    batch_size_of,
    centered_at,
    is_exact,
    needs_mode,
    with_batch_size,
)
from skbayes_sg.kernels.protocol.model import n_rows, theta_of
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    curvature_exponent,
    friction_of,
    relaxation,
    stable_step,
)
from skbayes_sg.kernels.samplers import BAOAB, LazyLangevin, LeimkuhlerMatthews

MONITORED_RATINGS = 50  # whose means chains must agree on
LAZY_SHARE = 0.04  # of all rows; lazy steps pay where a minibatch touches fewer
MODE_STEPS = 10_000  # of the search for the center of a control variate
TOLERANCE = 0.2  # relative excess of variance that gradient noise may cause
WARM_UP_SAMPLER = BAOAB(friction=0.2)
WARM_UP_REFRESH = 4  # iterations per draw of the noise, a pass over all ratings
ROUNDS = 10, 20, 40, 80  # iterations before each measurement of the units
LATE_ROUNDS = 160, 320  # where there are few ratings
CONTINUED = (20,)  # where chains start at earlier draws, or at those of a sample
SAMPLED = 1_000_000  # ratings, or a tenth, that the first rounds see if there are more
FEW = 3000  # ratings
MEASURED = 100_000  # ratings at which a measurement looks, over several draws
MAX_FIT = 10.0  # times the largest rating, centered, that no draw may exceed
MIN_BURN_IN, MAX_BURN_IN = 50, 5000
MIN_THIN, MAX_THIN = 5, 200
SETTLING = 250  # iterations in which weights of features and precisions of factors,
SETTLED = 200_000  # which follow the rows slowly, settle; and up to so many ratings


@explore.register(MatrixFactorization)
def _(model, request):
    settings, sampler = request.settings, request.sampler
    size = rating_batch_size(model, settings)
    model = model._replace(refresh_every=_refresh_every(model, size))
    draws = request.start
    if draws is None:
        rng = np.random.default_rng(request.seed("factors"))
        draws = [random_start(model, rng) for _ in range(settings.n_chains)]
        draws = np.stack(draws)
    draws = draws.astype(model.y.dtype)  # earlier draws may be kept in another type
    if settings.preconditioner == "none":
        region = row_geometry(model, draws)._replace(coordinates=Identity())
        limit = None
    else:
        draws, region = warm_up(model, draws, request)
        model = for_kernels(continued(model, draws))
        limit = stable_step(sampler) / region.typical ** curvature_exponent(sampler)
    gradient = _gradient(model, settings.gradient, size, draws[0])
    h = request.share * automatic_row_step(model, sampler, gradient, region)
    h = chosen(settings.step_size, h)
    burn_in, thin = automatic_row_lengths(sampler, h)
    if model.features.indptr.size > 1 or FEW < n_rows(model) <= SETTLED:
        burn_in = max(burn_in, SETTLING)
    start = np.stack([theta_of(model, draw) for draw in draws])
    return Exploration(
        model=model,
        sampler=sampler,
        gradient=gradient,
        coordinates=region.coordinates,
        start=start,
        mode=start[0],
        theta_sd=region.theta_sd,
        gradient_variance=np.full(start.shape[1], relative_noise(model, gradient)),
        step_size=h,
        burn_in=chosen(settings.burn_in, burn_in),
        thin=chosen(settings.thin, thin),
        step_limit=limit,
    )


@monitored.register(MatrixFactorization)
def _(model, draws):
    # Factors rotate from chain to chain, the means of ratings do not.
    n, d = n_rows(model), model.n_factors
    idx = np.unique(np.linspace(0, n - 1, min(n, MONITORED_RATINGS)).astype(int))
    rows = unpack_of(model, draws).rows
    return rating_means(rows, model.pairs[idx], model.values[idx], d)


def automatic_sampler(model, settings):
    """Return the sampler that suits the size of the minibatches."""
    size = rating_batch_size(model, settings)
    if size == n_rows(model):
        return WARM_UP_SAMPLER
    n = n_theta_rows(model)
    few = 2 * size < LAZY_SHARE * n and has_rows_alone(model)
    few = few and model.noise.unobserved == 0.0 and model.pairs.shape[1] == 2
    return LazyLangevin() if few else LeimkuhlerMatthews()


def rating_batch_size(model, settings):
    """Return the ratings per gradient estimate."""
    n, gradient, size = n_rows(model), settings.gradient, settings.batch_size
    is_name = isinstance(gradient, str)
    if size == "auto" and not is_name:
        size = batch_size_of(gradient) or "auto"
    check_batch_size(size, n)
    if size != "auto":
        return size
    if gradient in ("full", "auto") if is_name else is_exact(gradient):
        return n
    return min(n, max(1000, n // 10))


def _gradient(model, gradient, size, draw):
    """Return the gradient estimator; a control variate is centered near `draw`."""
    if isinstance(gradient, str):
        if gradient == "auto":
            gradient = "minibatch" if size < n_rows(model) else "full"
        gradient = with_batch_size(GRADIENTS[gradient](), size)
    if needs_mode(gradient):
        near = theta_of(model, draw)
        mode = find_mode(model, near, n_iter=MODE_STEPS, random_state=0)
        gradient = centered_at(gradient, mode)
    return gradient


def _refresh_every(model, batch_size):
    """Return how often to draw the noise: its pass over all ratings is kept cheap."""
    return max(4, math.ceil(1.5 * n_rows(model) / batch_size))


def warm_up(model, draws, request):
    """Move recorded draws, (n_chains, dim), towards the posterior.

    Returns the draws and the geometry there. Many ratings are swept. Models that cannot
    be swept move by full gradients, and see a sample of many ratings first, since a
    tenth of them puts the factors of items close to where all of them do, and those of
    users follow in few iterations. With few ratings the curvature is tens of times
    larger at some draws than at others, so it is measured at many of them.
    """
    model = for_kernels(model._replace(refresh_every=WARM_UP_REFRESH))
    n = n_rows(model)
    if request.start is None and is_swept(model):
        request.progress.expect(len(draws) * _least_iterations(request))
        draws = swept(model, draws, request.seed("sweeps"), request.settings.n_jobs)
        draws = with_principal_axes(model, draws)
        return draws, row_geometry(model, draws)
    stages = [(model, ROUNDS + LATE_ROUNDS if n <= FEW else ROUNDS)]
    if request.start is not None and n > FEW:
        stages = [(model, CONTINUED)]
    elif n > 2 * SAMPLED and model.noise.unobserved == 0.0:
        sample_of_rows = np.random.default_rng(0).random(n) < max(0.1, SAMPLED / n)
        stages = [(_part(model, sample_of_rows), ROUNDS), (model, CONTINUED)]
    length = sum(sum(rounds) for _, rounds in stages) + _least_iterations(request)
    request.progress.expect(len(draws) * length)
    region = None
    for part, rounds in stages:
        name = "warm-up" if n_rows(part) == n else "sample"
        draws, region = _warmed_up(part, draws, rounds, region, request, name)
    return draws, region


def _part(model, chosen):
    """Return the model of some ratings."""
    arrays = {name: getattr(model, name) for name in ("pairs", "values", "y")}
    if model.weights.size:
        arrays["weights"] = model.weights
    return for_kernels(
        model._replace(**{name: array[chosen] for name, array in arrays.items()})
    )


def _warmed_up(model, draws, rounds, region, request, name):
    """Run `rounds` of iterations, and measure the geometry after each.

    `region` is the geometry of an earlier stage, None if there was none.
    """
    sampler, gradient, n = WARM_UP_SAMPLER, Full(), n_rows(model)
    region = row_geometry(model, draws, region)
    for length in rounds:
        places = min(max(MEASURED // n, 1), length // ROUNDS[0])
        h = 0.5 * request.share * automatic_row_step(model, sampler, gradient, region)
        options = request.run_options(f"{name}-{length}")
        moved = sample(
            continued(model, draws),
            sampler,
            gradient,
            step_size=h,
            n_draws=places,
            thin=length // places,
            n_chains=len(draws),
            start=np.stack([theta_of(model, draw) for draw in draws]),
            coordinates=region.coordinates,
            scale=region.theta_sd,
            **{**options, "checkpoint": None},  # as quick to repeat as to resume
        )
        check_draws(model, moved, h)
        draws = with_principal_axes(model, moved[:, -1])
        region = row_geometry(model, moved.reshape(-1, moved.shape[-1]), region)
    return draws, region


@check_draws.register(MatrixFactorization)
def _(model, draws, step_size):
    # One row of thousands may diverge, unseen in the mean over all of them, and so may
    # the logarithm of one lambda, which never comes back from a lambda of zero.
    h, y, d, size = step_size, model.y, model.n_factors, 2**16
    limit = MAX_FIT * (float(np.abs(y).max()) or 1.0)
    for chain, draw in ((c, draw) for c, own in enumerate(draws) for draw in own):
        parts = unpack_of(model, draw)
        x = parts.rows
        if not np.all(parts.hyper[:, 1] > 0.0):
            raise DivergenceError(
                f"chain {chain} diverged with step_size={h:.3g}: the precision of a "
                f"factor is zero. Try step_size={h / 4:.2g}, or "
                'step_size="auto"'
            )
        for first in range(0, y.size, size):
            here = slice(first, first + size)
            fit = rating_means(x, model.pairs[here], model.values[here], d)
            worst = np.abs(fit).max()
            if not worst <= limit:
                raise DivergenceError(
                    f"chain {chain} diverged with step_size={h:.3g}: the mean of a "
                    f"rating is {worst:.3g} from that of all. Try step_size="
                    f'{h / 4:.2g}, or step_size="auto"'
                )


def continued(model, draws):
    """Return the model with m, lambda and the noise starting at means in `draws`."""
    parts = unpack_of(model, draws)
    start, noise = (np.mean(x, axis=0, dtype=float) for x in (parts[1], parts[2]))
    d = model.n_factors  # their order is another one in every chain
    start[:, :, :d] = start[:, :, :d].mean(axis=2, keepdims=True)
    return model._replace(
        prior=model.prior._replace(start=start.astype(model.y.dtype)),
        noise=model.noise._replace(
            precision=float(noise[0]), own=noise[1:].astype(model.y.dtype)
        ),
    )


def automatic_row_step(model, sampler, gradient, region):
    """Return the step size whose gradient noise heats by `TOLERANCE` at the most."""
    power = curvature_exponent(sampler)
    accurate = accurate_step(sampler, relative_noise(model, gradient), TOLERANCE)
    return min(
        accurate / region.typical**power, stable_step(sampler) / region.largest**power
    )


def relative_noise(model, gradient):
    """Return the variance of gradient estimates, relative to the curvature.

    The score of a rating has the variance of its curvature, so a minibatch of n of N
    ratings has N/n - 1 times the variance of the likelihood's own curvature.
    """
    n = n_rows(model)
    return n / (batch_size_of(gradient) or n) - 1.0


def automatic_row_lengths(sampler, h):
    """Return burn-in and thinning, from the time in which a typical row moves.

    With little friction a position turns several times before its momentum decays.
    """
    tau, friction = relaxation(sampler, h), friction_of(sampler)
    burn_in = min(max(math.ceil(3 * tau), MIN_BURN_IN), MAX_BURN_IN)
    thin = math.ceil(tau * min(friction, 1.0))
    return burn_in, min(max(thin, MIN_THIN), MAX_THIN)


def _least_iterations(request):
    """Return the fewest iterations of a chain, for a bar that is to end only once."""
    settings = request.settings
    thin = chosen(settings.thin, MIN_THIN)
    return chosen(settings.burn_in, MIN_BURN_IN) + settings.n_draws * thin
