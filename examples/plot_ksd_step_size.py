"""
Which step size gives the best draws?
=====================================

Stochastic gradient Langevin dynamics samples a correlated Gaussian with four step
sizes h. Small steps explore too little, h = 1 makes the law of the chain too wide. The
kernel Stein discrepancy (KSD) sees both and is lowest for h = 0.1; the effective sample
size (ESS) sees only the first, and calls the most biased chain the best.

This is the illustration in section 4 of Nemeth and Fearnhead (2021), with four times
as many steps. At their 10,000, the Monte Carlo error of h = 0.1 is about as large as
the bias of h = 1, and its KSD the lower one for 66 of 100 random seeds. Other kernels
hardly help: with c from 0.1 to 5 and beta from -0.1 to -0.99, joint or per dimension,
V- or U-statistic, it is lower for 14 to 51 of 60 seeds.
"""

import matplotlib.pyplot as plt
import numpy as np
from arviz_stats.base import array_stats

from skbayes_sg import sample
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.samplers import SGLD
from skbayes_sg.metrics import kernel_stein_discrepancy

# %%
# The target is N(0, S), where S has the variances 2 and 1 along the diagonals of the
# plane. Rows are spread so that the gradient from one of them has errors of variance
# 0.01.

rotation = np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
covariance = rotation.T @ np.diag([2, 1]) @ rotation
precision = np.linalg.inv(covariance)
rows = 0.1 * np.random.default_rng(0).standard_normal((10_000, 2)) @ covariance
target = GaussianMean(rows - rows.mean(axis=0), precision)

step_sizes = [0.001, 0.01, 0.1, 1.0]
draws, ksd, ess = [], [], []
for h in step_sizes:
    chain = sample(
        target,
        SGLD(),
        Minibatch(1),
        step_size=h,
        n_draws=10_000,
        thin=4,
        random_state=1,
    )[0]
    draws.append(chain)
    some = chain[9::10]
    ksd.append(kernel_stein_discrepancy(some, -some @ precision))
    ess.append(array_stats.ess(chain[None], chain_axis=0, draw_axis=1).min())
    print(f"h = {h:<6} KSD {ksd[-1]:.3f}   ESS {ess[-1]:.0f}")

# %%
# Lines are the target's contours that hold 50, 90 and 99 % of its mass.

figure = plt.figure(figsize=(9, 5.4), layout="constrained")
axes = figure.subplot_mosaic(
    [[0, 1, 2, 3], ["KSD", "KSD", "ESS", "ESS"]], height_ratios=[1.1, 1]
)
grid = np.linspace(-5.5, 5.5, 100)
mesh = np.stack(np.meshgrid(grid, grid), axis=-1)
distance = np.einsum("abi,ij,abj->ab", mesh, precision, mesh)
levels = -2 * np.log([0.5, 0.1, 0.01])
for k, (h, chain) in enumerate(zip(step_sizes, draws, strict=True)):
    axes[k].plot(*chain[::5].T, ".", ms=1.5, alpha=0.4)
    axes[k].contour(grid, grid, distance, levels, colors="k", linewidths=0.8)
    axes[k].set(title=f"h = {h}", aspect="equal", xticks=[], yticks=[])
    axes[k].set(xlim=grid[[0, -1]], ylim=grid[[0, -1]])

for name, values, best in (("KSD", ksd, np.argmin(ksd)), ("ESS", ess, np.argmax(ess))):
    axes[name].plot(step_sizes, values, "o-", color="0.4")
    axes[name].plot(step_sizes[best], values[best], "o", color="C1", ms=10)
    axes[name].set(
        title=f"best by {name}: h = {step_sizes[best]}",
        xscale="log",
        yscale="log",
        xlabel="step size h",
        ylabel=name,
    )
plt.show()
