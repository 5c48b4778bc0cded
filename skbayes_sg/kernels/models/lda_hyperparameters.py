"""The priors alpha and beta, drawn given the topics of all tokens.

Integrating out a Dirichlet variable leaves Gamma(a) / Gamma(a + n) prod_k Gamma(a_k +
n_k) / Gamma(a_k) with a = sum_k a_k, for every document (and every topic). Auxiliary
variables (Escobar & West, 1995; Teh et al., 2006) make the conditionals of a_k
conjugate:

    eta ~ Beta(a, n),   t_k = sum_{j < n_k} [U_j < a_k / (a_k + j)],   U_j uniform
    a_k | eta, t ~ Gamma(1 + sum t_k, rate 1 - sum log eta)

under a Gamma(1, 1) prior, with sums over the documents; alpha is a vector, beta one
number for all words.
"""

import math

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.lda import LDA, count_document, set_prior
from skbayes_sg.kernels.models.lda_start import merge_topics, split_topics
from skbayes_sg.kernels.numerics.positive import draw_gamma
from skbayes_sg.kernels.protocol.model import needs_refresh, refresh


@needs_refresh.register(LDA)
def _(model, t):
    if t < model.n_rounds * model.merge_after:
        return (t + 1) % model.merge_after == 0
    learns = model.learns_alpha or model.learns_beta
    return learns and (t + 1) % model.refresh_every == 0


@refresh.register(LDA)
def _(model, target, position, rng):
    # The position is theta, because the coordinates are the identity.
    work = target.work
    set_prior(work, position)
    if work.n_used[0] > model.n_topics:
        merge_topics(model, work)
        if work.n_merged[0] < model.n_rounds:
            split_topics(model, work, rng)
        return
    if model.learns_alpha:
        _draw_alpha(model, work, position, rng)
    if model.learns_beta:
        position[-1] = math.log(_drawn_beta(model, work, rng))


@helper
def _draw_alpha(model, work, theta, rng):
    n_topics, tables = model.n_topics, work.weight
    mass, rate = 0.0, 1.0
    for k in range(n_topics):
        tables[k] = 0.0
        mass += work.prior[k]
    for d in range(model.indptr.size - 1):
        n = count_document(model, work, d)
        if n > 0:
            rate -= _log_beta_draw(mass, float(n), rng)
            for k in range(n_topics):
                tables[k] += _n_tables(work.n_dk[k], work.prior[k], rng)
    for k in range(n_topics):
        theta[k] = math.log(draw_gamma(1.0 + tables[k], rng) / rate)


@helper
def _drawn_beta(model, work, rng):
    n_words, beta = model.offsets.size - 1, work.prior[-1]
    tables, rate = 0.0, 1.0
    for k in range(model.n_topics):
        if work.n_k[k] > 0.0:
            rate -= n_words * _log_beta_draw(n_words * beta, work.n_k[k], rng)
    for w in range(n_words):
        for j in range(model.offsets[w], model.offsets[w] + work.n_listed[w]):
            tables += _n_tables(float(work.counts[j]), beta, rng)
    return draw_gamma(1.0 + tables, rng) / rate


@helper
def _log_beta_draw(a, b, rng):
    """Return the logarithm of a draw of Beta(a, b)."""
    x = draw_gamma(a, rng)
    return math.log(x) - math.log(x + draw_gamma(b, rng))


@helper
def _n_tables(n, a, rng):
    """Return the number of distinct values among n draws of a Polya urn of mass a."""
    total = 0.0
    for j in range(int(n)):
        if rng.random() * (a + j) < a:
            total += 1.0
    return total
