"""Masses of a node with an activity, drawn given those of all others and the rates.

Every link of node a has m ~ Poisson(lambda_ab), m > 0, events. Each belongs to
community k of node a with probability theta_ak (L_0 (rho_b - theta_bk) + L_k theta_bk)
/ lambda_ab. With counts n_k of them, and sums over all other nodes b,

    theta_ak ~ Gamma(alpha_k + n_k, rate c_k),
    c_k = K alpha + sum_b L_0 rho_b + (L_k - L_0) theta_bk
"""

import math

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel_degree_rates import draw_losses
from skbayes_sg.kernels.models.blockmodel_degrees import (
    AHEAD,
    NEW,
    STARTED,
    TINY,
    DegreeBlockmodel,
    prefetch_node,
    set_losses,
)
from skbayes_sg.kernels.models.blockmodel_start import start_memberships
from skbayes_sg.kernels.numerics.positive import (
    draw_log_gamma,
    draw_log_small_gamma,
    draw_positive_poisson,
    draw_small_gamma,
)


@draw_local.register(DegreeBlockmodel)
def _(model, work, theta, idx, rng):
    if work.stage[0] != STARTED:
        set_losses(model, work, theta)
    if work.stage[0] == NEW:
        _start(model, work, rng)
        work.stage[0] = STARTED
    for a in idx:
        draw_masses(model, work, a, rng)


@helper
def _start(model, work, rng):
    """Write masses to start from, and losses that suit them.

    Activities are in proportion to the numbers of links.
    """
    n, k = work.mass.shape
    start_memberships(model, work.mass, work.taken, work.activity, rng)
    work.total[:] = 0.0
    for a in range(n):
        degree = model.indptr[a + 1] - model.indptr[a]
        work.activity[a] = (degree + 1.0) * n / (model.indices.size + n)
        for j in range(k):
            work.mass[a, j] *= work.activity[a]
            work.total[j] += work.mass[a, j]
    draw_losses(model, work, rng)


@helper
def draw_masses(model, work, a, rng):
    """Draw the masses of node a."""
    k, x, background = work.alpha.size, work.mass[a], work.loss[work.alpha.size]
    base, slope = work.narrow[0, :k], work.narrow[1, :k]
    shape, others = work.rows[0, :k], work.rows[1, :k]
    c, everything = 0.0, 0.0
    for j in range(k):
        shape[j] = work.alpha[j]
        c += work.alpha[j]
        base[j] = x[j] * background
        slope[j] = x[j] * (work.loss[j] - background)
        others[j] = work.total[j] - x[j]
    for i in range(model.indptr[a], model.indptr[a + 1]):
        prefetch_node(model, work, i + AHEAD)
        _count_events(work, base, slope, a, model.indices[i], shape, rng)
    for i in range(model.hidden_indptr[a], model.hidden_indptr[a + 1]):
        y = work.mass[model.hidden[i]]
        for j in range(k):
            others[j] -= y[j]
    for j in range(k):
        others[j] = max(others[j], 0.0)
        everything += others[j]
    c += background * everything
    total, log_sum = 0.0, 0.0
    for j in range(k):
        rate = c + (work.loss[j] - background) * others[j]
        if model.learns_alpha:
            if shape[j] < 0.5:
                log_value = draw_log_small_gamma(shape[j], rng) - math.log(rate)
            else:
                log_value = draw_log_gamma(shape[j], rng) - math.log(rate)
            log_sum += log_value
            value = math.exp(log_value)
        elif shape[j] < 0.5:  # no events, so that the shape is that of the prior
            value = draw_small_gamma(shape[j], work.negligible[j], rng) / rate
        else:
            value = rng.standard_gamma(shape[j]) / rate
        work.total[j] -= x[j]
        x[j] = max(value, TINY)
        work.total[j] += x[j]
        total += x[j]
    work.activity[a], work.log_sum[a] = total, log_sum


@helper
def _count_events(work, base, slope, a, b, shape, rng):
    """Draw the communities of the events of a link, and count them."""
    k, y, r = work.alpha.size, work.mass[b], work.activity[b]
    same = slope[0] * y[0]  # in single precision
    for j in range(1, k):
        same += slope[j] * y[j]
    rate = max(float(same) + work.loss[k] * work.activity[a] * r, TINY)
    for _ in range(int(draw_positive_poisson(rate, rng))):
        u, j = rng.random() * rate - (base[0] * r + slope[0] * y[0]), 0
        while u >= 0.0 and j < k - 1:
            j += 1
            u -= base[j] * r + slope[j] * y[j]
        shape[j] += 1.0
