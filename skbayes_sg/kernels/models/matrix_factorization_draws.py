"""Recorded draws of matrix factorization: what they hold, and the way back."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.matrix_factorization import MatrixFactorization
from skbayes_sg.kernels.models.matrix_factorization_rows import n_theta_rows, width
from skbayes_sg.kernels.protocol.model import (
    init_work,
    n_recorded,
    record,
    work_at,
)


class FactorDraws(NamedTuple):
    """Recorded draws, as views; leading axes are those of the draws."""

    rows: np.ndarray  # (..., n_rows, q) of users, items and further columns
    hyper: np.ndarray  # (..., n_sides, 2, q) m and lambda of each
    noise: np.ndarray  # (..., 1 + n_rows) alpha, s, t, 1
    links: np.ndarray  # (..., p, q) B


@n_recorded.register(MatrixFactorization)
def _(model):
    rows, n_sides = n_theta_rows(model), model.firsts.size - 1
    links = model.features.indptr.size - 1
    return (rows + 2 * n_sides + links) * width(model) + 1 + rows


@record.register(MatrixFactorization)
def _(model, work, theta, out):
    record_all(model, work, theta, out)


@helper
def record_all(model, work, theta, out):
    """Write a draw: the rows in theta, and what the work holds."""
    rows = theta[: n_theta_rows(model) * width(model)]
    hyper, links, first = work.hyper.reshape(-1), work.links.reshape(-1), 0
    for part in (rows, hyper, work.noise, links):
        for j in range(part.size):
            out[first + j] = part[j]
        first += part.size


def unpack(draws, n_rows, q, n_sides=2):
    """Return what `draws`, (..., dim), hold of `n_rows` users, items and others."""
    ends = np.cumsum([n_rows * q, 2 * n_sides * q, 1 + n_rows])
    rows, hyper, noise, links = np.split(draws, ends, axis=-1)
    lead = draws.shape[:-1]
    return FactorDraws(
        rows.reshape(*lead, n_rows, q),
        hyper.reshape(*lead, n_sides, 2, q),
        noise,
        links.reshape(*lead, -1, q),
    )


def unpack_of(model, draws):
    """Return what recorded draws of a model, (..., dim), hold."""
    n_sides = len(model.firsts) - 1
    return unpack(draws, n_theta_rows(model), width(model), n_sides)


def rating_means(rows, pairs, values, n_factors):
    """Return the means of ratings, (..., N), relative to the mean rating.

    Parameters
    ----------
    rows : ndarray of shape (..., n_rows, q)
        Factors and biases of users, items and further columns, of one or more draws.
    pairs : ndarray of shape (N, n_sides)
        Rows of each rating.
    values : ndarray of shape (N, n_sides - 2)
        Factors of the rows of the further columns.
    n_factors : int
        Number of factors.
    """
    d, kind = n_factors, np.result_type(rows.dtype, np.float32)
    u, v = (rows[..., pairs[:, side], :].astype(kind) for side in (0, 1))
    total = np.einsum("...kf,...kf->...k", u[..., :d], v[..., :d], dtype=np.float64)
    total += u[..., d:].sum(axis=-1) + v[..., d:].sum(axis=-1)
    together = u + v
    for c in range(2, pairs.shape[1]):
        w = values[:, c - 2, None] * rows[..., pairs[:, c], :].astype(kind)
        total += np.einsum("...kf,...kf->...k", together[..., :d], w[..., :d])
        total += w[..., d:].sum(axis=-1)
        together = together + w
    return total


@work_at.register(MatrixFactorization)
def _(model, draw):
    work = init_work(model)
    parts = unpack_of(model, draw)
    work.hyper[:], work.noise[:], work.links[:] = parts.hyper, parts.noise, parts.links
    work.mean[:] = np.repeat(parts.hyper[:, 0], np.diff(model.firsts), axis=0)
    data, indices, indptr, _ = model.features
    for g in range(len(indptr) - 1):
        here = slice(indptr[g], indptr[g + 1])
        work.mean[indices[here]] += np.outer(data[here], parts.links[g])
    return work
