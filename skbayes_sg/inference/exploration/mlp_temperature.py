"""The temperature of a network's likelihood, by cross-validation of short chains.

Rows are split into folds. For each fold one network is trained on the other rows, and
its chain is cooled from the highest temperature to the lowest. The temperature at which
the held-out rows of all folds are predicted best is chosen. Where differences are not
larger than their standard error, the one closest to `USUAL` is.
"""

import math

import joblib
import numpy as np
from scipy.special import log_softmax

from skbayes_sg.inference.control import Control
from skbayes_sg.inference.exploration.mlp_agreement import outputs_of
from skbayes_sg.inference.exploration.mlp_training import train, training_length
from skbayes_sg.inference.exploration.mlp_units import with_rows
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.protocol.model import n_rows, parameter_dtype

LADDER = (1.0, 0.3, 0.1, 0.03, 0.01)
USUAL = 0.1
FOLDS = 5
FOLD_ROWS = 7500  # divided by the rows: folds, where these are fewer
MIN_STEPS = 300  # at each temperature; fewer say nothing
MIN_ROWS = 20
MAX_ROWS = 25_000  # that are looked at; more are not copied from files
N_DRAWS = 25


def with_temperature(model, temperature):
    """Return an untempered model at a temperature."""
    dtype = parameter_dtype(model)
    weights = model.weights if model.weights.size else np.ones(n_rows(model), dtype)
    weights = (weights / temperature).astype(dtype)
    return for_kernels(model._replace(weights=weights, temperature=temperature))


def choose_temperature(model, request, batch_size, budget, chains):
    """Return the temperature for a model of classes.

    Parameters
    ----------
    model : MLP
        The network, not tempered.
    request : Request
        The request to the exploration.
    batch_size, budget : int
        Rows per gradient estimate, and iterations to be made at most. Too few for a
        comparison lead to `USUAL`.
    chains : callable
        ``chains(model, thetas, steps, n_draws, options)`` returns draws.
    """
    rng = np.random.default_rng(request.seed("folds"))
    if n_rows(model) > MAX_ROWS:
        some = rng.choice(n_rows(model), MAX_ROWS, replace=False)
        model = with_rows(model, np.sort(some))
    n = n_rows(model)
    n_folds = min(FOLDS, max(1, FOLD_ROWS // n))
    training = training_length(model, batch_size)
    steps = (budget // n_folds - training) // (len(LADDER) + 1)
    if n < MIN_ROWS or steps < MIN_STEPS:
        return USUAL
    fold_of = _folds(model.y, max(n_folds, FOLDS), rng)
    control = Control()
    tasks = [
        joblib.delayed(_held_out_losses)(
            *(model, request, batch_size, steps, chains, fold_of == k, k, control)
        )
        for k in range(n_folds)
    ]
    jobs = min(n_folds, joblib.effective_n_jobs(request.settings.n_jobs))
    with control.all_or_none():
        results = joblib.Parallel(n_jobs=jobs, prefer="threads")(tasks)
    losses = np.concatenate([losses for losses, _ in results], axis=1)
    weights = np.concatenate([weights for _, weights in results])
    return best_temperature(losses, weights)


def best_temperature(losses, weights):
    """Return the temperature of `LADDER` for (n_temperatures, n_rows) losses."""
    weights = weights / weights.sum()
    means = losses @ weights
    best = int(np.argmin(means))
    difference = losses - losses[best]
    errors = np.sqrt((difference - (means - means[best])[:, None]) ** 2 @ weights**2)
    close = np.flatnonzero(means - means[best] <= errors)
    distance = [abs(math.log(LADDER[k] / USUAL)) for k in close]
    return LADDER[close[int(np.argmin(distance))]]


def _held_out_losses(model, request, batch_size, steps, chains, held_out, k, control):
    """Return losses (n_temperatures, n) of held-out rows, and their weights."""
    with control.task(k):
        return _losses(model, request, batch_size, steps, chains, held_out, k)


def _losses(model, request, batch_size, steps, chains, held_out, k):
    inside = with_rows(model, np.flatnonzero(~held_out))
    outside = with_rows(model, np.flatnonzero(held_out))
    options = {**request.run_options(f"fold-{k}"), "n_jobs": 1}
    rng = np.random.default_rng(options["random_state"])
    size = min(batch_size, n_rows(inside))
    theta = train(with_temperature(inside, LADDER[0]), 1, size, rng, **options)
    losses, first = [], True
    for temperature in LADDER:
        name = f"fold-{k}-temperature-{temperature:g}"
        options = {**request.run_options(name), "n_jobs": 1}
        cooled = with_temperature(inside, temperature)
        length = 2 * steps if first else steps
        draws = chains(cooled, theta, length, N_DRAWS, options)[0]
        theta, first = draws[-1:, : theta.shape[1]], False
        p = np.exp(log_softmax(outputs_of(outside, draws), axis=-1)).mean(axis=0)
        own = p[np.arange(len(p)), outside.y.astype(int)]
        losses.append(-np.log(np.maximum(own, 1e-12)))
    weights = outside.weights if outside.weights.size else np.ones(len(own))
    return np.array(losses), weights.astype(float)


def _folds(y, n_folds, rng):
    """Return the fold of each row, with equal shares of each class."""
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), int)
    fold[order] = np.arange(len(y)) % n_folds
    return fold
