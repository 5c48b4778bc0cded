"""Search for step sizes."""

from skbayes_sg.model_selection._search import KSDStepSizeSearch

__all__ = ["KSDStepSizeSearch"]
