"""Section 6.3: matrix factorization of MovieLens, four algorithms and exact draws."""

import copy
import time

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from algorithms import AUTOMATIC, by_hand
from published import FACTOR_STEPS, HOURS_OF_FACTORS

from skbayes_sg import SGBPMFRecommender, sample
from skbayes_sg.datasets import fetch_movielens_100k
from skbayes_sg.kernels.gradients import ControlVariate, Minibatch
from skbayes_sg.kernels.protocol.model import n_parameters, theta_of

NAMES = ("SGLD", "SGLD-CV", "SG-HMC", "SG-HMC-CV")
D, ALPHA, SHAPE, RATE = 20, 3.0, 1.0, 5.0
N_DRAWS = 100
SETTING = dict(
    n_factors=D,
    biases=False,
    noise_precision=ALPHA,
    noise_dof=None,
    precision_prior=(SHAPE, RATE),
    implicit_sets=False,
    n_chains=1,
    n_draws=N_DRAWS,
    random_state=0,
)


def thinning(quick):
    """Return iterations per draw, the same of all algorithms, as in the paper."""
    return 20 if quick else 100


def rmse(prediction, y):
    """Return the root mean square error of clipped predictions."""
    return float(np.sqrt(np.mean((np.clip(prediction, 1, 5) - y) ** 2)))


def errors_over_draws(model, draws, X, y):
    """Return the errors of averages over the later half of the first k draws."""
    part = copy.copy(model)
    errors = []
    for k in np.arange(5, len(draws) + 1, 5):
        some = draws[k // 2 : k]
        part.samples_, part.draw_weights_ = (
            some[None],
            np.full(len(some), 1 / len(some)),
        )
        errors.append(rmse(part.predict(X), y))
    return errors


def run_by_hand(name, fitted, quick, step=None):
    """Return draws with one step size for all factors, that of the published code.

    With control variates it is that of the algorithm without, unless `step` is given.
    """
    model, kind = fitted._model, name.removesuffix("-CV")
    sampler, h = by_hand(kind, FACTOR_STEPS[kind] if step is None else step)
    rng = np.random.default_rng(0)
    gradient = Minibatch(model.y.size // 10)
    start = 0.1 * rng.standard_normal(n_parameters(model))
    if name.endswith("-CV"):
        start = theta_of(model, fitted.samples_[0, -1])
        gradient = ControlVariate(gradient.batch_size, start)
    return sample(
        model, sampler, gradient, step_size=h, start=start,
        n_draws=N_DRAWS, thin=thinning(quick), random_state=0,
        scale=np.ones(start.size, start.dtype),
    )[0]  # fmt: skip


def gibbs(X, y, X_test, n_burn, n_sweeps):
    """Return the averaged prediction of exact draws, by a Gibbs sampler in numpy."""
    rng = np.random.default_rng(0)
    levels = [np.unique(column) for column in X.T]
    rows = [np.searchsorted(v, x) for v, x in zip(levels, X.T, strict=True)]
    sizes, mean = [len(v) for v in levels], y.mean()
    table = sp.csr_matrix((y - mean, rows), sizes)
    tables = table, table.T.tocsr()
    ones = [sp.csr_matrix((np.ones(t.nnz), t.indices, t.indptr)) for t in tables]
    x = [0.1 * rng.standard_normal((size, D)) for size in sizes]
    at = [np.minimum(np.searchsorted(v, c), len(v) - 1)
          for v, c in zip(levels, X_test.T, strict=True)]  # fmt: skip
    seen = [v[i] == c for v, i, c in zip(levels, at, X_test.T, strict=True)]
    total = np.zeros(len(X_test))
    for sweep in range(n_burn + n_sweeps):
        means = []
        for side in (0, 1):
            own, n = x[side], sizes[side]
            # Normal-gamma: mu ~ N(0, 1 / lambda), lambda ~ Gamma(SHAPE, rate RATE).
            centre = own.sum(axis=0) / (n + 1)
            spread = np.sum(own**2, axis=0) - (n + 1) * centre**2
            precision = rng.gamma(SHAPE + n / 2, 1 / (RATE + spread / 2))
            mu = centre + rng.standard_normal(D) / np.sqrt((n + 1) * precision)
            means.append(mu)
            other = x[1 - side]
            squares = (other[:, :, None] * other[:, None]).reshape(-1, D * D)
            a = ALPHA * (ones[side] @ squares).reshape(n, D, D) + np.diag(precision)
            b = ALPHA * (tables[side] @ other) + precision * mu
            factor = np.linalg.cholesky(a)
            noise = rng.standard_normal((n, D, 1))
            shift = np.linalg.solve(factor, b[:, :, None]) + noise
            x[side] = np.linalg.solve(factor.transpose(0, 2, 1), shift)[:, :, 0]
        if sweep >= n_burn:  # those without ratings have the prior's mean
            u, v = (
                np.where(s[:, None], f[i], m)
                for s, f, i, m in zip(seen, x, at, means, strict=True)
            )
            total += mean + np.sum(u * v, axis=1)
    return total / n_sweeps


def run(report, quick):
    """Make the paper's figure of errors, and its claims."""
    report.section("6.3", "Bayesian probabilistic matrix factorization")
    folds = (1,) if quick else (1, 2, 3, 4, 5)
    data = [fetch_movielens_100k(fold=k, return_X_y=True) for k in folds]
    n_iter = N_DRAWS * thinning(quick)
    report.text(
        f"MovieLens 100K, {len(folds)} of the five official folds, 20 factors, (α, μ0, "
        f"a0, b0) = (3, 0, 1, 5), minibatches of a tenth of the ratings. {n_iter:,} "
        "iterations of each in the place of 100,000; those of SG-HMC have five "
        "gradients. Means and precisions of the factors are drawn from their "
        "conditional laws. By hand: the step sizes of the published code, 4e-5 of SGLD "
        "and 4e-7 (eta) of SG-HMC, from random factors, or with control variates from "
        "the end of a warm-up by full gradients. Automatic: steps of the estimator, in "
        "units of its own for each row, from the end of the warm-up. Exact: a Gibbs "
        f"sampler in numpy, 50 sweeps of burn-in and {100 if quick else 200} more. "
        "Ratings are less their mean."
    )
    curves, exact, moved = {}, [], None
    seconds = {}
    for X, X_test, y, y_test in data:
        fitted = SGBPMFRecommender(**{**SETTING, "n_draws": 2}).fit(X, y)
        for name in NAMES:
            for kind in ("by hand", "automatic"):
                began = time.perf_counter()
                if kind == "by hand":
                    model, draws = fitted, run_by_hand(name, fitted, quick)
                else:
                    parts = {**AUTOMATIC[name], "thin": thinning(quick)}
                    model = SGBPMFRecommender(**SETTING, burn_in=0, **parts).fit(X, y)
                    draws = model.samples_[0]
                spent = time.perf_counter() - began
                errors = errors_over_draws(model, draws, X_test, y_test)
                curves.setdefault((kind, name), []).append(errors)
                seconds.setdefault((kind, name), []).append(spent)
                print(kind, name, errors[-1], spent, flush=True)
        began = time.perf_counter()
        exact.append(rmse(gibbs(X, y, X_test, 50, 100 if quick else 200), y_test))
        seconds.setdefault("exact", []).append(time.perf_counter() - began)
        print("exact", exact[-1], flush=True)
        if moved is None:
            still = run_by_hand("SGLD-CV", fitted, quick, step=FACTOR_STEPS["SGLD-CV"])
            theta = still[:, : n_parameters(fitted._model)]
            free = run_by_hand("SGLD-CV", fitted, quick)[:, : theta.shape[1]]
            moved = np.median(theta.std(axis=0) / free.std(axis=0))
    mean = {key: np.mean(some, axis=0) for key, some in curves.items()}
    show(report, mean, exact, seconds, folds)
    claims(report, mean, np.mean(exact), moved, seconds)


def show(report, mean, exact, seconds, folds):
    """Show errors over iterations and at their end."""
    figure, axes = plt.subplots(
        1, 2, figsize=(10, 4), layout="constrained", sharey=True
    )
    for (kind, name), errors in mean.items():
        axis = axes[["by hand", "automatic"].index(kind)]
        style = "--" if name.endswith("CV") else "-"
        share = np.arange(1, len(errors) + 1) / len(errors)
        color = f"C{NAMES.index(name) // 2}"
        axis.plot(share, errors, style, color=color, label=name)
        axis.set(title=f"step sizes {kind}", xlabel="share of the iterations")
    for axis in axes:
        axis.axhline(np.mean(exact), color="k", ls=":", label="exact draws")
    axes[0].set(ylabel="root mean square error", ylim=(0.9, 1.15))
    axes[1].legend(fontsize="small")
    report.figure(
        figure,
        "The paper's figure of errors, mean of the folds: of predictions averaged over "
        "the later half of the draws so far.",
    )
    time_ = f"{np.mean(seconds['exact']):.1f}"
    rows = [["exact (Gibbs)", f"{np.mean(exact):.4f}", time_, None]]
    for (kind, name), errors in mean.items():
        hours = HOURS_OF_FACTORS[name] if kind == "by hand" else None
        time_ = f"{np.mean(seconds[kind, name]):.1f}"
        rows.append([f"{name}, {kind}", f"{errors[-1]:.4f}", time_, hours])
    report.table(
        ["algorithm", "error", "seconds of a fold", "paper: hours"],
        rows,
        f"Error on the test ratings, folds {', '.join(f'u{k}' for k in folds)}. The "
        "paper prints no errors; its hours are for 100,000 iterations. Seed 0.",
        published=["paper: hours"],
    )


def claims(report, mean, exact, moved, seconds):
    """Compare the algorithms."""
    for kind in ("by hand", "automatic"):
        last = {name: mean[kind, name][-1] for name in NAMES}
        shown = ", ".join(f"{name} {error:.4f}" for name, error in last.items())
        report.claim(
            "6.3",
            f"SG-HMC has a lower error than SGLD (steps {kind}).",
            last["SG-HMC"] < last["SGLD"] - 1e-3,
            f"{shown}; a difference below 0.001 counts as none",
        )
        report.claim(
            "6.3",
            f"All algorithms have a lower error than exact draws (steps {kind}).",
            max(last.values()) < exact,
            f"exact {exact:.4f}, from a chain that has converged; the paper's Stan "
            "chain, as it says, may not have",
        )
    first = {name: mean["by hand", name][0] for name in NAMES}
    report.claim(
        "6.3",
        "Control variates have a lower error at once, because they start at the mode.",
        first["SGLD-CV"] < first["SGLD"] and first["SG-HMC-CV"] < first["SG-HMC"],
        "after a twentieth of the iterations "
        + ", ".join(f"{name} {error:.3f}" for name, error in first.items()),
    )
    report.claim(
        "6.3",
        "The published chains with control variates sample the posterior.",
        moved > 0.5,
        f"with their step of 1e-10 the sds of the factors are {moved:.1%} of those "
        "with that of SGLD, 4e-5: they stay where they start",
    )
    report.claim(
        "6.3",
        "Stan takes days where the others take hours.",
        None,
        "Stan is not run here; the model is conjugate, so that a Gibbs sampler in "
        f"numpy has exact draws after {np.mean(seconds['exact']):.0f} s a fold, SGLD "
        f"by hand takes {np.mean(seconds['by hand', 'SGLD']):.0f} s",
    )
