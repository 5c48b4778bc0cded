"""Write tests/references/<case>.json: posterior moments by exact, long MCMC.

    python -m benchmarks.make_reference [case ...]

Many Hamiltonian chains move together, so that one matrix product serves them all.
The space is whitened by the Hessian at the mode; in each iteration the chains share a
random path length, hence a number of leapfrog steps, independent of their states, and
every chain has its own Metropolis test: the target is exact. Sampling stops when every
coordinate has ESS >= 10,000 for its mean and for its sd, so that the mean's Monte Carlo
error is at most 0.01 posterior sd and the sd's about 0.7 %.
"""

import argparse
import json
import platform
import time

import arviz_stats
import numpy as np
import scipy
import scipy.linalg
import scipy.sparse as sp
from arviz_stats.base import array_stats
from scipy.special import expit

from tests.references.load import CASES, FOLDER, PRIOR_VARIANCE, fingerprint

N_CHAINS = 16
N_WARMUP = 300
N_DRAWS = 250  # per chain between two looks at the ESS
MIN_ESS = 10_000
TARGET_ACCEPTANCE = 0.85
ROWS = 8192  # per block: one block's predictors of all chains stay in the cache


class LogisticPosterior:
    """U(theta) = -log posterior for thetas in the columns of a (dim, chains) array."""

    def __init__(self, X, y):
        if sp.issparse(X):
            X = sp.hstack([X, np.ones((X.shape[0], 1))], format="csr")
            blocks = [X[i : i + ROWS] for i in range(0, X.shape[0], ROWS)]
            self.blocks = [(block, block.T.tocsr()) for block in blocks]
        else:
            X = np.column_stack((X, np.ones(len(X))))
            blocks = [X[i : i + ROWS] for i in range(0, len(X), ROWS)]
            self.blocks = [(block, block.T) for block in blocks]
        self.dim = X.shape[1]
        self.xty = (X.T @ y)[:, None]

    def potential_and_gradient(self, theta):
        potential = (theta**2).sum(0) / (2 * PRIOR_VARIANCE) - (self.xty * theta).sum(0)
        gradient = theta / PRIOR_VARIANCE - self.xty
        for X, Xt in self.blocks:
            eta = X @ theta
            small = np.exp(-abs(eta))
            potential += (np.maximum(eta, 0) + np.log1p(small)).sum(0)
            gradient += Xt @ (np.where(eta > 0, 1.0, small) / (1 + small))
        return potential, gradient

    def hessian(self, theta):
        hessian = np.eye(self.dim) / PRIOR_VARIANCE
        for X, Xt in self.blocks:
            p = expit(X @ theta)
            weights = p * (1 - p)
            scaled = X.multiply(weights) if sp.issparse(X) else X * weights
            product = Xt @ scaled
            hessian += product.toarray() if sp.issparse(product) else product
        return hessian

    def mode(self):
        theta = np.zeros((self.dim, 1))
        potential, gradient = self.potential_and_gradient(theta)
        for _ in range(100):
            step = scipy.linalg.solve(self.hessian(theta), gradient, assume_a="pos")
            decrement = float((gradient * step).sum())
            size = 1.0
            while True:
                new = theta - size * step
                new_potential, new_gradient = self.potential_and_gradient(new)
                # Rounding hides decreases below some 1e-8 of a unit of U.
                if new_potential <= potential - 0.1 * size * decrement + 1e-8:
                    break
                size /= 2
            theta, potential, gradient = new, new_potential, new_gradient
            if decrement < 1e-12:
                return theta
        raise RuntimeError("Newton's method did not converge.")


def hamiltonian_chains(posterior, seed):
    """Yield the chains' states (chain, dim) and acceptance, one iteration at a time."""
    rng = np.random.default_rng(seed)
    mode = posterior.mode()
    factor = np.linalg.cholesky(posterior.hessian(mode))
    unwhiten = scipy.linalg.solve_triangular(factor, np.eye(len(factor)), lower=True).T

    def evaluate(z):
        potential, gradient = posterior.potential_and_gradient(mode + unwhiten @ z)
        return potential, unwhiten.T @ gradient

    z = rng.standard_normal((posterior.dim, N_CHAINS))
    potential, gradient = evaluate(z)
    # Where the normal approximation is poor, a draw from it can be so far up a steep
    # side that its chain would stay there: pull such starts towards the mode.
    minimum, _ = posterior.potential_and_gradient(mode)
    usual = minimum + posterior.dim / 2 + 4 * np.sqrt(posterior.dim / 2)
    while np.any(potential > usual):
        z[:, potential > usual] /= 2
        potential, gradient = evaluate(z)
    log_step = 0.0
    for t in range(1, 1 << 30):
        # Whitened coordinates turn by the path's length, and a quarter period, pi/2, is
        # the best for moments: means and squares then forget where they were.
        path = rng.uniform(np.pi / 4, 3 * np.pi / 4)
        n_steps = int(np.ceil(path / np.exp(log_step)))
        step = path / n_steps

        momentum = rng.standard_normal(z.shape)
        energy = potential + (momentum**2).sum(0) / 2
        new_z, new_gradient = z, gradient
        for _ in range(n_steps):
            momentum -= step / 2 * new_gradient
            new_z = new_z + step * momentum
            new_potential, new_gradient = evaluate(new_z)
            momentum -= step / 2 * new_gradient
        new_energy = new_potential + (momentum**2).sum(0) / 2

        log_ratio = np.nan_to_num(energy - new_energy, nan=-np.inf)
        probability = np.exp(np.minimum(0, log_ratio))
        accept = rng.uniform(size=N_CHAINS) < probability
        z = np.where(accept, new_z, z)
        potential = np.where(accept, new_potential, potential)
        gradient = np.where(accept, new_gradient, gradient)
        if t <= N_WARMUP:
            log_step += t**-0.6 * (probability.mean() - TARGET_ACCEPTANCE)
        else:
            yield (mode + unwhiten @ z).T, probability.mean(), np.exp(log_step)


def ess(draws):
    """Return the effective sample sizes of the means of draws (chain, draw, dim)."""
    return array_stats.ess(draws, chain_axis=0, draw_axis=1, method="mean")


def make_reference(name, seed):
    start = time.perf_counter()
    X, y = CASES[name]()
    chains = hamiltonian_chains(LogisticPosterior(X, y), seed)
    states, acceptance = [], []
    while True:
        for _ in range(N_DRAWS):
            state, probability, step = next(chains)
            states.append(state)
            acceptance.append(probability)
        draws = np.stack(states, axis=1)
        squares = (draws - draws.mean(axis=(0, 1))) ** 2
        ess_mean, ess_sd = ess(draws), ess(squares)
        print(
            f"{name}: {len(states)} draws per chain, min ESS {ess_mean.min():.0f} "
            f"(mean), {ess_sd.min():.0f} (sd), {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        if min(ess_mean.min(), ess_sd.min()) >= MIN_ESS:
            break
    rhat = array_stats.rhat(draws, chain_axis=0, draw_axis=1)
    sd = draws.std(axis=(0, 1), ddof=1)
    # By the delta method: the variance's error over 2 sd.
    mcse_sd = squares.std(axis=(0, 1)) / np.sqrt(ess_sd) / (2 * sd)
    return {
        "model": "logistic regression, N(0, 10) prior on coefficients and intercept",
        "packing": "coefficients, then intercept",
        "mean": draws.mean(axis=(0, 1)).tolist(),
        "sd": sd.tolist(),
        "mcse": (sd / np.sqrt(ess_mean)).tolist(),
        "mcse_sd": mcse_sd.tolist(),
        "min_ess_mean": float(ess_mean.min()),
        "min_ess_sd": float(ess_sd.min()),
        "max_rhat": float(rhat.max()),
        "acceptance": float(np.mean(acceptance)),
        "settings": {
            "sampler": "HMC with Metropolis test, whitened at the mode",
            "seed": seed,
            "n_chains": N_CHAINS,
            "n_warmup": N_WARMUP,
            "n_draws_per_chain": len(states),
            "max_step_size": float(step),
            "path_length": "uniform on [pi/4, 3 pi/4]",
        },
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "arviz-stats": arviz_stats.__version__,
        },
        "data": fingerprint(X, y),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=["all", *CASES], default="all")
    parser.add_argument("--seed", type=int, default=20240917)
    arguments = parser.parse_args()
    for name in CASES if "all" in arguments.cases else arguments.cases:
        result = make_reference(name, arguments.seed)
        text = json.dumps(result, indent=1) + "\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
