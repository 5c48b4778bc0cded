"""Chains that sweep over all rows with draws from conditional laws.

They have neither a step size nor a mode to start from.
"""

import math

import numpy as np

from skbayes_sg.inference.exploration.request import (
    Exploration,
    chosen,
    rows_at_once,
)
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.gradients import InTurn
from skbayes_sg.kernels.protocol.model import n_parameters, n_rows


def sweeps(model, request, start, *, at_once, refresh, burn_in, thin, growth=None):
    """Return the exploration of chains that visit rows in turn.

    Parameters
    ----------
    model, request : NamedTuple
        As for `explore`.
    start : ndarray of shape (n_chains, n_parameters)
        Where chains start.
    at_once : int
        Rows of an iteration, unless the user sets them.
    refresh, burn_in, thin : int
        Sweeps per draw of the parameters, before the first draw, and per draw, unless
        the user sets the last two.
    growth : callable, default=None
        Of the model and the sweeps of the burn-in. Returns the model and, as a dict,
        the fields of `InTurn` by which few rows take part at first.
    """
    settings, d = request.settings, n_parameters(model)
    size = rows_at_once(settings, at_once, n_rows(model))
    per_sweep = math.ceil(n_rows(model) / size)
    burn_in = chosen(settings.burn_in, burn_in * per_sweep)
    gradient = InTurn(size)
    if growth is not None:
        model, gradient = growth(model, gradient, burn_in)
    return Exploration(
        model=model._replace(refresh_every=refresh * per_sweep),
        sampler=request.sampler,
        gradient=gradient,
        coordinates=Identity(),
        start=start,
        mode=start[0],
        theta_sd=np.ones(d),
        gradient_variance=np.zeros(d),
        step_size=float(chosen(settings.step_size, 1.0)),
        burn_in=burn_in,
        thin=chosen(settings.thin, thin * per_sweep),
        step_limit=None,
    )
