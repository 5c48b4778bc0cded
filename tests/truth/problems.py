"""What a kind of data makes, and a family of estimators fits."""

from typing import NamedTuple

import numpy as np


class Problem(NamedTuple):
    """Data, and the estimator's options that the posterior depends on."""

    family: str
    X: object
    y: np.ndarray
    options: dict
    sample_weight: np.ndarray | None = None
