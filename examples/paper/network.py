"""Section 6.2: a network for MNIST, six algorithms."""

import time
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from algorithms import AUTOMATIC, by_hand
from published import ALGORITHMS, NETWORK_STEPS
from scipy.special import softmax

from skbayes_sg import SGMCMCClassifierMLP, sample
from skbayes_sg.datasets import fetch_mnist
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import ControlVariate, Minibatch
from skbayes_sg.kernels.likelihoods import Categorical
from skbayes_sg.kernels.models import MLP
from skbayes_sg.kernels.models.mlp_layers import SoftmaxUnits
from skbayes_sg.kernels.protocol.model import n_parameters

SIZES = np.array([784, 100, 10])
N, N_QUICK, N_DRAWS = 55_000, 11_000, 50  # images; 1 % of them are a minibatch
NAMES = [name for name in ALGORITHMS if name != "ULA"]


class Curve(NamedTuple):
    """Test log-loss of single draws and of the average so far, and seconds."""

    single: np.ndarray
    averaged: np.ndarray
    seconds: float


def lengths(name, quick):
    """Return burn-in and iterations of an algorithm, as the paper has them."""
    n_iter = 2000 if name.startswith("SG-HMC") else 10_000
    n_iter = n_iter // 5 if quick else n_iter
    return (0 if name.endswith("-CV") else n_iter), n_iter


def network(X, y):
    """Return the posterior of the paper's network, precisions ~ Gamma(1, 1)."""
    parts = np.empty(0, "f4"), SIZES, np.ones(4, "f4"), True
    return for_kernels(MLP(SoftmaxUnits(), Categorical(), X, y.astype("f4"), *parts))


def curve(draws, X, y, seconds):
    """Return the log-loss of draws (n, d) of the weights on test images."""
    d, k, m = SIZES
    ends = np.cumsum([d * k, k, k * m, m])
    total, single, averaged = 0.0, [], []
    for i, draw in enumerate(draws.astype("f4"), 1):
        B, b, A, a = np.split(draw[: ends[-1]], ends[:-1])
        hidden = softmax(X @ B.reshape(d, k) + b, axis=1)
        p = softmax(hidden @ A.reshape(k, m) + a, axis=1)[np.arange(len(y)), y]
        total = total + np.maximum(p, 1e-30)
        single.append(-np.mean(np.log(np.maximum(p, 1e-30))))
        averaged.append(-np.mean(np.log(total / i)))
    return Curve(np.array(single), np.array(averaged), seconds)


def run_by_hand(name, model, mode, quick):
    """Return draws at the step size of the published code."""
    kind = name.removesuffix("-CV")
    sampler, h = by_hand(kind, NETWORK_STEPS[kind])
    burn_in, n_iter = lengths(name, quick)
    start = np.random.default_rng(0).standard_normal(n_parameters(model))
    batch = len(model.y) // 100
    gradient = Minibatch(batch)
    if name.endswith("-CV"):
        gradient, start = ControlVariate(batch, mode), mode
    return sample(
        model, sampler, gradient, step_size=h, n_draws=N_DRAWS, burn_in=burn_in,
        thin=n_iter // N_DRAWS, start=start, random_state=0,
        scale=np.ones(start.size, start.dtype),
    )[0]  # fmt: skip


def run_automatic(name, X, y, quick):
    """Return the estimator with automatic step sizes, which starts trained."""
    burn_in, n_iter = lengths(name, quick)
    model = SGMCMCClassifierMLP(
        (100,),
        activation="softmax",
        weight_precision="gamma",
        batch_size=len(y) // 100,
        temperature=1.0,
        burn_in=burn_in,
        thin=n_iter // N_DRAWS,
        n_draws=N_DRAWS,
        n_chains=1,
        random_state=0,
        **AUTOMATIC[name],
    )
    return model.fit(X, y)


def run(report, quick):
    """Make the paper's figure of log-losses, twice."""
    report.section("6.2", "Bayesian neural network")
    options = dict(return_X_y=True)
    n = N_QUICK if quick else N
    X, y = (array[:n] for array in fetch_mnist(subset="train", **options))
    X_test, y_test = fetch_mnist(subset="test", **options)
    X, X_test = X.astype("f4"), X_test.astype("f4")
    report.text(
        f"784 pixels, 100 hidden units that share a softmax, ten classes; {n:,} "
        "images, 1 % of them per step, precisions of the weights ~ Gamma(1, 1), drawn "
        "from their conditional laws. By hand: from standard normal weights with the "
        "step sizes of the published code, which are SGLD 1e-4, SG-HMC 4e-6 and "
        "SG-NHT 7e-6 (the latter two are learning rates). With control variates: from "
        "the trained weights of the estimator, in the place of 10,000 plain gradient "
        "steps. Automatic: the estimators' steps and diagonal units, all from trained "
        "weights. SG-HMC has five gradients per iteration and a fifth of the "
        "iterations.",
    )
    model = network(X, y)
    first = run_automatic("SGLD", X, y, quick)
    curves = {}
    for name in NAMES:
        for kind in ("by hand", "automatic"):
            began = time.perf_counter()
            if kind == "by hand":
                draws = run_by_hand(name, model, first.mode_, quick)
            else:
                draws = run_automatic(name, X, y, quick).samples_[0]
            seconds = time.perf_counter() - began
            curves[kind, name] = curve(draws, X_test, y_test, seconds)
            print(kind, name, curves[kind, name].averaged[-1], seconds, flush=True)
    figures(report, curves, quick)
    rows = [
        [f"{name}, {kind}", f"{c.single[-1]:.4f}", f"{c.averaged[-1]:.4f}",
         f"{c.seconds:.0f}"]
        for (kind, name), c in curves.items()
    ]  # fmt: skip
    report.table(
        ["algorithm", "last draw", "average of draws", "seconds"],
        rows,
        "Log-loss of 10,000 test images. The paper shows its own in a figure without "
        "numbers. Seconds on one core, compilation of what is new included. Seed 0.",
    )
    claims(report, curves)


def figures(report, curves, quick):
    """Show the log-loss over iterations after burn-in."""
    figure, axes = plt.subplots(
        2, 2, figsize=(10, 7), layout="constrained", sharex=True
    )
    for (kind, name), c in curves.items():
        column = ["by hand", "automatic"].index(kind)
        color = f"C{NAMES.index(name) // 2}"
        style = "--" if name.endswith("CV") else "-"
        share = np.arange(1, N_DRAWS + 1) / N_DRAWS
        for axis, values in zip(axes[:, column], (c.single, c.averaged), strict=True):
            axis.plot(share, values, style, color=color, label=name)
            axis.set(yscale="log")
        axes[0, column].set(title=f"step sizes {kind}")
    axes[0, 0].set_ylabel("log-loss of a draw")
    axes[1, 0].set_ylabel("log-loss of the average so far")
    axes[0, 1].legend(fontsize="small")
    for axis in axes[1]:
        axis.set_xlabel(
            f"share of the iterations after burn-in ({lengths('SGLD', quick)[1]:,}, "
            f"SG-HMC {lengths('SG-HMC', quick)[1]:,})"
        )
    report.figure(
        figure,
        "The paper's figure of log-losses on test images: above of single draws, as it "
        "shows them, below of the averaged probabilities.",
    )


def claims(report, curves):
    """Compare the algorithms."""
    for kind in ("by hand", "automatic"):
        loss = {name: curves[kind, name].single[-10:].mean() for name in NAMES}
        cv = [name for name in NAMES if name.endswith("-CV")]
        wins = [loss[name] < loss[name.removesuffix("-CV")] for name in cv]
        shown = ", ".join(f"{name} {value:.3f}" for name, value in loss.items())
        where = f"steps {kind}; mean log-loss of the last ten draws: {shown}"
        report.claim(
            "6.2",
            f"Control variates predict somewhat better (steps {kind}).",
            all(wins),
            where,
        )
        report.claim(
            "6.2",
            f"Of the others SG-HMC and SG-NHT predict best (steps {kind}).",
            max(loss["SG-HMC"], loss["SG-NHT"]) < loss["SGLD"],
            "as above",
        )
