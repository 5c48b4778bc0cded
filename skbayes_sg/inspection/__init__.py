"""Plots of draws and of searches."""

from skbayes_sg.inspection._coefficient_display import CoefficientDisplay
from skbayes_sg.inspection._search_display import KSDSearchDisplay
from skbayes_sg.inspection._trace_display import TraceDisplay

__all__ = ["CoefficientDisplay", "KSDSearchDisplay", "TraceDisplay"]
