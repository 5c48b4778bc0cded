"""Warnings that are reported at the line of the user's own code."""

import sys
import warnings

INTERNAL = ("skbayes_sg.", "sklearn.", "joblib.", "contextlib")


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside of this package and of scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None:
        if not f"{frame.f_globals.get('__name__', '')}.".startswith(INTERNAL):
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
