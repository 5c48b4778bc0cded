import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skbayes_sg import KSDStepSizeSearch, SGMCMCModel, load_draws, save_draws
from tests.custom.models import (
    COLUMNS,
    CONJUGATE,
    LINEAR,
    LOGISTIC,
    ROWS,
    N,
    exact_linear_moments,
    exact_moments,
)
from tests.inference import killing

SHORT = dict(n_draws=50, n_chains=2, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return SGMCMCModel(LINEAR, random_state=0).fit(**ROWS)


def check_moments(est, mean, sd):
    # 4,000 nearly independent draws: 0.016 sd of a mean, 1.1 % of an sd. The Jacobians
    # move means by 1 / (sd n), over 0.02 sd; forgotten priors by more.
    draws = est._flat_draws()[:, : len(mean)]
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 0.08 * sd)
    assert np.all(np.abs(draws.std(axis=0) / sd - 1) < 0.06)


def test_moments_are_those_of_the_conjugate_posterior(fitted):
    check_moments(fitted, *exact_linear_moments())


@pytest.mark.long
def test_moments_on_simplex_and_half_line():
    est = SGMCMCModel(CONJUGATE, random_state=0).fit(**COLUMNS)
    check_moments(est, *exact_moments())
    shapes = {name: draws.shape for name, draws in est.samples_.items()}
    assert shapes == {"mu": (4, 1000, 2), "rate": (4, 1000), "w": (4, 1000, 3)}
    assert np.allclose(est.samples_["w"].sum(axis=-1), 1.0)


def test_chains_use_minibatches(fitted):
    assert fitted.batch_size_ < N


def test_draws_are_by_name_and_within_their_spaces(fitted):
    shapes = {name: draws.shape for name, draws in fitted.samples_.items()}
    assert shapes == {"beta": (4, 1000, 2), "sigma": (4, 1000)}
    assert (fitted.samples_["sigma"] > 0).all()


def test_diagnostics(fitted):
    table = fitted.summary()
    assert list(table.index) == ["beta[0]", "beta[1]", "sigma"]
    assert table["rhat"].max() < 1.05
    ksd, floor = fitted.ksd(return_floor=True)
    assert ksd < 1.5 * floor
    assert set(fitted.check()["verdict"]) == {"ok"}


def test_arviz_gets_dims_and_coords(fitted):
    posterior = fitted.to_arviz()["posterior"]
    assert posterior["beta"].dims == ("chain", "draw", "axis")
    assert posterior["axis"].values.tolist() == ["east", "north"]


def test_predictions(fitted):
    X = ROWS["X"][:5]
    beta, sigma = (fitted.samples_[name].mean(axis=(0, 1)) for name in fitted.samples_)
    assert np.allclose(fitted.predict(X), X @ beta, atol=1e-2)
    draws = fitted.sample_y(X, n_samples=400)
    assert draws.shape == (5, 400)
    assert np.all(np.abs(draws.mean(axis=1) - X @ beta) < 5 * sigma / 20)


def test_score_is_the_mean_log_predictive_density(fitted):
    mean, _ = exact_linear_moments()
    density = norm.logpdf(ROWS["y"], ROWS["X"] @ mean[:2], mean[2]).mean()
    density += 0.5 * np.log(2 * np.pi)  # which the model leaves out
    # The posterior is so narrow that the density at its mean is nearly the predictive.
    assert abs(fitted.score(**ROWS) - density) < 2e-3


def test_same_draws_from_threads_and_from_pickled_estimators(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.samples_["beta"], fitted.samples_["beta"])
    est = SGMCMCModel(LINEAR, n_jobs=2, **SHORT)
    one = clone(est).set_params(n_jobs=1).fit(**ROWS)
    two = est.fit(**ROWS)
    assert np.array_equal(one.samples_["sigma"], two.samples_["sigma"])


def test_saved_draws(fitted, tmp_path):
    save_draws(fitted, tmp_path / "draws.npz")
    saved = load_draws(tmp_path / "draws.npz")
    assert saved.samples.shape == (4, 1000, 3)


def test_warm_start_goes_on():
    est = SGMCMCModel(LINEAR, warm_start=True, **SHORT).fit(**ROWS)
    first, n_iter = est.samples_["sigma"], est.n_iter_
    est.fit(**ROWS)
    assert est.n_iter_ > n_iter
    assert not np.array_equal(est.samples_["sigma"], first)


def test_checkpoint_gives_the_same_draws(tmp_path, stop_after):
    est = SGMCMCModel(LINEAR, **SHORT)
    plain = clone(est).fit(**ROWS)
    est.set_params(checkpoint=tmp_path)
    stop_after(3, lambda: clone(est).fit(**ROWS))
    resumed = est.fit(**ROWS)
    assert np.array_equal(plain.samples_["sigma"], resumed.samples_["sigma"])


@pytest.mark.long
def test_killed_runs_end_with_the_same_draws(tmp_path):
    command = [sys.executable, "-m", "tests.inference.killing", killing.OWN, "20"]
    subprocess.run([*command, str(tmp_path)], check=True)


def test_sample_weight_and_temperature_agree():
    halved = SGMCMCModel(LINEAR, **SHORT).fit(**ROWS, sample_weight=np.full(N, 0.5))
    cooled = SGMCMCModel(LINEAR, temperature=2.0, **SHORT).fit(**ROWS)
    assert np.allclose(halved.samples_["sigma"], cooled.samples_["sigma"])


def test_pipelines_and_searches_pass_X_and_y():
    X, y = ROWS.values()
    est = SGMCMCModel(LINEAR, **SHORT)
    model = make_pipeline(FunctionTransformer(), est).fit(X, y)
    assert model[-1].n_features_in_ == 2
    assert model.predict(X[:3]).shape == (3,)
    search = KSDStepSizeSearch(est, param_grid={"step_size": [0.1, 0.5]}).fit(X, y)
    assert search.best_estimator_.samples_["beta"].shape[-1] == 2


@pytest.mark.parametrize("method", ["predict", "sample_y"])
def test_what_a_model_lacks_is_said(fitted, method):
    est = pickle.loads(pickle.dumps(fitted)).set_params(model=LOGISTIC)
    with pytest.raises(AttributeError, match="Model\\(..., "):
        getattr(est, method)(X=ROWS["X"])


def test_missing_columns_are_named(fitted):
    with pytest.raises(ValueError, match="predict.. lacks the column 'X'"):
        fitted.predict()
    with pytest.raises(ValueError, match="score.. lacks the column 'y'"):
        fitted.score(ROWS["X"])


def test_no_model_is_an_error():
    with pytest.raises(TypeError, match="from_pymc"):
        SGMCMCModel("logistic").fit(y=[1.0])
