"""Effective draws per CPU second on many posteriors, against two NUTS samplers.

    python benchmarks/bench_posteriors.py [--only NAME ...] [--classes NAME ...]
        [--peers NAME ...] [--draws N] [--chains N]

Logistic and softmax regression with N(0, 10) priors: simulated rows, real data, few
rows and many columns, separable and rare classes. Here, all defaults, from `fit` to the
draws, with compiled code on disk. NUTS of numpyro (jitted) and of nutpie (numpy), both
as they come: `--draws` warm-up steps and as many draws of each of `--chains` chains.
Where nutpie's gradients are most of its time, its draws are counted by their share of
all gradients.

Columns: the smallest effective sample size of a parameter per CPU second, here and of
both peers, with their warm-up and without; our rate over the best of them; the largest
difference of a mean from an exact one, in posterior sds, and the range of sds over the
exact ones. These come from long runs of other code (`tests/references`), from
importance sampling, or, with thousands of parameters, from the draws of the peers,
whose own Monte Carlo errors are then part of the differences. Without names after
``--classes`` or ``--peers``, the others alone.
"""

import argparse
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
import scipy.sparse as sp  # noqa: E402
from scipy.special import expit, log_expit, logsumexp  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.preprocessing import scale  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import skbayes_sg  # noqa: E402
from skbayes_sg.inference.mixing import effective_sample_size  # noqa: E402
from tests.references.load import PRIOR_VARIANCE, reference, with_ones  # noqa: E402
from tests.references.long_chains import long_chains  # noqa: E402
from tests.truth.densities import GLM  # noqa: E402
from tests.truth.references import importance  # noqa: E402

LONG = 60.0  # seconds of a run that is not repeated without compilation
FEW, MANY = 15, 201  # parameters that importance sampling and long chains can have


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


def separable():
    X = np.random.default_rng(4).standard_normal((60, 3))
    return X, (X @ [1.0, -1.0, 0.5] > 0).astype(int)


def rare():
    X = np.random.default_rng(0).standard_normal((10_000, 2))
    return X, (np.arange(10_000) < 1).astype(int)


STORED = {
    "1e5 x 10": "logistic_d10",
    "1e5 x 50": "logistic_d50",
    "1e5 x 100": "logistic_d100",
    "a9a": "a9a",
    "w8a": "w8a",
}
POSTERIORS = {
    **{name: lambda case=case: reference(case).load() for name, case in STORED.items()},
    "1e6 x 10": simulated(1_000_000, 10),
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


def exact(name, A, y, n_outputs):
    """Return exact means and sds of all parameters, or None."""
    if name in STORED:
        return reference(STORED[name])[1:3]
    if n_outputs * A.shape[1] <= FEW:
        density = GLM(A, y, None, 1 / PRIOR_VARIANCE, n_outputs)
        found, khat = importance(density, np.random.default_rng(0))
        if khat < 0.6:
            return found.mean, found.sd
    if n_outputs * A.shape[1] <= MANY:
        return long_chains(A[:, :-1], y, PRIOR_VARIANCE)
    return None


def timed(run):
    """Return what a run returns, and CPU seconds: of a second run if one is short."""
    for _ in range(2):
        began = time.process_time()
        found = run()
        seconds = time.process_time() - began
        if seconds > LONG:
            break
    return found, seconds


def smallest_rate(draws, *seconds):
    """Return the smallest effective sample size per second, for each of `seconds`."""
    ess = effective_sample_size(np.asarray(draws, float)).min()
    return [ess / max(s, 1e-9) for s in seconds]


def ours(X, y, name, **options):
    """Return draws and CPU seconds of a fit with all defaults."""
    options |= {"random_state": 0, "intercept_variance": PRIOR_VARIANCE}

    def fit(**others):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            began = time.process_time()
            estimator = CLASSES[name](**options, **others).fit(X, y)
            return estimator, time.process_time() - began, caught

    fit(n_draws=2, burn_in=1, thin=1)  # to compile
    estimator, seconds, caught = fit()
    name = type(estimator.sampler_).__name__
    note = f"{name}, step {estimator.step_size_:.3g}, thin {estimator.thin_}"
    if any(w.category.__name__ == "ConvergenceWarning" for w in caught):
        note += ", warned"
    return estimator.samples_, seconds, note


def numpyro_nuts(A, y, n_outputs, n_draws, n_chains):
    """Return draws, and CPU seconds with warm-up and without."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    A = jnp.asarray(A.toarray() if sp.issparse(A) else A)
    codes = jnp.asarray(y)

    def potential(theta):
        eta = A @ theta.reshape(n_outputs, -1).T
        prior = 0.5 / PRIOR_VARIANCE * jnp.sum(theta**2)
        if n_outputs == 1:
            return prior - jax.nn.log_sigmoid((2 * codes - 1) * eta[:, 0]).sum()
        log_p = jax.nn.log_softmax(eta, axis=1)
        return prior - jnp.take_along_axis(log_p, codes[:, None], axis=1).sum()

    mcmc = MCMC(
        NUTS(potential_fn=potential),
        num_warmup=n_draws,
        num_samples=n_draws,
        num_chains=n_chains,
        chain_method="sequential",
        progress_bar=False,
    )
    shape = (n_chains,) * (n_chains > 1) + (n_outputs * A.shape[1],)
    keys = jax.random.split(jax.random.PRNGKey(0), 2)

    def draw():
        mcmc.run(keys[1])
        return np.asarray(mcmc.get_samples(group_by_chain=True))

    _, warmup = timed(lambda: mcmc.warmup(keys[0], init_params=jnp.zeros(shape)))
    draws, seconds = timed(draw)
    return draws, warmup + seconds, seconds


def nutpie_nuts(A, y, n_outputs, n_draws, n_chains):
    """Return draws, and CPU seconds with warm-up and without."""
    import nutpie

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
        g = (r.T @ A).ravel() - theta / PRIOR_VARIANCE
        return value - 0.5 / PRIOR_VARIANCE * theta @ theta, g

    def expand(*_):
        return lambda theta: {"theta": theta}

    model = nutpie.compiled_pyfunc.from_pyfunc(
        d, lambda: density, expand, [np.dtype("float64")], [(d,)], ["theta"]
    )
    began = time.process_time()
    trace = nutpie.sample(
        model,
        chains=n_chains,
        cores=1,
        tune=n_draws,
        draws=n_draws,
        seed=1,
        progress_bar=False,
    )
    seconds = time.process_time() - began
    warmup = float(trace.warmup_sample_stats["n_steps"].sum())
    kept = float(trace.sample_stats["n_steps"].sum())
    draws = np.asarray(trace.posterior["theta"])
    return draws, seconds, seconds * kept / (kept + warmup)


PEERS = {"numpyro": numpyro_nuts, "nutpie": nutpie_nuts}


def row(name, classes, contenders, n_draws, n_chains):
    """Print the lines of one posterior, one for each class."""
    X, y = POSTERIORS[name]()
    n_outputs = 1 if y.max() == 1 else int(y.max()) + 1
    A, options = with_ones(X), {}
    if name in STORED:  # whose intercept has the prior of a column of ones
        X, options = A, {"fit_intercept": False}
    peers, drawn = [], []
    for peer in contenders:
        draws, *seconds = PEERS[peer](A, y, n_outputs, n_draws, n_chains)
        peers += smallest_rate(draws, *seconds)
        drawn.append(draws.reshape(-1, draws.shape[-1]))
    right = exact(name, A, y, n_outputs) if classes else None
    if right is None and drawn:
        together = np.concatenate(drawn)
        right = together.mean(axis=0), together.std(axis=0)
    rates = [f"{rate:9.3g}" for rate in peers]
    if not classes:
        print(f"{name:14s} {'nuts':6s} {'':9s}", *rates, flush=True)
    for kind in classes:
        draws, seconds, note = ours(X, y, kind, **options)
        (rate,) = smallest_rate(draws, seconds)
        cells = [f"{name:14s} {kind:6s} {rate:9.1f}", *rates]
        if peers:
            cells += [f"{rate / max(peers[i::2]):8.1f}" for i in range(2)]
        if right is not None:
            cells.append(_compared(draws.reshape(-1, draws.shape[-1]), *right))
        print(*cells, f"{seconds:.2f} s,", note, flush=True)


def _compared(draws, mean, sd):
    shift = np.abs(draws.mean(axis=0) - mean) / sd
    ratio = draws.std(axis=0) / sd
    return f"  {shift.max():.3f} sd, sds {ratio.min():.3f}-{ratio.max():.3f} "


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=POSTERIORS, default=POSTERIORS)
    parser.add_argument("--classes", nargs="*", choices=CLASSES, default=["sghmc"])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    given = parser.parse_args()
    print("posterior, class: effective draws per CPU second here,")
    print("peers with warm-up and without:", *given.peers)
    print("ours over the best, differences from exact moments, seconds, settings")
    for name in given.only:
        row(name, given.classes, given.peers, given.draws, given.chains)


if __name__ == "__main__":
    main()
