"""Scores of draws, which are the gradients of the log posterior at the draws."""

from contextlib import nullcontext

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.generic import for_kernels, implements
from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.gradient import prepare
from skbayes_sg.kernels.protocol.model import (
    n_parameters,
    parameter_dtype,
    theta_of,
    work_at,
)
from skbayes_sg.kernels.protocol.target import hidden
from skbayes_sg.kernels.scores import score_draws

DRAWS_PER_TASK = 100  # each task has its own random stream, independent of n_jobs


def posterior_scores(model, draws, gradient=None, *, temperature=1.0, n_jobs=None):
    """Return the gradient of the log posterior at recorded draws, (n, d) float64.

    `gradient` is a gradient estimator, the full gradient by default. Two calls with the
    same arguments use the same minibatches. If draws include hyperparameters, the score
    of a draw is conditional on them and always uses the full gradient.
    """
    model = for_kernels(model)
    if implements(work_at, model):
        return _conditional_scores(model, draws) / temperature
    gradient = for_kernels(prepare(gradient or Full(), model))
    thetas = np.stack([theta_of(model, draw) for draw in draws])
    starts = range(0, len(thetas), DRAWS_PER_TASK)
    threaded = effective_n_jobs(n_jobs) > 1
    with one_blas_thread() if threaded else nullcontext():
        parts = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_score_part)(
                model,
                gradient,
                temperature,
                thetas[start : start + DRAWS_PER_TASK],
                start,
            )
            for start in starts
        )
    return np.concatenate(parts).astype(np.float64)


def _conditional_scores(model, draws):
    scores = np.empty((len(draws), n_parameters(model)))
    for draw, out in zip(draws, scores, strict=True):
        g = np.empty(out.size, parameter_dtype(model))
        log_posterior(model, work_at(model, draw), theta_of(model, draw), g)
        out[:] = g
    return scores


def _score_part(model, gradient, temperature, thetas, seed):
    rng = np.random.default_rng(seed)
    target = make_target(model, gradient, Identity(), rng, 1.0 / temperature)
    thetas = thetas.copy()  # a process pool may have mapped it read-only from a file
    out = np.empty_like(thetas)
    score_draws(hidden(target, rng, out), thetas, rng, out)
    return out
