"""Small models of every kind, for tests that look at each row."""

import numpy as np
import scipy.sparse as sp

from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.likelihoods import (
    Bernoulli,
    Categorical,
    FixedGaussian,
    Gaussian,
    NegativeBinomial,
    Poisson,
    StudentT,
)
from skbayes_sg.kernels.models import GLM, GaussianMean
from skbayes_sg.kernels.models.glm_units import Units
from skbayes_sg.kernels.models.mlp import MLP
from skbayes_sg.kernels.models.mlp_layers import Tanh

FAMILIES = {
    "logistic": (Bernoulli(), 1, lambda rng, n: np.arange(n) % 2),
    "softmax": (Categorical(), 3, lambda rng, n: np.arange(n) % 3),
    "linear": (
        FixedGaussian(noise_precision=2.5),
        1,
        lambda rng, n: rng.normal(size=n),
    ),
    "poisson": (Poisson(), 1, lambda rng, n: rng.poisson(1.5, n)),
}
MODELS = [*FAMILIES, "gaussian"]


def csr(X):
    """Return an array as sparse rows."""
    matrix = sp.csr_array(X)
    indices, indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64)
    return CSRRows(matrix.data, indices, indptr, X.shape[1])


def features(rng, n, p):
    """Return (n, p) features, a third of them zero, one row wholly so."""
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) > 1 / 3)
    X[n // 2] = 0.0
    return X


def glm(
    family, n=20, p=3, dtype=np.float64, sparse=False, weighted=False, intercept=True
):
    """Return a GLM of a named family on random data, the same at every call."""
    rng = np.random.default_rng(n)
    family, n_outputs, targets = FAMILIES[family]
    X, y = features(rng, n, p).astype(dtype), targets(rng, n).astype(dtype)
    weights = rng.uniform(0.5, 2.0, n if weighted else 0).astype(dtype)
    rows = csr(X) if sparse else X
    prior = np.full(n_outputs * (p + int(intercept)), 0.7, dtype)
    return for_kernels(GLM(family, rows, y, weights, prior, intercept, n_outputs))


def small_model(name, n=20):
    """Return the model called `name` in `MODELS`, or a network."""
    rng = np.random.default_rng(n)
    if name == "network":
        y, sizes = np.arange(n) % 3, np.array([2, 3, 3])
        data = features(rng, n, 2), y.astype(np.float64), rng.uniform(0.5, 2.0, n)
        return for_kernels(MLP(Tanh(), Categorical(), *data, sizes, np.ones(4), False))
    if name != "gaussian":
        return glm(name, n, weighted=True)
    root = rng.normal(size=(3, 3))
    return for_kernels(GaussianMean(rng.normal(size=(n, 3)), root @ root.T + np.eye(3)))


def noisy_glm(name, n=20, p=3, dtype=np.float64, sparse=False, weighted=True):
    """Return a GLM whose likelihood has parameters of its own, named in `NOISY`."""
    rng = np.random.default_rng(n)
    likelihood, K, targets = NOISY[name]
    X, y = features(rng, n, p).astype(dtype), targets(rng, n).astype(dtype)
    weights = rng.uniform(0.5, 2.0, n if weighted else 0).astype(dtype)
    prior = np.linspace(0.5, 2.0, K * (p + 1)).astype(dtype)
    offsets = rng.normal(size=n).astype(dtype)
    units = Units(rng.normal(size=p), rng.normal(size=K), rng.uniform(1, 2, K))
    rows = csr(X) if sparse else X
    return for_kernels(
        GLM(likelihood, rows, y.ravel(), weights, prior, True, K, offsets, units)
    )


NOISY = {
    "linear": (Gaussian(0.5, 2.0), 2, lambda rng, n: rng.normal(size=(2, n))),
    "negative binomial": (NegativeBinomial(), 1, lambda rng, n: rng.poisson(3.0, n)),
    "student": (StudentT(), 1, lambda rng, n: rng.standard_t(2.0, n)),
    "student, df known": (StudentT(4.0), 1, lambda rng, n: rng.standard_t(2.0, n)),
}
