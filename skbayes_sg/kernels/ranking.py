"""The largest of many scores, and products of some pairs of rows."""

import numpy as np

from skbayes_sg.kernels.generic import compiled


@compiled
def largest(scores, n):
    """Return the places of the n largest scores of each row, best first, (rows, n).

    Equal scores keep the order of their places.
    """
    n_rows, n_columns = scores.shape
    places, best = np.empty((n_rows, n), np.int64), np.empty(n, scores.dtype)
    for i in range(n_rows):
        row, found = scores[i], 0
        for j in range(n_columns):
            if found == n and not row[j] > best[n - 1]:
                continue
            found = min(found + 1, n)
            k = found - 1
            while k > 0 and best[k - 1] < row[j]:
                best[k], places[i, k] = best[k - 1], places[i, k - 1]
                k -= 1
            best[k], places[i, k] = row[j], j
    return places


@compiled
def products(x, y, places):
    """Return the products x[i] . y[places[i, k]] in float32, (rows, n)."""
    out = np.empty(places.shape, np.float32)
    for i in range(places.shape[0]):
        for k in range(places.shape[1]):
            row, total = y[places[i, k]], np.float32(0)
            for f in range(row.size):
                total += x[i, f] * row[f]
            out[i, k] = total
    return out
