"""Section 4: the kernel Stein discrepancy chooses a step size."""

import gaussian
import matplotlib.pyplot as plt
import numpy as np
from arviz_stats.base import array_stats

from skbayes_sg import sample
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.samplers import SGLD
from skbayes_sg.metrics import kernel_stein_discrepancy

STEPS = [0.001, 0.01, 0.1, 1.0]
N_KEPT = 1000


def chain(h, n_steps, seed):
    """Return every draw of a chain from (0, 0)."""
    return sample(
        gaussian.target(), SGLD(), Minibatch(1), step_size=h, n_draws=n_steps,
        start=np.zeros(2), random_state=seed,
    )[0]  # fmt: skip


def measures(draws):
    """Return the KSD of 1,000 of the draws and the smaller ESS of all."""
    some = draws[len(draws) // N_KEPT - 1 :: len(draws) // N_KEPT]
    ksd = kernel_stein_discrepancy(some, -some @ gaussian.PRECISION)
    ess = array_stats.ess(draws[None], chain_axis=0, draw_axis=1).min()
    return ksd, ess


def run(report, quick):
    """Repeat the illustration, once with a picture and then with other seeds."""
    report.section("4", "Diagnostic tests")
    report.text(
        "SGLD on the Gaussian above from (0, 0), 10,000 steps of four sizes. The paper "
        "prints ∇U in the Stein kernel, where the gradient of the log density is "
        "meant: with its sign the cross terms would be wrong. It also prints the sum "
        "over dimensions of square roots; its code and its table 2 have the square "
        "root of the sum, as here (c = 1, β = −1/2)."
    )
    draws = [chain(h, 10_000, seed=0) for h in STEPS]
    values = np.array([measures(x) for x in draws])
    report.figure(
        picture(draws, values),
        "The paper's figure 1: 1,000 draws over contours that hold 50, 90 and 99 % of "
        "the target; KSD and effective sample size over the step size. Seed 0.",
    )
    report.table(
        ["h", "KSD", "ESS"],
        [[h, *row] for h, row in zip(STEPS, values, strict=True)],
        "10,000 steps, seed 0. The paper shows these in a figure without numbers.",
    )
    report.claim(
        "4",
        "ESS is largest for h = 1, the most biased of the chains.",
        np.argmax(values[:, 1]) == 3,
        f"ESS {values[2, 1]:.0f} for h = 0.1 and {values[3, 1]:.0f} for h = 1",
    )
    n_seeds = 10 if quick else 30
    right = {}
    for n_steps in (10_000, 40_000):
        ksd = [
            [measures(chain(h, n_steps, seed))[0] for h in STEPS]
            for seed in range(n_seeds)
        ]
        right[n_steps] = int(np.sum(np.argmin(ksd, axis=1) == 2))
    report.claim(
        "4",
        "h = 0.1 has the lowest KSD.",
        right[10_000] > n_seeds / 2,
        f"with {right[10_000]} of {n_seeds} seeds at 10,000 steps and with "
        f"{right[40_000]} at 40,000",
    )


def picture(draws, values):
    """Return the figure: clouds of draws above, the two measures below."""
    figure = plt.figure(figsize=(9, 5.4), layout="constrained")
    axes = figure.subplot_mosaic(
        [[0, 1, 2, 3], ["KSD", "KSD", "ESS", "ESS"]], height_ratios=[1.1, 1]
    )
    grid = np.linspace(-5.5, 5.5, 100)
    mesh = np.stack(np.meshgrid(grid, grid), axis=-1)
    distance = np.einsum("abi,ij,abj->ab", mesh, gaussian.PRECISION, mesh)
    levels = -2 * np.log([0.5, 0.1, 0.01])
    for k, (h, x) in enumerate(zip(STEPS, draws, strict=True)):
        axes[k].plot(*x[9::10].T, ".", ms=1.5, alpha=0.4)
        axes[k].contour(grid, grid, distance, levels, colors="k", linewidths=0.8)
        axes[k].set(title=f"h = {h}", aspect="equal", xticks=[], yticks=[])
        axes[k].set(xlim=grid[[0, -1]], ylim=grid[[0, -1]])
    best = np.argmin(values[:, 0]), np.argmax(values[:, 1])
    for name, column, k in zip(("KSD", "ESS"), values.T, best, strict=True):
        axes[name].plot(STEPS, column, "o-", color="0.4")
        axes[name].plot(STEPS[k], column[k], "o", color="C1", ms=10)
        axes[name].set(title=f"best by {name}: h = {STEPS[k]}", xlabel="step size h")
        axes[name].set(xscale="log", yscale="log")
    return figure
