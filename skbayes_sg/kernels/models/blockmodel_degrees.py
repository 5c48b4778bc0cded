"""Blockmodel whose nodes have activities: links by degree and by community.

    pi_a ~ Dirichlet(alpha),    rho_a ~ Gamma(s, rate s),    theta_ak = rho_a pi_ak,
    L_k ~ Gamma,    L_0 ~ Gamma,    P(a and b are not linked) = exp(-lambda_ab),
    lambda_ab = L_0 rho_a rho_b + sum_k theta_ak theta_bk (L_k - L_0)

Activities have mean one, and their shape s, which is drawn, says how alike they are.
Links are those pairs with a positive Poisson(lambda_ab) number of events (Zhou, 2015),
which belong to pairs of communities. Given events all conditional laws are Gamma laws,
the stationary laws of exact CIR transitions, or almost, and no pass over pairs without
a link is needed. Two nodes of mean activity in community k are linked with probability
beta_k = 1 - exp(-L_k); delta = 1 - exp(-L_0). A row is a node, whose masses are kept.

    theta = log L_1, ..., log L_K, log L_0, log scale of alpha, log s
    recorded = pi, (n, K);  beta, (K,);  delta;  alpha, (K,);  rho, (n,);  s
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.data.prefetch import prefetch
from skbayes_sg.kernels.data.rows import prefetch_row
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel_prior import SHAPE_PRIOR
from skbayes_sg.kernels.models.blockmodel_proposals import TINY
from skbayes_sg.kernels.protocol.model import (
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    n_rows,
    parameter_dtype,
    record,
    theta_of,
)


class DegreeBlockmodel(NamedTuple):
    """An undirected graph, and the priors."""

    indptr: np.ndarray  # (n + 1,) int64: where the neighbors of each node begin
    indices: np.ndarray  # (2 n_links,) int32: the neighbors, in increasing order
    hidden_indptr: np.ndarray  # (n + 1,) int64: the same of pairs that are not known
    hidden: np.ndarray  # (2 n_hidden,) int32
    alpha: np.ndarray  # (K,) up to the scale
    link_prior: np.ndarray  # (2,) Gamma law of each L_k: shape and rate
    background_prior: np.ndarray  # (2,) Gamma law of L_0
    learns_background: bool
    learns_alpha: bool
    refresh_every: int = 1  # iterations per draw of rates and scale


class DegreeWork(NamedTuple):
    """Masses, and what follows from them and from theta."""

    mass: np.ndarray  # (n, K) float32: theta_ak
    activity: np.ndarray  # (n,) their sums
    log_sum: np.ndarray  # (n,) sum_k log theta_ak, of values before they are rounded
    share: np.ndarray  # (n,) buffer
    total: np.ndarray  # (K,) sum_a theta_ak
    loss: np.ndarray  # (K + 1,) L_k and L_0
    alpha: np.ndarray  # (K,)
    negligible: np.ndarray  # (K,) TINY^alpha, as small Gamma draws need it
    shape: np.ndarray  # (1,) s
    stage: np.ndarray  # (1,) NEW, STARTED or RUNNING
    taken: np.ndarray  # (n,) int32 buffer
    narrow: np.ndarray  # (2, K + 1) float32 buffers
    rows: np.ndarray  # (4, K + 1) buffers


NEW, STARTED, RUNNING = 0, 1, 2
AHEAD = 2  # links between a prefetch of a node's masses and their use


@n_parameters.register(DegreeBlockmodel)
def _(model):
    return model.alpha.size + 3


@n_rows.register(DegreeBlockmodel)
def _(model):
    return model.indptr.size - 1


@n_recorded.register(DegreeBlockmodel)
def _(model):
    n = model.indptr.size - 1
    return (n + 2) * model.alpha.size + 2 + n


@init_work.register(DegreeBlockmodel)
def _(model):
    n, k = model.indptr.size - 1, model.alpha.size
    return DegreeWork(
        mass=np.full((n, k), 1.0 / k, np.float32),
        activity=np.ones(n),
        log_sum=np.zeros(n),
        share=np.zeros(n),
        total=np.full(k, n / k),
        loss=np.zeros(k + 1),
        alpha=np.zeros(k),
        negligible=np.zeros(k),
        shape=np.ones(1),
        stage=np.zeros(1, np.int64),
        taken=np.full(n, -1, np.int32),
        narrow=np.zeros((2, k + 1), np.float32),
        rows=np.zeros((4, k + 1)),
    )


@helper
def set_losses(model, work, theta):
    """Write the losses, alpha and s of theta to `work`."""
    k = model.alpha.size
    for j in range(k + 1):
        work.loss[j] = math.exp(theta[j])
    for j in range(k):
        work.alpha[j] = math.exp(theta[k + 1]) * model.alpha[j]
        work.negligible[j] = TINY ** work.alpha[j]
    work.shape[0] = math.exp(theta[k + 2])


@helper
def prefetch_node(model, work, i):
    """Prefetch the masses of the node at the end of link i, if there is one."""
    if i < model.indices.size:
        prefetch(work.activity, model.indices[i])
        prefetch_row(work.mass, model.indices, i)


@helper
def intensity(work, a, b):
    """Return lambda_ab."""
    k = work.alpha.size
    x, y, value = work.mass[a], work.mass[b], 0.0
    for j in range(k):
        value += float(x[j]) * float(y[j]) * (work.loss[j] - work.loss[k])
    return max(value + work.loss[k] * work.activity[a] * work.activity[b], 1e-30)


@log_likelihood.register(DegreeBlockmodel)
def _(model, work, theta, idx):
    # Half of every pair's.
    set_losses(model, work, theta)
    k, value, everything = model.alpha.size, 0.0, 0.0
    for j in range(k):
        everything += work.total[j]
    for a in idx:
        x, own = work.mass[a], work.activity[a]
        value -= work.loss[k] * own * (everything - own)
        for j in range(k):
            others = work.total[j] - x[j]
            value -= x[j] * others * (work.loss[j] - work.loss[k])
        for i in range(model.hidden_indptr[a], model.hidden_indptr[a + 1]):
            value += intensity(work, a, model.hidden[i])
        for i in range(model.indptr[a], model.indptr[a + 1]):
            rate = intensity(work, a, model.indices[i])
            value += rate + math.log(-math.expm1(-rate))
    return 0.5 * value


@log_prior.register(DegreeBlockmodel)
def _(model, work, theta):
    # Gamma laws on the log scale; a Gamma(1, 1) law of the mean of alpha, if learned.
    # Of s, a Gamma law too.
    value, k = 0.0, model.alpha.size
    value += SHAPE_PRIOR[0] * theta[k + 2] - SHAPE_PRIOR[1] * math.exp(theta[k + 2])
    for j in range(k + 1):
        prior = model.link_prior if j < k else model.background_prior
        if j < k or model.learns_background:
            value += prior[0] * theta[j] - prior[1] * math.exp(theta[j])
    if model.learns_alpha:
        value += theta[k + 1] - math.exp(theta[k + 1]) * model.alpha.mean()
    return value


@record.register(DegreeBlockmodel)
def _(model, work, theta, out):
    set_losses(model, work, theta)
    n, k = work.mass.shape
    size = n * k
    for a in range(n):
        for j in range(k):
            out[a * k + j] = work.mass[a, j] / work.activity[a]
        out[size + 2 * k + 1 + a] = work.activity[a]
    for j in range(k + 1):
        out[size + j] = -math.expm1(-work.loss[j])
    for j in range(k):
        out[size + k + 1 + j] = work.alpha[j]
    out[size + 2 * k + 1 + n] = work.shape[0]


@theta_of.register(DegreeBlockmodel)
def _(model, draw):
    n, k = model.indptr.size - 1, model.alpha.size
    rates = np.asarray(draw[n * k : n * k + k + 1], np.float64)
    rates = np.clip(rates, 1e-30, 1.0 - 1e-7)  # as far as single precision tells
    scale = np.mean(draw[n * k + k + 1 : n * k + 2 * k + 1], dtype=np.float64)
    losses = np.log(-np.log1p(-rates))
    others = np.log([scale / model.alpha.mean(), draw[-1]])
    return np.append(losses, others).astype(np.float32)


@parameter_dtype.register(DegreeBlockmodel)
def _(model):
    return np.dtype(np.float32)
