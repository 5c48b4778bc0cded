"""The plot of the ranks of the draws of each chain among those of all chains."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._diagnostics import last_step
from skbayes_sg.inspection._axes import GRAY, legend_above, make_axes


class RankDisplay:
    """Histograms of the ranks of each chain's draws among those of all chains.

    If the chains have explored the same distribution, all bars are about equally high:
    99 % of them lie between the gray lines. A chain that is shifted has too many small
    or large ranks, and one that is too wide too many of both. Unlike traces, ranks show
    this for any number of draws.

    Use `from_estimator`; its results are stored as the attributes of the same names.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws, n_parameters)
        The draws.
    names : sequence of str of length n_parameters
        Names of the parameters.

    Attributes
    ----------
    axes_ : ndarray of shape (n_parameters,) of matplotlib axes
        The axes.
    figure_ : matplotlib figure
        The figure that holds them.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from skbayes_sg import RankDisplay, SGLDLogisticRegression
    >>> from skbayes_sg.datasets import make_logistic
    >>> X, y = make_logistic(1000, 3, random_state=0)
    >>> model = SGLDLogisticRegression(n_draws=100, random_state=0).fit(X, y)
    >>> RankDisplay.from_estimator(model, parameters=["x0", "x1"]).axes_.shape
    (2,)
    """

    def __init__(self, draws, names):
        self.draws = draws
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        parameters: Iterable[str] | None = None,
        axes: Any = None,
    ) -> Self:
        """Draw the ranks of a fitted estimator's draws.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted estimator of this package, or a pipeline that ends in one.
        parameters : list of str, default=None
            Names as in the index of its `summary`; None is the first four.
        axes : array-like of matplotlib axes, shape (n_parameters,), default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : RankDisplay
            The display.
        """
        estimator, _ = last_step(estimator)
        check_is_fitted(estimator)
        names, columns = estimator._choose_parameters(parameters)
        if parameters is None:
            names, columns = names[:4], columns[:4]
        return cls(estimator._draws[..., columns], names).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw one panel for each parameter.

        Parameters
        ----------
        axes : array-like of matplotlib axes, shape (n_parameters,), default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : RankDisplay
            The display itself.
        """
        draws = np.asarray(self.draws)
        n_chains, n_draws, n = draws.shape
        axes = make_axes(axes, n, figsize=(6, 1 + 1.2 * n), sharex=True)
        n_bins = int(np.clip(n_draws // 20, 5, 20))
        edges = np.linspace(0, n_chains * n_draws, n_bins + 1)
        expected = n_draws / n_bins
        spread = 2.576 * np.sqrt(expected * (1 - 1 / n_bins))
        for j, (name, ax) in enumerate(zip(self.names, axes, strict=True)):
            order = np.argsort(draws[..., j], axis=None, kind="stable")
            ranks = np.empty(order.size)
            ranks[order] = np.arange(order.size) + 0.5
            for k, chain in enumerate(ranks.reshape(n_chains, n_draws)):
                counts = np.histogram(chain, edges)[0]
                ax.stairs(counts, edges, label=f"chain {k}")
            for level in (expected - spread, expected + spread):
                ax.axhline(level, color=GRAY, lw=1, ls="--")
            ax.set(ylabel=name, ylim=(0, None))
            ax.margins(x=0)
        axes[-1].set(xlabel="rank among the draws of all chains")
        legend_above(axes[0])
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
