"""The region in which a posterior with one mode lies, and coordinates for it."""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh

from skbayes_sg.inference.curvature import (
    curvature_diagonal,
    curvature_matrix,
    largest_curvature,
    whitening,
)
from skbayes_sg.kernels.coordinates import Dense, Diagonal, Identity
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.protocol.model import parameter_dtype

MAX_DENSE = 1024  # parameters up to which the whole Hessian is used


class Region(NamedTuple):
    """The posterior around its mode, as a sampler in `coordinates` meets it."""

    mode: np.ndarray  # (d,)
    preconditioner: str  # "dense", "diagonal" or "none"
    coordinates: NamedTuple
    smallest: float  # curvatures of -log p in the sampler's coordinates
    largest: float
    curvatures: np.ndarray  # (d,) diagonal of the same Hessian
    theta_sd: np.ndarray  # (d,) rough posterior sds of the parameters
    factor: np.ndarray  # (d,) or (d, d): F z is a rough draw of theta - mode

    def seen_by(self, draws):
        """Return the region with the standard deviations of typical `draws`, (n, d).

        The variance of a skewed posterior exceeds the inverse of its mean curvature,
        and a chain needs that much longer to forget where it began.
        """
        ratios = np.var(draws, axis=0) / self.theta_sd**2
        # All coordinates are alike as far as the scatter of so few draws can tell.
        scatter = math.sqrt(2.0 / (len(draws) // 4)) * ratios.mean()
        slowness = max(1.0, min(ratios.max(), ratios.mean() + scatter))
        sd = self.theta_sd * np.sqrt(np.maximum(1.0, ratios))
        return self._replace(theta_sd=sd, smallest=self.smallest / slowness)

    @property
    def unit(self):
        """The matrix L of ``theta = center + L phi``, (d, d)."""
        if self.preconditioner == "dense":
            return np.asarray(self.coordinates.factor, np.float64)
        if self.preconditioner == "diagonal":
            return np.diag(np.asarray(self.coordinates.scale, np.float64))
        return np.eye(self.mode.size)


def geometry(model, mode, preconditioner="auto"):
    """Measure the posterior at `mode` and choose coordinates.

    `preconditioner` is "dense" (whitened by the Hessian), "diagonal" (scaled by its
    diagonal), "none", or "auto": dense up to `MAX_DENSE` parameters.
    """
    model, d, dtype = for_kernels(model), mode.size, parameter_dtype(model)
    if preconditioner == "auto":
        preconditioner = "dense" if d <= MAX_DENSE else "diagonal"
    if d <= MAX_DENSE or preconditioner == "dense":
        return region_of(mode, curvature_matrix(model, mode), preconditioner, dtype)
    diagonal = curvature_diagonal(model, mode)
    coordinates, unit = _scaled(mode, diagonal, preconditioner, dtype)
    curvatures = unit**2 * diagonal
    largest, sd = largest_curvature(model, mode, unit), 1.0 / np.sqrt(diagonal)
    curvature = curvatures.min(), largest, curvatures
    return Region(mode, preconditioner, coordinates, *curvature, sd, sd)


def region_of(mode, matrix, preconditioner, dtype):
    """Return the region of a posterior with the Hessian `matrix`, (d, d)."""
    factor = whitening(matrix)
    sd = np.sqrt((factor**2).sum(axis=1))
    if preconditioner == "dense":
        coordinates = Dense(mode.astype(dtype), factor.astype(dtype))
        curvature = 1.0, 1.0, np.ones(mode.size)
        return Region(mode, preconditioner, coordinates, *curvature, sd, factor)
    coordinates, unit = _scaled(mode, np.diag(matrix), preconditioner, dtype)
    values = eigvalsh(matrix * np.outer(unit, unit))
    smallest = max(values[0], 1e-12 * values[-1])
    curvature = smallest, values[-1], unit**2 * np.diag(matrix)
    return Region(mode, preconditioner, coordinates, *curvature, sd, factor)


def _scaled(mode, diagonal, preconditioner, dtype):
    """Return coordinates that scale each parameter or none, and the scales, (d,)."""
    if preconditioner == "none":
        return Identity(), np.ones(mode.size)
    unit = 1.0 / np.sqrt(diagonal)
    return Diagonal(mode.astype(dtype), unit.astype(dtype)), unit
