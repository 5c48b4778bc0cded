"""Posterior modes: where control variates are centred and chains start."""

import numpy as np
from scipy.optimize import minimize

from skbayes_sg.inference.chains import curvature_diagonal, make_target
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.engine import run_chain
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.ops import (
    init_state,
    init_work,
    is_log_concave,
    n_parameters,
    n_rows,
    parameter_dtype,
    typed,
)
from skbayes_sg.kernels.optimizers import Adam
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.schedules import Polynomial


def find_mode(model, start=None, *, n_iter=None, random_state=None):
    """Return a mode of the posterior, (n_parameters,), in the model's dtype.

    L-BFGS where the log posterior is concave, in coordinates that make its curvature
    at the start one; Adam on minibatches for all other models.
    """
    model = typed(model)
    if start is None:
        start = np.zeros(n_parameters(model))
    if is_log_concave(model):
        return lbfgs(model, start, n_iter=n_iter or 500)
    return adam(model, start, n_iter=n_iter or 10_000, random_state=random_state)


def lbfgs(model, start, n_iter):
    """Minimise -log p from `start` by L-BFGS in units of the curvature there."""
    dtype, work = parameter_dtype(model), init_work(model)
    scale = 1.0 / np.sqrt(curvature_diagonal(model, start))
    g = np.empty(start.size, dtype)

    def negative(phi):
        theta = (start + scale * phi).astype(dtype)
        value = log_posterior(model, work, theta, g)
        return -value, -scale * g.astype(np.float64)

    # In these units a gradient of 1 is about one posterior sd from the mode.
    result = minimize(
        negative,
        np.zeros(start.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": n_iter, "maxfun": 2 * n_iter, "gtol": 1e-3, "ftol": 0.0},
    )
    return (start + scale * result.x).astype(dtype)


def adam(model, start, n_iter, step_size=0.01, batch_size=500, random_state=None):
    """Maximise log p from `start` by Adam with falling steps, on minibatches."""
    dtype = parameter_dtype(model)
    rng = np.random.default_rng(random_state)
    gradient = Minibatch(min(batch_size, n_rows(model)))
    target = make_target(model, gradient, Identity(), rng)
    state = init_state(Adam(), np.asarray(start, dtype), rng)
    schedule = Polynomial(step_size, 1.0, n_iter / 10)
    none = np.empty((0, 0), dtype)
    run_chain(Adam(), state, target, schedule, rng, 0, n_iter, n_iter, 1, 1, 0, none)
    return state.position
