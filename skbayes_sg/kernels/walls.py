"""Densities that are infinite at a wall, where no reflection or projection is right."""

import numpy as np

from skbayes_sg.kernels.capabilities.regions import points_at_walls
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.passes import prior_gradient, row_gradient
from skbayes_sg.kernels.protocol.model import init_work, n_parameters, parameter_dtype


def check_walls(model, region):
    """Raise a ValueError if the density is infinite at a wall of the region.

    Next to a wall at distance s, a density like s^(b - 1) has the slope (b - 1) / s.
    """
    dtype, work = parameter_dtype(model), init_work(model)
    model, shares = for_kernels(model), []
    for distance in (1e-6, 1e-9) if dtype == np.float64 else (1e-3, 1e-5):
        walls = points_at_walls(region, int(n_parameters(model)), distance)
        if walls is None:
            return
        g = np.zeros_like(walls[0], dtype)
        for point, out in zip(walls[0].astype(dtype), g, strict=True):
            row_gradient(model, work, point, out)
            prior_gradient(model, work, point, out)
        with np.errstate(invalid="ignore"):
            shares.append(-g * walls[1])  # 1 - b
    if np.any((shares[1] > 1e-3) & (shares[1] > 0.5 * shares[0])):
        raise ValueError(
            f"the density of {type(model).__name__} is infinite at a wall of "
            f"{type(region).__name__}, where a reflected, projected or proximal chain "
            "errs at every step size; use models.Transformed, or a sampler of positive "
            "blocks such as FrozenCIR"
        )
