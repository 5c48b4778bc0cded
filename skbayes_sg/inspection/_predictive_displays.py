"""Plots that compare observed targets with their posterior predictive distribution."""

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._diagnostics import last_step
from skbayes_sg.inspection._axes import GRAY, check_axes, legend_above, make_axes
from skbayes_sg.utils._typing import MatrixLike, RandomState
from skbayes_sg.utils._validation import check_integer


def replicated(estimator, X, y, n_samples, random_state):
    """Return y, (n,), and draws of it given X, (n, n_samples)."""
    last_step(estimator)  # raises an error unless it draws samples
    check_is_fitted(estimator)
    check_integer("n_samples", n_samples, at_least=20)
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    if not hasattr(last, "sample_y"):
        raise TypeError(
            f"{type(last).__name__} has no sample_y(); the display needs a regressor "
            "that draws targets. For probabilities of classes use scikit-learn's "
            "CalibrationDisplay"
        )
    if last is not estimator:
        X = estimator[:-1].transform(X)
    draws = last.sample_y(X, n_samples, random_state)
    y = np.asarray(y, np.float64)
    if draws.shape != (y.size, n_samples) or y.ndim != 1:
        raise ValueError(
            f"y has the shape {y.shape}; it must have one dimension and as many "
            f"targets as X has rows, {len(draws)}. Draw each of several outputs apart"
        )
    return y, draws


class PredictiveCheckDisplay:
    """The distribution of observed targets, beside that of targets from the model.

    A histogram of y, and for each of its bins the interval that holds 90 % of the
    replicated counts. A model that fits has most counts of y within the intervals.

    Use `from_estimator`; its results are stored as the attributes of the same names.

    Parameters
    ----------
    observed : array-like of shape (n_samples,)
        Observed targets.
    replicates : array-like of shape (n_samples, n_replicates)
        Draws of the same targets.

    Attributes
    ----------
    ax_ : matplotlib axes
        The axes.
    figure_ : matplotlib figure
        The figure that holds them.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from skbayes_sg import PredictiveCheckDisplay, SGMCMCLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X @ [1.0, -1.0] + rng.normal(size=300)
    >>> model = SGMCMCLinearRegression(n_draws=100, random_state=0).fit(X, y)
    >>> PredictiveCheckDisplay.from_estimator(model, X, y).replicates.shape
    (300, 200)
    """

    def __init__(self, observed, replicates):
        self.observed = observed
        self.replicates = replicates

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: Any,
        *,
        n_samples: int = 200,
        random_state: RandomState = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the check of a fitted regressor.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted regressor with `sample_y`, or a pipeline that ends in one.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, preferably ones that the regressor was not fitted to.
        y : array-like of shape (n_samples,)
            Their observed targets.
        n_samples : int, default=200
            Replicates of all targets.
        random_state : int, RandomState instance or None, default=0
            Seed of the replicates.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : PredictiveCheckDisplay
            The display.
        """
        return cls(*replicated(estimator, X, y, n_samples, random_state)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the histogram of y and the intervals of replicated counts.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : PredictiveCheckDisplay
            The display itself.
        """
        if ax is None:
            (ax,) = make_axes(None, 1, figsize=(6, 3.5))
        check_axes(ax)
        observed, draws = np.asarray(self.observed), np.asarray(self.replicates)
        edges = self._edges(observed, draws)
        counts = np.array([np.histogram(column, edges)[0] for column in draws.T])
        low, high = np.quantile(counts, [0.05, 0.95], axis=0)
        ax.stairs(high, edges, baseline=low, fill=True, alpha=0.35, label="model, 90 %")
        ax.stairs(counts.mean(axis=0), edges, color="C0", lw=1, label="model, mean")
        ax.stairs(np.histogram(observed, edges)[0], edges, color="k", label="observed")
        ax.set(xlabel="target", ylabel="rows", ylim=(0, None))
        ax.margins(x=0)
        legend_above(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @staticmethod
    def _edges(observed, draws):
        """Return edges of bins; rare extreme replicates do not widen the axis."""
        low, high = np.quantile(draws, [0.001, 0.999])
        low, high = min(low, observed.min()), max(high, observed.max())
        whole = np.all(draws == np.round(draws)) and np.all(
            observed == np.round(observed)
        )
        if whole:  # a bin holds the same number of integers everywhere
            width = max(1, int(np.ceil((high - low) / 30)))
            return np.arange(low - 0.5, high + width, width)
        if high == low:
            return np.array([low - 0.5, low + 0.5])
        return np.linspace(low, high, 31)


class CoverageDisplay:
    """How often predictive intervals hold the observed targets, for all levels at once.

    The curve of a calibrated regressor lies within the gray band, which holds the
    shares that are due to chance with a probability of 90 %. Below the diagonal
    intervals are too narrow, above it too wide.

    Use `from_estimator`; its results are stored as the attributes of the same names.

    Parameters
    ----------
    levels : array-like of shape (n_levels,)
        Nominal probabilities of the intervals, with equal tails.
    shares : array-like of shape (n_levels,)
        Shares of the observed targets that lie within.
    n_rows : int
        Number of targets.

    Attributes
    ----------
    ax_ : matplotlib axes
        The axes.
    figure_ : matplotlib figure
        The figure that holds them.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from skbayes_sg import CoverageDisplay, SGMCMCLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X @ [1.0, -1.0] + rng.normal(size=300)
    >>> model = SGMCMCLinearRegression(n_draws=100, random_state=0).fit(X, y)
    >>> display = CoverageDisplay.from_estimator(model, X, y)
    >>> bool(abs(display.shares - display.levels).max() < 0.1)
    True
    """

    def __init__(self, levels, shares, n_rows):
        self.levels = levels
        self.shares = shares
        self.n_rows = n_rows

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: Any,
        *,
        n_samples: int = 1000,
        random_state: RandomState = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the coverage of a fitted regressor's intervals.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted regressor with `sample_y`, or a pipeline that ends in one.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, preferably ones that the regressor was not fitted to.
        y : array-like of shape (n_samples,)
            Their observed targets.
        n_samples : int, default=1000
            Draws of each target.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws, and of breaking ties of counts.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : CoverageDisplay
            The display.
        """
        y, draws = replicated(estimator, X, y, n_samples, random_state)
        below = (draws < y[:, None]).mean(axis=1)
        ties = (draws == y[:, None]).mean(axis=1)
        # Ties of counts are broken at random, so that coverage can be exact.
        rank = below + ties * check_random_state(random_state).uniform(size=y.size)
        levels = np.linspace(0.02, 0.98, 49)
        distance = 2 * np.abs(rank - 0.5)
        shares = (distance[:, None] <= levels).mean(axis=0)
        return cls(levels, shares, y.size).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw shares against levels.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : CoverageDisplay
            The display itself.
        """
        if ax is None:
            (ax,) = make_axes(None, 1, figsize=(4.2, 4))
        check_axes(ax)
        levels = np.asarray(self.levels)
        spread = 1.645 * np.sqrt(levels * (1 - levels) / self.n_rows)
        ax.fill_between(
            levels, levels - spread, levels + spread, color=GRAY, alpha=0.3, lw=0
        )
        ax.plot([0, 1], [0, 1], color=GRAY, lw=1, ls="--")
        ax.plot(levels, self.shares, color="C0")
        ax.set(
            xlabel="probability of the interval",
            ylabel="share of targets within",
            xlim=(0, 1),
            ylim=(0, 1),
            aspect="equal",
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self
