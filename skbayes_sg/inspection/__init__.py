"""Plots of draws, of predictions and of searches."""

from skbayes_sg.inspection._coefficient_display import CoefficientDisplay
from skbayes_sg.inspection._predictive_displays import (
    CoverageDisplay,
    PredictiveCheckDisplay,
)
from skbayes_sg.inspection._rank_display import RankDisplay
from skbayes_sg.inspection._search_display import KSDSearchDisplay
from skbayes_sg.inspection._trace_display import TraceDisplay

__all__ = [
    "CoefficientDisplay",
    "CoverageDisplay",
    "KSDSearchDisplay",
    "PredictiveCheckDisplay",
    "RankDisplay",
    "TraceDisplay",
]
