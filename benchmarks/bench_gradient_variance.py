"""Variance and time of every gradient estimator, relative to the simple one.

    python benchmarks/bench_gradient_variance.py [--quick] [--figure FILE]

Table: the paper's simulated logistic regressions, N = 100,000 rows and minibatches of
n = 1,000. All estimators go along the same states of a chain, for SAGA and SVRG depend
on the past; the variance is the mean squared difference from the full gradient over
the second half of the chain, in posterior sds. Times are of the processor, per
estimate, the full passes of SVRG included.

Figure: the variance of a control variate relative to the simple estimator at the same
point, against the distance D from the mode in posterior sds, for a regression and a
network, with the share D^2 / (N + D^2) that theory expects. Grey lines: half the
variance, which makes up for the price of two gradients, and the distance beyond which
models that pay it fall back to the simple estimator.
"""

import argparse
import pathlib
import time

import numpy as np
from sklearn.datasets import load_digits

from skbayes_sg import sample
from skbayes_sg.datasets import make_logistic
from skbayes_sg.inference.exploration.gradients import N_LINEARIZED
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.kernels.coordinates import Dense
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import GRADIENTS, ControlVariate, Full, Minibatch
from skbayes_sg.kernels.gradients.control_variate import REACH
from skbayes_sg.kernels.likelihoods import Bernoulli, Categorical
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.models.mlp import MLP, pack
from skbayes_sg.kernels.models.mlp_layers import Tanh
from skbayes_sg.kernels.passes import hessian, hessian_diagonal
from skbayes_sg.kernels.protocol.gradient import init_memory, prepare
from skbayes_sg.kernels.protocol.model import init_work, n_rows
from skbayes_sg.kernels.samplers import LeimkuhlerMatthews

BATCH_SIZE = 1000
N_CLASSES = 10  # of the digits
HIDDEN = 20  # units of the network


def logistic_regression(n, d):
    X, y = make_logistic(n, d, random_state=0)
    y, none = y.astype(np.float64), np.empty(0)
    return for_kernels(
        GLM(Bernoulli(), X, y, none, np.full(X.shape[1] + 1, 0.1), True, 1)
    )


def digits_network():
    """Return a network and a point to look for a mode from."""
    X, y = load_digits(return_X_y=True)
    sizes = np.array([X.shape[1], HIDDEN, N_CLASSES])
    model = MLP(
        activation=Tanh(),
        likelihood=Categorical(),
        rows=X / 16.0,
        y=y.astype(np.float64),
        weights=np.empty(0),
        sizes=sizes,
        precision=np.ones(4),
        learns_precision=False,
    )
    rng = np.random.default_rng(0)
    weights = [0.3 * rng.normal(size=shape) for shape in (sizes[:2], sizes[1:])]
    return for_kernels(model), pack(weights, [np.zeros(HIDDEN), np.zeros(N_CLASSES)])


def whitening(model, mode):
    """Return L with L L' the inverse Hessian at the mode; the prior adds 0.1."""
    matrix = 0.1 * np.eye(mode.size)
    hessian(model, init_work(model), mode, matrix)
    return np.linalg.inv(np.linalg.cholesky(matrix)).T


def estimates(gradient, model, thetas):
    """Return one estimate at each of the points, and the seconds of each."""
    gradient, rng = (
        for_kernels(prepare(gradient, model)),
        np.random.default_rng(1),
    )
    memory, work = init_memory(gradient, model, thetas[0], rng), init_work(model)
    out = np.empty_like(thetas)
    estimate_gradient(gradient, memory, model, work, thetas[:1], rng, out[:1])
    began = time.process_time()
    estimate_gradient(gradient, memory, model, work, thetas, rng, out)
    return out, (time.process_time() - began) / len(thetas)


def build(name, mode, draws):
    given = {"batch_size": BATCH_SIZE, "mode": mode, "draws": draws}
    kind = GRADIENTS[name]
    return kind(**{key: given[key] for key in kind._fields if key in given})


def along_a_chain(n, d, n_steps):
    """Return {name: (variance, seconds)} of all estimators along one chain."""
    model = logistic_regression(n, d)
    mode = find_mode(model)
    factor = whitening(model, mode)
    (thetas,) = sample(
        model,
        LeimkuhlerMatthews(),
        ControlVariate(BATCH_SIZE, mode),
        step_size=1.0,
        n_draws=n_steps,
        burn_in=50,
        start=mode,
        coordinates=Dense(mode, factor),
        random_state=0,
    )
    half = n_steps // 2
    exact, _ = estimates(Full(), model, thetas[half:])
    # What control variates may be fitted at: draws of the Gaussian at the mode.
    z = np.random.default_rng(2).standard_normal((N_LINEARIZED, mode.size))
    draws = mode + z @ factor.T
    results = {}
    for name in GRADIENTS:
        if name != "full":
            out, seconds = estimates(build(name, mode, draws), model, thetas)
            error = (out[half:] - exact) @ factor
            results[name] = np.mean(error**2), seconds
    return results


def variance_at(gradient, model, theta, scale, n_pairs):
    """Return the total variance of an estimator at one point, in units of `scale`."""
    out, _ = estimates(gradient, model, np.tile(theta, (2 * n_pairs, 1)))
    return np.sum(((out[::2] - out[1::2]) * scale) ** 2) / (2 * n_pairs)


def against_distance(model, mode, batch_size, distances, n_pairs=200):
    """Return the control variate's variance over the simple one's, at each distance.

    `distances` are in units of sqrt(N) posterior sds, in three random directions.
    """
    information = np.zeros(mode.size)
    hessian_diagonal(model, init_work(model), mode, information)
    scale = 1.0 / np.sqrt(information + 1.0)
    differences = ControlVariate(batch_size, mode, reach=np.inf)
    simple, rng = Minibatch(batch_size), np.random.default_rng(0)
    ratios = np.empty((3, len(distances)))
    for ratio in ratios:
        direction = scale * rng.normal(size=mode.size)
        direction *= np.sqrt(n_rows(model) / (information @ direction**2))
        for k, distance in enumerate(distances):
            theta = mode + distance * direction
            ratio[k] = variance_at(differences, model, theta, scale, n_pairs)
            ratio[k] /= variance_at(simple, model, theta, scale, n_pairs)
    return np.exp(np.log(ratios).mean(axis=0))


def draw(distances, curves, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for label, ratios in curves.items():
        ax.loglog(distances, ratios, marker="o", label=label)
    share = distances**2 / (1 + distances**2)
    ax.loglog(distances, share, "k--", label=r"$D^2 / (N + D^2)$")
    ax.axvline(REACH, color="0.8", zorder=0)
    ax.axhline(0.5, color="0.8", zorder=0)
    ax.set_xlabel(r"distance from the mode, $D / \sqrt{N}$")
    ax.set_ylabel("variance, control variate / simple")
    ax.legend()
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=150)


def main(quick=False, figure="examples/output/gradient_variance.png"):
    n, n_steps = (20_000, 100) if quick else (100_000, 600)
    print(f"variance relative to the simple estimator and us per estimate, N = {n:,}")
    columns = {d: along_a_chain(n, d, n_steps) for d in (10, 50, 100)}
    print(f"{'':12}", *(f"{f'd = {d}':>18}" for d in columns))
    for name in columns[10]:
        cells = []
        for results in columns.values():
            variance, seconds = results[name]
            relative = variance / results["minibatch"][0]
            cells.append(f"{relative:9.2g} {1e6 * seconds:8.0f}")
        print(f"{name:12}", *cells, flush=True)

    distances = np.logspace(-2.5, 1, 8 if quick else 15)
    regression, (network, start) = logistic_regression(n, 10), digits_network()
    curves = {
        "logistic regression": (regression, find_mode(regression), BATCH_SIZE),
        "network": (network, find_mode(network, start, random_state=0), 100),
    }
    curves = {
        label: against_distance(*arguments, distances)
        for label, arguments in curves.items()
    }
    print("\nvariance of differences over the simple one's, against D / sqrt(N)")
    print(f"{'D / sqrt(N)':>12}", *(f"{label:>20}" for label in curves))
    for distance, *ratios in zip(distances, *curves.values(), strict=True):
        print(f"{distance:12.3g}", *(f"{ratio:20.3g}" for ratio in ratios))
    draw(distances, curves, figure)
    print(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20,000 rows, 100 steps")
    parser.add_argument("--figure", default="examples/output/gradient_variance.png")
    options = parser.parse_args()
    main(options.quick, options.figure)
