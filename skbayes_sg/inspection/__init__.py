"""Pictures of draws and of searches."""

from skbayes_sg.inspection._displays import (
    CoefficientDisplay,
    KSDSearchDisplay,
    TraceDisplay,
)

__all__ = ["CoefficientDisplay", "KSDSearchDisplay", "TraceDisplay"]
