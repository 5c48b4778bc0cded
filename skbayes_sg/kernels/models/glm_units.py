"""Units of a regression's recorded draws, which are those of the user's data.

The model may use centered columns and standardized targets,

    x - center    and    (y - shift) / scale,

for which the posterior is well-conditioned and priors suit data of any unit. Draws are
recorded in the units of the original data:

    coefficients = scale B,    intercept = shift + scale a - center . coefficients
"""

from typing import NamedTuple

import numpy as np


class Units(NamedTuple):
    """The transformation of the data; arrays are empty if there is none."""

    center: np.ndarray = np.empty(0)  # (p,) subtracted from the columns
    shift: np.ndarray = np.empty(0)  # (K,) subtracted from the targets
    scale: np.ndarray = np.empty(0)  # (K,) by which the targets were divided
