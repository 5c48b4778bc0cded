"""Topics: how long the chains are, in sweeps over all documents.

Conditional draws have neither a step size nor a mode to start from. Each chain starts
without topics: the first sweep draws those of a document given the documents before. It
starts with more topics than wanted, which are merged, and with few of many documents,
to which the others are added in stages.

Samplers of the topics themselves, from minibatches of n of N documents, have a step
size h = 4 TOLERANCE n / N, at which the noise of a minibatch's counts inflates
variances by about TOLERANCE, and forget where they were in 1 / (2 TOLERANCE) sweeps.
"""

import math

import numpy as np

from skbayes_sg.inference.exploration.one_mode import explore
from skbayes_sg.inference.exploration.request import (
    Exploration,
    chosen,
    rows_at_once,
)
from skbayes_sg.inference.exploration.sweeps import sweeps
from skbayes_sg.inference.monitoring import monitored
from skbayes_sg.inference.topics import (
    TopicDraws,
    log_probability_of_tokens,
    word_probabilities,
)
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.models.lda import LDA
from skbayes_sg.kernels.models.lda_minibatch import MinibatchLDA
from skbayes_sg.kernels.protocol.model import n_parameters, n_rows, theta_of

BURN_IN = 200  # sweeps
THIN = 10  # sweeps per draw
REFRESH = 5  # sweeps per draw of the priors
FIRST_TOKENS = 500_000  # at least, of the documents with which a chain starts
N_FIRST, N_EACH = 100, 4  # sweeps over these, and over those of every later stage
LEAST_FIRST = 10  # sweeps; in fewer, it is not worth to have too many topics
N_ROUNDS = 2  # of merging topics
TOLERANCE = 0.25  # relative excess of variance from the noise of minibatches
BATCHES, LEAST_BATCH = 20, 50  # automatic minibatches, in documents
MINIBATCH_BURN_IN = 40  # sweeps
TOKENS = 500_000  # of an automatic minibatch: some tens of milliseconds


@explore.register(LDA)
def _(model, request):
    settings, n = request.settings, n_rows(model)
    at_once = math.ceil(n * min(1.0, TOKENS / max(1, model.words.size)))
    if request.start is None:
        shape = settings.n_chains, n_parameters(model)
        start = np.log(np.full(shape, 1.0 / model.n_topics))
    else:
        start = np.stack([theta_of(model, draw) for draw in request.start])
    if not model.learns_alpha:
        start[:, :-1] = np.log(model.alpha)
    if not model.learns_beta:
        start[:, -1] = math.log(model.beta)
    lengths = {"refresh": REFRESH, "burn_in": BURN_IN, "thin": THIN}
    return sweeps(model, request, start, at_once=at_once, growth=growth, **lengths)


def growth(model, gradient, burn_in):
    """Return the model and the gradient of chains that start with few documents.

    The start takes half of the burn-in at most, so that all documents are visited
    before the first draw.
    """
    n, size = n_rows(model), gradient.batch_size
    spare = max(0.0, 0.5 * (burn_in * size / n - 1.0))  # sweeps
    n_stages, n_each = int(math.log2(max(1.0, model.words.size / FIRST_TOKENS))), 1
    if n_stages > 0:  # one half for the first stage, one for the others
        spare *= 0.5
        n_each = min(N_EACH, int(spare))
        n_stages = n_stages if n_each > 0 else 0
    n_first = min(N_FIRST, int(spare * 2**n_stages))
    if n_first < LEAST_FIRST:
        return model._replace(n_extra=0), gradient
    visits = n_first / N_ROUNDS * math.ceil(n / 2**n_stages)
    gradient = gradient._replace(n_stages=n_stages, n_first=n_first, n_each=n_each)
    rounds = {"n_rounds": N_ROUNDS, "merge_after": math.ceil(visits / size)}
    return model._replace(**rounds), gradient


@explore.register(MinibatchLDA)
def _(model, request):
    settings, n, d = request.settings, n_rows(model), n_parameters(model)
    size = rows_at_once(settings, min(n, max(LEAST_BATCH, n // BATCHES)), n)
    h = min(1.0, 4.0 * TOLERANCE * request.share * size / n)
    per_sweep = math.ceil(n / size)
    if request.start is None:
        rng = np.random.default_rng(request.seed("topics"))
        start = random_topics(model, settings.n_chains, rng)
    else:
        start = np.stack([theta_of(model, draw) for draw in request.start])
    return Exploration(
        model=model,
        sampler=request.sampler,
        gradient=Minibatch(size),
        coordinates=Identity(),
        start=start,
        mode=start[0],
        theta_sd=np.full(d, 1.0 + model.weight * model.words.size / d),
        gradient_variance=np.zeros(d),
        step_size=float(chosen(settings.step_size, h)),
        burn_in=chosen(settings.burn_in, MINIBATCH_BURN_IN * per_sweep),
        thin=chosen(settings.thin, per_sweep),
        step_limit=None,
    )


def random_topics(model, n_chains, rng):
    """Return topics from which chains may start: (n_chains, W * K).

    All masses are those of the posterior, as if each topic had as many tokens.
    """
    gammas = rng.standard_gamma(1.0, (n_chains, n_parameters(model)))
    return gammas * (model.beta + model.weight * model.words.size / gammas.shape[1])


@monitored.register(LDA)
def _(model, draws):
    # No label matters to log p(w | z), nor to how unequal the sizes of topics are.
    counts = TopicDraws.of(draws, model.n_topics, model.offsets.size - 1).counts
    values = np.empty((*draws.shape[:2], 2))
    for at in np.ndindex(draws.shape[:2]):
        shares = counts[at].sum(axis=1, dtype=np.float64)
        logs = log_probability_of_tokens(counts[at], float(draws[at][-1]))
        values[at] = logs, np.sum((shares / shares.sum()) ** 2)
    return values


@monitored.register(MinibatchLDA)
def _(model, draws):
    counts = TopicDraws.of(draws, model.alpha.size, model.n_words).counts
    values = np.empty((*draws.shape[:2], 1))
    for at in np.ndindex(draws.shape[:2]):
        values[at] = np.sum(word_probabilities(counts[at]) ** 2)
    return values
