"""Every emission finds the parameters that simulated its data."""

import numpy as np
import pytest

from skbayes_sg import (
    SGMCMCAutoregressiveHMM,
    SGMCMCCategoricalHMM,
    SGMCMCGaussianHMM,
    SGMCMCPoissonHMM,
)

N = 4000
MEANS = np.array([[0.0, 0.0], [2.5, 1.0]])
MATRICES = np.array([[[1.0, 0.6], [0.6, 1.0]], [[0.5, -0.2], [-0.2, 0.8]]])


def states_of(rng, stay=0.95):
    return np.cumsum(rng.random(N) > stay) % 2


def within(found, std, truth):
    """Whether all numbers are within four posterior sds, which are no large ones."""
    return np.all(abs(found - truth) < 4 * std) and np.all(std < 0.2)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["full", "tied", "spherical"])
def test_gaussian(kind):
    rng = np.random.default_rng(0)
    states = states_of(rng)
    matrices = {
        "full": MATRICES,
        "tied": np.stack([MATRICES[0], MATRICES[0]]),
        "spherical": np.array([0.7, 1.4])[:, None, None] * np.eye(2),
    }[kind]
    roots = np.linalg.cholesky(matrices)
    noise = np.einsum("tij,tj->ti", roots[states], rng.standard_normal((N, 2)))
    X = MEANS[states] + noise
    X[rng.random(X.shape) < 0.1] = np.nan
    model = SGMCMCGaussianHMM(2, kind, random_state=0).fit(X, lengths=[1500, 2500])
    truth = {"full": matrices, "tied": matrices[0], "spherical": [0.7, 1.4]}[kind]
    assert within(model.means_, model.means_std_, MEANS)
    assert within(model.covars_, model.covars_std_, truth)
    assert np.mean(model.predict(X, lengths=[1500, 2500]) == states) > 0.9
    assert model.sample(10, random_state=0)[0].shape == (10, 2)


@pytest.mark.long
def test_poisson():
    rng = np.random.default_rng(1)
    states, rates = states_of(rng), np.array([[1.0, 5.0], [6.0, 4.0]])
    X = rng.poisson(rates[states]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = SGMCMCPoissonHMM(2, random_state=0).fit(X)
    assert within(model.lambdas_, model.lambdas_std_, rates)
    assert model.score(X) < 0  # counts have probabilities, factorials included
    assert model.sample(10, random_state=0)[0].shape == (10, 2)


@pytest.mark.long
def test_categorical():
    rng = np.random.default_rng(2)
    states = states_of(rng, 0.98)
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    X = np.array([rng.choice(3, p=shares[k]) for k in states])[:, None]
    model = SGMCMCCategoricalHMM(2, random_state=0).fit(X)
    assert within(model.emissionprob_, model.emissionprob_std_, shares)
    assert set(np.unique(model.sample(100, random_state=0)[0])) == {0.0, 1.0, 2.0}


@pytest.mark.long
def test_autoregressive():
    rng = np.random.default_rng(3)
    states, coefs = states_of(rng, 0.98), np.array([[0.5, 0.3], [-0.6, 0.2]])
    y = np.zeros(N)
    for t in range(2, N):
        y[t] = coefs[states[t]] @ y[[t - 1, t - 2]] + rng.standard_normal()
    model = SGMCMCAutoregressiveHMM(2, 2, random_state=0).fit(y[:, None])
    order = np.argsort(-model.coefs_[:, 0, 0])
    found, std = model.coefs_[order, :, 0], model.coefs_std_[order, :, 0]
    assert within(found, std, coefs)
    assert model.sample(10, random_state=0)[0].shape == (10, 1)
