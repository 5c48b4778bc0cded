"""
What happens at a wall?
=======================

A Gaussian that is known to lie in a disk, by chains that are projected onto the disk,
reflected at its wall, or drawn back by a proximal term. How large are their errors, and
where do the draws lie?
"""

# %%
# The truth by a grid
# -------------------
# The density is that of N((0.8, 0), I) within the unit disk. Its moments are sums over
# a fine grid.

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg import sample
from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.models import GaussianMean, Proximal
from skbayes_sg.kernels.regions import Ball
from skbayes_sg.kernels.samplers import BAOAB, SGLD, bounded

MEAN = np.array([0.8, 0.0])
DISK = Ball(np.zeros(2), 1.0)
MODEL = GaussianMean(MEAN[None], precision=np.eye(2))

line = np.linspace(-1, 1, 2001)
grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
grid = grid[(grid**2).sum(axis=1) <= 1]
weight = np.exp(-0.5 * ((grid - MEAN) ** 2).sum(axis=1))
square = (grid**2).sum(axis=1)
truth = np.average(square, weights=weight)

# %%
# Errors over step sizes
# ----------------------
# The projection errs about in proportion to the root of the step size, reflection in
# proportion to the step size. It turns a chain at the plane that touches the disk, so
# that at this curved wall a second-order scheme is no better than SGLD; at flat walls
# it is. The proximal form needs steps of the order of its smoothing, here as large as
# the step, and its draws are recorded projected: its error falls with the root, too.

STEPS = [0.32, 0.16, 0.08, 0.04, 0.02]


def parts(name, h):
    """Return model and sampler."""
    if name == "proximal SGLD":
        return Proximal(MODEL, DISK, smoothing=h), SGLD()
    sampler = BAOAB() if "BAOAB" in name else SGLD()
    return MODEL, bounded(sampler, DISK, name.split()[0])


def run(name, h):
    """Return draws of one sampler, about 4 units of time apart."""
    model, sampler = parts(name, h)
    options = {"n_draws": 20_000, "thin": round(4 / h), "burn_in": 200}
    return sample(model, sampler, Full(), step_size=h, random_state=0, **options)[0]


NAMES = ["project SGLD", "proximal SGLD", "reflect SGLD", "reflect BAOAB"]
draws = {name: [run(name, h) for h in STEPS] for name in NAMES}
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name in NAMES:
    errors = [np.abs((x**2).sum(axis=1).mean() / truth - 1) for x in draws[name]]
    ax.plot(STEPS, errors, "o-", label=name)
scatter = 2 * np.sqrt(np.average((square - truth) ** 2, weights=weight) / 20_000)
ax.axhline(scatter / truth, color="gray", label="2 Monte Carlo errors")
ax.set(xlabel="step size h", ylabel="relative error of E |x|²")
ax.set(xscale="log", yscale="log")
ax.set_xticks(STEPS, STEPS)
ax.minorticks_off()
ax.legend(fontsize="small")

# %%
# Where the draws lie
# -------------------
# At h = 0.08 the projection leaves an atom on the wall, and so does the
# proximal form, whose draws from outside are recorded there.

bins = np.linspace(0, 1, 41)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.hist(
    np.sqrt(square),
    bins,
    weights=weight,
    density=True,
    color="lightgray",
    label="truth",
)
for name in NAMES:
    radius = np.linalg.norm(draws[name][2], axis=1)
    ax.hist(radius, bins, density=True, histtype="step", label=name)
ax.set(xlabel="distance from the center", ylabel="density", yscale="log")
ax.legend(fontsize="small")
plt.show()
