"""Stochastic volatility: a default fit against particle MCMC.

    python benchmarks/bench_volatility.py [--runs N]

Needs the file `series/GBP_vs_USD_9798.txt` of the data, daily rates of 750 returns, and
the package `particles`. The reference is particle marginal Metropolis-Hastings with
independent proposals, a Student law around the fit's own draws: its likelihoods are
estimates by bootstrap filters of 300 particles. Means are compared in posterior
standard deviations of the reference, whose Monte Carlo error is about the root of one
over its effective draws.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from tables import Table, note

from skbayes_sg import SGMCMCStochasticVolatility

N_PARTICLES, FREEDOM, SPREAD = 300, 5, 1.3
NAMES = "phi", "sigma", "tau"


def returns():
    """Return daily returns in percent, less their mean."""
    home = Path(os.environ.get("SKBAYES_SG_DATA", Path.home() / "skbayes_sg_data"))
    lines = (home / "series" / "GBP_vs_USD_9798.txt").read_text().splitlines()
    rows = [line.split() for line in lines]
    rates = [float(row[3]) for row in rows if len(row) == 4 and row[0].isdigit()]
    y = 100 * np.diff(np.log(rates))
    return y - y.mean()


def free(draws):
    """Return atanh phi, log sigma and log tau."""
    return np.c_[np.arctanh(draws[:, 0]), np.log(draws[:, 1:])]


def log_prior(u, y):
    """Return the log density of free parameters under the default prior."""
    phi, sigma = np.tanh(u[0]), np.exp(u[1])
    value = 19.0 * np.log1p(phi) + 0.5 * np.log1p(-phi) - 6.0 * u[1] - 0.025 / sigma**2
    value -= 0.5 * ((u[2] - np.log(y.std())) / 2.0) ** 2
    return value + np.log1p(-(phi**2)) + u[1]


def particle_log_likelihood(u, y):
    """Return an estimate of log p(y), whose exponential has no bias."""
    from particles import SMC
    from particles.state_space_models import Bootstrap, StochVol

    law = StochVol(mu=2 * u[2], rho=np.tanh(u[0]), sigma=np.exp(u[1]))
    run = SMC(fk=Bootstrap(ssm=law, data=y), N=N_PARTICLES)
    run.run()
    return run.logLt


def particle_chain(y, draws, n, seed):
    """Return a chain of particle MCMC, and its effective number of draws."""
    np.random.seed(seed)
    rng, center = np.random.default_rng(seed), free(draws).mean(axis=0)
    root = np.linalg.cholesky(SPREAD * np.cov(free(draws).T))
    scale = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, n))
    z = rng.standard_normal((n, 3)) * scale[:, None]
    proposals = center + z @ root.T
    log_q = -0.5 * (FREEDOM + 3) * np.log1p((z**2).sum(axis=1) / FREEDOM)
    target = [particle_log_likelihood(u, y) + log_prior(u, y) for u in proposals]
    log_w, now, chain = np.array(target) - log_q, 0, []
    for i in range(1, n):
        if np.log(rng.random()) < log_w[i] - log_w[now]:
            now = i
        chain.append(now)
    w = np.exp(log_w - log_w.max())
    thetas = np.c_[np.tanh(proposals[:, 0]), np.exp(proposals[:, 1:])]
    return thetas[chain[n // 20 :]], w.sum() ** 2 / (w**2).sum()


def main(n):
    """Print means and standard deviations of both."""
    y = returns()
    SGMCMCStochasticVolatility(n_draws=2, n_chains=1).fit(y[:60, None])  # compiles
    began = time.process_time()
    model = SGMCMCStochasticVolatility(random_state=0).fit(y[:, None])
    spent = time.process_time() - began
    draws = model.samples_.reshape(-1, 3)
    began = time.process_time()
    chain, effective = particle_chain(y, draws, n, seed=1)
    note(
        f"fit {spent:.1f} CPU s; {n} particle filters {time.process_time() - began:.1f}"
    )
    note(f"{effective:.0f} effective draws of the reference")
    table = Table("parameter", "mean", "sd", "reference", "its sd", "away (sd)")
    for j, name in enumerate(NAMES):
        mean, sd = chain[:, j].mean(), chain[:, j].std()
        ours = draws[:, j].mean(), draws[:, j].std()
        numbers = [f"{x:.4f}" for x in (*ours, mean, sd)]
        table.row(name, *numbers, f"{(ours[0] - mean) / sd:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3000, help="particle filters")
    main(parser.parse_args().runs)
