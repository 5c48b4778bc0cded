"""Exploration of regressions with few rows: chains move where the data can see.

With a Gaussian prior, theta = S phi with phi ~ N(0, I). The likelihood of n rows A
depends on phi through A S phi alone. Let the columns of V, (q, r), be an orthonormal
basis of the rows of A S. Then

    phi = V a + b,    a in R^r,  r <= n,    b orthogonal to V,

where a is a regression on the rows A S V with the prior N(0, I), and b keeps its prior
whatever the data are. Chains sample a. Each recorded draw gets a b of its own, so that
all q parameters are exact draws given a, and iterations cost r numbers, not q.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import svd

from skbayes_sg.inference.exploration.metropolis import may_replace
from skbayes_sg.inference.exploration.one_mode import explore
from skbayes_sg.inference.exploration.predictors import (
    affordable,
    explore_predictors,
    is_slow,
)
from skbayes_sg.inference.exploration.region import MAX_DENSE
from skbayes_sg.kernels.data.matrices import dense, each_part
from skbayes_sg.kernels.data.rows import shape_rows
from skbayes_sg.kernels.models.glm import GLM, n_scores
from skbayes_sg.kernels.models.glm_units import Units
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.protocol.model import n_parameters, theta_of
from skbayes_sg.kernels.protocol.sampler import preconditioner_of

MAX_ROWS = 2048  # up to which the whole Hessian of a is used
RANK = 1e-10  # smallest singular value of a direction, in units of the largest
DRAWS_AT_ONCE = 64  # that are completed together
FEWER = 0.8  # rows for each parameter from which on the reduction does not pay


class Seen(NamedTuple):
    """The directions that the rows see, and how draws of a become draws of theta."""

    basis: np.ndarray  # (q, r) V
    sd: np.ndarray  # (K, q) prior standard deviations
    units: Units  # of recorded draws

    def of_theta(self, theta):
        """Return a of theta, (K r,)."""
        return ((theta.reshape(self.sd.shape) / self.sd) @ self.basis).ravel()

    def complete(self, draws, seed):
        """Return recorded draws of theta, (C, n, K q), of draws of a, (C, n, K r).

        ``seed(c, k)`` is that of draw k of chain c.
        """
        out = np.empty((*draws.shape[:2], self.sd.size), draws.dtype)
        for c, chain in enumerate(draws):
            for first in range(0, len(chain), DRAWS_AT_ONCE):
                some = chain[first : first + DRAWS_AT_ONCE]
                seeds = [seed(c, first + k) for k in range(len(some))]
                out[c, first : first + len(some)] = self._completed(some, seeds)
        return out

    def _completed(self, draws, seeds):
        """Return recorded draws of theta, (m, K q), of draws of a, (m, K r)."""
        shape = self.sd.shape
        z = np.stack([np.random.default_rng(s).standard_normal(shape) for s in seeds])
        a = draws.reshape(len(draws), len(self.sd), -1) - z @ self.basis
        theta = self.recorded(self.sd * (a @ self.basis.T + z))
        return theta.reshape(len(draws), -1)

    def recorded(self, theta):
        """Return theta, (..., K, q), in the units of recorded draws."""
        if self.units.center.size:
            theta[..., -1] -= theta[..., :-1] @ self.units.center
        if self.units.shift.size:
            theta[..., -1] += self.units.shift
        return theta

    def theta_of_seen(self, a):
        """Return theta without directions that the rows do not see, (K q,)."""
        return (self.sd * (a.reshape(len(self.sd), -1) @ self.basis.T)).ravel()


@explore.register(GLM)
def _(model, request):
    if not _is_suited(model, request):
        return explore.dispatch(object)(model, request)
    if not _has_few_rows(model):
        found = explore.dispatch(object)(model, request)
        if not is_slow(model, request, found):
            return found
        most = math.inf if request.share < 1.0 else affordable(found, request)
        return _along_prior(*_reduced(model, request), most) or found
    inner, seen, request = _reduced(model, request)
    if n_parameters(inner) > MAX_DENSE and may_replace(inner, request):
        return _along_prior(inner, seen, request)
    found = explore.dispatch(object)(inner, request)
    return found._replace(mode=seen.theta_of_seen(found.mode), completion=seen)


def _along_prior(inner, seen, request, most=math.inf):
    """Return an exploration by trajectories of up to `most` gradients, or None."""
    found = explore_predictors(inner, request, most)
    if found is None:
        return None
    return found._replace(mode=seen.theta_of_seen(found.mode), completion=seen)


def _reduced(model, request):
    """Return the regression of a, what the rows see, and the request for it."""
    if "seen" not in request.memory:
        request.memory["seen"] = reduced(model)
    inner, seen = request.memory["seen"]
    return inner, seen, _inner_request(model, request, seen)


def _is_suited(model, request):
    """Whether chains may move in other parameters than those of the model."""
    settings = request.settings
    plain = type(model) is GLM and n_scores(model) == model.n_outputs
    plain = plain and not model.units.scale.size
    automatic = settings.preconditioner == "auto" and settings.gradient == "auto"
    suited = preconditioner_of(request.sampler) == "auto"
    in_memory = settings.keep == "draws" and settings.storage is None
    in_memory = in_memory and settings.storage_dtype is None
    return plain and automatic and suited and in_memory and request.total is None


def _has_few_rows(model):
    """Whether the rows are so few that their span is the better place for chains."""
    n, q = _sizes(model)
    if n > MAX_ROWS:
        return False
    n, d = _n_different(model), q * model.n_outputs
    small = min(n, q) * model.n_outputs <= MAX_ROWS
    return small and (n <= FEWER * q or (d > MAX_DENSE and n <= q))


def _n_different(model):
    """Return the number of different rows that have a weight."""
    A = _design(model)
    if model.weights.size:
        A = A[model.weights > 0]
    return len(np.unique(A, axis=0))


def _sizes(model):
    n, p = shape_rows(model.rows)
    return n, p + int(model.intercept)


def _design(model):
    """Return the rows with a column of ones for the intercept, (n, q)."""
    A = np.ones(_sizes(model))
    for part, matrix in each_part(model.rows):
        A[part, : shape_rows(model.rows)[1]] = dense(matrix)
    return A


def reduced(model):
    """Return the regression of a, and what the rows see."""
    A = _design(model)
    sd = 1.0 / np.sqrt(model.prior_precision.reshape(model.n_outputs, -1))
    with one_blas_thread():
        A *= sd[0]  # priors of all outputs are equal, so that one basis serves them all
        basis = _basis(A if not model.weights.size else A * _roots(model.weights))
        rows = np.ascontiguousarray(A @ basis, model.y.dtype)
    inner = model._replace(
        rows=rows,
        prior_precision=np.ones(model.n_outputs * rows.shape[1]),
        intercept=False,
        units=Units(),
    )
    return inner, Seen(basis, sd, model.units)


def _roots(weights):
    return np.sqrt(weights.astype(np.float64))[:, None]


def _basis(A):
    """Return an orthonormal basis of the span of the rows, (q, r).

    It depends on A' A alone: a row of weight two is the same as two rows.
    """
    basis, singular = svd(A.T, full_matrices=False, check_finite=False)[:2]
    rank = max(1, np.sum(singular > RANK * singular[0]))
    basis = basis[:, :rank]
    largest = np.argmax(np.abs(basis), axis=0)
    return basis * np.where(basis[largest, np.arange(rank)] < 0, -1.0, 1.0)


def _inner_request(model, request, seen):
    settings, start = request.settings, request.start
    size = seen.basis.shape[1] * len(seen.sd)
    if size > MAX_DENSE:
        settings = settings._replace(preconditioner="dense")
    if start is not None:
        thetas = (theta_of(model, draw).astype(np.float64) for draw in start)
        start = np.stack([seen.of_theta(theta) for theta in thetas])
    return request._replace(settings=settings, start=start)
