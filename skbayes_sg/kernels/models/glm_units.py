"""Units of a regression's recorded draws, which are those of the user's data.

A model may see centered columns and standardized targets,

    x - center    and    (y - shift) / scale,

in which the posterior is well-conditioned and priors suit data of any unit. Draws are
recorded for the data as they were:

    coefficients = scale B,    intercept = shift + scale a - center . coefficients
"""

from typing import NamedTuple

import numpy as np


class Units(NamedTuple):
    """What was done to the data; all arrays are empty where nothing was."""

    center: np.ndarray = np.empty(0)  # (p,) taken off the columns
    shift: np.ndarray = np.empty(0)  # (K,) taken off the predictors
    scale: np.ndarray = np.empty(0)  # (K,) by which they were divided
