"""Bayesian networks as estimators: laws, averages, storage, input, uncertainty."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import softmax
from scipy.stats import norm
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayes_sg import (
    DivergenceError,
    SGHMCClassifierMLP,
    SGHMCRegressorMLP,
    SGLDClassifierMLP,
    SGMCMCClassifierMLP,
    SGNHTClassifierMLP,
)
from skbayes_sg.inference import running, storage
from skbayes_sg.inference.exploration import mlp_training, mlp_units
from skbayes_sg.inference.exploration.mlp_units import exchangeable_mean
from skbayes_sg.kernels.models.mlp import unpack
from skbayes_sg.kernels.samplers import BAOAB, SGHMC
from skbayes_sg.neural_network._regressor import NOISE_RATE, NOISE_SHAPE

LONG = pytest.mark.long  # each compiles a combination of its own
SHORT = dict(n_draws=10, burn_in=40, thin=2, n_chains=2, random_state=0)


def short(kind=SGHMCClassifierMLP, hidden=(8,), **settings):
    return kind(hidden, **{**SHORT, **settings})


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X).astype(np.float32), y


@pytest.fixture(scope="module")
def fitted(iris):
    return short().fit(*iris)


@pytest.fixture(scope="module")
def line():
    """A linear regression: 60 rows of two features, noise of sd 0.5."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, 3.0 + X @ [1.0, -0.5] + 0.5 * rng.normal(size=60)


def forward(X, draw, sizes):
    weights, biases, _ = unpack(draw, sizes)
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        X = np.maximum(X @ w + b, 0)
    return X @ weights[-1] + biases[-1]


def test_fitted_attributes(fitted):
    dim = 4 * 8 + 8 + 8 * 3 + 3
    assert fitted.samples_.shape == (2, 10, dim + 4)
    assert fitted.samples_.dtype == np.float32
    assert fitted.layer_sizes_ == [4, 8, 3]
    assert fitted.mode_.shape == (dim,)
    assert (fitted.burn_in_, fitted.thin_, fitted.n_iter_) == (40, 2, 60)
    assert fitted.batch_size_ == fitted.n_samples_seen_ == 150
    assert fitted.gradient_noise_ratio_ == 0
    # Chains start at modes of their own and move; precisions are held.
    assert np.abs(fitted.samples_[0, 0] - fitted.samples_[1, 0]).max() > 0.1
    assert (fitted.samples_[..., :-4].std(axis=1) > 0).all()
    assert (fitted.samples_[..., -4:] == fitted.samples_[0, 0, -4:]).all()
    assert fitted.temperature_ == 0.1 and np.isnan(fitted.r_hat_)


def test_probabilities_are_averages_of_probabilities(fitted, iris):
    X = iris[0][::30]
    every = fitted.predict_proba_samples(X)
    assert every.shape == (2, 10, 5, 3)
    np.testing.assert_allclose(
        fitted.predict_proba(X), every.mean(axis=(0, 1)), rtol=1e-5
    )
    by_hand = softmax(forward(X, fitted.samples_[1, 7], [4, 8, 3]), axis=1)
    np.testing.assert_allclose(every[1, 7], by_hand, rtol=1e-4)


@pytest.mark.parametrize("weight_precision", [2.0, "gamma"])
def test_a_linear_network_has_the_posterior_of_a_regression(line, weight_precision):
    """Against a grid over the precisions, with the regression integrated out.

    About 800 effective draws: errors of 0.035 sd and 2.5 %, 4 of them allowed.
    """
    X, y = line
    model = SGHMCRegressorMLP(
        (),
        weight_precision=weight_precision,
        n_draws=1000,
        thin=20,
        burn_in=1000,
        random_state=0,
    ).fit(X, y)
    mean, variance = exact_regression(X, (y - y.mean()) / y.std(), weight_precision)
    draws = model.samples_.reshape(4000, -1)[:, :4]
    assert np.abs((draws.mean(axis=0) - mean) / np.sqrt(variance)).max() < 0.14
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.2)
    by_hand = y.mean() + y.std() * (draws[:, :2] @ X[0] + draws[:, 2])
    assert np.isclose(model.predict(X)[0], by_hand.mean())


def exact_regression(X, t, weight_precision):
    """Return posterior moments of two weights, the bias and the log precision."""
    design = np.column_stack([X, np.ones(len(t))])
    logs = np.linspace(-6, 3, 25)
    gamma = weight_precision == "gamma"
    blocks = [logs if gamma else np.log([weight_precision])] * 2
    total, first, second = 0.0, np.zeros(4), np.zeros(4)
    for log_noise in np.linspace(-1, 4, 51):
        for log_w in blocks[0]:
            for log_b in blocks[1]:
                noise, w, b = np.exp([log_noise, log_w, log_b])
                prior = np.array([w, w, b])
                root = noise * design.T @ design + np.diag(prior)
                mu = noise * np.linalg.solve(root, design.T @ t)
                value = 0.5 * (len(t) * log_noise + np.log(prior).sum())
                value -= 0.5 * np.linalg.slogdet(root)[1]
                error = t - design @ mu
                value -= 0.5 * (noise * error @ error + prior @ mu**2)
                value += NOISE_SHAPE * log_noise - NOISE_RATE * noise
                if gamma:
                    value += log_w - w + log_b - b
                p = np.exp(value)
                cov = np.diag(np.linalg.inv(root))
                m = np.array([*mu, log_noise])
                total += p
                first += p * m
                second += p * (m**2 + np.array([*cov, 0.0]))
    mean = first / total
    return mean, second / total - mean**2


def test_regressor_predictions(line):
    X, y = line
    model = short(SGHMCRegressorMLP).fit(X, y)
    every = model.predict_samples(X)
    assert every.shape == (2, 10, 60)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, every.mean(axis=(0, 1)), rtol=1e-5)
    parts = model.predict_uncertainty(X)
    np.testing.assert_allclose(parts.epistemic, every.var(axis=(0, 1)), rtol=1e-3)
    log_precision = model.samples_[..., 4 * 8 + 1].reshape(-1)
    noise = model.y_scale_[0] * np.exp(-0.5 * log_precision.astype(float))
    np.testing.assert_allclose(parts.aleatoric, np.mean(noise**2), rtol=1e-5)
    np.testing.assert_allclose(std**2, parts.total)
    density = norm.pdf(y, every.reshape(20, -1), noise[:, None]).mean(axis=0)
    np.testing.assert_allclose(
        model.log_predictive_density(X, y), np.log(density), rtol=1e-3, atol=1e-3
    )
    shifted = short(SGHMCRegressorMLP).fit(X, 100 + 7 * y)
    np.testing.assert_allclose(shifted.predict(X), 100 + 7 * mean, rtol=1e-4)


def test_regressor_of_several_outputs(line):
    X, y = line
    model = short(SGHMCRegressorMLP).fit(X, np.column_stack([y, -y, X[:, 0]]))
    mean, std = model.predict(X[:4], return_std=True)
    assert mean.shape == std.shape == (4, 3)
    assert model.samples_.shape[-1] == 2 * 8 + 8 + 8 * 3 + 3 + 3 + 4
    assert model.log_predictive_density(X, model.predict(X)).shape == (60,)


@pytest.mark.parametrize(
    "kind", [SGLDClassifierMLP, SGHMCClassifierMLP, SGNHTClassifierMLP]
)
def test_two_moons(kind):
    X, y = make_moons(400, noise=0.2, random_state=0)
    Xa, Xb, ya, yb = train_test_split(X, y, random_state=0)
    model = kind((20,), n_draws=20, burn_in=500, n_chains=2, random_state=0)
    assert model.fit(Xa, ya).score(Xb, yb) > 0.93


@LONG
@pytest.mark.parametrize("activation", ["softmax", "tanh"])
def test_activations(iris, activation):
    model = short(activation=activation, burn_in=200).fit(*iris)
    assert model.score(*iris) > 0.9


def test_dense_sparse_frames_and_read_only_agree(iris):
    X, y = iris
    X = np.where(np.abs(X) < 0.3, 0, X)
    dense = short().fit(X, y)
    frozen = X.copy()
    frozen.flags.writeable = False
    for other in (sparse.csr_array(X), pd.DataFrame(X), frozen, X.astype(float)):
        model = short().fit(other, y)
        np.testing.assert_allclose(model.samples_, dense.samples_, rtol=0.01, atol=0.01)
        np.testing.assert_allclose(
            model.predict_proba(other), dense.predict_proba(X), atol=0.01
        )


def test_draws_do_not_depend_on_jobs_or_storage(iris, fitted, tmp_path):
    parallel = short(n_jobs=2).fit(*iris)
    assert np.array_equal(parallel.samples_, fitted.samples_)
    mapped = short(storage=tmp_path / "draws").fit(*iris)
    assert isinstance(mapped.samples_, np.memmap)
    assert np.array_equal(np.load(tmp_path / "draws" / "draws.npy"), fitted.samples_)
    assert np.array_equal(mapped.samples_, fitted.samples_)
    assert np.array_equal(mapped.predict_proba(iris[0]), fitted.predict_proba(iris[0]))
    half = short(storage_dtype="float16", n_draws=10).fit(*iris)
    assert half.samples_.dtype == np.float16
    assert np.array_equal(half.samples_, fitted.samples_.astype(np.float16))
    np.testing.assert_allclose(
        half.predict_proba(iris[0]), fitted.predict_proba(iris[0]), atol=0.01
    )


def test_too_many_draws_are_refused_before_sampling(iris, monkeypatch):
    monkeypatch.setattr(storage, "MAX_BYTES", 10_000)
    monkeypatch.delattr(running, "run_chain")  # not even training begins
    model = short(n_draws=1000)
    with pytest.raises(ValueError, match="thin.*storage_dtype.*storage") as error:
        model.fit(*iris)
    assert "n_draws=1000 x 71 parameters" in str(error.value)
    assert not hasattr(model, "samples_")


def test_prediction_streams_over_draws(iris):
    X = np.tile(iris[0], (20, 1))
    peaks = []
    for n_draws in (5, 50):
        model = short(n_draws=n_draws, thin=1).fit(*iris)
        model.predict_proba(X)
        tracemalloc.start()
        model.predict_proba(X)
        model.predict_uncertainty(X)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


def test_uncertainty(fitted, iris):
    X = iris[0]
    total, aleatoric, epistemic = fitted.predict_uncertainty(X)
    every = fitted.predict_proba_samples(X).reshape(20, 150, 3).astype(float)
    mean = every.mean(axis=0)
    np.testing.assert_allclose(total, -(mean * np.log(mean)).sum(axis=1), atol=1e-5)
    inner = -(every * np.log(np.maximum(every, 1e-300))).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(aleatoric, inner, atol=1e-5)
    np.testing.assert_allclose(epistemic, total - aleatoric, atol=1e-6)
    assert (epistemic >= 0).all() and (total <= np.log(3) + 1e-6).all()


def test_strange_images_raise_epistemic_uncertainty():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    train, test = X[:1000], X[1000:1300]
    model = short(hidden=(30,), n_draws=20, burn_in=300, thin=20).fit(train, y[:1000])
    known = model.predict_uncertainty(test).epistemic.mean()
    turned = np.rot90(test.reshape(-1, 8, 8), axes=(1, 2)).reshape(-1, 64)
    noise = np.random.default_rng(0).random((300, 64))
    for strange in (turned, noise):
        assert model.predict_uncertainty(strange).epistemic.mean() > 2 * known


def test_chains_stay_where_all_rows_fit():
    # Curvatures are small there, and larger a few steps on. In units twice as long the
    # weights of the two chains ended at 12 and 20 prior sds.
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:1437]
    settings = dict(weight_precision=10.0, temperature=0.05, n_chains=2, n_draws=2)
    model = SGHMCClassifierMLP(**settings, random_state=0).fit(X, y[:1437])
    size = np.sqrt(10.0 * np.mean(model.samples_[:, -1, :6400] ** 2, axis=-1))
    np.testing.assert_allclose(size, 1.0, atol=0.2)


def test_weights_count_rows(iris):
    """One chain each of equal seed; gradients are equal, so draws stay close."""
    X, y = iris
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    settings = dict(burn_in=5, n_draws=5, weight_precision=1.0)
    weighted = short(**settings).fit(X, y, sample_weight=weights)
    repeated = short(**settings).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), atol=0.05
    )
    by_class = short().fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    same = short(class_weight={0: 1.0, 1: 3.0, 2: 1.0}).fit(X, y)
    assert np.array_equal(by_class.samples_, same.samples_)


@pytest.mark.parametrize("kind", [SGHMCClassifierMLP, SGHMCRegressorMLP])
def test_temperature_is_that_of_the_likelihood(iris, kind):
    """Half of it counts every row twice, and the prior once."""
    X, y = iris
    cold = short(kind, temperature=0.5).fit(X, y)
    twice = short(kind, temperature=1.0).fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert np.array_equal(cold.samples_, twice.samples_)
    assert cold.ksd(max_draws=20) == twice.ksd(max_draws=20)


def test_warm_start_goes_on_bit_by_bit(iris, fitted):
    model = short(warm_start=True, n_draws=3).fit(*iris)
    first = model.samples_
    model.set_params(n_draws=7, random_state=1).fit(*iris)
    both = np.concatenate([first, model.samples_], axis=1)
    assert np.array_equal(both, fitted.samples_)
    assert model.n_iter_ == fitted.n_iter_ == 60


def test_warm_start_with_other_data_goes_on_from_the_last_draws(iris):
    X, y = iris
    model = short(warm_start=True, n_draws=1, thin=1, burn_in=0).fit(X, y)
    last = model.samples_[:, -1, :-4]
    model.fit(X[1:], y[1:])
    near = np.abs(model.samples_[:, 0, :-4] - last).max()
    cold = short(n_draws=1, thin=1, burn_in=0, random_state=1).fit(X, y)
    far = np.abs(cold.samples_[:, 0, :-4] - last).max()
    assert near < 0.5 * far


# A chunk is a step here: of training (2 x 10), of burn-in (2 x 40), of sampling.
@pytest.mark.parametrize("n_chunks", [3, 23, 50, 130])
def test_a_killed_fit_ends_with_the_same_draws(
    monkeypatch, stop_after, tmp_path, iris, n_chunks
):
    monkeypatch.setattr(mlp_training, "MIN_TRAINING", 10)
    monkeypatch.setattr(mlp_training, "EPOCHS", 1)
    whole = short().fit(*iris).samples_
    model = short(checkpoint=tmp_path / "run")
    stop_after(n_chunks, lambda: model.fit(*iris))
    assert not hasattr(model, "samples_")
    assert np.array_equal(model.fit(*iris).samples_, whole)
    assert np.array_equal(model.fit(*iris).samples_, whole)  # read back
    with pytest.raises(ValueError, match="belongs to another run"):
        model.set_params(random_state=1).fit(*iris)


@pytest.mark.parametrize("warm_start", [False, True])
def test_an_interrupted_fit(stop_after, iris, fitted, warm_start):
    model = short(warm_start=warm_start)
    stop_after(2000 + 60 + 50, lambda: model.fit(*iris), KeyboardInterrupt)
    assert hasattr(model, "samples_") == warm_start
    if warm_start:  # chains take turns: 55 steps of each, 15 after their burn-in
        assert np.array_equal(model.samples_, fitted.samples_[:, :7])
        assert model.predict_proba(iris[0]).shape == (150, 3)
        assert model.fit(*iris).samples_.shape == fitted.samples_.shape


@pytest.mark.parametrize("kind", [SGHMCClassifierMLP, SGHMCRegressorMLP])
def test_skops_needs_no_trust_but_in_our_names(iris, kind):
    skops = pytest.importorskip("skops.io")
    model = short(kind, sampler=BAOAB()).fit(*iris)
    data = skops.dumps(model)
    names = skops.get_untrusted_types(data=data)
    assert names and all(name.startswith("skbayes_sg.") for name in names)
    again = skops.loads(data, trusted=names)
    assert np.array_equal(again.predict(iris[0]), model.predict(iris[0]))
    assert again.get_params() == model.get_params()


def test_partial_fit_weighs_rows_up_to_all_seen(iris):
    X, y = iris
    order = np.random.default_rng(0).permutation(150)
    model = short(burn_in=200)
    for part in np.split(order, 3):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert model.n_samples_seen_ == 150
    np.testing.assert_allclose(model._model.weights, 3.0 / model.temperature_)
    assert model.score(X, y) > 0.85
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(X, y + 1)
    assert model.fit(X, y).n_samples_seen_ == 150


def test_regressor_partial_fit_keeps_its_units(line):
    X, y = line
    model = short(SGHMCRegressorMLP, burn_in=200).partial_fit(X, y)
    mean = model.y_mean_[0]
    model.partial_fit(X, y + 1)
    assert model.y_mean_[0] == mean and model.n_samples_seen_ == 120
    with pytest.raises(ValueError, match="columns"):
        model.partial_fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize(
    "gradient",
    [
        "minibatch",
        "cv",
        *(pytest.param(g, marks=LONG) for g in ("full", "svrg", "saga")),
    ],
)
def test_gradients(iris, gradient):
    model = short(gradient=gradient, batch_size=50, burn_in=100).fit(*iris)
    assert model.score(*iris) > 0.9
    assert 0 <= model.gradient_noise_ratio_ <= 2 * mlp_units.HEAT / model.temperature_


@pytest.mark.parametrize("gradient", ["weighted", "weighted-cv"])
def test_gradients_that_need_leverages_are_refused(iris, gradient):
    with pytest.raises(ValueError, match="^gradient="):
        short(gradient=gradient).fit(*iris)


@pytest.mark.long
@pytest.mark.parametrize("sampler", ["sgnht", "sgld", "psgld"])
def test_samplers(iris, sampler):
    model = short(SGMCMCClassifierMLP, sampler=sampler, burn_in=200).fit(*iris)
    assert model.score(*iris) > 0.9


def test_plain_published_samplers_are_one_parameter_away(iris):
    model = short(
        sampler=SGHMC(n_leapfrog=5), preconditioner="none", step_size=0.01
    ).fit(*iris)
    assert model.score(*iris) > 0.9


BAD = [
    ("hidden_layer_sizes", (0,)),
    ("hidden_layer_sizes", "wide"),
    ("hidden_layer_sizes", (5, 2.5)),
    ("activation", "identity"),
    ("weight_precision", 0.0),
    ("weight_precision", "normal"),
    ("preconditioner", "dense"),
    ("dtype", "float16"),
    ("storage", 3),
    ("storage_dtype", "int8"),
    ("batch_size", 151),
    ("temperature", 0.0),
    ("gradient", "exact"),
    ("sampler", "sgld"),
]


@pytest.mark.parametrize("name, value", BAD)
def test_bad_parameters(iris, name, value):
    model = short().set_params(**{name: value})
    with pytest.raises((ValueError, TypeError), match=f"^{name}="):
        model.fit(*iris)
    assert not [key for key in vars(model) if key.endswith("_")]


def test_automatic_step_needs_units(iris):
    with pytest.raises(ValueError, match="^step_size='auto'"):
        short(preconditioner="none").fit(*iris)


def test_a_step_too_large_is_an_error(iris):
    with pytest.raises(DivergenceError, match="step_size"):
        short(step_size=1e4).fit(*iris)


def test_pickle_and_diagnostics(fitted, iris):
    copy = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copy.predict_proba(iris[0]), fitted.predict_proba(iris[0]))
    ksd = fitted.ksd(max_draws=20)
    assert np.isfinite(ksd) and ksd > 0


def test_in_a_pipeline(iris):
    model = make_pipeline(StandardScaler(), short(burn_in=200)).fit(*iris)
    assert model.score(*iris) > 0.93


def test_exchangeable_mean():
    sizes = [2, 3, 2]
    values = np.arange(2 * 3 + 3 + 3 * 2 + 2, dtype=float)
    (w1, w2), (b1, b2), _ = unpack(exchangeable_mean(values, sizes), sizes)
    np.testing.assert_array_equal(w1, [[1] * 3, [4] * 3])
    np.testing.assert_array_equal(b1, [7] * 3)
    np.testing.assert_array_equal(w2, [[11, 12]] * 3)
    np.testing.assert_array_equal(b2, [15, 16])
