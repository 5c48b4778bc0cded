"""Hidden Markov models: quality, the speed of a pass, and growth with the series.

    python benchmarks/bench_hidden_markov.py [--part quality|pass|growth] [--longest N]

Part "quality" needs the folder `series` of the data: recordings of ion channels with
known states, the first 80,000 points to fit and the last 20,000 to score; log p per
point, share of right states by Viterbi, and CPU seconds of fits with compiled code.
Beside it EM from the true labels, and hmmlearn with its defaults where it is installed.
Part "pass": nanoseconds per point of values and gradients of all blocks, and of a plain
numba loop of forward and backward recursions with the same statistics, in the same run;
of an iteration of EM by hmmlearn, and of its pass over the data by dynamax, where these
are installed.
Part "growth": microseconds per iteration on memory-mapped series of two states, for 8
blocks per minibatch, and the slope of its logarithm against that of the length.
"""

import argparse
import itertools
import math
import os
import tempfile
import time
from pathlib import Path

import numba
import numpy as np
from tables import Table, note

from skbayes_sg import SGMCMCGaussianHMM
from skbayes_sg.inference import hidden_states
from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.sequences import exact_log_posterior
from skbayes_sg.inference.state_answers import log_likelihoods, on_sequences
from skbayes_sg.kernels.capabilities.buffers import with_blocks, with_messages
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.generic import OPTIONS, for_kernels
from skbayes_sg.kernels.gradients import LinearControlVariate
from skbayes_sg.kernels.passes import row_log_posterior
from skbayes_sg.kernels.protocol.gradient import prepare
from skbayes_sg.kernels.protocol.model import init_work, n_rows, record, theta_of
from skbayes_sg.kernels.samplers import LeimkuhlerMatthews

SERIES = {"3ch_1": 4, "1ch_10": 2}
TRAIN = 80_000
N_TURNS = 5


def series(name):
    """Return points and states of a recording."""
    home = Path(os.environ.get("SKBAYES_SG_DATA", Path.home() / "skbayes_sg_data"))
    data = np.loadtxt(home / "series" / f"{name}.csv.gz", delimiter=",")
    return np.ascontiguousarray(data[:, 1:2]), data[:, 2].astype(int)


def share_right(found, states, k):
    """Return the share of right states under the best order of labels."""
    orders = itertools.permutations(range(k))
    return max(np.mean(np.array(order)[found] == states) for order in orders)


def from_labels(model, X, states, test):
    """Return the held-out log p of EM that starts at the true states."""
    part = with_blocks(model, make_blocks([len(X)]))
    part = for_kernels(part)
    rng, previous = np.random.default_rng(0), np.roll(X, 1, axis=0)
    x = hidden_states.starting_point(part, X, previous, states, rng)
    x, _ = hidden_states.climb(part, x, 200)
    return log_likelihoods(on_sequences(model, test, [len(test)]), x[None])[0]


def with_hmmlearn(X, test, states, k):
    """Return log p per point, share of right states and CPU seconds of hmmlearn."""
    from hmmlearn.hmm import GaussianHMM

    began = time.process_time()
    model = GaussianHMM(k, n_iter=100, random_state=0).fit(X)
    spent = time.process_time() - began
    right = share_right(model.predict(test), states, k)
    return model.score(test) / len(test), right, spent


def quality():
    """Print scores of held-out points."""
    table = Table("series", "method", "log p", "right", "CPU s", n_labels=2)
    for name, k in SERIES.items():
        X, states = series(name)
        test, right = X[TRAIN:], states[TRAIN:]
        for seed in range(4):
            began = time.process_time()
            model = SGMCMCGaussianHMM(k, random_state=seed).fit(X[:TRAIN])
            spent = time.process_time() - began
            if seed == 0:  # it compiles
                continue
            score = model.score(test) / len(test)
            found = share_right(model.predict(test), right, k)
            numbers = f"{score:.4f}", f"{found:.4f}", f"{spent:.1f}"
            table.row(name, f"seed {seed}", *numbers)
        best = from_labels(model._model.model, X[:TRAIN], states[:TRAIN], test)
        table.row(name, "EM from labels", f"{best / len(test):.4f}", None, None)
        try:
            score, found, spent = with_hmmlearn(X[:TRAIN], test, right, k)
        except ImportError:
            note("hmmlearn is not installed")
            continue
        table.row(name, "hmmlearn", f"{score:.4f}", f"{found:.4f}", f"{spent:.1f}")


@numba.njit(**OPTIONS)
def plain_pass(X, x, k, filters, e, counts, g):
    """Return log p; add expected transitions and the gradient of means, variances."""
    n, A = len(X), x[k : k + k * k].reshape(k, k)
    m, v = x[k + k * k : 2 * k + k * k], x[2 * k + k * k :]
    r, q, w, value = x[:k].copy(), np.ones(k), np.empty(k), 0.0
    for t in range(n):
        top, total = -1e300, 0.0
        for j in range(k):
            away = X[t, 0] - m[j]
            e[t, j] = -0.5 * (away * away / v[j] + math.log(2 * math.pi * v[j]))
            top = max(top, e[t, j])
        for j in range(k):
            w[j] = r[j] if t == 0 else 0.0
        if t > 0:
            for i in range(k):
                for j in range(k):
                    w[j] += r[i] * A[i, j]
        for j in range(k):
            e[t, j] = math.exp(e[t, j] - top)
            w[j] *= e[t, j]
            total += w[j]
        value += math.log(total) + top
        for j in range(k):
            r[j] = w[j] / total
            filters[t, j] = r[j]
    for t in range(n - 1, -1, -1):
        total = 0.0
        for j in range(k):
            w[j] = filters[t, j] * q[j]
            total += w[j]
        for j in range(k):
            share, away = w[j] / total, X[t, 0] - m[j]
            g[j] += share * away / v[j]
            g[k + j] += 0.5 * share * (away * away / v[j] - 1.0) / v[j]
        if t == 0:
            break
        total = 0.0
        for j in range(k):
            w[j] = e[t, j] * q[j]
        for i in range(k):
            q[i] = 0.0
            for j in range(k):
                q[i] += A[i, j] * w[j]
            total += q[i]
        inside = 0.0
        for i in range(k):
            q[i] /= total
            inside += filters[t - 1, i] * q[i]
        for i in range(k):
            for j in range(k):
                counts[i, j] += filters[t - 1, i] * w[j] / (inside * total)
    return value


def best_of(function, n, *args):
    """Return the least CPU nanoseconds per point of some calls."""
    spent = []
    for _ in range(N_TURNS):
        began = time.process_time()
        function(*args)
        spent.append(time.process_time() - began)
    return 1e9 * min(spent) / n


def blocked(X, k, seed=0):
    """Return a model at parameters near a mode, without a search for it."""
    estimator = SGMCMCGaussianHMM(k, random_state=seed)
    lengths = np.array([len(X)])
    model = estimator._build(X, lengths)
    rng = np.random.default_rng(seed)
    x = hidden_states.best_start(model, lengths, 4, rng)
    free = hidden_states.in_free_parameters(model, x, lengths)
    return free, theta_of(free, x)


def passes():
    """Print nanoseconds per point."""
    table = Table("K", "pass", "ns per point", "of plain", n_labels=2)
    for k, levels in ((2, 2), (4, 4), (8, 8)):
        rng = np.random.default_rng(0)
        states = np.cumsum(rng.random(80_000) > 0.95) % levels
        X = rng.normal(2.0 * states, 1.0)[:, None]
        model, theta = blocked(X, k)
        n = len(X)
        part = for_kernels(
            with_messages(with_blocks(model, make_blocks([n], 512)), theta)
        )
        work, g = init_work(part), np.empty(theta.size)
        x = np.empty(work.x.size)
        record(part, work, theta, x)
        buffers = np.empty((n, k)), np.empty((n, k)), np.zeros((k, k)), np.zeros(2 * k)
        plain_pass(X, x, k, *buffers)
        row_log_posterior(part, work, theta, g)
        exact_log_posterior(model, theta, g)
        plain = best_of(plain_pass, n, X, x, k, *buffers)
        table.row(k, "plain loop", f"{plain:.0f}", None)
        for name, call, args in (
            ("all blocks", row_log_posterior, (part, work, theta, g)),
            ("with messages", exact_log_posterior, (model, theta, g)),
        ):
            spent = best_of(call, n, *args)
            table.row(k, name, f"{spent:.0f}", f"{spent / plain:.2f}")
        for name, other in (
            ("hmmlearn", hmmlearn_iteration),
            ("dynamax", dynamax_iteration),
        ):
            try:
                spent = other(X, k)
            except ImportError:
                continue
            table.row(k, name, f"{spent:.0f}", f"{spent / plain:.2f}")


def hmmlearn_iteration(X, k):
    """Return CPU nanoseconds per point of an iteration of hmmlearn's EM."""
    from hmmlearn.hmm import GaussianHMM

    spent = []
    for n in (1, 6):
        model = GaussianHMM(k, n_iter=n, tol=-np.inf, random_state=0)
        began = time.process_time()
        model.fit(X)
        spent.append(time.process_time() - began)
    return 1e9 * (spent[1] - spent[0]) / 5 / len(X)


def dynamax_iteration(X, k):
    """Return CPU nanoseconds per point of dynamax's pass for EM, in float32."""
    import jax
    from dynamax.hidden_markov_model import DiagonalGaussianHMM

    model, X = DiagonalGaussianHMM(k, 1), jax.numpy.asarray(X)
    start, _ = model.initialize(jax.random.PRNGKey(0))
    one_pass = jax.jit(model.e_step)

    def call():
        jax.block_until_ready(one_pass(start, X))

    call()
    return best_of(call, len(X))


def mapped_series(n, folder):
    """Return a series of two states, mapped to a file."""
    path, rng, state = Path(folder) / f"X-{n}.npy", np.random.default_rng(0), 0
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 1))
    for first in range(0, n, 1_000_000):
        size = min(1_000_000, n - first)
        states = (state + np.cumsum(rng.random(size) > 0.95)) % 2
        X[first : first + size, 0] = rng.normal(2.0 * states, 1.0)
        state = states[-1]
    X.flush()
    return np.load(path, mmap_mode="r")


def growth(longest):
    """Print microseconds per iteration and their slope."""
    table = Table("points", "blocks", "us per iteration")
    lengths, times = [], []
    with tempfile.TemporaryDirectory() as folder:
        for n in 10 ** np.arange(4, int(round(math.log10(longest))) + 1):
            X = mapped_series(int(n), folder)
            model, theta = blocked(X, 2)
            blocks = make_blocks([n], 40, 8)
            part = for_kernels(with_messages(with_blocks(model, blocks), theta))
            gradient = prepare(LinearControlVariate(8, theta, theta[None]), part)
            settings = dict(step_size=1e-8, n_draws=10, start=theta, random_state=0)
            spent = []
            for thin in (10, 10, 1000):
                began = time.process_time()
                sample(part, LeimkuhlerMatthews(), gradient, thin=thin, **settings)
                spent.append(time.process_time() - began)
            each = 1e6 * (spent[2] - spent[1]) / (990 * 10)
            table.row(int(n), n_rows(part), f"{each:.1f}")
            lengths.append(n)
            times.append(each)
    slope = np.polyfit(np.log(lengths), np.log(times), 1)[0]
    note(f"slope of log time against log length: {slope:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["quality", "pass", "growth"])
    parser.add_argument("--longest", type=int, default=10_000_000)
    given = parser.parse_args()
    if given.part in (None, "quality"):
        quality()
    if given.part in (None, "pass"):
        passes()
    if given.part in (None, "growth"):
        growth(given.longest)
