"""Section 6.1: logistic regression, at the paper's step sizes and at automatic ones."""

import time
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from algorithms import AUTOMATIC, by_hand
from arviz_stats.base import array_stats
from published import (
    ALGORITHMS,
    LOGISTIC_SGNHT_DECAY,
    LOGISTIC_STEPS,
    MOMENTUM_DECAY,
    TABLE_2,
)

from skbayes_sg import SGMCMCLogisticRegression, sample
from skbayes_sg.datasets import make_logistic
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.inference.scores import posterior_scores
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import ControlVariate, Full, Minibatch
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM
from skbayes_sg.metrics import kernel_stein_discrepancy

N, N_TEST, BATCH, N_ITER, LAST = 100_000, 10_000, 1000, 20_000, 1000
PRIOR_VARIANCE = 10.0
WINDOWS = 10  # of the figures over iterations


class Problem(NamedTuple):
    """Data and model of one dimension."""

    d: int
    model: GLM
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class Run(NamedTuple):
    """Draws of one algorithm, one per iteration, and the seconds of the whole run."""

    draws: np.ndarray
    seconds: float


def problem(d):
    """Return the simulated data of the paper, and its posterior."""
    X, y = make_logistic(N + N_TEST, d, random_state=d)
    train, test = X[:N], X[N:]
    precision = np.full(d, 1 / PRIOR_VARIANCE)
    parts = Bernoulli(), train, y[:N].astype(float), np.empty(0), precision, False, 1
    return Problem(d, for_kernels(GLM(*parts)), train, y[:N], test, y[N:])


def run_by_hand(name, at, n_iter=N_ITER):
    """Run an algorithm as the paper did, with the step size of its code."""
    decay = LOGISTIC_SGNHT_DECAY if name.startswith("SG-NHT") else MOMENTUM_DECAY
    sampler, h = by_hand(name, LOGISTIC_STEPS[name], decay)
    began = time.perf_counter()
    start = np.random.default_rng(0).standard_normal(at.d)
    gradient = Full() if name == "ULA" else Minibatch(BATCH)
    if name.endswith("-CV"):
        start = find_mode(at.model)
        gradient, n_iter = ControlVariate(BATCH, start), n_iter // 2
    draws = sample(
        at.model, sampler, gradient, step_size=h, n_draws=n_iter, start=start,
        random_state=0,
    )[0]  # fmt: skip
    return Run(draws, time.perf_counter() - began)


def run_automatic(name, at, n_iter=N_ITER // 2, **settings):
    """Run the estimator with its own step size, from the mode."""
    n_iter = n_iter // 5 if name == "ULA" else n_iter  # it reads all rows
    options = dict(batch_size=BATCH, n_draws=n_iter, thin=1, **AUTOMATIC.get(name, {}))
    model = SGMCMCLogisticRegression(
        **{**options, **settings},
        prior_variance=PRIOR_VARIANCE,
        fit_intercept=False,
        n_chains=1,
        random_state=0,
    )
    began = time.perf_counter()
    model.fit(at.X, at.y)
    return Run(model.samples_[0], time.perf_counter() - began)


def exact(at):
    """Run Hamiltonian Monte Carlo on all rows, in the place of Stan."""
    return run_automatic(
        "HMC", at, LAST, sampler="hmc", gradient="full", batch_size="auto"
    )


def log_losses(at, draws):
    """Return the log-loss of the test rows, averaged over draws of theta."""
    sign = np.where(at.y_test == 1, -1.0, 1.0)
    return np.logaddexp(0, sign[:, None] * (at.X_test @ draws.T)).mean(axis=0)


def discrepancy(at, draws):
    """Return the KSD and its floor, from exact gradients."""
    scores = posterior_scores(at.model, draws, n_jobs=2)
    return kernel_stein_discrepancy(draws, scores, return_floor=True, n_jobs=2)


def measures(at, run):
    """Return what table 2 has, and the largest error of an sd by the exact draws."""
    half = run.draws[len(run.draws) // 2 :] if len(run.draws) > LAST else run.draws
    ess = array_stats.ess(half[None], chain_axis=0, draw_axis=1).min()
    ksd, floor = discrepancy(at, run.draws[-LAST:])
    return {
        "seconds": run.seconds,
        "min ESS": ess,
        "min ESS per minute": 60 * ess / run.seconds,
        "log-loss": log_losses(at, run.draws[-LAST:]).mean(),
        "KSD": ksd,
        "floor": floor,
    }


def run(report, quick):
    """Make table 2, its figures and its claims."""
    report.section("6.1", "Logistic regression")
    report.text(
        f"N = {N:,} simulated rows, {BATCH} per step, prior N(0, 10). By hand: the "
        "step sizes of the published code (those that it has for d = 10, also for d = "
        "50 and 100), 20,000 iterations from a standard normal point; with control "
        "variates 10,000 iterations from the mode. The mode is found by L-BFGS, which "
        "counts in the seconds, not by 10,000 stochastic gradient steps. Automatic: "
        "the same samplers with the step size and the whitening that the estimators "
        "choose, 10,000 iterations (ULA 2,000) from the mode after an automatic "
        "burn-in. `default` is `SGLDLogisticRegression()` but for one chain, of 1,000 "
        "thinned draws.",
        "In the place of Stan stands Hamiltonian Monte Carlo on all rows in whitened "
        "coordinates, 1,000 draws. The effective sample size is that of the second "
        "half of the iterations: of 1 or 2 says no more than that a chain has not yet "
        "moved through the posterior. Log-loss and KSD are of the last 1,000 draws. "
        "KSD has the scale of the posterior's curvature and so depends on the true "
        "parameters, which are drawn: only its ratio to the floor, the KSD expected "
        "of as many independent draws of the posterior, can be compared between the "
        "paper and this run. The paper's levels belong to its own data.",
    )
    found = {}
    for d in (10,) if quick else (10, 50, 100):
        at = problem(d)
        compile_first(at)
        runs = {"by hand": {}, "automatic": {}, "exact": {"HMC": exact(at)}}
        for name in ALGORITHMS:
            runs["by hand"][name] = run_by_hand(name, at)
            runs["automatic"][name] = run_automatic(name, at)
        default = dict(sampler=None, batch_size="auto", thin="auto")
        runs["automatic"]["default"] = run_automatic("default", at, LAST, **default)
        found[d] = {
            (kind, name): measures(at, one)
            for kind, some in runs.items()
            for name, one in some.items()
        }
        table(report, d, found[d])
        if d == 10:
            figures(report, at, runs)
            claims_of_convergence(report, at, runs)
    gradient_claims(report, quick)
    claims(report, found)


def compile_first(at):
    """Compile all that is timed."""
    for name in ALGORITHMS:
        run_by_hand(name, at, 2)
        run_automatic(name, at, 20)
    run_automatic("default", at, 20, sampler=None, batch_size="auto")


def table(report, d, found):
    """Show table 2 for one dimension."""
    rows = []
    for (kind, name), m in found.items():
        column = (("Stan", *ALGORITHMS)).index("Stan" if kind == "exact" else name) \
            if name != "default" else None  # fmt: skip
        paper = [
            None if column is None else TABLE_2[what][d][column] for what in TABLE_2
        ]
        rows.append(
            [f"{name}, {kind}", f"{m['seconds']:.2f}", f"{m['min ESS']:,.0f}",
             m["min ESS per minute"], f"{m['log-loss']:.4f}", f"{m['KSD']:.1f}",
             f"{m['floor']:.1f}", f"{m['KSD'] / m['floor']:.2f}", *paper]
        )  # fmt: skip
    columns = [f"paper: {what}" for what in TABLE_2]
    report.table(
        ["algorithm", "seconds", "min ESS", "min ESS / minute", "log-loss", "KSD",
         "floor", "KSD / floor", *columns],
        rows,
        f"Table 2 for d = {d}. Shaded: the paper's numbers, which for HMC are those of "
        "Stan (2,000 iterations). Seconds on one core, compiled before. Seed 0.",
        published=columns,
    )  # fmt: skip


def figures(report, at, runs):
    """Show traces, and log-loss and KSD over iterations."""
    mean = runs["exact"]["HMC"].draws.mean(axis=0)
    figure, axes = plt.subplots(
        2, 4, figsize=(11, 5), layout="constrained", sharey=True
    )
    chains = {"HMC": runs["exact"]["HMC"], **runs["by hand"]}
    for axis, (name, one) in zip(axes.flat, chains.items(), strict=True):
        every = max(1, len(one.draws) // 1000)
        axis.plot(np.arange(0, len(one.draws), every), one.draws[::every], lw=0.7)
        for value in mean:
            axis.axhline(value, color="k", lw=0.4, ls=":")
        axis.set_title(name)
    report.figure(
        figure,
        "The paper's figure 2: traces at its step sizes, d = 10. Dotted: posterior "
        "means. Chains with control variates start at the mode.",
    )
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    for column, kind in enumerate(("by hand", "automatic")):
        best = log_losses(at, runs["exact"]["HMC"].draws).mean()
        for k, name in enumerate(ALGORITHMS):
            draws = runs[kind][name].draws
            parts = np.array_split(draws, WINDOWS)
            ends = np.cumsum([len(part) for part in parts])
            losses = [
                log_losses(at, part[:: len(part) // 100]).mean() for part in parts
            ]
            ksd = [discrepancy(at, part[:: len(part) // 100])[0] for part in parts]
            style = "--" if name.endswith("CV") else "-"
            for axis, values in zip(axes[:, column], (losses, ksd), strict=True):
                axis.plot(ends, values, style, color=f"C{k}", label=name)
        axes[0, column].axhline(best, color="k", lw=0.7, ls=":")
        axes[0, column].set(title=f"step sizes {kind}", ylabel="log-loss")
        axes[1, column].set(ylabel="KSD of 100 draws", xlabel="iteration")
        axes[1, column].set(yscale="log")
    axes[0, 0].set(yscale="log")
    axes[0, 1].ticklabel_format(useOffset=False)
    axes[0, 0].legend(fontsize="small")
    report.figure(
        figure,
        "Log-loss of test rows and KSD over iterations, d = 10, in ten windows of each "
        "run. Dotted: the log-loss of exact draws.",
    )


def arrival(draws, reference):
    """Return the first iteration within 5 sds of all posterior means."""
    away = np.abs(draws - reference.mean(axis=0)) / reference.std(axis=0)
    inside = np.flatnonzero(away.max(axis=1) < 5)
    return int(inside[0]) if len(inside) else None


def claims_of_convergence(report, at, runs):
    """Compare iterations until the posterior is reached."""
    reference = runs["exact"]["HMC"].draws
    when = {n: arrival(r.draws, reference) for n, r in runs["by hand"].items()}
    shown = {n: "never" if t is None else f"{t:,}" for n, t in when.items()}
    late = {n: N_ITER if t is None else t for n, t in when.items()}
    seconds = {
        n: late[n] * r.seconds / len(r.draws) for n, r in runs["by hand"].items()
    }
    report.claim(
        "6.1",
        "SG-HMC and SG-NHT converge in fewer iterations than SGLD.",
        max(late["SG-HMC"], late["SG-NHT"]) < late["SGLD"],
        f"first within 5 sds of the posterior mean: SGLD {shown['SGLD']}, SG-HMC "
        f"{shown['SG-HMC']}, SG-NHT {shown['SG-NHT']} iterations at the paper's steps",
    )
    report.claim(
        "6.1",
        "ULA converges in fewer iterations than SGLD, in more time.",
        late["ULA"] < late["SGLD"] and seconds["ULA"] > seconds["SGLD"],
        f"{shown['ULA']} against {shown['SGLD']} iterations, {seconds['ULA']:.1f} "
        f"against {seconds['SGLD']:.2f} s: both take the same step, and the gradient's "
        "noise hardly changes how fast they drift",
    )
    cv = [name for name in ALGORITHMS if name.endswith("-CV")]
    report.claim(
        "6.1",
        "Control variates replace burn-in by an optimization.",
        all(late[n] < late[n.removesuffix("-CV")] for n in cv),
        "with control variates within 5 sds after "
        + ", ".join(f"{n} {shown[n]}" for n in cv)
        + " iterations",
    )


def gradient_variances(n, d=10):
    """Return variances of 1 % of the rows, relative to the information, both ways."""
    X, y = make_logistic(n, d, random_state=d)
    parts = Bernoulli(), X, y.astype(float), np.empty(0), np.full(d, 0.1), False, 1
    model = for_kernels(GLM(*parts))
    mode = find_mode(model)
    p = 1 / (1 + np.exp(-X @ mode))
    covariance = np.linalg.inv((X * (p * (1 - p))[:, None]).T @ X)
    root = np.linalg.cholesky(covariance)
    theta = mode + root @ np.ones(d)  # one sd away in each direction
    q = 1 / (1 + np.exp(-X @ theta))
    found = []
    for residual in (y - q, p - q):
        rows = (X * residual[:, None]) @ root
        found.append(n**2 / BATCH * rows.var(axis=0).max())
    return found


def gradient_claims(report, quick):
    """Compare how gradient noise grows with the number of rows."""
    sizes = [10_000, 100_000] + ([] if quick else [1_000_000])
    values = [gradient_variances(n) for n in sizes]
    slopes = [np.polyfit(np.log(sizes), np.log(v), 1)[0] for v in np.transpose(values)]
    report.claim(
        "2.3",
        "With control variates the cost per effective draw is O(1), not O(N).",
        slopes[0] > 0.8 and slopes[1] < 0.2,
        f"variance of a gradient of {BATCH} rows in units of the posterior, one sd "
        f"from the mode, grows as N^{slopes[0]:.2f} without and N^{slopes[1]:.2f} with "
        "them, so that the minibatch need not grow",
    )


def claims(report, found):
    """Compare the algorithms in table 2."""
    d = max(found)
    m = found[d]
    exact_, hand = m["exact", "HMC"], {n: m["by hand", n] for n in ALGORITHMS}
    auto = {n: m["automatic", n] for n in (*ALGORITHMS, "default")}
    ratios = [hand[n]["KSD"] / hand[n]["floor"] for n in ALGORITHMS]
    losses = [hand[n]["log-loss"] for n in ALGORITHMS]
    report.claim(
        "6.1",
        "All algorithms are 10 to 100 times faster than Stan at d = 100.",
        None,
        "Stan is not run here; HMC of 1,000 draws, without a search for a step, takes "
        f"{exact_['seconds']:.0f} s at d = {d}, the algorithms by hand "
        f"{min(h['seconds'] for h in hand.values()):.1f} to "
        f"{max(h['seconds'] for h in hand.values()):.0f} s. `make bench` runs Stan.",
    )
    report.claim(
        "6.1",
        "The exact sampler has the lowest log-loss and KSD.",
        exact_["log-loss"] <= min(losses) + 1e-4
        and exact_["KSD"] / exact_["floor"] <= min(ratios),
        f"d = {d}: log-loss {exact_['log-loss']:.4f} against {min(losses):.4f} to "
        f"{max(losses):.4f}, KSD / floor {exact_['KSD'] / exact_['floor']:.2f} against "
        f"{min(ratios):.2f} to {max(ratios):.2f}",
    )
    report.claim(
        "6.1",
        "Its log-loss and KSD are only slightly better than those of the others.",
        max(losses) < exact_["log-loss"] + 0.005
        and max(ratios) < 1.5 * exact_["KSD"] / exact_["floor"],
        f"d = {d}: so for the log-loss, which hardly depends on the draws; the KSD of "
        "chains of this length at the paper's steps is that of chains which have not "
        "moved through the posterior",
    )
    per_minute = [hand[n]["min ESS per minute"] for n in ALGORITHMS]
    report.claim(
        "6.1",
        "Effective draws per minute are far below those of the exact sampler.",
        max(per_minute) < exact_["min ESS per minute"],
        f"d = {d}, at the paper's steps {min(per_minute):.0f} to {max(per_minute):.0f} "
        f"per minute, exact {exact_['min ESS per minute']:.0f}",
    )
    report.claim(
        "6.1",
        "Preconditioning would improve that.",
        all(
            auto[n]["min ESS per minute"] > hand[n]["min ESS per minute"]
            for n in ALGORITHMS
        ),
        f"d = {d}, automatic steps in whitened coordinates: "
        + ", ".join(
            f"{n} {auto[n]['min ESS per minute'] / hand[n]['min ESS per minute']:.0f}"
            for n in ALGORITHMS
        )
        + f" times; the default has {auto['default']['min ESS per minute']:,.0f}",
    )
    spread = [auto[n]["KSD"] / auto[n]["floor"] for n in ALGORITHMS]
    report.claim(
        "6.1",
        "All algorithms are similar if they are well tuned.",
        max(spread) < 1.5 * min(spread),
        f"d = {d}, automatic steps: KSD / floor {min(spread):.2f} to {max(spread):.2f}",
    )
