"""Communities of a graph: how long the chains are.

Sweeps over all nodes have neither a step size nor a mode to start from. Minibatches of
pairs have steps of the size that Li, Ahn & Welling (2016) use.
"""

import math

import numpy as np

from skbayes_sg.inference.exploration.one_mode import explore
from skbayes_sg.inference.exploration.request import Exploration, chosen
from skbayes_sg.inference.exploration.sweeps import sweeps
from skbayes_sg.inference.graphs import GraphDraws
from skbayes_sg.inference.monitoring import monitored
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.gradients import ChosenByModel
from skbayes_sg.kernels.models.blockmodel import Blockmodel
from skbayes_sg.kernels.models.blockmodel_degrees import DegreeBlockmodel
from skbayes_sg.kernels.models.blockmodel_pairs import PairBlockmodel
from skbayes_sg.kernels.protocol.model import n_parameters, n_rows, theta_of

BURN_IN = 100  # sweeps
SAMPLED, MAX_THIN = 100, 5  # sweeps of all draws, if these are few; sweeps per draw
WORK = 2e7  # links times communities of an iteration: some tens of milliseconds
QUICK = 1e6  # the same of all sweeps of a draw, if these are more than need be
BATCHES, LEAST_BATCH = 20, 100  # of pairs, in terms of links
STEP_SIZE = 0.01
PAIR_BURN_IN, PAIR_THIN = 5000, 50  # iterations
LINK_RATE, BACKGROUND = 0.3, 0.25  # at the start; the latter in terms of all links
MONITORED_PAIRS = 40


@explore.register(Blockmodel)
@explore.register(DegreeBlockmodel)
def _(model, request):
    n, k = n_rows(model), model.alpha.size
    work = k * (n + model.indices.size)
    few = math.ceil(SAMPLED / request.settings.n_draws)
    if request.start is None:
        density = model.indices.size / (n * max(1.0, n - 1.0))
        rates = np.append(np.full(k, LINK_RATE), max(BACKGROUND * density, 1e-12))
        if not model.learns_background:
            rates[k] = model.background_prior[0]
        if isinstance(model, Blockmodel):
            first = np.append(np.log(rates) - np.log1p(-rates), 0.0)
        else:
            first = np.append(np.log(-np.log1p(-rates)), [0.0, 0.0])
        start = np.tile(first.astype(np.float32), (request.settings.n_chains, 1))
    else:
        start = np.stack([theta_of(model, draw) for draw in request.start])
    return sweeps(
        model,
        request,
        start,
        at_once=math.ceil(n * min(1.0, WORK / work)),
        refresh=1,
        burn_in=BURN_IN,
        thin=min(MAX_THIN, max(few, int(QUICK / work))),
    )


@explore.register(PairBlockmodel)
def _(model, request):
    settings, d = request.settings, n_parameters(model)
    if request.start is None:
        rng = np.random.default_rng(request.seed("memberships"))
        start = rng.standard_gamma(1.0, (settings.n_chains, d))
    else:
        start = np.stack([theta_of(model, draw) for draw in request.start])
    automatic = max(LEAST_BATCH, model.indices.size // BATCHES)
    return Exploration(
        model=model,
        sampler=request.sampler,
        gradient=ChosenByModel(chosen(settings.batch_size, automatic)),
        coordinates=Identity(),
        start=start,
        mode=start[0],
        theta_sd=np.ones(d),
        gradient_variance=np.zeros(d),
        step_size=float(chosen(settings.step_size, STEP_SIZE * request.share)),
        burn_in=chosen(settings.burn_in, PAIR_BURN_IN),
        thin=chosen(settings.thin, PAIR_THIN),
        step_limit=None,
    )


@monitored.register(PairBlockmodel)
@monitored.register(Blockmodel)
@monitored.register(DegreeBlockmodel)
def _(model, draws):
    # No label matters to sum_k pi_ak pi_bk of linked nodes, nor to these sums.
    n, k = model.indptr.size - 1, model.alpha.size
    parts = GraphDraws.of(draws, n, k)
    every = max(1, model.indices.size // MONITORED_PAIRS)
    places = np.arange(0, model.indices.size, every)[:MONITORED_PAIRS]
    a = np.searchsorted(model.indptr, places, side="right") - 1
    b = model.indices[places]
    pi = parts.memberships
    together = np.einsum("csik,csik->csi", pi[:, :, a], pi[:, :, b])
    shares = pi.sum(axis=2, dtype=np.float64) / n
    others = np.sum(shares**2, axis=-1), parts.background
    return np.concatenate([together, np.stack(others, axis=-1)], axis=-1)
