import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skbayes_sg import KSDStepSizeSearch, SGMCMCModel, load_draws, save_draws
from tests.custom.models import COLUMNS, CONJUGATE, LOGISTIC, N, exact_moments

SHORT = dict(n_draws=50, n_chains=2, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return SGMCMCModel(CONJUGATE, random_state=0).fit(**COLUMNS)


def test_moments_are_those_of_the_conjugate_posterior(fitted):
    # 4,000 nearly independent draws: 0.016 sd of a mean, 1.1 % of an sd. The Jacobians
    # of rate and w move means by 1 / (sd n), over 0.02 sd; forgotten priors by more.
    mean, sd = exact_moments()
    draws = fitted._flat_draws()[:, : len(mean)]
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 0.08 * sd)
    assert np.all(np.abs(draws.std(axis=0) / sd - 1) < 0.06)


def test_chains_use_minibatches(fitted):
    assert fitted.batch_size_ < N


def test_draws_are_by_name_and_within_their_spaces(fitted):
    shapes = {name: draws.shape for name, draws in fitted.samples_.items()}
    assert shapes == {"mu": (4, 1000, 2), "rate": (4, 1000), "w": (4, 1000, 3)}
    assert np.allclose(fitted.samples_["w"].sum(axis=-1), 1.0)
    assert (fitted.samples_["rate"] > 0).all()


def test_diagnostics(fitted):
    table = fitted.summary()
    assert list(table.index) == ["mu[0]", "mu[1]", "rate", "w[0]", "w[1]", "w[2]"]
    assert table["rhat"].max() < 1.05
    ksd, floor = fitted.ksd(return_floor=True)
    assert ksd < 1.5 * floor
    assert set(fitted.check()["verdict"]) == {"ok"}


def test_arviz_gets_dims_and_coords(fitted):
    posterior = fitted.to_arviz()["posterior"]
    assert posterior["mu"].dims == ("chain", "draw", "axis")
    assert posterior["axis"].values.tolist() == ["east", "north"]


def test_predictions(fitted):
    new = {"y": np.zeros(5)}
    rate = fitted.samples_["rate"].mean()
    assert np.allclose(fitted.predict(**new), rate, rtol=1e-3)
    draws = fitted.sample_y(n_samples=400, **new)
    assert draws.shape == (5, 400)
    assert abs(draws.mean() - rate) < 5 * np.sqrt(rate / draws.size)


def test_score_is_the_mean_log_predictive_density(fitted):
    mean, _ = exact_moments()
    likelihood = -0.5 * ((COLUMNS["X"] - mean[:2]) ** 2).sum(axis=1)
    likelihood += COLUMNS["y"] * np.log(mean[2]) - mean[2]
    likelihood += np.log(mean[3:])[COLUMNS["level"]]
    # The posterior is so narrow that the density at its mean is nearly the predictive.
    assert abs(fitted.score(**COLUMNS) - likelihood.mean()) < 2e-3


def test_same_draws_from_threads_and_from_pickled_estimators(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.samples_["mu"], fitted.samples_["mu"])
    est = SGMCMCModel(CONJUGATE, n_jobs=2, **SHORT)
    one = clone(est).set_params(n_jobs=1).fit(**COLUMNS)
    two = est.fit(**COLUMNS)
    assert np.array_equal(one.samples_["rate"], two.samples_["rate"])


def test_saved_draws(fitted, tmp_path):
    save_draws(fitted, tmp_path / "draws.npz")
    saved = load_draws(tmp_path / "draws.npz")
    assert saved.samples.shape == (4, 1000, 6)


def test_warm_start_goes_on():
    est = SGMCMCModel(CONJUGATE, warm_start=True, **SHORT).fit(**COLUMNS)
    first, n_iter = est.samples_["rate"], est.n_iter_
    est.fit(**COLUMNS)
    assert est.n_iter_ > n_iter
    assert not np.array_equal(est.samples_["rate"], first)


def test_checkpoint_gives_the_same_draws(tmp_path, stop_after):
    est = SGMCMCModel(CONJUGATE, **SHORT)
    plain = clone(est).fit(**COLUMNS)
    est.set_params(checkpoint=tmp_path)
    stop_after(3, lambda: clone(est).fit(**COLUMNS))
    resumed = est.fit(**COLUMNS)
    assert np.array_equal(plain.samples_["rate"], resumed.samples_["rate"])


def test_sample_weight_and_temperature_agree():
    halved = SGMCMCModel(CONJUGATE, **SHORT)
    halved.fit(**COLUMNS, sample_weight=np.full(N, 0.5))
    cooled = SGMCMCModel(CONJUGATE, temperature=2.0, **SHORT).fit(**COLUMNS)
    assert np.allclose(halved.samples_["rate"], cooled.samples_["rate"])


def test_pipelines_and_searches_pass_X_and_y():
    X, y = COLUMNS["X"], (COLUMNS["y"] > 1).astype(int)
    est = SGMCMCModel(LOGISTIC, gradient="full", **SHORT)
    model = make_pipeline(FunctionTransformer(), est).fit(X, y)
    assert model[-1].n_features_in_ == 2
    search = KSDStepSizeSearch(est, param_grid={"step_size": [0.1, 0.5]}).fit(X, y)
    assert search.best_estimator_.samples_["beta"].shape[-1] == 2


@pytest.mark.parametrize("method", ["predict", "sample_y"])
def test_what_a_model_lacks_is_said(method):
    est = SGMCMCModel(LOGISTIC, gradient="full", **SHORT)
    X, y = COLUMNS["X"][:100], (COLUMNS["y"] > 1)[:100]
    est.fit(X, y)
    with pytest.raises(AttributeError, match="Model\\(..., "):
        getattr(est, method)(X=X)


def test_no_model_is_an_error():
    with pytest.raises(TypeError, match="from_pymc"):
        SGMCMCModel("logistic").fit(y=[1.0])
