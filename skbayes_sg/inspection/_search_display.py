"""The plot of a search for step sizes."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._diagnostics import last_step
from skbayes_sg.inspection._axes import GRAY, legend_above, make_axes, plain_ticks


class KSDSearchDisplay:
    """Discrepancy and effective sample size of the candidates of a search.

    Use `from_estimator`; its results are stored as the attributes of the same names.

    Parameters
    ----------
    values : array-like of shape (n_candidates,)
        The candidates' values of one numeric parameter.
    ksd, floor, ess : array-like of shape (n_candidates,)
        Kernel Stein discrepancy, its floor and the effective sample size; NaN for
        candidates that failed.
    labels : sequence of str of length n_candidates, default=None
        The other parameters of the candidates; equal labels share a curve.
    connect : bool, default=True
        Whether to join the points of a curve by lines.
    best_index : int, default=None
        The candidate to mark.
    name : str, default="step_size"
        Name of the parameter.

    Attributes
    ----------
    axes_ : ndarray of shape (2,) of matplotlib axes
        Axes of the discrepancy and of the effective sample size.
    figure_ : matplotlib figure
        The figure that holds them.

    See Also
    --------
    KSDStepSizeSearch : The search.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from skbayes_sg import (
    ...     KSDSearchDisplay, KSDStepSizeSearch, SGLDLogisticRegression
    ... )
    >>> from skbayes_sg.datasets import make_logistic
    >>> X, y = make_logistic(1000, 3, random_state=0)
    >>> search = KSDStepSizeSearch(
    ...     SGLDLogisticRegression(n_draws=100), {"step_size": [0.1, 1, 3]}
    ... ).fit(X, y)
    >>> display = KSDSearchDisplay.from_estimator(search)
    >>> display.axes_[0].get_ylabel()
    'KSD'
    """

    def __init__(
        self,
        values,
        ksd,
        floor,
        ess,
        *,
        labels=None,
        connect=True,
        best_index=None,
        name="step_size",
    ):
        self.values = values
        self.ksd = ksd
        self.floor = floor
        self.ess = ess
        self.labels = labels
        self.connect = connect
        self.best_index = best_index
        self.name = name

    @classmethod
    def from_estimator(
        cls, search: Any, *, param: str | None = None, axes: Any = None
    ) -> Self:
        """Draw the results of a fitted search.

        Parameters
        ----------
        search : KSDStepSizeSearch
            The fitted search.
        param : str, default=None
            Numeric parameter of the horizontal axis, by its name in the grid; None is
            the step size.
        axes : sequence of two matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : KSDSearchDisplay
            The display.
        """
        check_is_fitted(search)
        results = getattr(search, "cv_results_", {})
        if "ksd" not in results:
            raise TypeError(
                f"{search!r} has no candidates with discrepancies; a fitted "
                "KSDStepSizeSearch is needed"
            )
        if param is None:
            param = f"{last_step(search.estimator)[1]}step_size"
        column = results.get(f"param_{param}")
        if column is None or column.dtype.kind not in "iuf" or column.mask.any():
            raise ValueError(
                f"param={param!r} must be a parameter for which every candidate has a "
                f"number; the grid holds {sorted(search.best_params_)}"
            )
        order = np.argsort(results["iter"], kind="stable")  # of curves, in the legend
        labels = _curve_labels(results, param)
        display = cls(
            column.data[order],
            results["ksd"][order],
            results["ksd_floor"][order],
            results["ess"][order],
            labels=[labels[i] for i in order],
            connect=not results["iter"].any(),  # halving leaves gaps
            best_index=int(np.flatnonzero(order == search.best_index_)[0]),
            name=param,
        )
        return display.plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw discrepancy and effective sample size, one above the other.

        Parameters
        ----------
        axes : sequence of two matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : KSDSearchDisplay
            The display itself.
        """
        axes = make_axes(axes, 2, sharex=True)
        top, bottom = axes
        x, ksd, floor = map(np.asarray, (self.values, self.ksd, self.floor))
        labels = np.asarray(self.labels or [""] * len(x))
        style = "o-" if self.connect else "o"
        for label in dict.fromkeys(labels.tolist()):
            chosen = np.flatnonzero((labels == label) & np.isfinite(ksd))
            if not chosen.size:
                continue
            chosen = chosen[np.argsort(x[chosen])]
            top.plot(x[chosen], ksd[chosen], style, label=label)
            bottom.plot(x[chosen], np.asarray(self.ess)[chosen], style)
            # The floor is that of the best draws, since draws that are too wide have a
            # higher floor.
            lowest = floor[chosen[np.argmin(ksd[chosen])]]
            top.axhline(lowest, ls="--", lw=1, color=top.lines[-1].get_color())
        top.plot([], [], "--", lw=1, color=GRAY, label="floor: perfect draws")
        failed = x[~np.isfinite(ksd)]
        for ax in axes:
            if failed.size:
                height = np.full(failed.size, 0.06)
                place = ax.get_xaxis_transform()
                (crosses,) = ax.plot(failed, height, "x", color="k", transform=place)
                crosses.set_label("diverged or failed")
            if self.best_index is not None:
                best = x[self.best_index]
                line = ax.axvline(best, color=GRAY, lw=1, zorder=0)
                line.set_label(f"best: {best:.2g}")
        for ax, name in ((top, "KSD"), (bottom, "smallest ESS")):
            ax.set(xscale="log", yscale="log", ylabel=name)
            plain_ticks(ax)
        bottom.set(xlabel=self.name.split("__")[-1])
        legend_above(top)
        self.axes_, self.figure_ = axes, top.figure
        return self


def _curve_labels(results, param):
    """Return labels of the candidates' other parameters and of their rung."""
    labels = []
    for params, rung in zip(results["params"], results["iter"], strict=True):
        parts = [f"{key}={value}" for key, value in params.items() if key != param]
        if results["iter"].max() > 0:
            parts.append(f"round {rung + 1}")
        labels.append(", ".join(parts))
    return labels
