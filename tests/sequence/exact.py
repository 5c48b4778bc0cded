"""References for posteriors of sequences: chains with exact gradients, and ranks."""

import numpy as np
from scipy.stats import chi2

from skbayes_sg.inference.exploration.pilot import hamiltonian_chain
from skbayes_sg.inference.sequences import exact_log_posterior, exact_mode
from skbayes_sg.kernels.protocol.model import init_work, record


def exact_draws(model, start, n, seed):
    """Return constrained parameters by HMC with exact gradients of all points."""
    mode, factor = exact_mode(model, start)
    g, work = np.empty(mode.size), init_work(model)

    def density(z):
        value = exact_log_posterior(model, mode + factor @ z, g)
        return value, factor.T @ g

    rng = np.random.default_rng(seed)
    z, _, step = hamiltonian_chain(density, mode.size, n // 10, rng, 0.5)
    z, _, _ = hamiltonian_chain(density, mode.size, n, rng, step)
    out = np.zeros((n, work.x.size))
    for theta, x in zip(mode + z @ factor.T, out, strict=True):
        record(model, work, theta, x)
    return out


def exact_moments(model, start, n, seed):
    """Return means and sds of constrained parameters, and the effective sample size.

    By importance sampling with exact densities; proposals are Student draws with six
    degrees of freedom around the mode, a little wider than the posterior.
    """
    mode, factor = exact_mode(model, start)
    rng, freedom = np.random.default_rng(seed), 6
    scale = 1.1 * np.sqrt(freedom / rng.chisquare(freedom, n))
    z = scale[:, None] * rng.standard_normal((n, mode.size))
    square = np.square(z / 1.1).sum(axis=1)
    log_w = 0.5 * (freedom + mode.size) * np.log1p(square / freedom)
    g, work = np.empty(mode.size), init_work(model)
    out = np.zeros((n, work.x.size))
    for i, theta in enumerate(mode + z @ factor.T):
        log_w[i] += exact_log_posterior(model, theta, g)
        record(model, work, theta, out[i])
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    mean = w @ out
    return mean, np.sqrt(w @ (out - mean) ** 2), 1.0 / np.square(w).sum()


def are_uniform(ranks):
    """Whether (n, m) counts of ranks are uniform, with p > 0.001 for all n together."""
    expected = ranks.sum(axis=1, keepdims=True) / ranks.shape[1]
    values = ((ranks - expected) ** 2 / expected).sum(axis=1)
    return values.max() < chi2.ppf(1 - 0.001 / len(ranks), ranks.shape[1] - 1)
