"""Random parameters and data of regressions, topic models and graphs: no crash."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skbayes_sg import (
    DivergenceError,
    SGMCMCGaussianHMM,
    SGMCMCLatentDirichletAllocation,
    SGMCMCLinearRegression,
    SGMCMCMixedMembershipBlockmodel,
    SGMCMCNegativeBinomialRegressor,
    SGMCMCPoissonRegressor,
    SGMCMCRobustRegressor,
)
from tests.fuzzing import attempt, fuzz, parameters
from tests.test_fuzz import (
    COMPILED,
    LOGISTIC,
    MEASURED,
    NUMBERS,
    SAMPLING,
    SHORT,
    fit_or_refuse,
)

# Regressions
REGRESSION = {
    **{k: v for k, v in LOGISTIC.items() if k not in ("class_weight", "keep")},
    "prior_variance": st.sampled_from([10.0, 1, 1e-10, 1e10, [1.0, 2.0], "learn"]),
    "intercept_variance": st.sampled_from(["auto", 1.0, 1e10]),
    "prior": st.sampled_from(["normal", "normal", "laplace", "horseshoe"]),
    "positive": st.booleans(),
    "bounds": st.sampled_from([None, None, (-1, 1), (0, np.inf), (1, 0), "x"]),
}
EASY = {  # what needs no other compilation
    k: v for k, v in REGRESSION.items() if k not in ("prior", "positive", "bounds")
} | {"prior_variance": st.sampled_from([10.0, 1, 1e-10, 1e10, [1.0, 2.0]])}
COUNTS = st.sampled_from([0.0, 1.0, 2.0, 30.0])
WILD_COUNTS = st.sampled_from([0.0, -1.0, 0.5, 1e300, np.nan, np.inf])


@st.composite
def counted_rows(draw):
    """Return X, counts and weights of a few samples, wild ones now and then."""
    wild = draw(st.sampled_from([False, False, True]))
    n, p = draw(st.integers(1 if wild else 8, 20)), draw(st.integers(1, 3))
    X = draw(arrays(np.float64, (n, p), elements=NUMBERS if wild else st.floats(-2, 2)))
    y = draw(arrays(np.float64, n, elements=WILD_COUNTS | COUNTS if wild else COUNTS))
    weights = st.sampled_from([1.0, 2.0, 0.0])
    return X, y, draw(st.none() | arrays(np.float64, n, elements=weights))


REGRESSIONS = {
    "linear": (SGMCMCLinearRegression, MEASURED),
    "poisson": (SGMCMCPoissonRegressor, counted_rows()),
    "negative binomial": (SGMCMCNegativeBinomialRegressor, counted_rows()),
    "robust": (SGMCMCRobustRegressor, MEASURED),
}


def fuzz_regression(name, valid, n_examples):
    cls, data = REGRESSIONS[name]

    def check(chosen, data):
        X, y, weights = data
        return fit_or_refuse(cls(**{**SHORT, **chosen}), (X, y, weights))

    fuzz(check, n_examples, parameters(valid), data)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["linear", pytest.param("poisson", marks=pytest.mark.long)]
)
def test_few_regressions(name):
    fuzz_regression(name, EASY, 60)


@pytest.mark.long
@pytest.mark.parametrize("name", REGRESSIONS)
def test_many_regressions(name):
    fuzz_regression(name, REGRESSION | COMPILED, 300)


# Topics and graphs
COMMON = {
    **{name: SAMPLING[name] for name in ("n_draws", "n_chains", "n_jobs")},
    **{name: SAMPLING[name] for name in ("warm_start", "random_state")},
    "n_components": st.sampled_from([1, 2, 5, np.int64(3), 40]),
    "burn_in": st.sampled_from([0, 3]),
    "thin": st.sampled_from([1, 2]),
    "batch_size": st.sampled_from(["auto", 1, 2, 10**6]),
    "keep": st.sampled_from(["draws", "variances"]),
}
OTHERS = {
    "sampler": st.sampled_from(
        [None, "gibbs", "scir", "constant-mass", "sgrld", "hmc"]
    ),
    "step_size": st.sampled_from(["auto", 0.1, 1e-12, 1e12]),
    "schedule": st.sampled_from(["constant", "polynomial"]),
}
TOPICS = COMMON | {
    "doc_topic_prior": st.sampled_from([None, 0.1, 1e-8, 1e8, [0.1, 2.0], "learn"]),
    "topic_word_prior": st.sampled_from([None, 0.05, 1e-8, 1e8, "learn"]),
}
GRAPHS = COMMON | {
    "membership_prior": st.sampled_from([None, 0.1, 1e-8, 1e8, [0.1, 2.0]]),
    "link_prior": st.sampled_from([(1.0, 1.0), (1e-3, 10), (0, 1), "x", (1,)]),
    "background_rate": st.sampled_from([None, 1e-8, 0.1, 0.0, 1.0]),
}


@st.composite
def documents(draw):
    """Return counts of words, dense or sparse, wild ones now and then."""
    n, words = draw(st.integers(1, 8)), draw(st.integers(1, 6))
    X = draw(arrays(np.float64, (n, words), elements=st.sampled_from([0, 1, 1, 3])))
    if draw(st.sampled_from([False, False, True])):
        X[0, 0] = draw(WILD_COUNTS)
    X = X.astype(draw(st.sampled_from([float, np.float32]))) if X.max() < 9 else X
    return draw(st.sampled_from([np.asarray, sp.csr_array, sp.csc_array]))(X)


@st.composite
def graphs(draw):
    """Return a graph as a matrix or as pairs, wild ones now and then."""
    n = draw(st.integers(3, 9))
    A = draw(arrays(np.float64, (n, n), elements=st.sampled_from([0.0, 0.0, 1.0])))
    A = np.triu(A, 1)
    kind = draw(st.sampled_from(["matrix", "sparse", "pairs", "names", "wild"]))
    if kind in ("pairs", "names"):
        pairs = np.argwhere(A)
        return pairs if kind == "pairs" else np.array([*"abcdefghi"])[pairs]
    A = A + A.T
    if kind == "wild":
        place = draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))
        A[place] = draw(WILD_COUNTS)
    return sp.csr_array(A) if kind == "sparse" else A


@st.composite
def sequences(draw):
    """Return a sequence of numbers, wild ones now and then."""
    n, p = draw(st.integers(12, 40)), draw(st.integers(1, 2))
    X = draw(arrays(np.float64, (n, p), elements=st.floats(-9, 9)))
    if draw(st.sampled_from([False, False, True])):
        X[draw(st.integers(0, n - 1)), 0] = draw(NUMBERS)
    return X


def hidden_markov(chosen):
    return SGMCMCGaussianHMM(
        **{"n_components": 2, "n_draws": 2, "burn_in": 2, "thin": 1, **chosen}
    )


def topics(chosen):
    return SGMCMCLatentDirichletAllocation(
        **{"n_components": 2, "n_draws": 2, "burn_in": 2, "thin": 1, **chosen}
    )


def blockmodel(chosen):
    return SGMCMCMixedMembershipBlockmodel(
        **{"n_components": 2, "n_draws": 2, "burn_in": 2, "thin": 1, **chosen}
    )


SEQUENCES = {k: v for k, v in COMMON.items() if k not in ("keep", "batch_size")} | {
    "n_components": st.sampled_from([1, 2, np.int64(3)]),
    "covariance_type": st.sampled_from(["diag", "full", "spherical", "tied", "x"]),
    "startprob_prior": st.sampled_from([1.0, 1e-8, 1e8]),
    "transmat_prior": st.sampled_from([1.0, 1e-8, 1e8, 0.0]),
    "n_init": st.sampled_from([1, 2]),
}
UNSUPERVISED = {
    "topics": (topics, TOPICS, documents()),
    "graphs": (blockmodel, GRAPHS, graphs()),
    "sequences": (hidden_markov, SEQUENCES, sequences()),
}


def fuzz_unsupervised(name, others, n_examples):
    make, valid, data = UNSUPERVISED[name]

    def check(chosen, X):
        model = make(chosen)
        _, error = attempt(lambda: model.fit(X), DivergenceError)
        if error is not None:
            assert not [key for key in vars(model) if key.endswith("_")], error
            return False
        values = (v for k, v in vars(model).items() if k.endswith("_"))
        for value in values:
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                assert np.isfinite(value).all()
        return True

    fuzz(check, n_examples, parameters(valid | others), data)


@pytest.mark.long
@pytest.mark.parametrize("name", ["topics", "graphs"])
def test_few_without_targets(name):
    fuzz_unsupervised(name, {}, 60)


@pytest.mark.long
@pytest.mark.parametrize("name", UNSUPERVISED)
def test_many_without_targets(name):
    fuzz_unsupervised(name, OTHERS, 200)
