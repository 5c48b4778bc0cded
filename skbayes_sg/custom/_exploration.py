"""Where to start in a posterior of which nothing is known, and which rows matter."""

import numpy as np

from skbayes_sg.inference.curvature import curvature_matrix, whitening
from skbayes_sg.inference.exploration import explore
from skbayes_sg.inference.monitoring import monitored
from skbayes_sg.inference.optimize import (
    MIN_ROWS,
    THINNING,
    adam,
    find_mode,
    lbfgs,
)
from skbayes_sg.kernels.capabilities.strata import leverages
from skbayes_sg.kernels.generic import entry_point, for_kernels
from skbayes_sg.kernels.models.autodiff import Autodiff
from skbayes_sg.kernels.models.mean_field import MeanField
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    init_work,
    n_rows,
    thinned,
)

MAX_REFINED = 256  # parameters up to which the Hessians of Newton's steps cost little
N_DRAWS = 16
FIRST_LOG_SD = -2.0
MAX_MONITORED = 400  # free parameters on which chains are compared


@explore.register(Autodiff)
def _(model, request):
    """Explore as for one mode; nothing is known of the model, so draws are verified."""
    found = explore.dispatch(object)(model, request)
    region = request.memory["survey"][0]
    return found._replace(factor=region.factor if region.factor.ndim == 2 else None)


@monitored.register(Autodiff)
def _(model, draws):
    """Return free parameters: the first, the last and evenly spread ones."""
    places = np.linspace(model.m, draws.shape[-1] - 1, min(model.d, MAX_MONITORED))
    return draws[..., np.unique(places.astype(int))].astype(np.float64)


@find_mode.register(Autodiff)
def _(model, start=None, *, n_iter=10_000, random_state=0):
    """Return a mode where most of the mass is, else the best Gaussian's center.

    Log densities of hierarchical models have no largest value: where a scale goes to
    zero they go to infinity, in a corner without mass. So a Gaussian with independent
    coordinates comes first, and the mode that L-BFGS finds from its center is taken if
    the mass around it, by Laplace's approximation, is no less than the Gaussian's.
    """
    model, d = for_kernels(model), model.d
    start = np.zeros(d) if start is None else np.asarray(start, np.float64)
    start = np.concatenate([start, np.full(d, FIRST_LOG_SD)])
    found = adam(MeanField(model), start, n_iter, random_state=random_state)
    center, sd = found[:d], np.exp(found[d:])
    if d > MAX_REFINED:
        return center
    some = _enough_rows(model)
    mass = _gaussian_mass(some, center, sd, random_state)
    try:
        with np.errstate(all="ignore"):
            mode = lbfgs(some, center)
            if _laplace_mass(some, mode) < mass - 1.0:
                return center
            return mode if some is model else lbfgs(model, mode, rough=some)
    except (ValueError, np.linalg.LinAlgError):  # it ran away
        return center


def _enough_rows(model):
    """Return the model on as many rows as tell whether there is a mode."""
    if n_rows(model) < THINNING * MIN_ROWS * model.d:
        return model
    return for_kernels(thinned(model, THINNING))


def _laplace_mass(model, mode):
    """Return the log mass around a mode, -inf where the Hessian is not that of one."""
    values = np.linalg.eigvalsh(curvature_matrix(model, mode))
    value = log_posterior(model, init_work(model), mode, np.empty(model.d))
    if not np.isfinite(value) or values[0] <= 0.0:
        return -np.inf
    return value + 0.5 * np.sum(np.log(2 * np.pi / values))


def _gaussian_mass(model, center, sd, seed):
    """Return a lower bound of the log mass, that of a Gaussian."""
    z = np.random.default_rng(seed).standard_normal((N_DRAWS, model.d))
    work, g = init_work(model), np.empty(model.d)
    values = [log_posterior(model, work, center + sd * each, g) for each in z]
    entropy = np.sum(np.log(sd)) + 0.5 * model.d * (1 + np.log(2 * np.pi))
    bound = np.mean(values) + entropy
    return bound if np.isfinite(bound) else -np.inf


@leverages.register(Autodiff)
def _(model, mode):
    model = for_kernels(model)
    factor = whitening(curvature_matrix(model, np.asarray(mode)))
    out = np.zeros(n_rows(model))
    _write_sizes(model, init_work(model), np.array(mode), factor, out)
    return out


@entry_point
def _write_sizes(model, work, theta, factor, out):
    """Write the squared length of each row's gradient in posterior sds.

    The factor is upper triangular, and rows depend on few of many parameters.
    """
    g, v = np.empty(theta.size), np.empty(theta.size)
    idx = np.empty(1, np.int32)
    for i in range(out.size):
        g[:] = 0.0
        v[:] = 0.0
        idx[0] = i
        add_gradient(model, work, theta, idx, 1.0, g)
        for j in range(theta.size):
            if g[j] != 0.0:
                for k in range(j, theta.size):
                    v[k] += factor[j, k] * g[j]
        total = 0.0
        for k in range(theta.size):
            total += v[k] * v[k]
        out[i] = total
