"""Seconds to 1,000 effective draws of a regression, and point estimates beside.

    python benchmarks/bench_regressions.py [--quick]

Linear and Poisson regressions, d = 20 features, N = 1,000,000 rows: all from `fit` to
the draws, with compiled code, for as many draws as give 1,000 effective ones of
every parameter. Beside, scikit-learn's `BayesianRidge` and `PoissonRegressor`, which
have one estimate each (the former with a covariance). Then effective draws per second
of both at N = 100,000 over those of numpyro's NUTS, whose warm-up is not counted and
which starts at the mode, in units of posterior standard deviations, noise included.

"CPU" is the processor's time, which says more where other jobs run.
"""

import argparse
import time

import numpy as np
from sklearn.linear_model import BayesianRidge, PoissonRegressor
from tables import Table

from skbayes_sg import SGMCMCLinearRegression, SGMCMCPoissonRegressor
from skbayes_sg.inference.mixing import effective_sample_size

D, VAGUE = 20, 1e-3  # features; shape and rate of the prior of the noise's precision
NAMES = "linear", "poisson"


def problem(name, n, seed=0):
    """Return X and y."""
    rng = np.random.default_rng(seed)
    X, beta = rng.standard_normal((n, D)), rng.standard_normal(D) / 5
    if name == "linear":
        return X, X @ beta + rng.standard_normal(n)
    return X, rng.poisson(np.exp(X @ beta)).astype(float)


def timed(function):
    """Return what it returns, seconds, and seconds of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def ours(name, n_draws=500):
    """Return an estimator whose 2,000 draws hold about 1,100 effective ones."""
    make = SGMCMCLinearRegression if name == "linear" else SGMCMCPoissonRegressor
    return make(n_draws=n_draws, n_jobs=2, random_state=0)


def effective(model):
    return effective_sample_size(model.samples_.astype(float)).min()


def whole_fits(n, names=NAMES):
    """Print seconds of fits here, and of scikit-learn's."""
    table = Table("model", "rows", "method", "seconds", "CPU s", "ESS", n_labels=3)
    for name in names:
        X, y = problem(name, n)
        ours(name).fit(*problem(name, 20_000))  # compiles
        model, *seconds = timed(lambda X=X, y=y, name=name: ours(name).fit(X, y))
        point = BayesianRidge() if name == "linear" else PoissonRegressor(alpha=1e-6)
        _, *others = timed(lambda point=point, X=X, y=y: point.fit(X, y))
        for each, (wall, cpu), count in (
            (model, seconds, f"{effective(model):.0f}"),
            (point, others, None),
        ):
            kind = type(each).__name__
            table.row(name, n, kind, f"{wall:.2f}", f"{cpu:.2f}", count)


def rates(n, n_draws):
    """Print effective draws per second here, those of NUTS, and their ratio."""
    columns = "ESS", "CPU s", "ESS/s", "ratio"
    table = Table("model", "rows", "method", *columns, n_labels=3)
    for name in NAMES:
        X, y = problem(name, n)
        ours(name).fit(*problem(name, 20_000))
        model, _, cpu = timed(lambda X=X, y=y, name=name: ours(name).fit(X, y))
        mine = effective(model) / cpu
        draws, seconds = numpyro_nuts(name, model, X, y, n_draws)
        for method, each, spent in (
            ("all defaults, fit", model.samples_, cpu),
            ("numpyro NUTS", draws, seconds),
        ):
            count = effective_sample_size(each.astype(float)).min()
            rate = count / spent
            row = f"{count:.0f}", f"{spent:.2f}", f"{rate:.1f}", f"{mine / rate:.1f}"
            table.row(name, n, method, *row)


def numpyro_nuts(name, model, X, y, n_draws):
    """Return draws, and seconds of the processor, in units of the posterior's sds."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from jax import random
    from numpyro.infer import MCMC, NUTS, init_to_value

    numpyro.enable_x64()
    center = np.append(model.coef_, model.intercept_)
    sd = np.append(model.coef_std_, model.intercept_std_)
    start = {"z": jnp.zeros(D + 1)}
    if name == "linear":
        start["w"] = 0.0
        noise = -2 * np.log(model.noise_sd_), 2 * model.noise_sd_std_ / model.noise_sd_

    def density(X, y):
        theta = center + sd * numpyro.sample("z", dist.Normal(0, 1e6).expand([D + 1]))
        numpyro.factor("prior", -0.05 * jnp.sum(theta**2))
        eta = X @ theta[:-1] + theta[-1]
        if name == "linear":
            t = noise[0] + noise[1] * numpyro.sample("w", dist.Normal(0, 1e6))
            numpyro.factor("of the noise", VAGUE * (t - jnp.exp(t)))
            numpyro.sample("y", dist.Normal(eta, jnp.exp(-0.5 * t)), obs=y)
        else:
            numpyro.sample("y", dist.Poisson(jnp.exp(eta)), obs=y)

    kernel = NUTS(density, init_strategy=init_to_value(values=start))
    chain = MCMC(kernel, num_warmup=n_draws, num_samples=n_draws, progress_bar=False)
    data = jnp.asarray(X), jnp.asarray(y)
    chain.warmup(random.PRNGKey(0), *data)
    chain.run(random.PRNGKey(1), *data)  # compiles
    _, _, cpu = timed(lambda: chain.run(random.PRNGKey(2), *data))
    return np.asarray(chain.get_samples(group_by_chain=True)["z"], float), cpu


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    options = parser.parse_args()
    whole_fits(100_000 if options.quick else 1_000_000)
    try:
        rates(10_000 if options.quick else 100_000, 50 if options.quick else 100)
    except ImportError:
        print("\nnumpyro is not installed")
