"""PyMC models whose observed values are independent rows given global parameters."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from skbayes_sg.custom._by_row import Columns, ancestors, by_row
from skbayes_sg.custom._graphs import python_function, stabilized
from skbayes_sg.custom._model import BaseModel
from skbayes_sg.custom._programs import Program
from skbayes_sg.custom._pymc_checks import (
    NoRows,
    check_kind,
    check_values,
    refusal,
    warn_of_cost,
)
from skbayes_sg.custom._pytensor import import_pytensor
from skbayes_sg.utils._extras import extra


class Parameter(NamedTuple):
    """Shape and names of the axes of something that is recorded."""

    shape: tuple
    dims: tuple | None


class PyMCModel(BaseModel):
    """What `from_pymc` returns: a model with its data, for `SGMCMCModel`."""

    def __init__(self, program, columns, parameters, coords):
        self._ready, self._columns = program, columns
        self.parameters, self.coords = parameters, coords
        self.column_names = tuple(columns)

    def _with_own(self, columns):
        return self._columns

    def _refuse_unknown(self, columns):
        if columns:
            raise ValueError(
                f"a PyMC model brings its own data, but {sorted(columns)[0]!r} is "
                "given; change pm.Data by pm.set_data, then call from_pymc again"
            )

    def arviz_of(self, groups: Any, **options: Any) -> Any:
        """Return groups of draws as the installed PyMC takes them."""
        import pymc

        if int(pymc.__version__.split(".")[0]) >= 6:
            return super().arviz_of(groups, **options)
        import arviz

        return arviz.from_dict(**groups, **options)

    def _program(self, arrays):
        return self._ready


def from_pymc(pm_model: Any) -> Any:
    """Return a PyMC model as a model for `SGMCMCModel`, with its data.

    Observed values must be independent rows given the parameters. This is verified by
    numbers before it is believed, and models with time series, Gaussian processes,
    parameters of single rows or discrete ones are refused.

    Parameters
    ----------
    pm_model : pymc.Model
        The model, with data.

    Returns
    -------
    model : PyMCModel
        For ``SGMCMCModel(model).fit()``. Its draws go back to PyMC by
        ``pm.sample_posterior_predictive(est.to_arviz(), model=pm_model)``.

    See Also
    --------
    Model : Without PyMC.

    Examples
    --------
    >>> import pymc as pm  # doctest: +SKIP
    >>> with pm.Model() as pm_model:  # doctest: +SKIP
    ...     mu = pm.Normal("mu", 0, 10)
    ...     pm.Normal("y", mu, 1, observed=y)
    >>> est = SGMCMCModel(from_pymc(pm_model)).fit()  # doctest: +SKIP
    """
    with extra("pymc", "from_pymc()"):
        import pymc  # noqa: F401
    pytensor = import_pytensor()
    with pytensor.config.change_flags(cxx=""):  # C code would run for a moment only
        return _taken_apart(pm_model)


def _taken_apart(pm_model):
    import pytensor.tensor as pt

    n = check_kind(pm_model)
    values = [pm_model.rvs_to_values[rv] for rv in pm_model.free_RVs]
    shapes = _shapes(pm_model, values)
    d = sum(int(np.prod(shape, dtype=int)) for shape in shapes)
    theta, known, first = pt.tensor("theta", dtype="float64", shape=(d,)), {}, 0
    for value, shape in zip(values, shapes, strict=True):
        last = first + int(np.prod(shape, dtype=int))
        known[value] = theta[first:last].reshape(shape)
        first = last
    observed = pm_model.logp(vars=pm_model.observed_RVs, sum=False)
    columns = Columns(n)
    try:
        terms = by_row(observed, known, columns)
        rows = sum(term.sum(axis=tuple(range(1, term.ndim))) for term in terms)
        prior = _prior(pm_model, known, n)
        flat, parameters = _recorded(pm_model, theta, known, n)
        rows, prior = stabilized(rows, prior)
        m = sum(int(np.prod(each.shape, dtype=int)) for each in parameters.values())
        program = Program(theta, columns.symbols, rows, prior, flat, d, m)
        check_values(program, columns, observed, known, n)
    except NoRows:
        raise
    except Exception as error:
        reason = str(error).split("\n")[0]
        raise refusal(f"{type(error).__name__}: {reason}") from error
    warn_of_cost(program, n)
    coords = {k: list(v) for k, v in pm_model.coords.items() if v is not None}
    return PyMCModel(program, columns.arrays, parameters, coords)


def _shapes(pm_model, values):
    """Return the shape of each free parameter."""
    with warnings.catch_warnings():  # of PyTensor's search for a C library
        warnings.simplefilter("ignore", UserWarning)
        point = pm_model.initial_point(random_seed=0)
    return [np.shape(point[value.name]) for value in values]


def _prior(pm_model, known, n):
    from pytensor.graph.replace import clone_replace

    if pm_model.potentials:
        graphs = pm_model.replace_rvs_by_values(list(pm_model.potentials))
        data = [x for node in ancestors(graphs, ()) for x in node.inputs]
        for x in data:
            value = getattr(x, "data", None)
            if np.ndim(value) and np.shape(value)[0] == n > 1:
                raise refusal("a Potential depends on all rows; observe them instead")
    variables = [*pm_model.free_RVs, *pm_model.potentials]
    logp = pm_model.logp(vars=variables)
    return clone_replace(logp, known, rebuild_strict=False)


def _recorded(pm_model, theta, known, n):
    """Return what is recorded, flat, and its `Parameter` by name."""
    import pytensor.tensor as pt
    from pytensor.graph.replace import clone_replace

    wanted = [*pm_model.free_RVs, *pm_model.deterministics]
    graphs = pm_model.replace_rvs_by_values(wanted)
    graphs = clone_replace(graphs, known, rebuild_strict=False)
    values = python_function([theta], graphs)(np.zeros(theta.type.shape))
    parts, parameters = [], {}
    for rv, graph, value in zip(wanted, graphs, values, strict=True):
        is_free = rv in pm_model.free_RVs
        if not is_free and np.shape(value)[:1] == (n,) and n > 1:
            continue  # one number per row and draw
        parts.append(graph.reshape((-1,)).astype("float64"))
        dims = pm_model.named_vars_to_dims.get(rv.name)
        parameters[rv.name] = Parameter(np.shape(value), dims and tuple(dims))
    return pt.concatenate(parts), parameters
