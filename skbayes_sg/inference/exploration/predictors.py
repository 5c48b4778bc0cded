"""Exploration of separable classes by trajectories along the prior.

Where many features separate the classes, a posterior is its prior, cut off by a steep
wall for each row. No matrix makes the walls and the space between them alike: whitened
by mean Hessians, steps are short between the walls and still too long at them. The
prior is the scale of that space. Trajectories of `SplitHMC` follow it, in the space of
the predictors, where only the few rows close to their walls cost time.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.exploration.metropolis import FIRST_RETRY, may_replace
from skbayes_sg.inference.exploration.request import Exploration, chosen
from skbayes_sg.inference.exploration.unimodal import automatic_lengths
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.models.glm import n_targets
from skbayes_sg.kernels.models.predictor_glm import PredictorGLM
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.protocol.model import n_parameters, n_rows, theta_of
from skbayes_sg.kernels.samplers import SplitHMC

ROUNDS, EACH, CHAINS = 24, 4, 2  # of trajectories that find a step
FIRST_STEP, LARGEST_STEP = 0.1, 1.0  # angles
ACCEPTANCE = 0.8
BURN_IN = 20
MIN_PARAMETERS = 256  # from which on fewer gradients are worth another pilot
MAX_NUMBERS = 2**24  # of rows times features
MANY_GRADIENTS = 30  # per draw, from which on other samplers are slow
PRIORS_OWN = 0.5  # share of its prior variance that some direction must keep
BIAS = 4.0  # times as many gradients are worth exact draws: few Hessians promise much


class Predicted(NamedTuple):
    """What a survey has found."""

    model: PredictorGLM
    mode: np.ndarray  # (K r,) of the reduced regression
    draws: np.ndarray  # (CHAINS, K n) typical predictors
    step: float  # angle of trajectories that are mostly accepted


def is_slow(model, request, found):
    """Whether `found` needs many gradients, and trajectories along the prior may not.

    They do not where the data tell much of every direction.
    """
    d, sd = n_parameters(model), 1.0 / np.sqrt(model.prior_precision)
    small = MIN_PARAMETERS < d and n_rows(model) * d <= MAX_NUMBERS * model.n_outputs
    if not (small and may_replace(model, request)):
        return False
    region, typical = request.memory["survey"][:2]
    if not typical.is_exact or _cost(found, request) < MANY_GRADIENTS:
        return False
    widths = np.linalg.svd(region.factor / sd[:, None], compute_uv=False)
    least = math.pi / (4.0 * widths[-1])  # gradients at the limit of stability
    return widths[0] ** 2 > PRIORS_OWN and least < affordable(found, request)


def affordable(other, request):
    """Return the mean gradients of trajectories that are to replace `other`."""
    return BIAS * _cost(other, request)


def _cost(found, request):
    """Return how many gradients it takes to forget a draw, whatever `thin` is."""
    region, _, _, noise = request.memory["survey"]
    thin = automatic_lengths(found.sampler, region, found.step_size, noise)[1]
    return thin * _gradients(found.sampler)


def _gradients(sampler):
    """Return the mean number of gradients of an iteration."""
    return 0.5 * (getattr(sampler, "n_leapfrog", 1) + 1)


def explore_predictors(inner, request, most=math.inf):
    """Return the `Exploration` of a reduced regression, see `wide`.

    None if trajectories take more than `most` gradients on average. `request.start` and
    recorded draws hold parameters of that regression.
    """
    if "predictors" not in request.memory:
        request.memory["predictors"] = _survey(inner, request, most)
    found = request.memory["predictors"]
    if _gradients(_sampler(found.step)) > most:
        return None
    model, settings = found.model, request.settings
    step, start = found.step, request.start
    step *= math.sqrt(min(1.0, FIRST_RETRY * request.share))
    if start is None:
        start = found.draws[np.arange(settings.n_chains) % CHAINS]
    else:
        start = np.stack([theta_of(model, one) for one in start])
    return Exploration(
        model=model,
        sampler=_sampler(step),
        gradient=Full(),
        coordinates=Identity(),
        start=start,
        mode=found.mode,
        theta_sd=_prior_sd(model),
        gradient_variance=np.zeros(start.shape[1]),
        step_size=step**2,
        burn_in=chosen(settings.burn_in, BURN_IN),
        thin=chosen(settings.thin, 1),
        step_limit=None,
    )


def _survey(inner, request, most):
    """Return a step whose trajectories are mostly accepted, and where they lead.

    The search ends where they take many more than `most` gradients.
    """
    with one_blas_thread():
        model, mode = for_kernels(in_predictors(inner)), find_mode(inner)
    draws, step = np.tile(theta_of(model, mode), (CHAINS, 1)), FIRST_STEP
    seeds = request.seed("trajectories").spawn(ROUNDS)
    for number, seed in enumerate(seeds):
        recorded, info = sample(
            model,
            _sampler(step),
            Full(),
            step_size=step**2,
            n_draws=EACH,
            n_chains=CHAINS,
            start=draws,
            scale=_prior_sd(model),
            n_jobs=request.settings.n_jobs,
            random_state=seed,
            return_info=True,
        )
        draws = np.stack([theta_of(model, chain[-1]) for chain in recorded])
        rate = np.mean([stats["acceptance"] for stats in info.stats])
        change = 4.0 * (rate - ACCEPTANCE) / (number + 3) ** 0.75  # Robbins-Monro
        step = min(LARGEST_STEP, step * math.exp(change))
        if _gradients(_sampler(step)) > 4.0 * most:
            break
    return Predicted(model, mode, draws, step)


def _sampler(step):
    """Return trajectories of up to half a turn."""
    return SplitHMC(max(1, round(math.pi / step)))


def in_predictors(inner):
    """Return a reduced regression, whose prior is N(0, I), in its predictors."""
    A, n = inner.rows.astype(np.float64), n_rows(inner)
    scale = np.sqrt(np.square(A).sum(axis=0))
    unit = A / scale  # its columns are orthogonal but for the weights of rows
    inverse = np.linalg.solve(unit.T @ unit, unit.T) / scale[:, None]
    return PredictorGLM(
        likelihood=inner.likelihood,
        y=inner.y.astype(np.float64).reshape(n_targets(inner), n),
        weights=inner.weights.astype(np.float64) if inner.weights.size else np.ones(n),
        offsets=inner.offsets.astype(np.float64) if inner.offsets.size else np.zeros(n),
        factor=A,
        covariance=A @ A.T if n < 2 * A.shape[1] else np.empty((0, 0)),
        inverse=inverse,
        n_outputs=inner.n_outputs,
    )


def _prior_sd(model):
    return np.tile(np.linalg.norm(model.factor, axis=1), model.n_outputs)
