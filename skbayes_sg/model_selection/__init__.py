"""Search for step sizes, and splits of ratings by time."""

from skbayes_sg.model_selection._search import KSDStepSizeSearch
from skbayes_sg.model_selection._splits import LeaveLastOut

__all__ = ["KSDStepSizeSearch", "LeaveLastOut"]
