"""Axes that the displays share."""

import numpy as np

from skbayes_sg.utils._extras import extra

GREY = "0.6"


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
    return axes


def plain_ticks(ax):
    """Write 0.5 for 5 x 10^-1 at the ticks of logarithmic axes."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def legend_above(ax):
    """Put the legend over the axes, where it hides nothing."""
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1),
        ncols=4,
        fontsize="small",
        frameon=False,
    )
