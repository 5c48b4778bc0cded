"""Models of the user's own: densities written in PyTensor, and spaces of parameters."""

import functools
import inspect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skbayes_sg.custom._columns import check_columns, check_weights
from skbayes_sg.custom._graphs import (
    build_program,
    call,
    check_program,
    symbols_of_columns,
)
from skbayes_sg.custom._programs import model_of
from skbayes_sg.custom._pytensor import import_pytensor
from skbayes_sg.custom._spaces import Real
from skbayes_sg.utils._extras import extra


class BaseModel:
    """What a model gives to an estimator, whoever wrote it.

    ``parameters`` has the shape and the dims of everything that is recorded, by name,
    and ``column_names`` the names of the data.
    """

    mean = sample = None

    def __sklearn_clone__(self):
        return self  # nothing ever writes to a model

    def bind(self, *, sample_weight: ArrayLike | None = None, **columns: Any) -> Any:
        """Return the posterior given data, which `sample` takes.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), default=None
            Factors of the rows' log-likelihoods.
        **columns : array-like of n rows
            The data, by the names of the arguments of `log_likelihood`.

        Returns
        -------
        model : NamedTuple
            The posterior of the free parameters. A draw has the parameters in their
            order, then the free numbers if there are constraints; see `unpack`.
        """
        self._refuse_unknown(columns)
        arrays = check_columns(self.column_names, self._with_own(columns), "bind")
        first = next(iter(arrays.values()))
        return self.posterior(arrays, check_weights(sample_weight, first))

    def posterior(self, arrays: Any, weights: Any) -> Any:
        """Return the posterior given columns that were checked, and (n,) weights."""
        return model_of(self.checked_program(arrays), arrays, weights)

    def checked_program(self, arrays: Any) -> Any:
        """Return the program for columns of these kinds, after a check of all rows."""
        program = self._program(arrays)
        check_program(program, arrays)
        return program

    def unpack(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        """Return recorded draws, (..., dim), as a dict of arrays by name."""
        return unpack(draws, self.parameters)

    def arviz_of(self, groups: Any, **options: Any) -> Any:
        """Return groups of draws as ArviZ takes them, with `coords` and `dims`."""
        with extra("arviz", "to_arviz()"):
            from arviz_base import from_dict
        return from_dict(groups, **options)

    def _with_own(self, columns):
        return columns

    def _refuse_unknown(self, columns):
        unknown = [name for name in columns if name not in self.column_names]
        if unknown:
            raise ValueError(
                f"the model has no column {unknown[0]!r}; its columns are "
                f"{list(self.column_names)!r}, to be passed by these names"
            )


def unpack(draws, parameters):
    """Return (..., dim) draws by name; views, where numpy can make them."""
    parts, first = {}, 0
    for name, each in parameters.items():
        last = first + int(np.prod(each.shape, dtype=int))
        parts[name] = draws[..., first:last].reshape(draws.shape[:-1] + each.shape)
        first = last
    return parts


class Model(BaseModel):
    """A model of your own, by its log-likelihood and its prior.

    Both are functions of symbols, written in ``pytensor.tensor``. Whatever argument is
    no parameter is a column of the data.

    Parameters
    ----------
    log_likelihood : callable
        Returns the log density of each row, shape (n,), given parameters and columns by
        the names of its arguments. Rows must not depend on one another.
    log_prior : callable
        Returns the log density of the parameters that it names, one number.
    mean : callable, default=None
        Returns what `SGMCMCModel.predict` averages over the posterior, one number per
        row, or an array per row; in PyTensor, too.
    sample : callable, default=None
        Draws targets for `SGMCMCModel.sample_y` in NumPy: the first argument is a
        `numpy.random.Generator`, the others are parameters and columns.
    coords : dict, default=None
        Labels of the dims of parameters, by their names.
    **parameters : Real, Positive, Interval, Ordered or Simplex
        The space of each parameter, by its name.

    See Also
    --------
    from_pymc : A model that is written in PyMC already.
    SGMCMCModel : The estimator.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> from skbayes_sg import Model, Real
    >>> def log_likelihood(beta, X, y):
    ...     eta = X @ beta
    ...     return y * eta - pt.softplus(eta)
    >>> def log_prior(beta):
    ...     return -0.5 * (beta**2).sum()
    >>> Model(log_likelihood, log_prior, beta=Real(3)).column_names
    ('X', 'y')
    """

    def __init__(
        self,
        log_likelihood,
        log_prior,
        *,
        mean=None,
        sample=None,
        coords=None,
        **parameters,
    ):
        for name, option in ("mean", mean), ("sample", sample), ("coords", coords):
            if isinstance(option, Real):
                raise ValueError(
                    f"{name} is an option of Model and cannot be the name of a "
                    "parameter; rename the parameter, as mu=Real()"
                )
        for name, space in parameters.items():
            if not isinstance(space, Real):
                raise TypeError(
                    f"{name}={space!r} is no space; use Real(shape), Positive(shape), "
                    "Interval(low, high, shape), Ordered(k) or Simplex(k)"
                )
        if not parameters:
            raise ValueError("a model needs a parameter, as beta=Real(3)")
        self.log_likelihood, self.log_prior = log_likelihood, log_prior
        self.mean, self.sample, self.coords = mean, sample, coords or {}
        self.parameters = parameters
        self.column_names = self.columns_of("log_likelihood")
        if not self.column_names or "sample_weight" in self.column_names:
            raise ValueError(
                f"log_likelihood takes the columns {list(self.column_names)!r}; it "
                "needs one or more, by other names than sample_weight"
            )
        others = self.columns_of("log_prior")
        if others:
            raise ValueError(
                f"log_prior takes {others[0]!r}, which is no parameter; it must take "
                f"parameters alone, some of {list(parameters)!r}"
            )

    def columns_of(self, name: str, skip: Any = 0) -> Any:
        """Return which columns a function of the model takes."""
        return tuple(
            a for a in self._arguments(name)[skip:] if a not in self.parameters
        )

    def _arguments(self, name):
        function = getattr(self, name)
        kinds = inspect.signature(function).parameters.values()
        if any(kind.kind in (kind.VAR_POSITIONAL, kind.VAR_KEYWORD) for kind in kinds):
            raise ValueError(
                f"{name} takes *args or **kwargs; name its arguments, which are "
                "parameters and columns"
            )
        return [kind.name for kind in kinds if kind.default is kind.empty]

    def symbolic(self, name: str, symbols: Any) -> Any:
        """Return what a function makes of symbols, of which it takes those it names."""
        chosen = {a: symbols[a] for a in self._arguments(name)}
        return call(getattr(self, name), name, chosen)

    def _program(self, arrays):
        import_pytensor()
        return build_program(
            self.parameters,
            symbols_of_columns(arrays),
            functools.partial(self.symbolic, "log_likelihood"),
            functools.partial(self.symbolic, "log_prior"),
        )
