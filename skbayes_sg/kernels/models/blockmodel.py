"""Mixed-membership stochastic blockmodel (Airoldi et al., 2008), assortative.

    pi_a ~ Dirichlet(alpha),    beta_k ~ Beta,    delta ~ Beta,
    P(a and b are linked) = p_ab = delta + sum_k pi_ak pi_bk (beta_k - delta)

A row is a node, whose memberships pi_a are local variables that are kept. Parameters
are the link rates and the scale of alpha, fixed unless they are learned:

    theta = logit beta_1, ..., logit beta_K, logit delta, log scale

Pairs without a link are too many to visit. With rates L = -log(1 - beta) of not being
linked, and w_k = pi_ak pi_bk, w_0 = 1 - sum_k w_k, means are no less than geometric
means:

    1 - p_ab = sum_k w_k exp(-L_k) >= exp(-sum_k w_k L_k),

whose product over all pairs needs sums of pi over the nodes alone. What is left,

    1 - p_ab = exp(-sum_k w_k L_k) sum_m d_ab^m / m!,    d_ab >= 0 the log of the ratio,

is made up by events: m_ab ~ Poisson(d_ab), almost all zero. Given events every
conditional law is known without a pass over pairs; see `blockmodel_events`,
`blockmodel_nodes` and `blockmodel_rates`.

    recorded = pi, (n, K);  beta, (K,);  delta;  alpha, (K,)
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel_chances import LEAST, softplus
from skbayes_sg.kernels.models.blockmodel_proposals import TINY
from skbayes_sg.kernels.protocol.model import (
    init_work,
    n_parameters,
    n_recorded,
    n_rows,
    parameter_dtype,
    record,
    theta_of,
)


class Blockmodel(NamedTuple):
    """An undirected graph, and the priors."""

    indptr: np.ndarray  # (n + 1,) int64: where the neighbors of each node begin
    indices: np.ndarray  # (2 n_links,) int32: the neighbors, in increasing order
    hidden_indptr: np.ndarray  # (n + 1,) int64: the same of pairs that are not known
    hidden: np.ndarray  # (2 n_hidden,) int32
    alpha: np.ndarray  # (K,) up to the scale
    link_prior: np.ndarray  # (2,) Beta law of each beta_k
    background_prior: np.ndarray  # (2,) Beta law of delta
    learns_background: bool
    learns_alpha: bool
    refresh_every: int = 1  # iterations per draw of rates, events and scale


class BlockmodelWork(NamedTuple):
    """Memberships, what follows from them and from theta, and events."""

    pi: np.ndarray  # (n, K) float32
    log_sum: np.ndarray  # (n,) sum_k log pi_ak, of values before they are rounded
    total: np.ndarray  # (K,) sum_a pi_ak
    rate: np.ndarray  # (K + 1,) beta and delta
    loss: np.ndarray  # (K + 1,) -log(1 - rate)
    excess: np.ndarray  # (K + 1,) loss - rate
    alpha: np.ndarray  # (K,)
    negligible: np.ndarray  # (K,) TINY^alpha, as small Gamma draws need it
    stage: np.ndarray  # (1,) NEW, STARTED or RUNNING
    overflow: np.ndarray  # (1,) events for which there was no room
    head: np.ndarray  # (n,) int32: the last event of each node, -1 for none
    following: np.ndarray  # (2 capacity,) int32: the one before, in a list of each node
    other: np.ndarray  # (2 capacity,) int32: the other node of the event
    n_events: np.ndarray  # (1,)
    chance: np.ndarray  # (capacity,) p_ab of an event's pair
    geometric: np.ndarray  # (capacity,) sum_k w_k L_k
    listed: np.ndarray  # (capacity,) int32: events that notice some rate
    weight: np.ndarray  # (capacity,) w_k of each of them
    cumulative: np.ndarray  # (n,) sums over the nodes
    rows: np.ndarray  # (6, K + 1) buffers


NEW, STARTED, RUNNING = 0, 1, 2


@n_parameters.register(Blockmodel)
def _(model):
    return model.alpha.size + 2


@n_rows.register(Blockmodel)
def _(model):
    return model.indptr.size - 1


@n_recorded.register(Blockmodel)
def _(model):
    return (model.indptr.size + 1) * model.alpha.size + 1


def event_room(n_nodes, n_links):
    """Return how many events there may be; see `blockmodel_rates` for the reason."""
    return n_links + 4 * n_nodes + 4096


@init_work.register(Blockmodel)
def _(model):
    n, k = model.indptr.size - 1, model.alpha.size
    capacity = event_room(n, model.indices.size // 2)
    return BlockmodelWork(
        pi=np.full((n, k), 1.0 / k, np.float32),
        log_sum=np.zeros(n),
        total=np.full(k, n / k),
        rate=np.zeros(k + 1),
        loss=np.zeros(k + 1),
        excess=np.zeros(k + 1),
        alpha=np.zeros(k),
        negligible=np.zeros(k),
        stage=np.zeros(1, np.int64),
        overflow=np.zeros(1, np.int64),
        head=np.full(n, -1, np.int32),
        following=np.zeros(2 * capacity, np.int32),
        other=np.zeros(2 * capacity, np.int32),
        n_events=np.zeros(1, np.int64),
        chance=np.zeros(capacity),
        geometric=np.zeros(capacity),
        listed=np.zeros(capacity, np.int32),
        weight=np.zeros(capacity),
        cumulative=np.zeros(n),
        rows=np.zeros((6, k + 1)),
    )


@helper
def set_rates(model, work, theta):
    """Write the rates and alpha of theta to `work`."""
    k = model.alpha.size
    for j in range(k + 1):
        x = float(theta[j])
        work.rate[j] = 1.0 / (1.0 + math.exp(-x))
        work.loss[j] = softplus(x)
        work.excess[j] = max(work.loss[j] - work.rate[j], LEAST)
    for j in range(k):
        work.alpha[j] = math.exp(theta[k + 1]) * model.alpha[j]
        work.negligible[j] = TINY ** work.alpha[j]


@record.register(Blockmodel)
def _(model, work, theta, out):
    set_rates(model, work, theta)
    n, k = work.pi.shape
    for a in range(n):
        for j in range(k):
            out[a * k + j] = work.pi[a, j]
    out[n * k : n * k + k + 1] = work.rate
    out[n * k + k + 1 :] = work.alpha


@theta_of.register(Blockmodel)
def _(model, draw):
    k = model.alpha.size
    rates = np.asarray(draw[-2 * k - 1 : -k], np.float64)
    scale = np.mean(draw[-k:], dtype=np.float64) / model.alpha.mean()
    logit = np.log(rates) - np.log1p(-rates)
    return np.append(logit, math.log(scale)).astype(np.float32)


@parameter_dtype.register(Blockmodel)
def _(model):
    return np.dtype(np.float32)
