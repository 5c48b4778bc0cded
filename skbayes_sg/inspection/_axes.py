"""Helpers for axes, ticks and legends of all displays."""

import numpy as np

from skbayes_sg.utils._extras import extra

GRAY = "0.6"


def make_axes(axes, *shape, **options):
    """Return the given axes as an array of `shape`, or those of a new figure."""
    with extra("plot", "A display"):
        import matplotlib.pyplot as plt
    if axes is None:
        _, axes = plt.subplots(*shape, layout="constrained", squeeze=False, **options)
        return axes.reshape(shape)
    axes = np.asarray(axes, object)
    if axes.shape != shape:
        raise ValueError(f"axes has shape {axes.shape}; it must be {shape}")
    for ax in axes.ravel():
        check_axes(ax)
    return axes


def check_axes(ax):
    """Raise a TypeError unless something can be plotted on `ax`."""
    if not hasattr(ax, "plot") or not hasattr(ax, "figure"):
        raise TypeError(f"{ax!r} is of type {type(ax).__name__}, not matplotlib axes")


def plain_ticks(ax):
    """Label the ticks of logarithmic axes by plain numbers: 0.5, not 5 x 10^-1."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def legend_above(ax, lw=None):
    """Put the legend above the axes, where it hides nothing.

    Lines of the width `lw` stand for thinner ones.
    """
    legend = ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1),
        ncols=4,
        fontsize="small",
        frameon=False,
    )
    for line in legend.get_lines() if lw is not None else []:
        line.set(linewidth=lw, alpha=1.0)
