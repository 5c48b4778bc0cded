"""Where a Gaussian approximation at the mode does, and where sampling pays.

For N = 50 to 1,000,000 rows, four features and skewed classes or counts: the largest
error of a posterior mean, in posterior standard deviations, and of a standard
deviation, in percent, of the Laplace approximation and of a default fit; and their
seconds of one processor with compiled code. The reference is importance sampling from a
heavy-tailed law around the mode. From 10,000 rows on it is from the Laplace
approximation itself, whose own moments are known: only differences to them are left to
chance, so that 400 draws do.

    python benchmarks/bench_laplace.py [--quick]
"""

import sys
import time

import numpy as np
from scipy import stats
from tables import Table

from skbayes_sg import SGMCMCLogisticRegression, SGMCMCPoissonRegressor
from skbayes_sg.inference.curvature import curvature_matrix, whitening
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.model import init_work

D = 4
SIZES = (50, 200, 1_000, 10_000, 100_000, 1_000_000)


def problem(name, n):
    """Return an estimator and data of which one row in ten has an event."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, D))
    eta = X @ rng.standard_normal(D) / 2 - 2.5
    if name == "logistic":
        y = rng.random(n) < 1 / (1 + np.exp(-eta))
        return SGMCMCLogisticRegression(random_state=0), X, y
    return SGMCMCPoissonRegressor(random_state=0), X, rng.poisson(np.exp(eta))


def laplace(model):
    """Return mean and covariance factor of the Gaussian approximation."""
    mode = find_mode(model)
    return mode, whitening(curvature_matrix(model, mode))


def reference(model, mode, factor, n_draws):
    """Return means and sds by importance sampling."""
    rng, work, g = np.random.default_rng(0), init_work(model), np.empty(len(mode))
    law = stats.multivariate_t(mode, 1.2 * factor @ factor.T, df=5, seed=rng)
    draws = law.rvs(n_draws)
    log_w = np.array([log_posterior(model, work, each, g) for each in draws])
    log_w -= law.logpdf(draws)
    w = np.exp(log_w - log_w.max())
    w /= w.sum()
    mean = w @ draws
    return mean, np.sqrt(w @ (draws - mean) ** 2), 1 / np.sum(w**2)


def close_reference(model, mode, factor, n_draws=400):
    """Return the same for a posterior that is close to its Laplace approximation."""
    rng, work, g = np.random.default_rng(0), init_work(model), np.empty(len(mode))
    z = rng.standard_normal((n_draws // 2, len(mode)))
    z = np.concatenate([z, -z])
    draws = mode + z @ factor.T
    log_w = np.array([log_posterior(model, work, each, g) for each in draws])
    log_w += 0.5 * (z**2).sum(axis=1)
    w = np.exp(log_w - log_w.max())
    w /= w.mean()
    away, variance = draws - mode, (factor**2).sum(axis=1)
    shift = np.mean((w - 1)[:, None] * away, axis=0)
    square = variance + np.mean((w - 1)[:, None] * (away**2 - variance), axis=0)
    ess = n_draws / np.mean(w**2)
    return mode + shift, np.sqrt(square - shift**2), ess


def errors(mean, sd, exact_mean, exact_sd):
    """Return the largest errors of means, in sds, and of sds, in percent."""
    bias = np.abs(mean - exact_mean) / exact_sd
    return bias.max(), 100 * np.abs(sd / exact_sd - 1).max()


def main():
    quick = "--quick" in sys.argv
    columns = [f"{x}, {y}" for x in ("Laplace", "chains") for y in ("mean", "sd", "s")]
    table = Table("model", "rows", *columns, "ESS of reference", n_labels=2)
    for name in ("logistic", "poisson"):
        for n in SIZES[:3] if quick else SIZES:
            estimator, X, y = problem(name, n)
            estimator.fit(X[:100_000], y[:100_000])  # compiles
            began = time.process_time()
            estimator.fit(X, y)
            seconds, model = time.process_time() - began, estimator._model
            began = time.process_time()
            mode, factor = laplace(model)
            fast = time.process_time() - began
            if n < 10_000:
                mean, sd, ess = reference(model, mode, factor, n_draws=20_000)
            else:
                mean, sd, ess = close_reference(model, mode, factor)
            rough = errors(mode, np.sqrt((factor**2).sum(axis=1)), mean, sd)
            draws = estimator.samples_.reshape(-1, len(mode)).copy()
            if model.units.shift.size:
                draws[:, -1] -= model.units.shift[0]
            good = errors(draws.mean(axis=0), draws.std(axis=0), mean, sd)
            row = rough[0], rough[1], fast, good[0], good[1], seconds
            forms = ("{:.2f}", "{:.1f} %", "{:.3f}", "{:.2f}", "{:.1f} %", "{:.2f}")
            cells = [form.format(x) for form, x in zip(forms, row, strict=True)]
            table.row(name, n, *cells, f"{ess:.0f}")


if __name__ == "__main__":
    main()
