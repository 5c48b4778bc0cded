"""Passes of a GLM over all its rows, by matrix products.

Only the likelihood is compiled, which takes one or two seconds; compiling the same
passes from operations on rows would take more than fifteen seconds before a first fit.
BLAS uses one thread, since another order of summation would change the draws.

The leverage of a row is its share of the information I about the coefficients at a
point, summed over the coefficients:

    leverage_i = c_i sum_j x_ij^2 / I_j,    I_j = sum_i c_i x_ij^2,
    c_i = -sum_k d2 log f / d eta_ik^2

Linear functions of the predictors approximate the residuals r = d log f / d eta,

    l_ik(eta) = mean r_ik - sum_m c_ikm (eta_m - mean eta_im),
    c_ikm = mean of -d2 log f / d eta_ik d eta_im,

where means are over draws. For a Gaussian posterior these are the best linear
approximations.

Parameters of the likelihood itself count as further outputs that only have an
intercept. If there are any, curvatures are those of the observed y, computed from
differences of the scores, because expected curvatures ignore the dependence between
noise and coefficients.
"""

import numpy as np

from skbayes_sg.kernels.capabilities.anchors import init_anchor
from skbayes_sg.kernels.capabilities.linearization import (
    Linearized,
    is_linearizable,
    linearize,
)
from skbayes_sg.kernels.capabilities.strata import leverages
from skbayes_sg.kernels.data.matrices import dense, each_part, squared, weighted_gram
from skbayes_sg.kernels.data.rows import rows_at_index, shape_rows
from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.likelihoods.categorical import Categorical
from skbayes_sg.kernels.likelihoods.protocol import (
    add_noise_prior_gradient,
    curvature,
    log_density,
    noise_log_prior,
    noise_score,
    score,
)
from skbayes_sg.kernels.models.glm import GLM, n_coefficients, n_scores, n_targets
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.passes import (
    hessian,
    hessian_diagonal,
    log_posterior,
    mean_hessian,
)

MAX_LINEAR_BYTES = 2**28  # of the numbers of linear approximations
MAX_EVALUATIONS = 2**23  # of rows at draws, for linear approximations: about 0.3 s
STEP = 1e-5  # of differences of scores
MAX_NUMBERS = 2**21  # of rows times the shares of all classes, held at a time


@log_posterior.register(GLM)
def _(model, work, theta, out):
    value, g, end = 0.0, np.zeros(theta.size), n_coefficients(model)
    with one_blas_thread():
        for part, matrix, eta in _parts(model, theta):
            terms, r = _terms(model, part, eta)
            value += terms.sum(dtype=float)
            _add_scores(model, matrix, r, g)
    theta, precision = theta.astype(float), model.prior_precision.astype(float)
    if work.precision.size:
        precision = precision + work.precision[:end]
    g[:end] -= precision * theta[:end]
    add_noise_prior_gradient(model.likelihood, theta[end:], g[end:])
    out[:] = g
    scaled = np.sqrt(precision) * theta[:end]  # theta^2 alone may overflow
    value += noise_log_prior(model.likelihood, theta[end:])
    return value - 0.5 * np.square(scaled).sum()


@hessian.register(GLM)
def _(model, work, theta, out):
    with one_blas_thread():
        for part, matrix, eta in _parts(model, theta):
            if isinstance(model.likelihood, Categorical):
                _add_softmax_curvature(model, part, matrix, eta, out)
                continue
            c = _curvatures(model, part, eta)
            for k in range(n_scores(model)):
                for m in range(n_scores(model)):
                    _add_curvature(model, matrix, c(k, m), k, m, out)


@mean_hessian.register(GLM)
def _(model, work, thetas, out):
    # Curvatures are averaged before the products with the rows, which take longest.
    with one_blas_thread():
        for part, matrix, eta in _parts(model, thetas):
            if isinstance(model.likelihood, Categorical):
                _add_mean_softmax_curvature(model, part, matrix, eta, len(thetas), out)
                continue
            c = _mean_curvatures(model, part, eta, len(thetas))
            for k in range(n_scores(model)):
                for m in range(n_scores(model)):
                    _add_curvature(model, matrix, c(k, m), k, m, out)


@hessian_diagonal.register(GLM)
def _(model, work, theta, out):
    p, end = shape_rows(model.rows)[1], n_coefficients(model)
    diagonal, noise = out[:end].reshape(model.n_outputs, -1), out[end:]
    with one_blas_thread():
        for part, matrix, eta in _parts(model, theta):
            c = _curvatures(model, part, eta)
            for k in range(model.n_outputs):
                diagonal[k, :p] += squared(matrix).T @ c(k, k)
                diagonal[k, p:] += c(k, k).sum()
            for k in range(noise.size):
                noise[k] += c(model.n_outputs + k, model.n_outputs + k).sum()


@init_anchor.register(GLM)
def _(model, work, theta):
    table = np.empty((n_scores(model), _n_values(model)), theta.dtype)
    with one_blas_thread():
        for part, _, eta in _parts(model, theta):
            table[:, part] = _terms(model, part, eta)[1]
    return table


@leverages.register(GLM)
def _(model, mode):
    n, p = shape_rows(model.rows)
    c, information = np.empty(n), np.zeros(p)
    with one_blas_thread():
        for part, matrix, eta in _parts(model, mode):
            each = [_expected(model, part, eta, k, k) for k in range(model.n_outputs)]
            c[part] = np.sum(each, axis=0)
            information += squared(matrix).T @ c[part]
        inverse = np.divide(1.0, information, out=np.zeros(p), where=information > 0.0)
        share = 1.0 / c.sum() if model.intercept else 0.0
        for part, matrix in each_part(model.rows):
            c[part] *= squared(matrix) @ inverse + share
    return c


@is_linearizable.register(GLM)
def _(model):
    n_numbers = n_scores(model) * (n_scores(model) + 1) * _n_values(model)
    return n_numbers * model.y.itemsize <= MAX_LINEAR_BYTES


@linearize.register(GLM)
def _(model, draws):
    n, count = shape_rows(model.rows)[0], n_scores(model)
    draws = draws[: max(2, MAX_EVALUATIONS // (n * count**2))]
    n_draws, d, dtype = len(draws), draws.shape[1], model.y.dtype
    total, matrix = np.zeros(d), np.zeros((d, d))
    table = np.empty((count * (count + 1), _n_values(model)), dtype)
    sizes = np.empty(_n_values(model))
    with one_blas_thread():
        for part, rows, eta in _parts(model, draws.astype(dtype)):
            shape = count, n_draws, -1
            r = _terms(model, part, eta)[1].reshape(shape)
            mean, rest = r.mean(axis=1), r - r.mean(axis=1, keepdims=True)
            _add_scores(model, rows, mean, total)
            table[:count, part] = mean
            centers = eta.reshape(shape).mean(axis=1)
            away = eta.reshape(shape) - centers[:, None]
            curvatures = _mean_curvatures(model, part, eta, n_draws)
            for k in range(count):
                for m in range(count):
                    c = curvatures(k, m)
                    _add_curvature(model, rows, c, k, m, matrix)
                    table[(k + 1) * count + m, part] = c
                    table[k, part] += c * centers[m]
                    rest[k] += c * away[m]
            sizes[part] = np.sqrt(_squares(rest) * _squares(away))
    return Linearized(draws.mean(axis=0), total, matrix, table, sizes)


def _squares(values):
    """Return the mean squares of (K, draws, n) values, (n,)."""
    return np.einsum("kqi,kqi->i", values, values, dtype=float) / values.shape[1]


def _n_values(model):
    """Return the number of rows, also if an index refers to several."""
    return shape_rows(model.rows)[0] * rows_at_index(model.rows)


def _parts(model, theta):
    """Yield parts of the rows with their predictors: slice, matrix, eta (K + q, n).

    If `theta` is (Q, d), eta is (K + q, Q n), in which the rows of a draw are adjacent.
    """
    p, n_outputs, end = (
        shape_rows(model.rows)[1],
        model.n_outputs,
        n_coefficients(model),
    )
    theta = np.atleast_2d(theta)
    coef, noise = theta[:, :end].reshape(len(theta), n_outputs, -1), theta[:, end:].T
    coef = coef.transpose(1, 0, 2).reshape(-1, coef.shape[2])
    for part, matrix in each_part(model.rows):
        eta = matrix @ coef[:, :p].T
        if model.intercept:
            eta += coef[:, p]
        if model.offsets.size:
            eta += model.offsets[part, None]
        eta = np.ascontiguousarray(eta.T).reshape(n_outputs, -1)
        if len(noise):
            eta = np.vstack([eta, np.repeat(noise, matrix.shape[0], axis=1)])
        yield part, matrix, eta


def _terms(model, part, eta):
    """Return weighted log f, (n,), and its derivatives, (K + q, n), of a part."""
    n_outputs, y = model.n_outputs, _targets_of(model, part)
    n_draws = eta.shape[1] // max(y.shape[1], 1)
    terms, r = np.empty(eta.shape[1], eta.dtype), np.empty_like(eta)
    if len(eta) == n_outputs:
        y = np.tile(y, n_draws)
        _evaluate(model.likelihood, eta, y, np.empty(0), terms, r)
    else:  # each draw has its own noise
        for here in _draws_of(y, eta):
            at = np.ascontiguousarray(eta[:n_outputs, here])
            noise = eta[n_outputs:, here.start].copy()
            density = np.empty(at.shape[1], at.dtype)
            scores = np.empty((len(eta), at.shape[1]), at.dtype)
            _evaluate(model.likelihood, at, y, noise, density, scores)
            terms[here], r[:, here] = density, scores
    if model.weights.size:
        weights = np.tile(model.weights[part], n_draws)
        terms *= weights
        r *= weights
    return terms, r


def _targets_of(model, part):
    """Return y of a part's rows, (m, n)."""
    y = model.y.reshape(n_targets(model), -1)
    return np.ascontiguousarray(y[:, part])


def _draws_of(y, eta):
    """Return the slices of `eta` that belong to one draw each."""
    n = y.shape[1]
    return [slice(first, first + n) for first in range(0, eta.shape[1], max(n, 1))]


def _curvatures(model, part, eta):
    """Return a function of k and m: weighted curvatures of a part, (n,) doubles."""
    if len(eta) == model.n_outputs:
        return lambda k, m: _expected(model, part, eta, k, m)
    eta = eta.astype(np.float64)
    model = model._replace(y=model.y.astype(np.float64, copy=False))
    c = np.empty((len(eta), *eta.shape))
    for m in range(len(eta)):
        ends = []
        for step in (STEP, -STEP):
            moved = eta.copy()
            moved[m] += step
            ends.append(_terms(model, part, moved)[1])
        c[:, m] = (ends[1] - ends[0]) / (2 * STEP)
    c = 0.5 * (c + c.transpose(1, 0, 2))
    return lambda k, m: c[k, m]


def _mean_curvatures(model, part, eta, n_draws):
    """Return the same for means over the draws that follow each other in `eta`."""
    if len(eta) == model.n_outputs:
        return lambda k, m: (
            _expected(model, part, eta, k, m).reshape(n_draws, -1).mean(axis=0)
        )
    count, total = len(eta), 0.0
    for one in np.moveaxis(eta.reshape(count, n_draws, -1), 1, 0):
        c = _curvatures(model, part, np.ascontiguousarray(one))
        total = total + np.array(
            [[c(k, m) for m in range(count)] for k in range(count)]
        )
    return lambda k, m: total[k, m] / n_draws


def _expected(model, part, eta, k, m):
    """Return the weighted curvature k, m of a part, in expectation over y."""
    n_outputs, c = model.n_outputs, np.empty(eta.shape[1])
    noise = eta[n_outputs:, 0].copy()
    at = np.ascontiguousarray(eta[:n_outputs])
    _evaluate_curvature(model.likelihood, at, k, m, noise, c)
    if model.weights.size:
        weights = model.weights[part]
        c *= np.tile(weights, eta.shape[1] // max(weights.size, 1))
    return c


def _add_scores(model, matrix, r, out):
    """Add the gradient of rows with scores r, (K + q, n), to (d,) `out`."""
    p, end = matrix.shape[1], n_coefficients(model)
    g, scores = out[:end].reshape(model.n_outputs, -1), r[: model.n_outputs]
    g[:, :p] += (matrix.T @ scores.T).T
    g[:, p:] += scores.sum(axis=1, keepdims=True)
    out[end:] += r[model.n_outputs :].sum(axis=1)


def _add_curvature(model, matrix, c, k, m, out):
    """Add X' diag(c) X to the part of (d, d) `out` that belongs to outputs k and m."""
    p, n_outputs = matrix.shape[1], model.n_outputs
    width = p + int(model.intercept)
    i, j = (x * width if x < n_outputs else n_outputs * (width - 1) + x for x in (k, m))
    if k >= n_outputs and m >= n_outputs:
        out[i, j] += c.sum()
        return
    if k >= n_outputs or m >= n_outputs:  # one output and one noise parameter
        line = out[i, j : j + width] if k >= n_outputs else out[i : i + width, j]
        line[:p] += matrix.T @ c
        line[p:] += c.sum()
        return
    block = out[i : i + width, j : j + width]
    block[:p, :p] += weighted_gram(matrix, c)
    if model.intercept:
        border = matrix.T @ c
        block[p, :p] += border
        block[:p, p] += border
        block[p, p] += c.sum()


def _add_softmax_curvature(model, part, matrix, eta, out):
    """Add the curvature of K classes to (d, d) `out`.

    With shares p of the classes it is sum_i (diag(p_i) - p_i p_i') x_i x_i': K products
    of the rows, and one of the rows times their shares, in place of K^2.
    """
    rows, p = _design(model, matrix), _shares(eta)
    n_classes, width = len(p), rows.shape[1]
    weights = model.weights[part] if model.weights.size else np.ones(len(rows))
    blocks = out.reshape(n_classes, width, n_classes, width)
    for k in range(n_classes):
        blocks[k, :, k] += weighted_gram(rows, weights * p[k])
    step = max(1, MAX_NUMBERS // (n_classes * width))
    for first in range(0, len(rows), step):
        some = slice(first, first + step)
        shares = (np.sqrt(weights[some]) * p[:, some]).T
        spread = (shares[:, :, None] * rows[some, None]).reshape(len(shares), -1)
        out -= spread.T @ spread


def _add_mean_softmax_curvature(model, part, matrix, eta, n_draws, out):
    """Add the mean curvature of K classes over draws side by side in `eta`."""
    rows, p = _design(model, matrix), _shares(eta).reshape(len(eta), n_draws, -1)
    n_classes, (n, width) = len(p), rows.shape
    for k in range(n_classes):
        c = -np.einsum("qi,mqi->im", p[k], p) / n_draws
        c[:, k] += p[k].mean(axis=0)
        if model.weights.size:
            c *= model.weights[part, None]
        spread = (c[:, :, None] * rows[:, None]).reshape(n, -1)
        out[k * width : (k + 1) * width] += rows.T @ spread


def _design(model, matrix):
    """Return rows as an array of doubles, with a column for the intercept."""
    rows = dense(matrix).astype(np.float64, copy=False)
    if not model.intercept:
        return rows
    return np.column_stack([rows, np.ones(len(rows))])


def _shares(eta):
    """Return the probabilities of the classes, (K, n) doubles."""
    p = np.exp(eta - eta.max(axis=0), dtype=np.float64)
    return p / p.sum(axis=0)


@entry_point
def _evaluate(likelihood, eta, y, noise, terms, r):
    log_density(likelihood, eta, y, noise, terms)
    noise_score(likelihood, eta, y, noise, r[eta.shape[0] :])
    score(likelihood, eta, y, noise, r)


@entry_point
def _evaluate_curvature(likelihood, eta, k, m, noise, out):
    curvature(likelihood, eta, k, m, noise, out)
