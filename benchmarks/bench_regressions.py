"""Seconds to 1,000 effective draws of a regression, and point estimates beside.

    python benchmarks/bench_regressions.py [--quick] [--nuts]

Linear and Poisson regressions, d = 20 features, N = 1,000,000 rows: all from `fit` to
the draws, with compiled code, for as many draws as give 1,000 effective ones of
every parameter. Beside, scikit-learn's `BayesianRidge` and `PoissonRegressor`, which
have one estimate each (the former with a covariance). With `--nuts`, effective draws
per second of both at N = 100,000 over those of numpyro's NUTS, whose warm-up is not
counted and which starts at the mode, in units of its standard deviations.

"cpu" is the processor's time, which says more where other jobs run.
"""

import argparse
import time

import numpy as np
from sklearn.linear_model import BayesianRidge, PoissonRegressor

from skbayes_sg import SGMCMCLinearRegression, SGMCMCPoissonRegressor
from skbayes_sg.inference.mixing import effective_sample_size

D = 20
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


def million(n):
    print(f"N = {n:,}, d = {D}")
    print("model     what                       seconds    cpu   effective draws")
    for name in NAMES:
        X, y = problem(name, n)
        small = problem(name, 20_000)
        ours(name).fit(*small)  # compiles
        model, wall, cpu = timed(lambda X=X, y=y, name=name: ours(name).fit(X, y))
        count = effective(model)
        kind = type(model).__name__
        print(f"{name:9} {kind:26} {wall:7.2f} {cpu:6.2f} {count:10.0f}")
        point = BayesianRidge() if name == "linear" else PoissonRegressor(alpha=1e-6)
        _, wall, cpu = timed(lambda point=point, X=X, y=y: point.fit(X, y))
        kind = type(point).__name__
        print(f"{name:9} {kind:26} {wall:7.2f} {cpu:6.2f}          -", flush=True)


def nuts(n, n_draws):
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from jax import random
    from numpyro.infer import MCMC, NUTS, init_to_value

    print(f"\nN = {n:,}, d = {D}: effective draws per second of the processor")
    for name in NAMES:
        X, y = problem(name, n)
        ours(name).fit(*problem(name, 20_000))
        model, _, cpu = timed(lambda X=X, y=y, name=name: ours(name).fit(X, y))
        here = effective(model) / cpu
        center, sd = np.append(model.coef_, model.intercept_), model.coef_std_
        sd = np.append(sd, model.intercept_std_)

        def density(X, y, name=name, center=center, sd=sd):
            z = numpyro.sample("z", dist.Normal(0, 1e6).expand([D + 1]))
            theta = center + sd * z
            numpyro.factor("prior", -0.05 * jnp.sum(theta**2))
            eta = X @ theta[:-1] + theta[-1]
            if name == "linear":
                tau = numpyro.sample("tau", dist.Gamma(1e-3, 1e-3))
                numpyro.sample("y", dist.Normal(eta, tau**-0.5), obs=y)
            else:
                numpyro.sample("y", dist.Poisson(jnp.exp(eta)), obs=y)

        start = {"z": jnp.zeros(D + 1)} | ({"tau": 1.0} if name == "linear" else {})
        kernel = NUTS(density, init_strategy=init_to_value(values=start))
        chain = MCMC(
            kernel, num_warmup=n_draws, num_samples=n_draws, progress_bar=False
        )
        chain.warmup(random.PRNGKey(0), jnp.asarray(X), jnp.asarray(y))
        _, wall, cpu = timed(
            lambda X=X, y=y, chain=chain: chain.run(
                chain.post_warmup_state.rng_key, jnp.asarray(X), jnp.asarray(y)
            )
        )
        draws = np.asarray(chain.get_samples(group_by_chain=True)["z"], float)
        there = effective_sample_size(draws).min() / cpu
        print(
            f"{name:9} {here:10.0f} here {there:10.2f} NUTS, ratio {here / there:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--nuts", action="store_true")
    options = parser.parse_args()
    million(100_000 if options.quick else 1_000_000)
    if options.nuts:
        nuts(10_000 if options.quick else 100_000, 50 if options.quick else 100)
