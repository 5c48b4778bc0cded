"""Draws in the format of ArviZ, with predictions and likelihoods of rows."""

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.utils._extras import extra
from skbayes_sg.utils._typing import MatrixLike, RandomState

INDEXED = re.compile(r"(\w+)(?:\[(\d+(?:, ?\d+)*)\])?")  # "startprob[0]", "level"


class ArvizMixin:
    """Conversion of an estimator with draws in `samples_`."""

    def to_arviz(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        *,
        random_state: RandomState = 0,
        **options: Any,
    ) -> Any:
        """Return the draws in the format of ArviZ.

        With the training data it also holds what `arviz.loo`, `arviz.compare` and plots
        of posterior predictive checks need. That takes 16 bytes for each draw and row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows for which to draw targets. Of classifiers and regressors only.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Their observed targets.
        random_state : int, RandomState instance or None, default=0
            Seed of the drawn targets.
        **options : dict
            ``exposure`` of regressions of counts.

        Returns
        -------
        data : xarray.DataTree
            The group ``posterior`` has a variable for each kind of parameter, with the
            dimensions ``chain`` and ``draw`` and its own: ``coef`` and ``intercept`` of
            regressions, whose dimensions are ``feature`` and, with several outputs,
            ``output``. Estimators without names for their parameters have ``theta``.
            The variable ``weight`` of ``sample_stats`` holds the weights of the draws
            in averages, which are equal unless the step size varied; functions of ArviZ
            take all draws alike.

            With X and y: ``log_likelihood``, ``posterior_predictive`` and
            ``observed_data``, each with a variable ``y``. Classes are their positions
            in ``classes_``. With X alone: drawn targets in ``predictions``.

        Examples
        --------
        >>> from skbayes_sg import SGLDLogisticRegression
        >>> from skbayes_sg.datasets import make_logistic
        >>> X, y = make_logistic(1000, 3, random_state=0)
        >>> data = SGLDLogisticRegression(random_state=0).fit(X, y).to_arviz(X, y)
        >>> dict(data.posterior.sizes)
        {'chain': 4, 'draw': 1000, 'feature': 3}
        >>> sorted(data.children)[:2]
        ['log_likelihood', 'observed_data']
        """
        check_is_fitted(self)
        with extra("arviz", "to_arviz()"):
            from arviz_base import from_dict
        named, coords, dims = self._arviz_variables()
        weight = np.broadcast_to(self.draw_weights_, self.samples_.shape[:2])
        groups = {"posterior": named, "sample_stats": {"weight": weight}}
        if X is not None:
            rng = check_random_state(random_state)
            groups.update(self._arviz_groups(X, y, rng, **options))
        elif y is not None:
            raise ValueError("y was given without X; to_arviz(X, y) needs both")
        return from_dict(groups, coords=coords, dims=dims)

    def _arviz_variables(self):
        """Return arrays of draws by name, coordinates, and dimensions by name."""
        names = list(self._parameter_names())
        arrays = arrays_by_name(names, self.samples_)
        if arrays is not None:
            return arrays, {}, {}
        return {"theta": self.samples_}, {"parameter": names}, {"theta": ["parameter"]}

    def _arviz_groups(self, X, y, rng, **options):
        """Return the groups for rows X and their targets y, which may be None."""
        laws = self._laws_of_targets(X, **options)
        shape = self.samples_.shape[:2]
        drawn = {"y": laws.draw(rng).reshape(*shape, *laws.shape)}
        if y is None:
            return {"predictions": drawn}
        observed, logs = laws.observed(y)
        return {
            "log_likelihood": {"y": logs.reshape(*shape, -1)},
            "posterior_predictive": drawn,
            "observed_data": {"y": observed},
        }

    def _laws_of_targets(self, X):
        """Return the laws of the targets of rows given each draw."""
        raise TypeError(
            f"{type(self).__name__} has no predictive distribution of single rows; "
            "call to_arviz() without X"
        )


def arrays_by_name(names, samples):
    """Return draws by the names before brackets, or None if names are not such.

    The indices of a name must be those of an array, in order.
    """
    places: dict[str, list] = {}
    for column, name in enumerate(names):
        match = INDEXED.fullmatch(str(name))
        if match is None:
            return None
        index = () if match[2] is None else tuple(map(int, match[2].split(",")))
        places.setdefault(match[1], []).append((index, column))
    arrays = {}
    for name, entries in places.items():
        indices, columns = zip(*entries, strict=True)
        shape = tuple(np.max(indices, axis=0) + 1) if indices[0] else ()
        if list(indices) != list(np.ndindex(shape)):
            return None
        arrays[name] = samples[..., list(columns)].reshape(*samples.shape[:2], *shape)
    return arrays


class ClassLaws:
    """Probabilities of classes given each draw, (draws, n_samples, n_classes)."""

    def __init__(self, proba, classes):
        self.proba, self.classes = proba, classes
        self.shape = proba.shape[1:2]

    def draw(self, rng):
        """Return a class for each draw and row, as a position in `classes`."""
        below = np.cumsum(self.proba, axis=-1)
        u = rng.random(self.proba.shape[:2]) * below[..., -1]
        return np.sum(u[..., None] >= below, axis=-1)

    def observed(self, y):
        """Return the positions of observed labels, and their log probabilities."""
        codes = np.searchsorted(self.classes, y)
        codes = np.minimum(codes, len(self.classes) - 1)
        if codes.shape != self.shape or (self.classes[codes] != y).any():
            raise ValueError(
                f"y must hold {self.shape[0]} of the labels {self.classes}, as many as "
                "X has rows"
            )
        proba = self.proba[:, np.arange(len(codes)), codes].astype(np.float64)
        return codes, np.log(np.maximum(proba, np.finfo(np.float64).tiny))


class ScipyLaws:
    """Laws of scipy given each draw, of shape (draws, n_outputs, n_samples)."""

    def __init__(self, law, size, y_shape):
        self.law, self.size = law, size
        self.shape = (size[-1], *y_shape)

    def draw(self, rng):
        """Return targets, (draws, n_samples[, n_outputs])."""
        y = self.law.rvs(size=self.size, random_state=rng)
        return y.swapaxes(1, 2).reshape(len(y), *self.shape)

    def observed(self, y):
        """Return targets, and their log densities; those of the outputs are added."""
        y = np.asarray(y, np.float64)
        if y.shape != self.shape:
            raise ValueError(
                f"y has the shape {y.shape}; it must be {self.shape} for these rows"
            )
        targets = y.reshape(len(y), -1).T
        discrete = hasattr(self.law, "pmf")
        logs = (self.law.logpmf if discrete else self.law.logpdf)(targets)
        return y, logs.sum(axis=1)
