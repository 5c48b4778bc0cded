"""Exploration of regressions whose prior is random: horseshoe, learned scales.

The first survey holds the prior where it begins. Then short runs of the chains
themselves, in coordinates that follow the prior, find where the posterior is, and the
information of the likelihood is averaged over their draws: under the prior that the
data come to prefer, noise and curvature may be others than under the first.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, eigvalsh

from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.curvature import largest_curvature
from skbayes_sg.inference.exploration.one_mode import explore
from skbayes_sg.inference.exploration.pilot import rare_value
from skbayes_sg.inference.exploration.request import chosen, for_diagnostics
from skbayes_sg.inference.exploration.unimodal import (
    automatic_lengths,
    automatic_step,
    gradient_noise,
    step_limit,
)
from skbayes_sg.kernels.following import NO_PULL, NONE, following
from skbayes_sg.kernels.models.glm import n_coefficients
from skbayes_sg.kernels.models.glm_drawn_noise import DrawnNoiseGLM, places_of_noise
from skbayes_sg.kernels.models.glm_priors import IntegratedGLM, ShrunkGLM
from skbayes_sg.kernels.passes import (
    hessian,
    hessian_diagonal,
    log_posterior,
    prior_hessian_diagonal,
)
from skbayes_sg.kernels.protocol.coordinates import follow, of_one_chain
from skbayes_sg.kernels.protocol.model import (
    init_work,
    n_parameters,
    n_rows,
    theta_of,
    thinned,
)
from skbayes_sg.kernels.protocol.sampler import preconditioner_of

MAX_DENSE = 256  # parameters up to which a matrix is factorized every few iterations
MAX_MATRIX = 1024  # up to which its eigenvalues are computed
SMALLEST = 1e-2  # of the curvatures for which chains are long enough
ROUNDS = 3  # of short runs
PILOT_CHAINS = 2
PILOT_DRAWS = 64
PILOT_THIN = 16
ROWS = 256  # for each parameter, from which the information is measured
N_HESSIANS = 16
PATIENCE = 2  # automatic thinnings per draw of the prior
PER_DRAW = 3  # draws of the prior for each draw that is kept


class Shrunk(NamedTuple):
    """What a survey has found, as `automatic_step` wants to know it."""

    draws: np.ndarray  # (n, d) of theta
    coordinates: NamedTuple
    smallest: float  # curvatures of -log p in these coordinates
    largest: float
    curvatures: np.ndarray  # (d,)
    steepness: float  # largest curvature at a draw, over the mean
    noise: np.ndarray  # (d,) relative variance of gradient estimates


@for_diagnostics.register(ShrunkGLM)
def _(model):
    return IntegratedGLM(model)


@explore.register(ShrunkGLM)
def _(model, request):
    settings, sampler = request.settings, request.sampler
    _check_preconditioner(request)
    first = explore.dispatch(object)(model, request)
    if "shrunk" not in request.memory:
        request.memory["shrunk"] = _survey(model, request, first)
    found = request.memory["shrunk"]
    h = float(chosen(settings.step_size, _step(found, request)))
    burn_in, thin = automatic_lengths(sampler, found, h, found.noise)
    every = max(model.prior.every, PATIENCE * thin)
    model = model._replace(prior=model.prior._replace(every=every))
    thin = PER_DRAW * every  # recorded just before the prior is drawn
    burn_in = every * -(-max(burn_in, 20 * thin) // every)
    if request.total is not None:  # a batch of a stream is for one step
        burn_in, thin = 0, 1
    start = first.start
    if request.start is None:
        spread = np.linspace(0, len(found.draws) - 1, settings.n_chains)
        start = found.draws[spread.astype(int)]
    return first._replace(
        model=model,
        coordinates=found.coordinates,
        start=start,
        theta_sd=np.maximum(found.draws.std(axis=0), np.finfo(float).tiny),
        gradient_variance=found.noise * found.curvatures,
        step_size=h,
        burn_in=chosen(settings.burn_in, burn_in) if request.total is None else 0,
        thin=chosen(settings.thin, thin),
        step_limit=step_limit(sampler, found, noise=found.noise),
        center=None,
    )


def _step(found, request):
    settings = request.settings
    return request.share * automatic_step(
        request.sampler,
        found,
        found.noise,
        found.steepness,
        settings.n_chains * settings.n_draws if request.total is None else np.inf,
        None if settings.thin == "auto" else settings.thin,
    )


def _survey(model, request, first):
    """Return what depends neither on the step size nor on the lengths of chains."""
    draws, found = np.array(first.start), None
    if isinstance(model, DrawnNoiseGLM):  # the mode may be one of no noise at all
        end = n_coefficients(model)
        noise = draws[:, end : end + model.n_outputs]
        noise[:] = np.minimum(noise, 0.0)
    for number in range(ROUNDS + 1):
        found = _measure(model, request, first, draws)
        if number == ROUNDS:
            return found
        recorded = sample(
            model,
            request.sampler,
            first.gradient,
            step_size=_step(found, request),
            n_draws=PILOT_DRAWS,
            burn_in=PILOT_DRAWS * PILOT_THIN // 2,
            thin=PILOT_THIN,
            n_chains=PILOT_CHAINS,
            start=draws[[0, -1]],
            coordinates=found.coordinates,
            scale=np.ones(draws.shape[1]),
            n_jobs=request.settings.n_jobs,
            random_state=request.seed(f"shrunk {number}"),
        )
        flat = recorded.reshape(-1, recorded.shape[-1])
        draws = np.stack([theta_of(model, draw) for draw in flat])


def _measure(model, request, first, draws):
    """Return what typical draws of theta tell."""
    d, n = draws.shape[1], n_rows(model)
    work = init_work(model)
    rows = thinned(model, n // (ROWS * d)) if n >= 2 * ROWS * d else model
    dense = _preconditioner(request, d) == "dense"
    some = draws[np.linspace(0, len(draws) - 1, N_HESSIANS).astype(int)]
    each = _hessians(model, rows, some, dense)
    given, noise, pull = np.zeros(d), NONE, NO_PULL
    prior_hessian_diagonal(model, work, draws[0], given)
    given -= work.precision
    if isinstance(model, DrawnNoiseGLM):
        noise = places_of_noise(model)
    else:
        each += np.diag(given) if dense else given
        given = np.zeros(d)
    moved = _moved(model)
    information = _without(_positive(each.mean(axis=0)), ~moved)
    center = np.array(first.mode, np.float64)
    center[: n_coefficients(model)].reshape(model.n_outputs, -1)[
        :, : model.prior.unit.size
    ] = 0.0  # where most of them will be, in units that may become tiny
    center[~moved] = draws[:, ~moved].max(axis=0)  # the first step is small
    if isinstance(model, DrawnNoiseGLM):
        pull = _pull(model, information, some)
    parts = information, given, work.precision, noise, pull
    coordinates = following(center, *parts)
    if dense:
        here = np.ix_(moved, moved)
        ridge = information[here] + 0.1 * np.diag(np.diag(information)[moved])
        change = each - information
        steep = [
            eigh(one[here] + ridge, ridge, eigvals_only=True)[-1] for one in change
        ]
        smallest = largest = 1.0
    else:
        steep = [np.max((one / information)[moved]) for one in each]
        smallest, largest = _extremes(rows, draws[-1], coordinates, work.precision)
    found = Shrunk(
        draws=draws,
        coordinates=coordinates,
        smallest=smallest,
        largest=largest,
        curvatures=np.ones(d),
        steepness=max(1.0, rare_value(steep)),
        noise=np.zeros(d),
    )
    if not first.gradient_variance.any():
        return found
    seed = request.seed("noise of gradients")
    noise = gradient_noise(model, first.gradient, found, some, seed)
    return found._replace(noise=noise)


def _pull(model, information, draws):
    """Return the slope at zero of the quadratic log likelihood that is like this one.

    Relative to the precision of the noise, on average over draws, (d,).
    """
    work, end = init_work(model)._replace(precision=np.empty(0)), n_coefficients(model)
    places, total = places_of_noise(model)[:end], np.zeros(draws.shape[1])
    for theta in draws:
        g = np.empty_like(theta)
        log_posterior(model, work, theta, g)
        g[:end] += model.prior_precision * theta[:end]
        total[:end] += g[:end] / np.exp(theta[places])
        total += information @ theta if information.ndim == 2 else information * theta
    return total / len(draws)


def _hessians(model, rows, draws, dense):
    """Return the likelihood's Hessians at draws: (n, d, d), or diagonals.

    Where the noise is drawn between steps they are of coefficients alone, and relative
    to the precision of the noise.
    """
    d = draws.shape[1]
    size, measure = ((d, d), hessian) if dense else ((d,), hessian_diagonal)
    each = np.zeros((len(draws), *size))
    for theta, out in zip(draws, each, strict=True):
        measure(rows, init_work(rows), theta, out)
        if isinstance(model, DrawnNoiseGLM):
            tau = np.exp(theta[places_of_noise(model)].astype(np.float64))
            out /= tau[:, None] if dense else tau
        _without(out, ~_moved(model))
    return each


def _without(information, held):
    """Return information, (d, d) or (d,), with zeros for some parameters."""
    information[held] = 0.0
    information.T[held] = 0.0
    return information


def _moved(model):
    """Return which parameters are moved by steps, (d,)."""
    moved = np.ones(n_parameters(model), bool)
    if isinstance(model, DrawnNoiseGLM):
        moved[n_coefficients(model) :] = False
    return moved


def _extremes(rows, theta, coordinates, precision):
    """Return the extreme curvatures in units of the diagonal."""
    work, moved = init_work(rows), _moved(rows)
    own = of_one_chain(coordinates)
    follow(own, precision, theta.astype(np.float64), np.empty(theta.size))
    unit = np.where(moved, 1.0 / own.root, 0.0)
    if theta.size > MAX_MATRIX:
        return SMALLEST, max(1.0, largest_curvature(rows, theta, unit))
    matrix = np.zeros((theta.size, theta.size))
    hessian(rows, work, theta, matrix)
    of_data = np.diag(matrix)[moved]
    bare = 1.0 / np.sqrt(np.maximum(own.root[moved] ** 2 - precision[moved], 1e-300))
    matrix = matrix[np.ix_(moved, moved)]
    largest = max(1.0, eigvalsh(matrix * np.outer(bare, bare))[-1])
    matrix += np.diag(own.root[moved] ** 2 - of_data)
    unit = unit[moved]
    return max(eigvalsh(matrix * np.outer(unit, unit))[0], SMALLEST), largest


def _positive(information):
    """Return information without the negative values that draws off the mode have."""
    if information.ndim == 1:
        return np.maximum(information, 1e-8)
    values, vectors = np.linalg.eigh(information)
    least = 1e-10 * np.abs(values).max()
    return (vectors * np.maximum(np.abs(values), least)) @ vectors.T


def _preconditioner(request, d):
    asked = request.settings.preconditioner
    return ("dense" if d <= MAX_DENSE else "diagonal") if asked == "auto" else asked


def _check_preconditioner(request):
    suited = chosen(request.settings.preconditioner, preconditioner_of(request.sampler))
    if suited == "none":
        raise ValueError(
            f"{type(request.sampler).__name__} without a preconditioner cannot follow "
            'a prior that is learned, such as prior="horseshoe" or '
            'prior_variance="learn"; use preconditioner="auto" and sampler="sgld-lm", '
            '"baoab" or "badodab"'
        )
