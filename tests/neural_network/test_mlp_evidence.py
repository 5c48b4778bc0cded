"""Networks: priors, temperatures and lengths by evidence; runaways; intervals."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skbayes_sg import DivergenceError, SGHMCClassifierMLP, SGHMCRegressorMLP
from skbayes_sg.inference.exploration import mlp as exploration
from skbayes_sg.inference.exploration import mlp_agreement, mlp_temperature
from skbayes_sg.inference.exploration.mlp_agreement import check_predictions
from skbayes_sg.inference.exploration.mlp_prior import learned_prior, scaled_precision
from skbayes_sg.inference.exploration.mlp_temperature import LADDER, best_temperature
from skbayes_sg.inference.monitoring import look_at
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.likelihoods import Categorical
from skbayes_sg.kernels.models.mlp import MLP, network_outputs
from skbayes_sg.kernels.models.mlp_layers import ACTIVATIONS
from skbayes_sg.kernels.models.mlp_prior import part_size
from skbayes_sg.kernels.protocol.model import init_work, n_parameters

SHORT = dict(n_draws=10, burn_in=40, thin=2, n_chains=2, random_state=0)


def short(kind=SGHMCRegressorMLP, hidden=(8,), **settings):
    return kind(hidden, **{**SHORT, **settings})


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(120, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)


def untrained(activation, sizes, by_input=False, n=300):
    """Return a network on badly scaled features, whose prior is scaled to them."""
    X = np.random.default_rng(0).normal(size=(n, sizes[0])) * 10.0 ** np.arange(
        sizes[0]
    )
    n_parts = 2 * len(sizes) - 2 + (sizes[0] - 1 if by_input else 0)
    model = MLP(
        activation=ACTIVATIONS[activation](),
        likelihood=Categorical(),
        rows=X,
        y=np.zeros(n),
        weights=np.empty(0),
        sizes=np.array(sizes),
        precision=np.ones(n_parts),
        learns_precision=False,
        by_input=by_input,
    )
    return for_kernels(model._replace(precision=scaled_precision(model)))


# Priors
@pytest.mark.parametrize(
    "activation, hidden",
    [("relu", ()), ("relu", (50,)), ("relu", (80, 20)), ("tanh", (30, 40, 50))],
)
def test_outputs_vary_as_stated_under_the_prior(activation, hidden):
    # Variance 3 of the weights and 3 of the biases; 600 draws of three outputs, whose
    # tails are heavier than a Gaussian's in deep networks: errors of about 6 %.
    model = untrained(activation, (3, *hidden, 3))
    rng, values = np.random.default_rng(1), []
    sizes = [part_size(model, part) for part in range(model.precision.size)]
    for _ in range(600):
        sds = np.repeat(model.precision**-0.5, sizes)
        z = np.empty((300, 3))
        network_outputs(model, init_work(model), sds * rng.normal(size=sds.size), z)
        values.append(z)
    np.testing.assert_allclose(np.mean(np.square(values)), 6.0, rtol=0.25)


def test_learned_precisions_cannot_collapse():
    model = untrained("relu", (3, 50, 2), by_input=True)
    sizes = np.array([part_size(model, part) for part in range(model.precision.size)])
    assert sizes.sum() == n_parameters(model)
    shape, rate = learned_prior(model.precision, sizes)
    np.testing.assert_allclose(shape / rate, model.precision)
    # Weights of ten prior standard deviations let a precision fall to about a fiftieth,
    # not to the hundredth that Gamma(1, 1) priors follow.
    mean = (shape + sizes / 2) / (rate + 100 * sizes / model.precision / 2)
    assert (mean / model.precision > 0.012).all()


def test_relevance_finds_the_features_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.sin(2 * X[:, 1]) + 0.05 * rng.normal(size=200)
    model = short(hidden=(20,), weight_precision="relevance", burn_in=1500, thin=20)
    precisions = model.fit(X, y).samples_[..., -7:-3].mean(axis=(0, 1))
    assert precisions.argmin() == 1
    assert model.samples_.shape[-1] == 4 * 20 + 20 + 20 + 1 + 1 + 7


# Runaways
def test_chains_that_predict_worse_than_the_trained_network_are_found(wave):
    model = short().fit(*wave)
    network, draws = model._model, model.samples_.copy()
    starts = draws[:, 0, : model.mode_.size]
    check_predictions(network, starts, draws, 1.0)
    draws[1, 1:, : model.mode_.size - 1] *= 30.0
    with pytest.raises(DivergenceError, match="chain 1 ran away"):
        check_predictions(network, starts, draws, 1.0)


def test_a_runaway_is_tried_again_with_smaller_steps(wave, monkeypatch, caplog):
    original, tries = mlp_agreement.check_predictions, []

    def fails_once(model, trained, draws, step_size):
        tries.append(step_size)
        if len(tries) == 1:
            raise DivergenceError("chain 0 ran away.")
        original(model, trained, draws, step_size)

    monkeypatch.setattr(exploration, "check_predictions", fails_once)
    model = short(burn_in=0).fit(*wave)
    assert tries == [4 * model.step_size_, model.step_size_]
    assert "tries again" in caplog.text
    tries.clear()
    with pytest.raises(DivergenceError):
        short(burn_in=0, step_size=0.1).fit(*wave)


def regressions(count):
    """Yield random small regressions, some with outliers or repeated rows."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(np.exp(rng.uniform(np.log(20), np.log(2000))))
        p = int(rng.integers(1, 31))
        X = rng.normal(size=(n, p))
        signal = np.sin(X @ rng.normal(size=p) / np.sqrt(p)) + X[:, 0] ** 2
        noise = 10.0 ** rng.uniform(-6, 1) * signal.std()
        y = signal + noise * rng.normal(size=n)
        if seed % 4 == 1:
            y[rng.choice(n, max(1, n // 50), replace=False)] *= 20.0
        if seed % 4 == 2:
            half = rng.integers(0, n // 2, n)
            X, y = X[half], y[half]
        yield X, y * 10.0 ** rng.uniform(-3, 3)


@pytest.mark.long
def test_no_regression_runs_away():
    """Errors on training rows stay below twice those of MLPRegressor.

    Its targets are standardized, too.
    """
    failed = []
    for seed, (X, y) in enumerate(regressions(200)):
        t = (y - y.mean()) / y.std()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = MLPRegressor(hidden_layer_sizes=(20,), random_state=0).fit(X, t)
            ours = SGHMCRegressorMLP(
                (20,), n_draws=20, burn_in=1000, thin=50, n_chains=2, random_state=0
            ).fit(X, y)
        errors = [
            np.sqrt(np.mean((guess - t) ** 2))
            for guess in (theirs.predict(X), (ours.predict(X) - y.mean()) / y.std())
        ]
        if not errors[1] <= 2 * errors[0]:
            failed.append((seed, *errors))
    assert failed == []


# Temperatures
def test_the_temperature_that_predicts_best_is_chosen():
    rng = np.random.default_rng(0)
    base, weights = rng.exponential(size=500), np.ones(500)
    losses = np.stack([base + gap for gap in (0.5, 0.3, 0.2, 0.0, 0.2)])
    assert best_temperature(losses, weights) == LADDER[3]
    # Differences within their standard errors do not count against 0.1.
    noisy = base + np.array([0.5, 0.3, 0.001, 0.0, 0.2])[:, None]
    noisy[2] += 0.5 * rng.normal(size=500)
    noisy[2] -= noisy[2].mean() - noisy[3].mean() - 0.005
    assert best_temperature(noisy, weights) == 0.1
    # Rows of no weight say nothing.
    losses[3, :100] += 100.0
    assert best_temperature(losses, np.arange(500) >= 100) == LADDER[3]


def test_noisy_labels_are_warmer_than_clean_ones(monkeypatch):
    X, y = make_moons(300, noise=0.1, random_state=0)
    wrong = np.random.default_rng(0).random(300) < 0.3
    monkeypatch.setattr(mlp_temperature, "FOLDS", 2)
    settings = dict(n_draws=10, thin=200, burn_in=6000, n_chains=2, random_state=0)
    clean, noisy = (
        SGHMCClassifierMLP((20,), **settings).fit(X, labels).temperature_
        for labels in (y, np.where(wrong, 1 - y, y))
    )
    assert clean < noisy


def test_short_fits_take_the_usual_temperature(wave):
    X, y = wave
    model = short(SGHMCClassifierMLP).fit(X, y > 0)
    assert model.temperature_ == mlp_temperature.USUAL
    with pytest.raises((ValueError, TypeError), match="temperature='auto'"):
        short(temperature="auto").fit(X, y)


# Lengths
def test_chains_that_disagree_are_continued(wave, monkeypatch):
    monkeypatch.setattr(exploration, "MIN_THIN", 2)
    monkeypatch.setattr(mlp_agreement, "MIN_DRAWS", 10)
    settings = dict(n_draws=20, burn_in="auto", thin="auto")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        monkeypatch.setattr(exploration, "MAX_RHAT", np.inf)
        first = short(**settings).fit(*wave)
        monkeypatch.setattr(exploration, "MAX_RHAT", 0.0)
        work = 120 * first.mode_.size * 2 * 20  # of an iteration per draw
        monkeypatch.setattr(exploration, "MAX_WORK", 32.0 * work)
        model = short(**settings).fit(*wave)
        monkeypatch.setattr(exploration, "MAX_WORK", 1.0)
        bounded = short(**settings).fit(*wave)
    assert (first.burn_in_, first.thin_, first.n_iter_) == (100, 2, 140)
    assert (model.burn_in_, model.thin_, model.n_iter_) == (300, 32, 940)
    assert np.array_equal(bounded.samples_, first.samples_)
    assert first.r_hat_ > 1.0


def test_chains_that_disagree_are_reported(wave, monkeypatch):
    monkeypatch.setattr(mlp_agreement, "MIN_DRAWS", 10)
    monkeypatch.setattr(exploration, "MIN_THIN", 1)
    monkeypatch.setattr(exploration, "MAX_WORK", 1.0)
    with pytest.warns(ConvergenceWarning, match="R-hat of predictions"):
        model = short(n_draws=20, thin="auto", burn_in=0).fit(*wave)
    assert model.r_hat_ > 1.1
    with pytest.warns(ConvergenceWarning, match="disagree on predictions"):
        table = model.summary()
    check = model.check()
    assert check.loc["R-hat", "limit"] == 1.2  # of predictions
    assert set(check["worst"][["R-hat", "effective draws"]]) == {""}
    assert list(table.index[:2]) == ["prediction[0]", "prediction[1]"]
    assert list(table.index[10:]) == [
        "log_noise_precision[0]",
        *(f"weight_precision[{k}]" for k in range(4)),
    ]


def test_small_differences_of_probabilities_do_not_count():
    rng = np.random.default_rng(0)
    z = np.zeros((40, 3, 2))
    z[:, 0, 0] = 8 + rng.normal(size=40)  # probabilities between 0.999 and 1
    z[:, 1:, 0] = rng.normal(size=(40, 2))
    p = mlp_agreement.predictions(Categorical(), z, np.zeros(3))
    assert (np.ptp(p, axis=0) > 0.0).all()  # those of a summary are as they are
    seen = mlp_agreement.without_small_differences(Categorical(), p[None])[0]
    assert np.ptp(seen[:, 0]) == 0.0 and np.array_equal(seen[:, 1:], p[:, 1:])


def test_weights_are_judged_where_there_are_no_hidden_units():
    model = untrained("tanh", (2, 3))
    draws = np.random.default_rng(0).normal(size=(4, 200, n_parameters(model)))
    assert not look_at(model, draws).failed
    draws[0] += 2.0
    assert look_at(model, draws).r_hat > 1.2


# Numbers
def test_intervals_are_quantiles_of_the_predictive_distribution(wave):
    X, y = wave
    model = short().fit(X, np.column_stack([y, 5 * y]))
    bounds = model.predict_interval(X[:7], level=0.8)
    assert bounds.shape == (7, 2, 2)
    sds = np.exp(-0.5 * model.samples_[..., 8 * 3 + 8 * 2 + 2 :][..., :2])
    means, sds = model.predict_samples(X[:7]), sds[:, :, None] * model.y_scale_
    for q, bound in zip((0.1, 0.9), np.moveaxis(bounds, -1, 0), strict=True):
        np.testing.assert_allclose(
            norm.cdf(bound, means, sds).mean((0, 1)), q, atol=1e-4
        )
    with pytest.raises(ValueError, match="level"):
        model.predict_interval(X, level=1.0)


def test_noise_that_depends_on_inputs():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 1))
    sd = np.where(X[:, 0] > 0, 0.5, 0.05)
    y = X[:, 0] + sd * rng.normal(size=600)
    model = short(hidden=(20,), noise="input-dependent", burn_in=2000, thin=50)
    mean, std = model.fit(X, y).predict([[-0.6], [0.6]], return_std=True)
    np.testing.assert_allclose(mean, [-0.6, 0.6], atol=0.15)
    assert 0.04 < std[0] < 0.12 and 0.35 < std[1] < 0.7
    lower, upper = model.predict_interval(X).T
    assert 0.85 < np.mean((lower < y) & (y < upper)) < 0.95
    assert np.isfinite(model.log_predictive_density(X, y)).all()
    assert model.layer_sizes_ == [1, 20, 2]
    with pytest.raises(ValueError, match="^noise="):
        short(noise="none").fit(X, y)


@pytest.mark.parametrize("hidden", [(12, 8), (10, 8, 6)])
def test_deeper_networks(wave, hidden):
    X, y = wave
    model = short(hidden=hidden, burn_in=500, thin=10).fit(X, y)
    assert model.score(X, y) > 0.8
    classes = short(SGHMCClassifierMLP, hidden, burn_in=500, thin=10).fit(X, y > 0)
    assert classes.score(X, y > 0) > 0.9


@pytest.mark.long
def test_unseen_classes_are_found_as_well_as_by_an_ensemble():
    """Of ten digits, 0 and 1 are not seen, or 2 and 3, ...: means over the pairs.

    The differences of the pairs have a standard deviation of about 0.012.
    """
    areas = np.array([areas_of_unseen((k, k + 1)) for k in range(0, 10, 2)])
    ours, theirs = areas.mean(axis=0)
    assert ours >= theirs


def areas_of_unseen(digits):
    """Return areas under the ROC curve: epistemic uncertainty, and five MLPs."""
    X, y = load_digits(return_X_y=True)
    X, known = X / 16, ~np.isin(y, digits)
    train = known & (np.arange(len(y)) % 2 == 0)
    test = ~train
    model = SGHMCClassifierMLP(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[train], y[train])
        members = [
            MLPClassifier(random_state=k).fit(X[train], y[train]) for k in range(5)
        ]
    every = np.stack([member.predict_proba(X[test]) for member in members])
    mean = every.mean(axis=0)
    theirs = np.sum(every * np.log(every + 1e-300), axis=2).mean(axis=0)
    theirs -= np.sum(mean * np.log(mean + 1e-300), axis=1)
    ours = model.predict_uncertainty(X[test]).epistemic
    return [roc_auc_score(~known[test], score) for score in (ours, theirs)]
