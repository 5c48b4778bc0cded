"""A split of ratings by time: train on the past, test on the last of each user."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skbayes_sg.utils._labels import encode, label_columns
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import check_integer


class LeaveLastOut:
    """Split off the last ratings of every user.

    Parameters
    ----------
    n_last : int, default=5
        Number of each user's ratings in the test set. Users with no more than that stay
        in the training set.

    Examples
    --------
    >>> from skbayes_sg.model_selection import LeaveLastOut
    >>> X = [("ann", "tea"), ("ann", "milk"), ("bob", "tea"), ("ann", "rum")]
    >>> times = [3, 1, 2, 2]
    >>> train, test = next(LeaveLastOut(n_last=1).split(X, groups=times))
    >>> train, test
    (array([1, 2, 3]), array([0]))
    """

    def __init__(self, n_last: int = 5):
        self.n_last = n_last

    def split(
        self, X: MatrixLike, y: Any = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the indices of one training and one test set.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, 2)
            User and item of each rating.
        y : object
            Ignored.
        groups : array-like of shape (n_samples,), default=None
            Times of the ratings; by default they are in order.

        Yields
        ------
        train, test : ndarray of int
            Indices of the ratings.
        """
        check_integer("n_last", self.n_last, at_least=1)
        users = encode(label_columns(X)[0])[1]
        times = np.arange(len(users)) if groups is None else np.asarray(groups)
        if times.shape != users.shape:
            raise ValueError(
                f"groups has the shape {times.shape}; it must hold a time for each of "
                f"{len(users)} ratings"
            )
        order = np.lexsort((times, users))
        ends = np.cumsum(np.bincount(users))
        left = np.empty(len(users), np.int64)  # later ratings of the same user
        left[order] = ends[users[order]] - 1 - np.arange(len(users))
        is_test = (left < self.n_last) & (np.bincount(users)[users] > self.n_last)
        if not is_test.any():
            raise ValueError(
                f"n_last={self.n_last} leaves no test set: no user has more ratings"
            )
        yield np.flatnonzero(~is_test), np.flatnonzero(is_test)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : object
            Ignored.

        Returns
        -------
        n_splits : int
            1.
        """
        return 1
