"""Data sets: generators with a known truth."""

from skbayes_sg.datasets._generators import make_logistic, make_ratings

__all__ = ["make_logistic", "make_ratings"]
