"""Small hidden Markov models, and their answers by enumeration of all states."""

import itertools

import numpy as np
from scipy.stats import multivariate_normal, norm, poisson

from skbayes_sg.inference.hidden_states import in_free_parameters
from skbayes_sg.kernels.capabilities.buffers import no_messages
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.models import (
    HMM,
    CategoricalEmission,
    DiagonalGaussian,
    FullGaussian,
    PoissonEmission,
)

K = 2
EMISSIONS = ("diag", "spherical", "ar", "full", "tied", "poisson", "categorical")


def gaussian(p, n_states=K, n_lags=0, spherical=False):
    return DiagonalGaussian(
        n_states=n_states,
        n_lags=n_lags,
        spherical=spherical,
        mean=np.full(p, 0.2),
        precision=np.full(p, 0.5),
        lag_precision=2.0,
        shape=1.5,
        scale=np.full(p, 0.7),
        gram=np.tile(np.eye(n_lags + 1), (p, 1, 1)),
    )


def emission_and_parameters(name, rng):
    """Return an emission of K states, parameters, and the law of a point given k."""
    if name in ("diag", "spherical"):
        emission = gaussian(2, spherical=name == "spherical")
        means = rng.normal(size=(K, 2))
        v = rng.uniform(0.5, 2.0, (K, 2) if name == "diag" else (K,))
        sd = np.sqrt(np.broadcast_to(v.reshape(K, -1), (K, 2)))

        def law(X, t, begin, k):
            known = ~np.isnan(X[t])
            return norm.logpdf(X[t][known], means[k][known], sd[k][known]).sum()

        return emission, np.r_[means.ravel(), v.ravel()], law
    if name == "ar":
        emission = gaussian(1, n_lags=2)
        m, c, v = rng.normal(size=K), rng.normal(size=(K, 2)), rng.uniform(0.5, 2, K)

        def law(X, t, begin, k):
            y = X[t - 2 : t + 1, 0] if t - 2 >= begin else np.array([np.nan])
            if np.isnan(y).any():
                return 0.0
            return norm.logpdf(y[2], m[k] + c[k] @ [y[1], y[0]], np.sqrt(v[k]))

        return emission, np.r_[m, c.ravel(), v], law
    if name in ("full", "tied"):
        roots = rng.normal(size=(K if name == "full" else 1, 2, 2))
        matrices = roots @ roots.transpose(0, 2, 1) + 0.5 * np.eye(2)
        means = rng.normal(size=(K, 2))
        two = np.full(2, 0.5)
        emission = FullGaussian(K, name == "tied", 0.2 * two, two, 1.5, 0.7 * two)

        def law(X, t, begin, k):
            known = ~np.isnan(X[t])
            if not known.any():
                return 0.0
            matrix = matrices[k if name == "full" else 0][np.ix_(known, known)]
            return multivariate_normal.logpdf(X[t][known], means[k][known], matrix)

        return emission, np.r_[means.ravel(), matrices.ravel()], law
    if name == "poisson":
        rates = rng.uniform(1.0, 4.0, (K, 2))

        def law(X, t, begin, k):
            known = ~np.isnan(X[t])
            base = poisson.logpmf(X[t][known], 1.0) + 1.0  # without log y!
            value = poisson.logpmf(X[t][known], rates[k][known])
            return float(np.sum(value - base))

        return PoissonEmission(K, 2, 1.5, 0.5), rates.ravel(), law
    shares = rng.dirichlet(np.ones(3), K)

    def law(X, t, begin, k):
        return 0.0 if np.isnan(X[t, 0]) else np.log(shares[k, int(X[t, 0])])

    return CategoricalEmission(np.full((K, 3), 1.5)), shares.ravel(), law


def small_model(name, seed=0, lengths=(6, 3), block_length=2, buffer_length=20):
    """Return a model in free parameters, constrained ones, and the law of points."""
    rng = np.random.default_rng(seed)
    emission, emitted, law = emission_and_parameters(name, rng)
    n, p = sum(lengths), {"ar": 1, "categorical": 1}.get(name, 2)
    X = rng.normal(size=(n, p))
    if name == "poisson":
        X = rng.poisson(2.0, (n, p)).astype(float)
    if name == "categorical":
        X = rng.integers(0, 3, (n, p)).astype(float)
    X[2] = np.nan
    X[4, 0] = np.nan
    x = np.r_[rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K), K).ravel(), emitted]
    inner = HMM(
        X=X,
        blocks=make_blocks(lengths, block_length, buffer_length),
        messages=no_messages(K),
        emission=emission,
        start_prior=np.array([1.5, 2.0]),
        transition_prior=np.array([[3.0, 1.0], [1.2, 2.0]]),
    )
    return in_free_parameters(inner, x, lengths), x, law


def enumerated(X, lengths, x, law):
    """Return log p(X), state probabilities, and the best path with its log p."""
    start, moves = np.log(x[:K]), np.log(x[K : K + K * K].reshape(K, K))
    total, shares, best, best_value, begin = 0.0, [], [], 0.0, 0
    for length in lengths:
        paths = list(itertools.product(range(K), repeat=length))
        logs = []
        for path in paths:
            value = start[path[0]]
            value += sum(moves[a, b] for a, b in itertools.pairwise(path))
            value += sum(law(X, begin + t, begin, k) for t, k in enumerate(path))
            logs.append(value)
        logs = np.array(logs)
        total += np.logaddexp.reduce(logs)
        weights = np.exp(logs - np.logaddexp.reduce(logs))
        shares.append(np.einsum("n,ntk->tk", weights, np.eye(K)[np.array(paths)]))
        best += paths[int(logs.argmax())]
        best_value += logs.max()
        begin += length
    return total, np.concatenate(shares), np.array(best), best_value
