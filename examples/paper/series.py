"""Section 5, dependent data: buffers of hidden Markov models."""

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg import SGMCMCGaussianHMM
from skbayes_sg.inference.sequences import exact_log_posterior, exact_mode
from skbayes_sg.kernels.capabilities.buffers import with_blocks
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.model import init_work

N, BLOCK = 5000, 20
BUFFERS = [0, 1, 2, 4, 8, 16, 32]
FLOOR = 1e-9  # below it rounding decides


def simulated(stay, noise):
    """Return points of two states that last 1 / (1 - stay) on average."""
    rng = np.random.default_rng(0)
    states = np.cumsum(rng.random(N) > stay) % 2
    return rng.normal(2.0 * states, noise)[:, None]


def errors(X):
    """Return errors of the gradient, in posterior sds, over lengths of buffers."""
    fitted = SGMCMCGaussianHMM(2, n_draws=10, random_state=0).fit(X)
    model = fitted._model
    mode, factor = exact_mode(model, fitted.mode_)
    theta = mode + factor @ np.random.default_rng(1).standard_normal(mode.size)
    exact, g, found = np.empty(mode.size), np.empty(mode.size), []
    exact_log_posterior(model, theta, exact)
    for length in BUFFERS:
        part = for_kernels(with_blocks(model, make_blocks([N], BLOCK, length)))
        log_posterior(part, init_work(part), theta, g)
        found.append(np.abs(factor.T @ (g - exact)).max())
    return np.array(found)


def run(report, quick):
    """Measure the bias of buffers on two series."""
    report.section("5.2", "Dependent data: time series")
    report.text(
        f"Two simulated series of {N:,} points with two hidden states. The gradient "
        f"from all blocks of {BLOCK} points, with buffers on both sides, is compared "
        "with the exact one at a draw of the posterior: what differs is the bias."
    )
    series = {"noisy": (0.9, 0.9), "slow and noisy": (0.98, 1.2)}
    figure, axis = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
    rates, fits = [], []
    for name, parameters in series.items():
        values = errors(simulated(*parameters))
        axis.semilogy(BUFFERS, np.maximum(values, 1e-12), "o-", label=name)
        used = values > FLOOR
        length = np.array(BUFFERS)[used]
        slope, level = np.polyfit(length, np.log(values[used]), 1)
        rest = np.log(values[used]) - level - slope * length
        rates.append(np.exp(slope))
        fits.append(1 - rest.var() / np.log(values[used]).var())
    axis.set(xlabel="buffer length B", ylabel="bias of the gradient / posterior sd")
    axis.legend()
    report.figure(figure, "Bias of the gradient over the length of the buffers.")
    report.claim(
        "5",
        "The bias of buffered blocks falls geometrically with the buffer.",
        max(rates) < 1 and min(fits) > 0.8,
        f"by the factors {rates[0]:.2f} and {rates[1]:.2f} per point; a straight line "
        f"on the log scale explains {min(fits):.0%} or more",
    )
    report.claim(
        "5",
        "Subsampling of spatial data has not been addressed.",
        None,
        "a statement about the literature; this package has no spatial models either",
    )
