"""Predictions of a model of the user's own, from its optional functions."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, check_random_state

from skbayes_sg.custom._graphs import (
    out_of_range,
    python_function,
    symbols_of_columns,
)
from skbayes_sg.custom._model import unpack
from skbayes_sg.utils._typing import MatrixLike, RandomState
from skbayes_sg.utils._validation import check_integer

MOST_DRAWS = 1000  # of a prediction, evenly spread


class PredictionsMixin:
    """Predictions of an estimator whose model may have `mean` and `sample`."""

    def predict(self, X: MatrixLike | None = None, **columns: Any) -> np.ndarray:
        """Return the posterior mean of the model's function `mean`.

        Of more than 1,000 draws, that many evenly spread ones stand for all.

        Parameters
        ----------
        X : array-like of n rows, default=None
            The column of this name, where `mean` takes it.
        **columns : array-like of n rows
            All other columns that `mean` takes.

        Returns
        -------
        mean : ndarray of shape (n, ...)
            Posterior means.
        """
        import pytensor.tensor as pt

        check_is_fitted(self)
        names = self._takes("mean", "predict")
        arrays = self._columns_of(columns | {"X": X}, "predict", names)
        symbols = symbols_of_columns(arrays)
        parameters = {
            name: pt.tensor(name, dtype="float64", shape=each.shape)
            for name, each in self._parameters.items()
        }
        graph = self.model.symbolic("mean", parameters | symbols)
        inputs = [*parameters.values(), *symbols.values()]
        function = python_function(inputs, graph)
        draws, total = self._representative_draws(MOST_DRAWS), np.zeros(())
        for draw in draws:
            values = unpack(draw, self._parameters).values()
            try:
                total = total + function(*values, *arrays.values())
            except IndexError as error:
                raise out_of_range("mean", error) from error
        return total / len(draws)

    def sample_y(
        self,
        X: MatrixLike | None = None,
        n_samples: int = 1,
        random_state: RandomState = 0,
        **columns: Any,
    ) -> np.ndarray:
        """Draw targets from the posterior predictive distribution.

        Parameters
        ----------
        X : array-like of n rows, default=None
            The column of this name, where the model's function `sample` takes it.
        n_samples : int, default=1
            Draws of each row's target, each from another draw of the posterior.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws.
        **columns : array-like of n rows
            All other columns that `sample` takes.

        Returns
        -------
        y : ndarray of shape (n, n_samples)
            Draws.
        """
        check_is_fitted(self)
        check_integer("n_samples", n_samples, at_least=1)
        names = self._takes("sample", "sample_y", skip=1)
        arrays = self._columns_of(columns | {"X": X}, "sample_y", names)
        seed = check_random_state(random_state).randint(2**31, size=4)
        rng = np.random.default_rng(seed)
        draws = self._representative_draws(len(self._flat_draws()))
        targets = []
        for k in rng.integers(len(draws), size=n_samples):
            values = unpack(draws[k], self._parameters) | arrays
            wanted = self.model._arguments("sample")[1:]
            chosen = {name: values[name] for name in wanted}
            try:
                targets.append(self.model.sample(rng, **chosen))
            except IndexError as error:
                raise out_of_range("sample", error) from error
        return np.stack(targets, axis=-1)

    def _takes(self, name, method, skip=0):
        """Return the columns that an optional function of the model takes."""
        if getattr(self.model, name) is None:
            raise AttributeError(
                f"{method}() needs Model(..., {name}=function), which this model does "
                "not have; for a PyMC model, call pm.sample_posterior_predictive("
                "est.to_arviz(), model=pm_model)"
            )
        return self.model.columns_of(name, skip)

    def _some_thetas(self):
        """Return free parameters of evenly spread draws."""
        named = len(self._parameter_names())
        draws = self._representative_draws(MOST_DRAWS)
        return draws if draws.shape[1] == named else draws[:, named:]
