"""Constrained parameters by a change of variables: x = T(u), u any vector.

    log p(u | data) = log p(T(u) | data) + log|det J|,    J = dT/du

The chain moves u; recorded draws have the constrained values. The Jacobian belongs to
the prior, so that gradient estimators treat it as such.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.capabilities.maps import (
    add_pulled_back,
    constrain,
    is_log_concave_through,
    log_jacobian,
    n_constrained,
    n_free,
    unconstrain,
)
from skbayes_sg.kernels.capabilities.row_blocks import in_blocks, rows_per_term
from skbayes_sg.kernels.capabilities.strata import choose_rows, leverages, row_classes
from skbayes_sg.kernels.generic import helper, wrapped_by
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.coordinates import to_theta
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    add_value_and_gradient,
    init_work,
    is_log_concave,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    n_rows,
    needs_refresh,
    parameter_dtype,
    record,
    refresh,
    theta_of,
    thinned,
    work_at,
)
from skbayes_sg.kernels.protocol.target import Target, locate


class Transformed(NamedTuple):
    """A model of constrained parameters, seen in free ones.

    Examples
    --------
    Probabilities of three categories, by log ratios:

    >>> import numpy as np
    >>> from skbayes_sg import sample
    >>> from skbayes_sg.kernels.gradients import Full
    >>> from skbayes_sg.kernels.maps import AdditiveLogRatio
    >>> from skbayes_sg.kernels.models import DirichletMultinomial, Transformed
    >>> from skbayes_sg.kernels.samplers import BAOAB
    >>> inside = DirichletMultinomial(np.array([0, 0, 2]), np.ones(3))
    >>> model = Transformed(inside, AdditiveLogRatio(3))
    >>> draws = sample(model, BAOAB(), Full(), step_size=0.5, random_state=0)
    >>> draws.shape, bool((draws > 0).all())
    ((1, 1000, 3), True)
    """

    model: NamedTuple
    map: NamedTuple


class TransformedWork(NamedTuple):
    """The work of the model inside, and buffers for its parameters and gradient."""

    inner: NamedTuple
    x: np.ndarray  # (n_constrained,)
    g: np.ndarray  # (n_constrained,)


class Straight(NamedTuple):
    """Coordinates of the model inside, which are its parameters."""


@wrapped_by.register(Transformed)
def _(component):
    return component.model


@n_parameters.register(Transformed)
def _(model):
    return n_free(model.map)


@n_rows.register(Transformed)
def _(model):
    return n_rows(model.model)


@helper
def _clear(g):
    for j in range(g.size):
        g[j] = 0.0


@add_gradient.register(Transformed)
def _(model, work, theta, idx, scale, out):
    constrain(model.map, theta, work.x)
    _clear(work.g)
    add_gradient(model.model, work.inner, work.x, idx, scale, work.g)
    add_pulled_back(model.map, theta, work.x, work.g, 0.0, out)


@add_value_and_gradient.register(Transformed)
def _(model, work, theta, idx, scale, out):
    constrain(model.map, theta, work.x)
    _clear(work.g)
    value = add_value_and_gradient(model.model, work.inner, work.x, idx, scale, work.g)
    add_pulled_back(model.map, theta, work.x, work.g, 0.0, out)
    return value


@add_prior_gradient.register(Transformed)
def _(model, work, theta, out):
    constrain(model.map, theta, work.x)
    _clear(work.g)
    add_prior_gradient(model.model, work.inner, work.x, work.g)
    add_pulled_back(model.map, theta, work.x, work.g, 1.0, out)


@log_likelihood.register(Transformed)
def _(model, work, theta, idx):
    constrain(model.map, theta, work.x)
    return log_likelihood(model.model, work.inner, work.x, idx)


@log_prior.register(Transformed)
def _(model, work, theta):
    constrain(model.map, theta, work.x)
    inside = log_prior(model.model, work.inner, work.x)
    return inside + log_jacobian(model.map, theta, work.x)


@draw_local.register(Transformed)
def _(model, work, theta, idx, rng):
    constrain(model.map, theta, work.x)
    draw_local(model.model, work.inner, work.x, idx, rng)


@to_theta.register(Straight)
def _(coordinates, position, out):
    copy_to(position, out)


@needs_refresh.register(Transformed)
def _(model, t):
    return needs_refresh(model.model, t)


@refresh.register(Transformed)
def _(model, target, position, rng):
    work = target.work
    constrain(model.map, locate(target, position), work.x)
    inside = Target(
        model.model,
        work.inner,
        target.gradient,
        target.memory,
        Straight(),
        target.inverse_temperature,
        work.g,
        target.g,
        target.noise,
        target.estimate,
    )
    refresh(model.model, inside, work.x, rng)


@n_recorded.register(Transformed)
def _(model):
    return n_recorded(model.model)


@record.register(Transformed)
def _(model, work, theta, out):
    constrain(model.map, theta, work.x)
    record(model.model, work.inner, work.x, out)


@init_work.register(Transformed)
def _(model):
    return _work_around(model, init_work(model.model))


@work_at.register(Transformed)
def _(model, draw):
    return _work_around(model, work_at(model.model, draw))


def _work_around(model, inner):
    d, dtype = n_parameters(model.model), parameter_dtype(model.model)
    if n_constrained(model.map) != d:
        raise ValueError(
            f"the map of Transformed gives {n_constrained(model.map)} parameters, but "
            f"{type(model.model).__name__} has {d}; use a map of that size"
        )
    return TransformedWork(inner, np.zeros(d, dtype), np.zeros(d, dtype))


@theta_of.register(Transformed)
def _(model, draw):
    free = unconstrain(model.map, theta_of(model.model, draw).astype(float))
    return np.ascontiguousarray(free, parameter_dtype(model))


@parameter_dtype.register(Transformed)
def _(model):
    return parameter_dtype(model.model)


@is_log_concave.register(Transformed)
def _(model):
    return is_log_concave_through(model.model, model.map)


# What the model inside knows of its rows
@thinned.register(Transformed)
def _(model, every):
    return model._replace(model=thinned(model.model, every))


@rows_per_term.register(Transformed)
def _(model):
    return rows_per_term(model.model)


@in_blocks.register(Transformed)
def _(model, order):
    return model._replace(model=in_blocks(model.model, order))


@row_classes.register(Transformed)
def _(model):
    return row_classes(model.model)


@leverages.register(Transformed)
def _(model, mode):
    # A row's share in the information does not depend on the coordinates.
    x = np.zeros(n_parameters(model.model), parameter_dtype(model))
    constrain(model.map, np.asarray(mode), x)
    return leverages(model.model, x)


@choose_rows.register(Transformed)
def _(model, work, rng, idx, scale):
    choose_rows(model.model, work.inner, rng, idx, scale)
