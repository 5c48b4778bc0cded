"""The plot of coefficients with their posterior intervals."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._diagnostics import check_probability, last_step
from skbayes_sg.inspection._axes import GRAY, check_axes, legend_above, make_axes
from skbayes_sg.utils._validation import check_integer


class CoefficientDisplay:
    """Posterior intervals of parameters.

    Use `from_estimator`; its results are stored as the attributes of the same names.

    Parameters
    ----------
    names : sequence of str of length n_parameters
        Names of the parameters.
    mean : array-like of shape (n_parameters,)
        Posterior means.
    intervals : array-like of shape (n_parameters, 2, 2)
        Lower and upper bounds of a wide and a narrow interval.
    prob : float
        Probability of the wide interval.
    n_parameters : int, default=None
        Number of parameters of which the names are a part; None if they are all.

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
    >>> from skbayes_sg import CoefficientDisplay, SGLDLogisticRegression
    >>> from skbayes_sg.datasets import make_logistic
    >>> X, y = make_logistic(1000, 3, random_state=0)
    >>> model = SGLDLogisticRegression(n_draws=100, random_state=0).fit(X, y)
    >>> CoefficientDisplay.from_estimator(model).names
    ['x0', 'x1', 'x2', 'intercept']
    """

    def __init__(self, names, mean, intervals, prob, n_parameters=None):
        self.names = names
        self.mean = mean
        self.intervals = intervals
        self.prob = prob
        self.n_parameters = n_parameters

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        prob: float = 0.94,
        parameters: Iterable[str] | None = None,
        max_parameters: int = 20,
        ax: Any = None,
    ) -> Self:
        """Draw the posterior intervals of a fitted estimator.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted estimator of this package, or a pipeline that ends in one.
        prob : float, default=0.94
            Probability of the thin interval; that of the thick interval is 1/2. Both
            have equal tails.
        parameters : list of str, default=None
            Names as in the index of its `summary`, None for all.
        max_parameters : int, default=20
            If there are more, show those furthest from zero in units of posterior
            standard deviations, and say how many are left out.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : CoefficientDisplay
            The display.
        """
        estimator, _ = last_step(estimator)
        check_is_fitted(estimator)
        check_probability(prob)
        check_integer("max_parameters", max_parameters, at_least=1)
        names, columns = estimator._choose_parameters(parameters)
        draws = estimator._representative_draws(len(estimator._flat_draws()))
        draws = draws[:, columns].astype(np.float64)
        mean, sd = draws.mean(axis=0), draws.std(axis=0)
        order = np.argsort(-np.abs(mean) / np.where(sd > 0, sd, 1))[:max_parameters]
        order.sort()
        tails = np.array([[1 - prob, 1 + prob], [0.5, 1.5]]) / 2
        intervals = np.moveaxis(np.quantile(draws[:, order], tails, axis=0), -1, 0)
        chosen = [names[j] for j in order]
        return cls(chosen, mean[order], intervals, prob, len(names)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one line per parameter, the first on top.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : CoefficientDisplay
            The display itself.
        """
        n = len(self.names)
        if ax is None:
            (ax,) = make_axes(None, 1, figsize=(6, 1 + 0.28 * n))
        check_axes(ax)
        rows = np.arange(n)
        ax.axvline(0, color=GRAY, lw=1)
        wide, narrow = np.moveaxis(np.asarray(self.intervals), 1, 0)
        ax.hlines(rows, *wide.T, lw=1.2, label=f"{100 * self.prob:g} %")
        ax.hlines(rows, *narrow.T, lw=4, label="50 %")
        ax.plot(self.mean, rows, "o", color="white", mec="C0", ms=4, label="mean")
        ax.set_yticks(rows, self.names)
        label = "posterior mean and intervals"
        if self.n_parameters is not None and self.n_parameters > n:
            label += f"\n{n} of {self.n_parameters} parameters, furthest from 0 in sds"
        ax.set(ylim=(n - 0.5, -0.5), xlabel=label)
        legend_above(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
