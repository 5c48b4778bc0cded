"""Sections 2.4 and 2.5: what SGLD samples from a Gaussian."""

import matplotlib.pyplot as plt
import numpy as np
from arviz_stats.base import array_stats

from skbayes_sg import DivergenceError, sample
from skbayes_sg.kernels.gradients import Full, Minibatch
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.samplers import SGLD

VARIANCES = np.array([2.0, 1.0])  # of the target, along its axes
ROTATION = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)  # P, by pi / 4
COVARIANCE = ROTATION.T @ np.diag(VARIANCES) @ ROTATION
PRECISION = np.linalg.inv(COVARIANCE)
DRIFT_NOISE = 0.01  # V; an error nu of the drift is half of one of the gradient


def target(drift_noise=DRIFT_NOISE):
    """Return N(0, COVARIANCE); the drift from one row has errors of this variance."""
    rows = np.random.default_rng(0).standard_normal((10_000, 2))
    rows = np.linalg.qr(rows - rows.mean(axis=0))[0] * np.sqrt(len(rows))
    return GaussianMean(2 * np.sqrt(drift_noise) * rows @ COVARIANCE, PRECISION)


def exact_variances(h, noise=DRIFT_NOISE):
    """Return the stationary variances along the axes, the paper's formula."""
    return VARIANCES * (1 + h * noise) / (1 - h / (4 * VARIANCES))


def run(report, quick):
    """Compare stationary laws with their formulas."""
    report.section("2.5", "A Gaussian example")
    report.text(
        "The two-dimensional Gaussian of the paper, with variances 2 and 1 along its "
        "axes. Gradients come from one random row of 10,000, which are spread so that "
        "the errors of the drift have the variance V = 0.01. The paper's formula of a "
        "stationary variance is σ² (1 + h V) / (1 − h / (4 σ²)).",
    )
    stationary_law(report, quick)
    limit_of_steps(report)
    noise_correction(report, quick)
    rate_of_convergence(report, quick)


def stationary_law(report, quick):
    """Variances, means and autocorrelations over step sizes."""
    model = target()
    n_draws = 20_000 if quick else 100_000
    rows, scores, forgets = [], [], []
    for h in (0.1, 0.5, 1.0, 2.0):
        draws = sample(
            model, SGLD(), Minibatch(1), step_size=h, n_draws=n_draws, burn_in=500,
            thin=max(1, round(2 / h)), n_chains=4, random_state=0,
        ) @ ROTATION.T  # fmt: skip
        found, exact = draws.var(axis=(0, 1)), exact_variances(h)
        ess = array_stats.ess(draws**2, chain_axis=0, draw_axis=1)
        error = np.sqrt(2 / ess) * exact
        z_mean = np.abs(draws.mean(axis=(0, 1))) / np.sqrt(
            exact / array_stats.ess(draws, chain_axis=0, draw_axis=1)
        )
        scores += [*np.abs((found - exact) / error), *z_mean]
        lag = max(1, round(2 / h))
        decay = [
            np.mean(x[:, 1:] * x[:, :-1]) / x.var() for x in np.moveaxis(draws, 2, 0)
        ]
        forgets.append((decay, (1 - h / (2 * VARIANCES)) ** lag))
        for j in (0, 1):
            cells = [h, VARIANCES[j], exact[j], found[j], error[j], decay[j]]
            rows.append([*cells, forgets[-1][1][j]])
    report.table(
        ["h", "σ²", "formula", "sampled", "Monte Carlo error", "autocorrelation",
         "its formula"],
        rows,
        "Stationary variances and autocorrelations of SGLD (of kept draws, one every "
        "2 / h steps). Seed 0.",
        published=["formula", "its formula"],
    )  # fmt: skip
    report.claim(
        "2.5",
        "SGLD has the correct mean and the inflated variance of the formula.",
        max(scores) < 4,
        f"largest distance {max(scores):.1f} Monte Carlo errors in {len(scores)} "
        "comparisons",
    )
    errors = [np.abs(np.subtract(*pair)).max() for pair in forgets]
    report.claim(
        "2.5",
        "The start is forgotten exponentially, more slowly along the axis of the "
        "larger variance.",
        max(errors) < 0.02,
        f"autocorrelations differ from those of the formula by at most "
        f"{max(errors):.3f}",
    )


def limit_of_steps(report):
    """Step sizes on both sides of the limit."""
    model = target()
    settings = dict(n_draws=20_000, burn_in=500, n_chains=4, random_state=0)
    draws = sample(model, SGLD(), Minibatch(1), step_size=3.9, **settings) @ ROTATION.T
    ratio = draws[..., 1].var() / exact_variances(3.9)[1]
    try:
        sample(model, SGLD(), Minibatch(1), step_size=4.1, **settings)
        diverges = False
    except DivergenceError:
        diverges = True
    report.claim(
        "2.5",
        "A stationary law exists only for h < 4 σ², the smallest variance.",
        diverges and 0.9 < ratio < 1.1,
        f"h = 3.9: variance {ratio:.2f} of the formula's; h = 4.1: "
        f"{'a DivergenceError' if diverges else 'no divergence'}",
    )


def noise_correction(report, quick):
    """Injected noise, less the noise of the gradients."""
    model = target(drift_noise=0.5)
    rows, errors = [], {}
    for correct in (False, True):
        draws = sample(
            model, SGLD(), Minibatch(1), step_size=0.5, burn_in=2000, n_chains=4,
            n_draws=20_000 if quick else 100_000, noise_correction=correct,
            random_state=0,
        ) @ ROTATION.T  # fmt: skip
        found = draws.var(axis=(0, 1))
        ideal = exact_variances(0.5, noise=0.0)
        errors[correct] = np.abs(found / ideal - 1).max()
        rows.append(["reduced" if correct else "full", *found, *ideal])
    report.table(
        ["injected noise", "variance 1", "variance 2", "without noise 1",
         "without noise 2"],
        rows,
        "Variances at h = 0.5 and V = 0.5, beside those of exact gradients, which "
        "still have the error of the Euler step.",
    )  # fmt: skip
    report.claim(
        "2.5",
        "Less injected noise, by the variance of the gradient, improves the accuracy; "
        "to estimate that variance well enough is an open problem.",
        errors[True] < 0.25 * errors[False],
        f"error of variances {errors[False]:.0%} without and {errors[True]:.1%} with "
        "the correction, from a running estimate",
    )


def rate_of_convergence(report, quick):
    """Find the best step size over the length of a run."""
    model = GaussianMean(np.array([[-1.0], [1.0]]), np.eye(1))
    lengths = [500, 4000, 32_000]
    steps = 2.0 ** np.arange(-5.5, 1.0, 0.5)
    n_chains = 50 if quick else 200
    errors = np.empty((len(lengths), len(steps)))
    for i, length in enumerate(lengths):
        for j, h in enumerate(steps):
            moments = sample(
                model, SGLD(), Full(), step_size=h, n_draws=length, keep="moments",
                start=np.random.default_rng(1).standard_normal((n_chains, 1)),
                n_chains=n_chains, random_state=0,
            )  # fmt: skip
            second = moments.covariance.ravel() + moments.mean.ravel() ** 2
            errors[i, j] = np.mean((second - 1) ** 2)
    # The bottom of a parabola through the logarithms around the lowest point.
    best, least = [], []
    for row in errors:
        k = int(np.clip(np.argmin(row), 2, len(steps) - 3))
        near = slice(k - 2, k + 3)
        a, b, c = np.polyfit(np.log(steps[near]), np.log(row[near]), 2)
        best.append(np.exp(-b / (2 * a)))
        least.append(np.exp(c - b**2 / (4 * a)))
    slopes = [np.polyfit(np.log(lengths), np.log(v), 1)[0] for v in (best, least)]
    figure, axis = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
    for length, row, h in zip(lengths, errors, best, strict=True):
        (line,) = axis.plot(steps, row, "o-", ms=3, label=f"K = {length:,}")
        axis.axvline(h, color=line.get_color(), ls=":")
    axis.set(xscale="log", yscale="log", xlabel="step size h")
    axis.set_ylabel("mean square error of E θ²")
    axis.legend()
    report.figure(
        figure,
        "Section 2.4: error of a second moment over the step size, for runs of three "
        f"lengths, {n_chains} chains each. Dotted: the best step size.",
    )
    report.claim(
        "2.4",
        "The mean square error is O(h² + 1 / (h K)): the best h falls as K^(−1/3), the "
        "error as K^(−2/3).",
        abs(slopes[0] + 1 / 3) < 0.1 and abs(slopes[1] + 2 / 3) < 0.1,
        f"exponents {slopes[0]:.2f} and {slopes[1]:.2f} over K = 500 to 32,000",
    )
