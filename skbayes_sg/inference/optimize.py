"""Posterior modes, at which control variates are centered and chains start."""

import numpy as np
import scipy.optimize
import scipy.sparse

from skbayes_sg.inference.curvature import (
    curvature_diagonal,
    curvature_matrix,
    whitening,
)
from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.engine import run_chain
from skbayes_sg.kernels.generic import for_kernels, implements, python_op
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.optimizers import Adam
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.model import (
    has_one_mode,
    init_work,
    is_log_concave,
    n_parameters,
    n_rows,
    parameter_dtype,
    thinned,
)
from skbayes_sg.kernels.protocol.sampler import init_state
from skbayes_sg.kernels.protocol.target import hidden
from skbayes_sg.kernels.schedules import Polynomial

THINNING = 16  # the search starts on every 16th row
MIN_ROWS = 32  # of the thinned data per parameter
MAX_SMALL = 64  # parameters up to which Hessians are cheap for all models
NEAR = 1e-3  # of the mode, in posterior standard deviations
FAR = 30.0  # from which Newton's steps are not tried
FEW_NUMBERS = (
    2e5  # rows times parameters up to which a mode is found to the last digits
)


@python_op
def find_mode(model, start=None, *, n_iter=10_000, random_state=None):
    """Return a mode of the posterior, (n_parameters,), in the model's dtype.

    Posteriors with one mode and models with up to `MAX_SMALL` parameters are optimized
    by L-BFGS, others by `n_iter` steps of Adam on minibatches. The default `start` is
    the mode of a subset of the rows if the posterior has one mode and many rows, and
    zero otherwise. If there are several modes, the result depends on `start`.
    A model whose modes are no good start registers its own implementation.
    """
    model, d = for_kernels(model), n_parameters(model)
    if has_one_mode(model):
        many = n_rows(model) >= THINNING * MIN_ROWS * d and implements(thinned, model)
        if start is None and many:
            fewer = for_kernels(thinned(model, THINNING))
            return lbfgs(model, find_mode(fewer), rough=fewer)
        return lbfgs(model, np.zeros(d) if start is None else start)
    start = np.zeros(d) if start is None else start
    if d <= MAX_SMALL:
        return lbfgs(model, start)
    return adam(model, start, n_iter=n_iter, random_state=random_state)


def lbfgs(model, start, max_dense=1024, n_rounds=20, rough=None):
    """Minimize -log p from `start` by L-BFGS in units of the curvature.

    The curvature is computed again after each round of iterations, in the first one of
    the model `rough`, if there is one that takes less time. A gradient of 1 in
    these units corresponds to about one posterior standard deviation from the mode; the
    search stops at `NEAR`.
    """
    dtype, work, d = parameter_dtype(model), init_work(model), start.size
    g = np.empty(d, dtype)
    mode, dense = start.astype(np.float64), d <= max_dense
    for number in range(n_rounds):
        bent = model if rough is None or number else rough
        if dense and is_log_concave(model):
            factor = whitening(curvature_matrix(bent, mode))
        elif dense:
            factor = _any_whitening(curvature_matrix(bent, mode))
        else:
            factor = scipy.sparse.diags(1.0 / np.sqrt(curvature_diagonal(bent, mode)))

        def negative(phi, mode=mode, factor=factor):
            value = log_posterior(model, work, (mode + factor @ phi).astype(dtype), g)
            return -value, -(factor.T @ g.astype(np.float64))

        phi = np.zeros(d)
        with one_blas_thread():  # threads do not pay for short vectors
            if bent is rough:
                phi, g_phi = _approached(negative, phi)
                if np.abs(g_phi).max() <= NEAR:
                    mode = mode + factor @ phi
                    break
            result = scipy.optimize.minimize(
                negative,
                phi,
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 20 if dense else 200, "gtol": NEAR, "ftol": 0.0},
            )
        mode = mode + factor @ result.x
        if np.abs(result.jac).max() <= NEAR or not result.x.any():
            break
    if has_one_mode(model) and max(n_rows(model), d) * d <= FEW_NUMBERS:
        mode = _polished(model, mode)
    return mode.astype(dtype)


def _approached(negative, phi):
    """Return a point near the minimum, (d,), and the gradient there, (d,).

    By Newton's steps where the Hessian is about the identity, as long as each halves
    the gradient. Few standard deviations from the mode of many rows these need fewer
    passes over the data than L-BFGS, whose first step is one standard deviation long.
    """
    _, g = negative(phi)
    while NEAR < np.abs(g).max() < FAR:
        _, new = negative(phi - g)
        if not np.linalg.norm(new) < 0.5 * np.linalg.norm(g):
            break
        phi, g = phi - g, new
    return phi, g


def _polished(model, mode, n_steps=4):
    """Return the mode after Newton's steps, which double the number of right digits.

    Data that differ by rounding errors only, such as weighted and repeated rows, have
    the same mode then, and the same draws up to such errors.
    """
    work, g = init_work(model), np.empty(mode.size, parameter_dtype(model))
    size = np.inf if is_log_concave(model) else 1.0  # standard deviations
    for _ in range(n_steps):
        factor = whitening(curvature_matrix(model, mode))
        log_posterior(model, work, mode.astype(g.dtype), g)
        step = factor.T @ g.astype(np.float64)
        if not np.linalg.norm(step) < size:
            break
        size = np.linalg.norm(step)
        mode = mode + factor @ step
    return mode


def _any_whitening(matrix):
    """Return L with L L' the inverse of a Hessian's absolute value, (d, d).

    Away from a mode the Hessian may have negative eigenvalues; the scale of these
    directions is taken from their absolute values (Dauphin et al., 2014).
    """
    values, vectors = np.linalg.eigh(matrix)
    sizes = np.maximum(np.abs(values), 1e-10 * np.abs(values).max())
    return vectors / np.sqrt(np.maximum(sizes, np.finfo(float).tiny))


def adam(model, start, n_iter, step_size=0.01, batch_size=500, random_state=None):
    """Maximize log p from `start` by Adam on minibatches with decreasing steps."""
    dtype = parameter_dtype(model)
    rng = np.random.default_rng(random_state)
    gradient = Minibatch(min(batch_size, n_rows(model)))
    target = make_target(model, gradient, Identity(), rng)
    state = init_state(Adam(), np.asarray(start, dtype), rng)
    schedule = Polynomial(step_size, 1.0, n_iter / 10)
    none = np.empty((0, 0), dtype)
    # It has addresses of the target's arrays, which must stay alive.
    seen = hidden(target, rng, none)
    run_chain(Adam(), state, seen, schedule, rng, 0, n_iter, n_iter, 1, 1, 0, none)
    return state.position
