"""Types that the annotations of public methods share."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

# Frames of pandas or polars are there too, which have no common type.
MatrixLike: TypeAlias = ArrayLike | sparse.spmatrix | sparse.sparray | Any
RandomState: TypeAlias = int | np.random.RandomState | None
Predictions: TypeAlias = np.ndarray | tuple[np.ndarray, np.ndarray]  # with their std
