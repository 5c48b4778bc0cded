"""Pictures of draws and of searches, in scikit-learn's style; they need matplotlib."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.base._diagnostics import check_probability, last_step
from skbayes_sg.utils._extras import extra
from skbayes_sg.utils._validation import check_integer

GREY = "0.6"


class KSDSearchDisplay:
    """Discrepancy and effective sample size of the candidates of a search.

    Use `from_estimator`; its results are stored as the attributes of the same names.

    Parameters
    ----------
    values : array-like of shape (n_candidates,)
        The candidates' values of one numeric parameter.
    ksd, floor, ess : array-like of shape (n_candidates,)
        Kernel Stein discrepancy, its floor and the effective sample size; NaN of
        candidates that failed.
    labels : sequence of str of length n_candidates, default=None
        What else distinguishes the candidates; those with equal labels share a curve.
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
    def from_estimator(cls, search, *, param=None, axes=None):
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
        results = search.cv_results_
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

    def plot(self, axes=None):
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
        axes = _make_axes(axes, 2, sharex=True)
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
            # Draws that are too wide raise their own floor: take it from the best.
            lowest = floor[chosen[np.argmin(ksd[chosen])]]
            top.axhline(lowest, ls="--", lw=1, color=top.lines[-1].get_color())
        top.plot([], [], "--", lw=1, color=GREY, label="floor: perfect draws")
        failed = x[~np.isfinite(ksd)]
        for ax in axes:
            if failed.size:
                height = np.full(failed.size, 0.06)
                place = ax.get_xaxis_transform()
                (crosses,) = ax.plot(failed, height, "x", color="k", transform=place)
                crosses.set_label("diverged or failed")
            if self.best_index is not None:
                best = x[self.best_index]
                line = ax.axvline(best, color=GREY, lw=1, zorder=0)
                line.set_label(f"best: {best:.2g}")
        for ax, name in ((top, "KSD"), (bottom, "smallest ESS")):
            ax.set(xscale="log", yscale="log", ylabel=name)
            _plain_ticks(ax)
        bottom.set(xlabel=self.name.split("__")[-1])
        _legend_above(top)
        self.axes_, self.figure_ = axes, top.figure
        return self


class TraceDisplay:
    """Draws of each chain, in their order and as histograms.

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
    def from_estimator(cls, estimator, *, parameters=None, axes=None):
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
        return cls(estimator.samples_[..., columns], names).plot(axes)

    def plot(self, axes=None):
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
        axes = _make_axes(
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
            # Counts in equally many bins: densities would differ with the unit.
            bins = np.histogram_bin_edges(chains, 25)
            for chain in chains:
                left.plot(chain, lw=0.4, alpha=0.8)
                right.hist(chain, bins, histtype="step", orientation="horizontal")
            left.set(ylabel=name)
            left.margins(x=0)
            right.set_xticks([])
        axes[-1, 0].set(xlabel="draw")
        self.axes_, self.figure_ = axes, axes[0, 0].figure
        return self


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

    def __init__(self, names, mean, intervals, prob):
        self.names = names
        self.mean = mean
        self.intervals = intervals
        self.prob = prob

    @classmethod
    def from_estimator(
        cls, estimator, *, prob=0.94, parameters=None, max_parameters=20, ax=None
    ):
        """Draw the posterior intervals of a fitted estimator.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted estimator of this package, or a pipeline that ends in one.
        prob : float, default=0.94
            Probability of the thin interval; the thick one holds a half. Both leave
            equal tails.
        parameters : list of str, default=None
            Names as in the index of its `summary`, None for all.
        max_parameters : int, default=20
            Where there are more, show those furthest from zero in posterior standard
            deviations.
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
        return cls(chosen, mean[order], intervals, prob).plot(ax)

    def plot(self, ax=None):
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
            (ax,) = _make_axes(None, 1, figsize=(6, 1 + 0.28 * n))
        rows = np.arange(n)
        ax.axvline(0, color=GREY, lw=1)
        wide, narrow = np.moveaxis(np.asarray(self.intervals), 1, 0)
        ax.hlines(rows, *wide.T, lw=1.2, label=f"{100 * self.prob:g} %")
        ax.hlines(rows, *narrow.T, lw=4, label="50 %")
        ax.plot(self.mean, rows, "o", color="white", mec="C0", ms=4, label="mean")
        ax.set_yticks(rows, self.names)
        ax.set(ylim=(n - 0.5, -0.5), xlabel="posterior mean and intervals")
        _legend_above(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _make_axes(axes, *shape, **options):
    """Return the given axes as an array of `shape`, or those of a new figure."""
    with extra("plot", "A display"):
        import matplotlib.pyplot as plt
    if axes is None:
        _, axes = plt.subplots(*shape, layout="constrained", squeeze=False, **options)
        return axes.reshape(shape)
    axes = np.asarray(axes, object)
    if axes.shape != shape:
        raise ValueError(f"axes has shape {axes.shape}; it must be {shape}")
    return axes


def _plain_ticks(ax):
    """Write 0.5 for 5 x 10^-1 at the ticks of logarithmic axes."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def _legend_above(ax):
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1),
        ncols=4,
        fontsize="small",
        frameon=False,
    )


def _curve_labels(results, param):
    """Return what distinguishes the candidates beside one parameter."""
    labels = []
    for params, rung in zip(results["params"], results["iter"], strict=True):
        parts = [f"{key}={value}" for key, value in params.items() if key != param]
        if results["iter"].max() > 0:
            parts.append(f"round {rung + 1}")
        labels.append(", ".join(parts))
    return labels
