"""
What does a short buffer do?
============================

Gradients of a series are estimated from blocks of points with buffers on both sides.
Without knowledge of what lies outside, a short buffer makes them wrong, by how much
depends on how long the series remembers (the experiment of Ma, Foti & Fox, 2017).
Messages from one pass over all data at the mode make the error much smaller: it then
only grows with the distance from the mode.
"""

# %%
# Two series: states that are seen at once, and states that change slowly under noise.

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg import SGMCMCGaussianHMM
from skbayes_sg.inference.sequences import exact_log_posterior, exact_mode
from skbayes_sg.kernels.capabilities.buffers import with_blocks, with_messages
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.model import init_work

n, block_length = 10_000, 20
BUFFERS = [0, 1, 2, 4, 8, 16, 32, 64]


def simulated(stay, noise, seed=0):
    """Return points of two states that last 1 / (1 - stay) on average."""
    rng = np.random.default_rng(seed)
    states = np.cumsum(rng.random(n) > stay) % 2
    return rng.normal(2.0 * states, noise)[:, None]


# %%
# The error of the gradient at a draw of the posterior, in posterior standard
# deviations: with windows that begin and end without knowledge, and with messages.


def errors(X):
    """Return errors without and with messages, and the automatic buffer length."""
    fitted = SGMCMCGaussianHMM(2, n_draws=10, random_state=0).fit(X)
    model = fitted._model
    mode, factor = exact_mode(model, fitted.mode_)
    theta = mode + factor @ np.random.default_rng(1).standard_normal(mode.size)
    exact, g = np.empty(mode.size), np.empty(mode.size)
    exact_log_posterior(model, theta, exact)
    found = []
    for known in (False, True):
        for length in BUFFERS:
            part = with_blocks(model, make_blocks([n], block_length, length))
            part = for_kernels(with_messages(part, mode) if known else part)
            log_posterior(part, init_work(part), theta, g)
            found.append(np.abs(factor.T @ (g - exact)).max())
    return np.reshape(found, (2, -1)), fitted.buffer_length_


places = np.arange(len(BUFFERS))  # the lengths double from place to place
figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True)
series = {"seen at once": (0.9, 0.4), "slow and noisy": (0.99, 1.5)}
for axis, (name, (stay, noise)) in zip(axes, series.items(), strict=True):
    (without, with_them), chosen = errors(simulated(stay, noise))
    axis.semilogy(places, np.maximum(without, 1e-12), "o-", label="no messages")
    axis.semilogy(places, np.maximum(with_them, 1e-12), "s-", label="with messages")
    axis.axhline(0.02, color="0.5", ls="--", lw=1)
    axis.axvline(1 + np.log2(chosen), color="0.5", ls=":", lw=1)
    axis.set_xticks(places, BUFFERS)
    axis.set(xlabel="buffer length", title=name)
axes[0].set_ylabel("error of the gradient / posterior sd")
axes[0].legend()
figure.tight_layout()
plt.show()

# %%
# The dashed line is the bias that ``buffer_length="auto"`` allows, the dotted line the
# length that it has chosen.
