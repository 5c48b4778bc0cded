"""Effective draws per CPU second of models in PyMC: all defaults here, against nutpie.

    python benchmarks/bench_own_models.py [--quick] [--rows N ...] [--nuts DRAWS]
        [--tune STEPS] [--only NAME ...]

One core, one chain each. Here, all that `fit` does is counted (center, curvature,
pilot, tuning, burn-in, draws), with compiled code on disk; nutpie's tuning steps
are counted, too, its compilation is not. Columns: CPU seconds, smallest effective
sample size of a parameter and its rate, rate here over nutpie's; root mean square
difference of means in posterior sds, and the range of sds over those of nutpie.
"""

import argparse
import time
import warnings

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from arviz_stats.base import array_stats

from skbayes_sg import SGMCMCModel, from_pymc


def logistic(n, rng, d=10):
    X = rng.normal(size=(n, d))
    y = rng.random(n) < 1 / (1 + np.exp(-X @ rng.normal(size=d)))
    beta = pm.Normal("beta", 0, 3, shape=d)
    pm.Bernoulli("y", logit_p=pt.dot(X, beta), observed=y.astype(int))


def student(n, rng, d=10):
    X = rng.normal(size=(n, d))
    y = 1 + X @ rng.normal(size=d) + rng.standard_t(4, n)
    a, beta = pm.Normal("a", 0, 5), pm.Normal("beta", 0, 3, shape=d)
    sigma, nu = pm.HalfNormal("sigma", 2), pm.Gamma("nu", 2, 0.1)
    pm.StudentT("y", nu=nu, mu=a + pt.dot(X, beta), sigma=sigma, observed=y)


def hierarchical(n, rng, groups=100):
    X, g = rng.normal(size=(n, 5)), rng.integers(groups, size=n)
    eta = rng.normal(-0.5, 0.8, groups)[g] + X @ rng.normal(size=5)
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    mu, tau = pm.Normal("mu", 0, 2), pm.HalfNormal("tau", 1)
    a, beta = pm.Normal("a", mu, tau, shape=groups), pm.Normal("beta", 0, 2, shape=5)
    pm.Bernoulli("y", logit_p=a[g] + pt.dot(X, beta), observed=y)


def mixture(n, rng, k=3):
    y = rng.normal([-3.0, 0.0, 4.0], 1.0, (n, 3))
    y = y[np.arange(n), rng.choice(3, n, p=[0.2, 0.5, 0.3])]
    ordered = pm.distributions.transforms.ordered
    w = pm.Dirichlet("w", np.ones(k))
    start = np.linspace(-1, 1, k)
    mu = pm.Normal("mu", 0, 5, shape=k, transform=ordered, initval=start)
    pm.NormalMixture("y", w, mu, pm.HalfNormal("sigma", 2), observed=y)


MODELS = {
    "logistic, d = 10": logistic,
    "logistic, d = 100": lambda n, rng: logistic(n, rng, 100),
    "Student-t, d = 13": student,
    "mixture, 3 parts": mixture,
    "hierarchical, 100 groups": hierarchical,
    "hierarchical, 1,000 groups": lambda n, rng: hierarchical(n, rng, 1000),
}


def flat(draws):
    """Return draws by name, (chains, draws, ...) each, as one array."""
    return np.concatenate([x.reshape(*x.shape[:2], -1) for x in draws.values()], -1)


def measured(run):
    """Return draws, CPU seconds and the smallest effective sample size."""
    began = time.process_time()
    draws = flat(run())
    seconds = time.process_time() - began
    return draws, seconds, array_stats.ess(draws, chain_axis=0, draw_axis=1).min()


def compare(name, n, n_draws, n_nuts, n_tune):
    with pm.Model() as pm_model:
        MODELS[name](n, np.random.default_rng(0))
    model = from_pymc(pm_model)
    est = SGMCMCModel(model, n_chains=1, n_draws=n_draws, random_state=0)
    est.fit()  # compiles
    draws, seconds, ess = measured(lambda: est.fit().samples_)

    import nutpie

    compiled = nutpie.compile_pymc_model(pm_model)
    options = dict(
        chains=1, cores=1, tune=n_tune, draws=n_nuts, seed=0, progress_bar=False
    )

    def by_nuts():
        posterior = nutpie.sample(compiled, **options).posterior
        return {key: posterior[key].values for key in model.parameters}

    theirs, other, other_ess = measured(by_nuts)
    mean, sd = theirs[0].mean(axis=0), theirs[0].std(axis=0)
    error = np.sqrt(np.mean(((draws[0].mean(axis=0) - mean) / sd) ** 2))
    ratio = draws[0].std(axis=0) / sd
    print(
        f"| {name} | {n:,} | {seconds:.2f} | {ess:.0f} | {ess / seconds:.0f} "
        f"| {other:.1f} | {other_ess:.0f} | {other_ess / other:.1f} "
        f"| {ess / seconds * other / other_ess:.0f} | {error:.3f} "
        f"| {ratio.min():.2f}-{ratio.max():.2f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--nuts", type=int, default=500, help="draws of nutpie")
    parser.add_argument("--tune", type=int, default=300, help="steps of nutpie")
    parser.add_argument("--only", nargs="+", default=list(MODELS))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = args.rows or ([10_000] if args.quick else [10_000, 100_000, 1_000_000])
    print(
        "| model | N | s | ESS | ESS/s | nutpie s | ESS | ESS/s | ratio | means | sds |"
    )
    print("|" + 11 * "---|")
    for name in args.only:
        for n in rows:
            compare(name, n, 500 if args.quick else 4000, args.nuts, args.tune)


if __name__ == "__main__":
    main()
