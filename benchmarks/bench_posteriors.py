"""Effective draws per CPU second on many posteriors, against two NUTS samplers.

    python benchmarks/bench_posteriors.py [--only NAME ...] [--classes NAME ...]
        [--peers NAME ...] [--draws N]

Logistic and softmax regression with N(0, 10) priors: simulated rows, real data, few
rows and many columns, separable and rare classes. Here, all defaults, from `fit` to the
draws, with compiled code on disk. NUTS of numpyro (jitted) and of nutpie (numpy), both
as they come: `--draws` warm-up steps and as many draws of each of 4 chains.

Columns: the smallest effective sample size of a parameter per CPU second, here and of
both peers, with their warm-up and without; our rate over the best of them; the largest
difference of a mean from that of the peers' draws, in posterior sds, and the range of
sds over theirs. Their own Monte Carlo errors are part of these differences. Without
names after ``--classes`` or ``--peers``, the others alone.
"""

import argparse
import gzip
import os
import sys
import time
import warnings
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
)

import numpy as np  # noqa: E402
from scipy.special import expit, log_expit, logsumexp  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.preprocessing import scale  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import skbayes_sg  # noqa: E402
from skbayes_sg.inference.mixing import effective_sample_size  # noqa: E402

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "libsvm"
VARIANCE, CHAINS = 10.0, 4


def simulated(n, p, size=1.0):
    """Return rows of a logistic regression whose predictor has the sd `size`."""

    def make():
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, p))
        eta = X @ rng.standard_normal(p) * (size / np.sqrt(p))
        return X, (rng.random(n) < expit(eta)).astype(int)

    return make


def standard(load, only=None):
    """Return a data set of scikit-learn, all classes or one against the rest."""

    def make():
        X, y = load(return_X_y=True)
        return scale(X), y if only is None else (y == only).astype(int)

    return make


def libsvm(name):
    """Return a sparse data set as an array."""

    def make():
        with gzip.open(DATA / f"{name}.gz") as file:
            X, y = datasets.load_svmlight_file(file)
        return X.toarray(), (y > 0).astype(int)

    return make


def separable():
    X = np.random.default_rng(4).standard_normal((60, 3))
    return X, (X @ [1.0, -1.0, 0.5] > 0).astype(int)


def rare():
    X = np.random.default_rng(0).standard_normal((10_000, 2))
    return X, (np.arange(10_000) < 1).astype(int)


POSTERIORS = {
    "1e5 x 10": simulated(100_000, 10),
    "1e5 x 50": simulated(100_000, 50),
    "1e5 x 100": simulated(100_000, 100),
    "1e6 x 10": simulated(1_000_000, 10),
    "a9a": libsvm("a9a"),
    "w8a": libsvm("w8a"),
    "wine 0": standard(datasets.load_wine, 0),
    "breast cancer": standard(datasets.load_breast_cancer, 1),
    "iris": standard(datasets.load_iris),
    "wine": standard(datasets.load_wine),
    "digits": standard(datasets.load_digits),
    "80 x 200": simulated(80, 200),
    "2000 x 2000": simulated(2000, 2000),
    "2000 x 5000": simulated(2000, 5000),
    "separable": separable,
    "one in 1e4": rare,
}
CLASSES = {
    "sgld": skbayes_sg.SGLDLogisticRegression,
    "sghmc": skbayes_sg.SGHMCLogisticRegression,
    "sgnht": skbayes_sg.SGNHTLogisticRegression,
}


def smallest_rate(draws, *seconds):
    """Return the smallest effective sample size per second, for each of `seconds`."""
    ess = effective_sample_size(np.asarray(draws, float)).min()
    return [ess / max(s, 1e-9) for s in seconds]


def ours(X, y, name):
    """Return draws and CPU seconds of a fit with all defaults."""

    def fit(**options):
        estimator = CLASSES[name](random_state=0, intercept_variance=VARIANCE)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            began = time.process_time()
            estimator.set_params(**options).fit(X, y)
            return estimator, time.process_time() - began, caught

    fit(n_draws=2, burn_in=1, thin=1)  # to compile
    estimator, seconds, caught = fit()
    name = type(estimator.sampler_).__name__
    note = f"{name}, step {estimator.step_size_:.3g}, thin {estimator.thin_}"
    if any(w.category.__name__ == "ConvergenceWarning" for w in caught):
        note += ", warned"
    return estimator.samples_, seconds, note


def numpyro_nuts(X, y, n_outputs, n_draws):
    """Return draws, and CPU seconds with warm-up and without."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    A, codes = jnp.column_stack([X, np.ones(len(X))]), jnp.asarray(y)

    def potential(theta):
        eta = A @ theta.reshape(n_outputs, -1).T
        prior = 0.5 / VARIANCE * jnp.sum(theta**2)
        if n_outputs == 1:
            return prior - jax.nn.log_sigmoid((2 * codes - 1) * eta[:, 0]).sum()
        log_p = jax.nn.log_softmax(eta, axis=1)
        return prior - jnp.take_along_axis(log_p, codes[:, None], axis=1).sum()

    kernel = NUTS(potential_fn=potential)
    mcmc = MCMC(
        kernel,
        num_warmup=n_draws,
        num_samples=n_draws,
        num_chains=CHAINS,
        chain_method="sequential",
        progress_bar=False,
    )
    start = jnp.zeros((CHAINS, n_outputs * A.shape[1]))
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    mcmc.warmup(keys[0], init_params=start)  # to compile
    began = time.process_time()
    mcmc.warmup(keys[0], init_params=start)
    warmup = time.process_time() - began
    mcmc.run(keys[1])  # to compile
    began = time.process_time()
    mcmc.run(keys[2])
    draws = np.asarray(mcmc.get_samples(group_by_chain=True))
    seconds = time.process_time() - began
    return draws, warmup + seconds, seconds


def nutpie_nuts(X, y, n_outputs, n_draws):
    """Return draws, and CPU seconds with warm-up and without."""
    import nutpie

    A = np.column_stack([X, np.ones(len(X))])
    signs, hot = 2.0 * y - 1.0, np.eye(max(n_outputs, 2))[y]
    d = n_outputs * A.shape[1]

    def density(theta):
        eta = A @ theta.reshape(n_outputs, -1).T
        if n_outputs == 1:
            value = log_expit(signs * eta[:, 0]).sum()
            r = (hot[:, 1] - expit(eta[:, 0]))[:, None]
        else:
            log_p = eta - logsumexp(eta, axis=1, keepdims=True)
            value, r = (log_p * hot).sum(), hot - np.exp(log_p)
        g = (r.T @ A).ravel() - theta / VARIANCE
        return value - 0.5 / VARIANCE * theta @ theta, g

    def expand(*_):
        return lambda theta: {"theta": theta}

    model = nutpie.compiled_pyfunc.from_pyfunc(
        d, lambda: density, expand, [np.dtype("float64")], [(d,)], ["theta"]
    )

    def run(draws):
        began = time.process_time()
        trace = nutpie.sample(
            model,
            chains=CHAINS,
            cores=1,
            tune=n_draws,
            draws=draws,
            seed=1,
            progress_bar=False,
        )
        return trace, time.process_time() - began

    _, warmup = run(1)
    trace, seconds = run(n_draws)
    draws = np.asarray(trace.posterior["theta"])
    return draws, seconds, max(seconds - warmup, 1e-3)


PEERS = {"numpyro": numpyro_nuts, "nutpie": nutpie_nuts}


def row(name, classes, n_draws, contenders):
    """Print the lines of one posterior, one for each class."""
    X, y = POSTERIORS[name]()
    n_outputs = 1 if y.max() == 1 else int(y.max()) + 1
    peers, reference = [], []
    for peer in contenders:
        try:
            draws, total, alone = PEERS[peer](X, y, n_outputs, n_draws)
        except ImportError:
            peers += [np.nan, np.nan]
            continue
        peers += smallest_rate(draws, total, alone)
        reference.append(draws.reshape(-1, draws.shape[-1]))
    if not classes:
        print(f"{name:14s} {'nuts':6s} {'':9s}", *(f"{r:9.2f}" for r in peers))
    for kind in classes:
        draws, seconds, note = ours(X, y, kind)
        (rate,) = smallest_rate(draws, seconds)
        cells = [f"{name:14s} {kind:6s} {rate:9.1f}", *(f"{r:9.2f}" for r in peers)]
        if reference:
            cells.append(_compared(draws, reference, rate, peers))
        print(*cells, note, flush=True)


def _compared(draws, reference, rate, peers):
    exact, flat = np.concatenate(reference), draws.reshape(-1, draws.shape[-1])
    sd = exact.std(axis=0)
    shift = np.abs(flat.mean(axis=0) - exact.mean(axis=0)) / sd
    ratio = flat.std(axis=0) / sd
    with_warmup, alone = np.nanmax(peers[::2]), np.nanmax(peers[1::2])
    ratios = f"{rate / with_warmup:8.1f} {rate / alone:8.1f}"
    return f"{ratios}  {shift.max():.2f} sd, sds {ratio.min():.2f}-{ratio.max():.2f} "


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=POSTERIORS, default=POSTERIORS)
    parser.add_argument("--classes", nargs="*", choices=CLASSES, default=["sghmc"])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    given = parser.parse_args()
    print("posterior, class: effective draws per CPU second here,")
    print("peers with warm-up and without:", *given.peers)
    print("ours over the best, differences from their draws, settings")
    for name in given.only:
        row(name, given.classes, given.draws, given.peers)


if __name__ == "__main__":
    main()
