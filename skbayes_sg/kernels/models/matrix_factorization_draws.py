"""Recorded draws of matrix factorization: what they hold, and the way back."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.models.matrix_factorization import MatrixFactorization
from skbayes_sg.kernels.protocol.model import init_work, work_at


class FactorDraws(NamedTuple):
    """Recorded draws, as views; leading axes are those of the draws."""

    rows: np.ndarray  # (..., n_users + n_items, q)
    hyper: np.ndarray  # (..., 2, 2, q) m and lambda of users, of items
    noise: np.ndarray  # (..., 1 + n_users + n_items) alpha, s, t
    links: np.ndarray  # (..., p, q) B


def unpack(draws, n_rows, q):
    """Return what `draws`, (..., dim), hold of `n_rows` users and items."""
    ends = np.cumsum([n_rows * q, 4 * q, 1 + n_rows])
    rows, hyper, noise, links = np.split(draws, ends, axis=-1)
    lead = draws.shape[:-1]
    return FactorDraws(
        rows.reshape(*lead, n_rows, q),
        hyper.reshape(*lead, 2, 2, q),
        noise,
        links.reshape(*lead, -1, q),
    )


@work_at.register(MatrixFactorization)
def _(model, draw):
    work = init_work(model)
    parts = unpack(draw, *work.mean.shape)
    work.hyper[:], work.noise[:], work.links[:] = parts.hyper, parts.noise, parts.links
    work.mean[:] = np.repeat(parts.hyper[:, 0], [model.n_users, model.n_items], axis=0)
    data, indices, indptr, _ = model.features
    for g in range(len(indptr) - 1):
        here = slice(indptr[g], indptr[g + 1])
        work.mean[indices[here]] += np.outer(data[here], parts.links[g])
    return work
