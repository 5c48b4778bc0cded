"""The plot of the traces of chains and of histograms of their draws."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._diagnostics import last_step
from skbayes_sg.inspection._axes import legend_above, make_axes


class TraceDisplay:
    """Draws of each chain, in order and as histograms.

    Use `from_estimator`; its results are stored as the attributes of the same names.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws, n_parameters)
        The draws.
    names : sequence of str of length n_parameters
        Names of the parameters.

    Attributes
    ----------
    axes_ : ndarray of shape (n_parameters, 2) of matplotlib axes
        Axes of the traces and of the histograms.
    figure_ : matplotlib figure
        The figure that holds them.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from skbayes_sg import SGLDLogisticRegression, TraceDisplay
    >>> from skbayes_sg.datasets import make_logistic
    >>> X, y = make_logistic(1000, 3, random_state=0)
    >>> model = SGLDLogisticRegression(n_draws=100, random_state=0).fit(X, y)
    >>> TraceDisplay.from_estimator(model, parameters=["x0", "x1"]).axes_.shape
    (2, 2)
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
        """Draw the traces of a fitted estimator.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted estimator of this package, or a pipeline that ends in one.
        parameters : list of str, default=None
            Names as in the index of its `summary`; None is the first four.
        axes : array-like of matplotlib axes, shape (n_parameters, 2), default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : TraceDisplay
            The display.
        """
        estimator, _ = last_step(estimator)
        check_is_fitted(estimator)
        names, columns = estimator._choose_parameters(parameters)
        if parameters is None:
            names, columns = names[:4], columns[:4]
        return cls(estimator._draws[..., columns], names).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw a row of two panels for each parameter.

        Parameters
        ----------
        axes : array-like of matplotlib axes, shape (n_parameters, 2), default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : TraceDisplay
            The display itself.
        """
        n = len(self.names)
        axes = make_axes(
            axes,
            n,
            2,
            sharex="col",
            sharey="row",
            width_ratios=[4, 1],
            figsize=(7, 1 + 1.3 * n),
        )
        for j, (name, (left, right)) in enumerate(zip(self.names, axes, strict=True)):
            chains = np.asarray(self.draws)[..., j]
            # Counts in bins: the scale of densities would depend on the unit.
            bins = np.histogram_bin_edges(chains, 25)
            for k, chain in enumerate(chains):
                left.plot(chain, lw=0.4, alpha=0.8, label=f"chain {k}")
                right.hist(chain, bins, histtype="step", orientation="horizontal")
            left.set(ylabel=name)
            left.margins(x=0)
            right.set_xticks([])
        axes[-1, 0].set(xlabel="draw")
        axes[-1, 1].set(xlabel="frequency")
        legend_above(axes[0, 0], lw=1.5)
        self.axes_, self.figure_ = axes, axes[0, 0].figure
        return self
