import numpy as np
import pytensor.tensor as pt
import pytest

pm = pytest.importorskip("pymc")

from scipy.special import expit  # noqa: E402

from skbayes_sg import KSDStepSizeSearch, SGMCMCModel, from_pymc  # noqa: E402
from skbayes_sg.custom._graphs import python_function  # noqa: E402
from skbayes_sg.custom._pymc import _shapes  # noqa: E402
from tests.custom import zoo  # noqa: E402


@pytest.mark.parametrize("write", zoo.ACCEPTED, ids=lambda f: f.__name__)
def test_log_density_is_that_of_pymc(write):
    pm_model = zoo.built(write)
    check_density(pm_model, from_pymc(pm_model))


@pytest.mark.parametrize("write", zoo.WITH_WARNING, ids=lambda f: f.__name__)
def test_models_whose_steps_cost_as_much_as_all_rows(write):
    pm_model = zoo.built(write)
    with pytest.warns(UserWarning, match="parameters for 60 rows|an array of 60"):
        model = from_pymc(pm_model)
    check_density(pm_model, model)


def test_a_parameter_for_each_row_is_not_taken_in_silence():
    """PyTensor 2 keeps the index that makes rows of the parameters, 3 rewrites it."""
    pm_model = zoo.built(zoo.latent_through_an_index)
    said = "parameters for 60 rows|cannot be taken apart"
    with pytest.raises((UserWarning, ValueError), match=said):  # warnings are errors
        from_pymc(pm_model)


def check_density(pm_model, model):
    program, columns = model._ready, model._columns
    inputs = [program.theta, *program.columns.values()]
    density = python_function(inputs, [program.log_likelihood, program.log_prior])
    values = [pm_model.rvs_to_values[rv] for rv in pm_model.free_RVs]
    theirs = python_function(values, pm_model.logp())
    shapes = _shapes(pm_model, values)
    rng = np.random.default_rng(3)
    for theta in 0.3 * rng.standard_normal((3, program.d)):
        parts, first = [], 0
        for shape in shapes:
            size = int(np.prod(shape, dtype=int))
            parts.append(theta[first : first + size].reshape(shape))
            first += size
        rows, prior = density(theta, *columns.values())
        assert rows.ndim == 1
        assert np.isclose(rows.sum() + prior, theirs(*parts), rtol=1e-9)


@pytest.mark.parametrize("write", zoo.REFUSED, ids=lambda f: f.__name__)
def test_what_has_no_rows_is_refused(write):
    with pytest.raises(ValueError, match="cannot be taken apart"):
        from_pymc(zoo.built(write))


def test_names_dims_and_coords_are_kept_but_not_of_rows():
    model = from_pymc(zoo.built(zoo.dims_and_data))
    assert list(model.parameters) == ["beta"]
    assert model.parameters["beta"].dims == ("feature",)
    assert model.coords["feature"] == ["a", "b", "c"]


def test_data_are_those_of_the_model():
    model = from_pymc(zoo.built(zoo.linear))
    with pytest.raises(ValueError, match="brings its own data"):
        model.bind(X=zoo.X)


@pytest.mark.parametrize("write", zoo.LOGITS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [40.0, 800.0])
def test_gradients_are_finite_at_extreme_arguments(write, size):
    model = from_pymc(zoo.built(write))
    program, columns = model._ready, model._columns
    inputs = [program.theta, *program.columns.values()]
    g = pt.grad(program.log_likelihood.sum(), program.theta)
    function = python_function(inputs, g)
    for theta in size * np.vstack([np.eye(program.d), -np.eye(program.d)]):
        assert np.isfinite(function(theta, *columns.values())).all()


@pytest.mark.long
def test_draws_go_back_to_pymc():
    pm_model = zoo.built(zoo.dims_and_data)
    est = SGMCMCModel(from_pymc(pm_model), n_draws=100, n_chains=2, random_state=0)
    data = est.fit().to_arviz()
    posterior = data["posterior"]
    assert posterior["beta"].dims == ("chain", "draw", "feature")
    assert posterior["feature"].values.tolist() == ["a", "b", "c"]
    predicted = pm.sample_posterior_predictive(
        data, model=pm_model, random_seed=0, progressbar=False
    )
    draws = predicted["posterior_predictive"]["y"].values
    assert draws.shape == (2, 100, zoo.N)
    p = expit(est.samples_["beta"] @ zoo.X.T)
    assert np.abs(draws.mean(axis=(0, 1)) - p.mean(axis=(0, 1))).max() < 4.5 * 0.036
    assert np.isfinite(est.score())
    search = KSDStepSizeSearch(est, param_grid={"step_size": [0.1, 0.5]}).fit()
    assert search.best_estimator_.samples_["beta"].shape == (2, 100, 3)
