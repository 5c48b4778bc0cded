"""Linear Gaussian state-space models: where to start, and states given draws."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.buffers import no_messages
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.models.linear_gaussian_ssm_series import run_states, sum_moments
from skbayes_sg.kernels.protocol.model import init_work

MAX_POINTS = 20_000  # from which a start is computed
EM_STEPS = 30
LARGEST = 0.98  # spectral radius of a start


class Parts(NamedTuple):
    """Draws of the parameters of a state-space model, each (n, ...)."""

    level: np.ndarray  # (n, m)
    A: np.ndarray  # (n, d, d)
    Q: np.ndarray  # (n, d, d)
    R: np.ndarray  # (n, m, m)

    @classmethod
    def of(cls, draws, m, d):
        """Return the parts of (n, dim) recorded draws."""
        n, a, q = len(draws), m, m + d * d
        r = q + d * d
        shaped = draws[:, a:q].reshape(n, d, d), draws[:, q:r].reshape(n, d, d)
        return cls(draws[:, :m], *shaped, draws[:, r:].reshape(n, m, m))


def on_sequences(model, X, lengths):
    """Return the model of other data, with whole sequences as rows."""
    m, d = model.C.shape
    blocks = make_blocks(lengths)
    return for_kernels(
        model._replace(X=X, blocks=blocks, messages=no_messages(d + d * d))
    )


def without_data(model):
    """Return the model without its data, for `on_sequences`."""
    return on_sequences(model, np.empty((1, model.X.shape[1])), [1])


def first_points(X, lengths):
    """Return the first points, and the lengths of the sequences that they make up."""
    ends = np.minimum(np.cumsum(lengths), MAX_POINTS)
    parts = np.diff(ends, prepend=0)
    parts = parts[parts > 0]
    return np.ascontiguousarray(X[: parts.sum()], np.float64), parts


def starting_point(model, lengths):
    """Return parameters (c, A, Q, R) by autocovariances, then by some steps of EM."""
    X, parts = first_points(model.X, lengths)
    x = moments_start(X, model.C)
    complete = ~np.isnan(X).any(axis=1)
    if complete.sum() < 0.5 * len(X) or len(X) < 10:
        return x
    inner = on_sequences(model, X, parts)
    work = init_work(inner)
    for _ in range(EM_STEPS):
        new = em_step(inner, work, x)
        if not np.isfinite(new).all() or radius(new, *model.C.shape) > LARGEST:
            break
        x = new
    return x


def radius(x, m, d):
    """Return the spectral radius of A."""
    return np.abs(np.linalg.eigvals(x[m : m + d * d].reshape(d, d))).max()


def moments_start(X, C):
    """Return parameters from the variances and autocovariances of C^+ y.

    As if its numbers were independent autoregressions of order one with noise: the
    ratio of the autocovariances at lags two and one is the coefficient.
    """
    m, d = C.shape
    level = np.nanmean(X, axis=0)
    rest = np.where(np.isnan(X), level, X) - level
    z = rest @ np.linalg.pinv(C).T
    lag = [np.mean(z[k:] * z[: len(z) - k], axis=0) if len(z) > k else 0.0 * z[0]
           for k in range(3)]  # fmt: skip
    floor = 1e-8 + 1e-6 * np.abs(level).max() ** 2
    variance = np.maximum(lag[0], floor * 1e-6)
    with np.errstate(divide="ignore", invalid="ignore"):
        phi = np.where(np.abs(lag[1]) > 0.02 * variance, lag[2] / lag[1], 0.0)
    phi = np.where(lag[1] < 0, -np.abs(phi), phi)
    phi = np.clip(np.nan_to_num(phi), -0.95, 0.95)
    share = np.abs(lag[1]) / np.maximum(np.abs(phi), 0.05) / variance
    share = np.clip(share, 0.1, 0.9)  # of the variance that the state has
    Q = np.diag(share * variance * (1.0 - phi**2))
    known = np.maximum(np.nanvar(X, axis=0), variance.min() * 1e-3)
    R = np.diag((1.0 - share.mean()) * known)
    return np.concatenate([level, np.diag(phi).ravel(), Q.ravel(), R.ravel()])


def em_step(model, work, x):
    """Return the parameters after one step of expectation maximization.

    From points without missing values; first states are left out.
    """
    work.x[:] = x
    sum_moments(model, work)
    m, d = model.C.shape
    now, lag, before, _ = work.sums
    transitions, _, points = work.counts
    A = np.linalg.solve(before, lag.T).T
    Q = (now - lag @ A.T) / max(transitions, 1.0)
    change = work.rest / points
    R = work.noise / points - np.outer(change, change)
    R, Q = 0.5 * (R + R.T), 0.5 * (Q + Q.T)
    return np.concatenate([x[:m] + change, A.ravel(), Q.ravel(), R.ravel()])


class Laws(NamedTuple):
    """Means and covariances of states, averaged over draws of the parameters."""

    mean: np.ndarray  # (T, d)
    cov: np.ndarray  # (T, d, d)
    signal_mean: np.ndarray  # (T, m) of c + C x
    signal_var: np.ndarray  # (T, m)


def state_laws(model, draws, smooth):
    """Return the laws of all states given draws, (n, dim): a mixture over draws."""
    n, (m, d) = len(model.X), model.C.shape
    work, blocks, count = init_work(model), model.blocks, len(draws)
    mean, square = np.zeros((n, d)), np.zeros((n, d, d))
    signal, power = np.zeros((n, m)), np.zeros((n, m))
    for x in draws:
        work.x[:] = x
        for i, (low, high) in enumerate(zip(blocks.first, blocks.last, strict=True)):
            run_states(model, work, i, smooth)
            states, places = work.states, slice(1, high - low + 1)
            one = (states.smooth_mean if smooth else states.mean)[places]
            cov = (states.smooth_cov if smooth else states.cov)[places]
            mean[low:high] += one / count
            square[low:high] += (cov + one[:, :, None] * one[:, None]) / count
            at = one @ model.C.T
            spread = np.einsum("ij,tjk,ik->ti", model.C, cov, model.C)
            signal[low:high] += (x[:m] + at) / count
            power[low:high] += (spread + (x[:m] + at) ** 2) / count
    cov = square - mean[:, :, None] * mean[:, None]
    return Laws(mean, cov, signal, np.maximum(power - signal**2, 0.0))


def log_likelihoods(model, draws):
    """Return log p(X | draw) of (n, dim) draws, (n,)."""
    work, values = init_work(model), np.zeros(len(draws))
    for n, x in enumerate(draws):
        work.x[:] = x
        for i in range(model.blocks.first.size):
            run_states(model, work, i, False)
            values[n] += work.value[0]
    return values


def last_states(model, draws):
    """Return means (n, d) and covariances (n, d, d) of the last state given draws."""
    work, last = init_work(model), model.blocks.first.size - 1
    size = int(model.blocks.last[last] - model.blocks.first[last])
    means, covs = [], []
    for x in draws:
        work.x[:] = x
        run_states(model, work, last, False)
        means.append(work.states.mean[size].copy())
        covs.append(work.states.cov[size].copy())
    return np.array(means), np.array(covs)


def forecast(C, parts, means, covs, steps):
    """Return mean and variance of the next observations, (steps, m) each.

    Parameters
    ----------
    C : ndarray of shape (m, d)
        How states are observed.
    parts : Parts
        Draws of the parameters.
    means, covs : ndarray of shape (n, d) and (n, d, d)
        The law of the last state for each of them.
    steps : int
        Number of points.
    """
    out, spread = np.empty((2, steps, C.shape[0]))
    for t in range(steps):
        means = np.einsum("nij,nj->ni", parts.A, means)
        covs = parts.A @ covs @ parts.A.transpose(0, 2, 1) + parts.Q
        each = parts.level + means @ C.T
        inner = np.einsum("ij,njk,ik->ni", C, covs, C)
        inner += np.einsum("nii->ni", parts.R)
        out[t] = each.mean(axis=0)
        spread[t] = inner.mean(axis=0) + each.var(axis=0)
    return out, spread
