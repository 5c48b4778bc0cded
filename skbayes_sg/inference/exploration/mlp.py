"""Networks: where their chains start, in which units they move, and how far.

A network's posterior has many modes and is far from Gaussian. Each chain starts from
weights of its own, trained by Adam, and the units in which it moves are measured where
the chains are: again and again during burn-in, for trained weights fit their rows more
closely than draws do. Chains are long enough when they agree on predictions; until then
they are continued, with fewer draws per iteration, as far as a bound of work allows.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.exploration.mlp_agreement import (
    MAX_RHAT,
    check_predictions,
    differing_predictions,
    predictive_r_hat,
)
from skbayes_sg.inference.exploration.mlp_temperature import (
    choose_temperature,
    with_temperature,
)
from skbayes_sg.inference.exploration.mlp_training import train, training_length
from skbayes_sg.inference.exploration.mlp_units import network_units
from skbayes_sg.inference.exploration.one_mode import explore
from skbayes_sg.inference.exploration.request import (
    Exploration,
    check_batch_size,
    check_fit,
    chosen,
    for_diagnostics,
    longer_thin,
)
from skbayes_sg.inference.monitoring import Mixing, look_at, monitored
from skbayes_sg.kernels.coordinates import Diagonal, Identity
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import GRADIENTS, Full, Minibatch
from skbayes_sg.kernels.models.mlp import MLP
from skbayes_sg.kernels.protocol.gradient import (
    batch_size_of,
    centered_at,
    needs_mode,
    prepare,
    with_batch_size,
)
from skbayes_sg.kernels.protocol.model import n_parameters, n_rows, theta_of
from skbayes_sg.kernels.protocol.sampler import accurate_step, stable_step

BATCH_SIZE = 500
ROUNDS = (0.05, 0.1, 0.25)  # shares of burn-in after which units are measured again
TOLERANCE = 0.1  # relative error of a variance that a step may cause, noise apart
MIN_THIN = 100
THINNED_EPOCHS = 2  # per draw, where that is longer: gradient noise slows the chain
BURN_IN_DRAWS = 50
LONGER = 4  # factor by which chains that disagree are thinned more, again and again
MAX_WORK = 3e11  # rows times weights times iterations that a lengthened fit may take


class NetworkGeometry(NamedTuple):
    """Units in which the weights move."""

    coordinates: NamedTuple
    theta_sd: np.ndarray  # (d,) prior sds: weights a hundred times as large ran away
    gradient_variance: np.ndarray  # (d,) in these units


@explore.register(MLP)
def _(model, request):
    settings, sampler = request.settings, request.sampler
    size = _batch_size(model, request)
    if model.temperature == 0.0:
        if "temperature" not in request.memory:
            request.memory["temperature"] = _temperature(model, request, size)
        model = with_temperature(model, request.memory["temperature"])
    if request.start is None:
        if "networks" not in request.memory:
            request.memory["networks"] = _train(model, request, size)
        thetas = request.memory["networks"]
    else:
        thetas = np.stack([theta_of(model, draw) for draw in request.start])
    gradient, mode = _gradient(model, request, size, thetas[0]), thetas[0]
    if not needs_mode(gradient) and needs_mode(_named(settings.gradient)):
        thetas = np.tile(mode, (settings.n_chains, 1))
    h = request.share * accurate_step(sampler, 0.0, TOLERANCE)
    h = chosen(settings.step_size, h)
    burn_in, thin = _lengths(model, settings, size)
    rng, spent, trained = np.random.default_rng(request.seed("units")), 0, thetas
    if request.start is None:
        for length in filter(None, (int(share * burn_in) for share in ROUNDS)):
            region = _region(model, request, size, thetas, h, rng)
            name = f"burn-in-{spent}-share-{request.share:g}"
            thetas = _leave_modes(
                *(model, sampler, gradient, region, h, thetas, length),
                request.run_options(name),
            )
            spent += length
        if spent:
            check_predictions(model, trained, thetas[:, None], h)
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


def has_hidden_units(model):
    """Whether weights of equivalent networks differ from chain to chain."""
    return len(model.sizes) > 2


@monitored.register(MLP)
def _(model, draws):
    if not has_hidden_units(model):
        return monitored.dispatch(object)(model, draws)
    return differing_predictions(model, draws)


@look_at.register(MLP)
def _(model, draws):
    if not has_hidden_units(model):
        return look_at.dispatch(object)(model, draws)
    value = predictive_r_hat(model, draws)
    return Mixing(value if value > MAX_RHAT else None, None, "predictions")


@check_fit.register(MLP)
def _(model, found, draws):
    check_predictions(model, found.start, draws, found.step_size)


@longer_thin.register(MLP)
def _(model, found, settings, draws):
    if settings.thin != "auto" or settings.burn_in != "auto":
        return None
    size = batch_size_of(found.gradient) or n_rows(model)
    thin = LONGER * found.thin
    work = size * n_parameters(model) * settings.n_chains * settings.n_draws * thin
    if work > MAX_WORK:
        return None
    return thin if predictive_r_hat(model, draws) > MAX_RHAT else None


def _batch_size(model, request):
    """Return the rows per gradient estimate; a batch of a stream is taken whole."""
    n, size = n_rows(model), request.settings.batch_size
    if request.total is not None:
        return n
    check_batch_size(size, n)
    return chosen(size, min(BATCH_SIZE, n))


def _train(model, request, size):
    """Return trained weights, (n_chains, d)."""
    rng = np.random.default_rng(request.seed("weights"))
    request.progress.expect(_n_iterations(model, request.settings, size))
    n_chains, options = request.settings.n_chains, request.run_options("training")
    return train(model, n_chains, size, rng, **options)


def _temperature(model, request, size):
    """Return the temperature that predicts best, at half the cost of the fit."""
    budget = _n_iterations(model, request.settings, size) // 2

    def chains(some, thetas, steps, n_draws, options):
        gradient = Minibatch(min(size, n_rows(some)))
        h = request.share * accurate_step(request.sampler, 0.0, TOLERANCE)
        rng = np.random.default_rng(request.seed("units"))
        region = _region(some, request, gradient.batch_size, thetas, h, rng)
        return sample(
            some,
            request.sampler,
            gradient,
            step_size=h,
            burn_in=steps // 2,
            n_draws=n_draws,
            thin=max(1, steps // 2 // n_draws),
            n_chains=len(thetas),
            start=thetas,
            coordinates=region.coordinates,
            scale=region.theta_sd,
            **options,
        )

    return choose_temperature(model, request, size, budget, chains)


def _n_iterations(model, settings, size):
    """Return the iterations of all chains, training included."""
    burn_in, thin = _lengths(model, settings, size)
    n_iter = training_length(model, size) + burn_in + settings.n_draws * thin
    return settings.n_chains * n_iter


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


def automatic_network_lengths(model, batch_size):
    """Return burn-in and thinning."""
    thin = max(MIN_THIN, THINNED_EPOCHS * n_rows(model) // batch_size)
    return BURN_IN_DRAWS * thin, thin
