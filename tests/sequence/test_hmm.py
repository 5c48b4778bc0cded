"""Hidden Markov models as estimators: known posteriors, missing values, answers."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skbayes_sg import (
    SGMCMCAutoregressiveHMM,
    SGMCMCCategoricalHMM,
    SGMCMCGaussianHMM,
    SGMCMCPoissonHMM,
)
from skbayes_sg.inference.state_answers import align_states, reorder

A = np.array([[0.95, 0.05], [0.2, 0.8]])


def simulated(n, means, sd, transitions=A, seed=0):
    """Return points of one feature and their states."""
    rng = np.random.default_rng(seed)
    states = np.zeros(n, np.int64)
    for t in range(1, n):
        states[t] = rng.choice(len(means), p=transitions[states[t - 1]])
    return rng.normal(np.array(means)[states], sd)[:, None], states


@pytest.fixture(scope="module")
def known():
    """A model whose states are certain, with the data and the states."""
    X, states = simulated(3000, [0.0, 50.0], 1.0)
    return SGMCMCGaussianHMM(2, random_state=0).fit(X), X, states


def test_posterior_given_certain_states_is_the_conjugate_one(known):
    model, X, states = known
    counts = np.ones((2, 2))
    np.add.at(counts, (states[:-1], states[1:]), 1.0)
    total = counts.sum(axis=1, keepdims=True)
    mean = counts / total
    sd = np.sqrt(mean * (1 - mean) / (total + 1))
    # 1000 nearly independent draws: 0.03 sd, and 2 % of an sd; four times as much.
    assert np.all(abs(model.transmat_ - mean) < 0.15 * sd)
    np.testing.assert_allclose(model.transmat_std_, sd, rtol=0.1)
    for k in range(2):
        own = X[states == k, 0]
        error = own.std() / np.sqrt(own.size)
        assert abs(model.means_[k, 0] - own.mean()) < 0.15 * error
        assert model.means_std_[k, 0] == pytest.approx(error, rel=0.1)
        spread = own.var() * np.sqrt(2 / own.size)
        assert abs(model.covars_[k, 0] - own.var()) < 0.4 * spread  # and the prior
        assert model.covars_std_[k, 0] == pytest.approx(spread, rel=0.1)
    # Dirichlet(2, 1): the first state is known to be 0.
    np.testing.assert_allclose(model.startprob_, [2 / 3, 1 / 3], atol=0.04)
    np.testing.assert_allclose(model.startprob_std_, np.sqrt(1 / 18), rtol=0.1)


def test_states_and_scores(known):
    model, X, states = known
    np.testing.assert_array_equal(model.predict(X), states)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    value, path = model.decode(X, algorithm="map")
    np.testing.assert_array_equal(path, states)
    assert value == pytest.approx(len(X), rel=1e-3)
    both = model.score_samples(X)
    assert both[0] == pytest.approx(model.score(X), rel=1e-9)
    np.testing.assert_allclose(both[1], shares)
    assert model.aic(X) < model.bic(X)
    assert model.aic(X) == pytest.approx(-2 * model.score(X) + 18, abs=20)
    law = model.get_stationary_distribution()
    np.testing.assert_allclose(law @ model.transmat_, law, atol=1e-12)
    assert np.all(model.affinity_ > 0.99)


def test_two_sequences_are_not_one(known):
    model, X, _ = known
    halves = model.score(X[:1500]), model.score(X[1500:])
    together = model.score(X, lengths=[1500, 1500])
    assert together == pytest.approx(sum(halves), abs=1.0)  # draws are averaged in both
    assert model.predict(X, lengths=[1500, 1500]).shape == (3000,)


def test_new_sequences_have_the_law_of_the_model(known):
    model = known[0]
    X, states = model.sample(4000, random_state=1)
    assert X.shape == (4000, 1)
    assert states.mean() == pytest.approx(0.2, abs=0.08)
    assert X[states == 1].mean() == pytest.approx(50.0, abs=0.3)
    assert model.sample(3, random_state=1, currstate=1)[1][0] == 1
    again = model.sample(4000, random_state=1)[0]
    np.testing.assert_array_equal(X, again)
    with pytest.raises(ValueError, match="currstate=2 must be a state"):
        model.sample(3, currstate=2)


def test_copies_give_the_same_answers(known):
    model, X, _ = known
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_same_seed_same_draws():
    X, _ = simulated(1000, [0.0, 3.0], 1.0)
    fits = [
        SGMCMCGaussianHMM(2, n_draws=20, random_state=3, n_jobs=jobs).fit(X).samples_
        for jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*fits)


def test_warm_chains_continue():
    X, _ = simulated(1000, [0.0, 3.0], 1.0)
    settings = {"n_components": 2, "thin": 5, "random_state": 3}
    model = SGMCMCGaussianHMM(n_draws=10, warm_start=True, **settings)
    parts = [model.fit(X).samples_.copy() for _ in range(2)]
    whole = SGMCMCGaussianHMM(n_draws=20, step_size=model.step_size_, **settings)
    parts = np.concatenate(parts, axis=1)
    np.testing.assert_array_equal(parts, whole.fit(X).samples_)
    assert model._parameter_names()[-1] == "covars[1, 0]"


def test_missing_points_are_left_out():
    X, states = simulated(4000, [0.0, 3.0], 1.0, seed=1)
    X = np.c_[X, X[::-1]]
    X[:, 1] = np.random.default_rng(2).normal(2.0 * states, 1.0)
    rng = np.random.default_rng(3)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[100:120] = np.nan
    model = SGMCMCGaussianHMM(2, random_state=0).fit(X, lengths=[1000, 2500, 500])
    truth = np.array([[0.0, 0.0], [3.0, 2.0]])
    assert np.all(abs(model.means_ - truth) < 4 * model.means_std_)
    shares = model.predict_proba(X, lengths=[1000, 2500, 500])
    assert np.mean(shares.argmax(axis=1) == states) > 0.93
    # In the middle of a gap nothing is known but the long run.
    law = model.get_stationary_distribution()
    np.testing.assert_allclose(shares[110], law, atol=0.15)


def test_buffers_are_longer_where_states_are_uncertain():
    slow = np.array([[0.99, 0.01], [0.02, 0.98]])
    lengths, biases = [], []
    for sd in (0.3, 2.5):
        X, _ = simulated(6000, [0.0, 2.0], sd, slow, seed=4)
        model = SGMCMCGaussianHMM(2, n_draws=5, n_init=4, random_state=0).fit(X)
        lengths.append(model.buffer_length_)
        biases.append(model.buffer_bias_)
    assert max(biases) <= 0.02
    assert lengths[1] >= 4 * lengths[0]
    none = SGMCMCGaussianHMM(
        2, n_draws=5, n_init=4, buffer_length=0, block_length=20, random_state=0
    ).fit(X)
    assert none.buffer_length_ == 0
    assert none.buffer_bias_ > 0.02


def test_labels_are_aligned(known):
    model, X, _ = known
    fitted, draws = model._model.model, model.samples_[:, :5].copy()
    draws[1] = reorder(fitted, draws[1], np.array([1, 0]))
    affinity = align_states(fitted, draws, model.samples_[0, 0])
    np.testing.assert_allclose(draws, model.samples_[:, :5])
    assert affinity.min() > 0.99


GOOD = np.random.default_rng(0).normal(size=(60, 2))
BAD_PARAMETERS = [
    *((name, value) for name in ("step_size",) for value in (0.0, -1.0, "big", None)),
    *(("n_components", value) for value in (0, -1, 1.5, "two", None, 300)),
    *(("n_init", value) for value in (0, 2.5, "many")),
    *(("block_length", value) for value in (0, 1.5, "long")),
    *(("buffer_length", value) for value in (-1, 0.5, "short", None)),
    *(("startprob_prior", value) for value in (0.0, -1.0, np.inf, "flat", [1.0] * 3)),
    *(("transmat_prior", value) for value in (0.0, np.nan, "flat", np.ones((3, 3)))),
    *(("algorithm", value) for value in ("best", None)),
    *(("n_draws", value) for value in (0, 1.5)),
    *(("n_chains", value) for value in (0, None)),
    *(("gradient", value) for value in ("exact", 3)),
    *(("batch_size", value) for value in (0, 2.5, "all")),
    *(("preconditioner", value) for value in ("fisher", None)),
    ("sampler", "nuts"),
    ("verbose", -1),
]


@pytest.mark.parametrize("name, value", BAD_PARAMETERS)
def test_bad_parameters(name, value):
    model = SGMCMCGaussianHMM(**({"n_components": 2} | {name: value}))
    with pytest.raises((ValueError, TypeError), match=name):
        model.fit(GOOD)
    assert not hasattr(model, "samples_")


@pytest.mark.parametrize(
    "kind, name, value",
    [
        (SGMCMCGaussianHMM, "covariance_type", "round"),
        (SGMCMCGaussianHMM, "covars_weight", 0.0),
        (SGMCMCGaussianHMM, "covars_prior", -1.0),
        (SGMCMCGaussianHMM, "means_weight", 0.0),
        (SGMCMCGaussianHMM, "means_prior", [0.0, 1.0, 2.0]),
        (SGMCMCPoissonHMM, "lambdas_prior", 0.0),
        (SGMCMCPoissonHMM, "lambdas_weight", -1.0),
        (SGMCMCCategoricalHMM, "n_symbols", 1),
        (SGMCMCCategoricalHMM, "emissionprob_prior", 0.0),
        (SGMCMCAutoregressiveHMM, "n_lags", 0),
        (SGMCMCAutoregressiveHMM, "coefs_weight", 0.0),
    ],
)
def test_bad_parameters_of_emissions(kind, name, value):
    X = np.tile([[0.0], [1.0], [2.0]], (20, 1))
    X = X if kind is SGMCMCCategoricalHMM else np.c_[X, X**2]
    with pytest.raises((ValueError, TypeError), match=name):
        kind(2, **{name: value}).fit(X)


@pytest.mark.parametrize(
    "X, lengths, message",
    [
        (GOOD, [30, 20], "lengths add up to 50, but X has 60 points"),
        (GOOD, [60, 0], "at least one point"),
        (GOOD, [30.5, 29.5], "must be whole numbers"),
        (GOOD, [], "must be whole numbers"),
        (GOOD[:, 0], None, "Expected 2D array"),
        (np.c_[GOOD, np.full(60, np.nan)], None, "column 2 of X has no number"),
        (np.c_[GOOD, np.full(60, 7.0)], None, "column 2 of X is constant"),
        (np.where(GOOD > 2, np.inf, GOOD), None, "infinity"),
        (1e200 * GOOD, None, "too large"),
        (np.tile([[0.0, 1.0], [1.0, 3.0]], (30, 1)), None, "2 distinct points"),
    ],
)
def test_bad_data(X, lengths, message):
    model = SGMCMCGaussianHMM(3)
    with pytest.raises(ValueError, match=message):
        model.fit(X, lengths)
    assert not hasattr(model, "n_features_in_")


def test_bad_counts_and_symbols():
    with pytest.raises(ValueError, match="counts are whole numbers"):
        SGMCMCPoissonHMM(2).fit([[1.5], [2.0], [3.0]])
    with pytest.raises(ValueError, match="symbols are whole numbers"):
        SGMCMCCategoricalHMM(2).fit([[-1], [2], [3]])
    with pytest.raises(ValueError, match="one column"):
        SGMCMCCategoricalHMM(2).fit([[1, 1], [2, 0], [3, 0]])
    with pytest.raises(ValueError, match="the symbol 3, but there are 3"):
        SGMCMCCategoricalHMM(2, n_symbols=3).fit([[1], [2], [3]])
    with pytest.raises(ValueError, match="number the symbols that occur"):
        SGMCMCCategoricalHMM(2).fit([[1], [2], [10**15]])
