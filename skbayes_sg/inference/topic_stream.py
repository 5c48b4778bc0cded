"""Topics of a stream of documents, updated batch by batch.

By default, each chain keeps counts m of words in topics. Batch S updates them by

    m <- (1 - s) m + s D / |S| E[counts of S | m],

where D is the number of documents that the counts represent. The share s decreases, so
the counts converge. It decreases more slowly than |S| / D, because the topics of the
first batches are drawn when little is known. For the same reason, the same count is
added to all words of all topics at first: topics that differ too early would stay as
they are. These flat counts decay with every batch and are not part of the draws. The
first m is that of a chain which keeps the topics of all tokens of the first batch.

Counts are thus weighted sums of those of the batches. With weights v of all documents
they are as uncertain as those of 1 / sum v^2 documents, fewer than D. The mean of
several draws has the mean of their weights, u, and is less uncertain, sum u^2. Errors
last longer than the weights, since topics of a batch depend on those of earlier ones:
the variance is larger by a factor, `EXCESS`. A mixture of the draws has a part of this
variance even if these have no width, sum v^2 - sum u^2 on average.

Samplers that move the topics themselves make one step with the same decay of the past.
"""

import math

import joblib
import numpy as np

from skbayes_sg.inference.chains import sample
from skbayes_sg.inference.exploration.lda import random_topics
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import InTurn, Minibatch
from skbayes_sg.kernels.models.lda import LDA, list_offsets, n_extra_topics
from skbayes_sg.kernels.models.lda_stream import add_batch_counts
from skbayes_sg.kernels.protocol.model import n_parameters, n_recorded, n_rows
from skbayes_sg.kernels.samplers import Gibbs

# Chosen on four generated corpora, by perplexity after 1, 2, 4, 8 and 15 batches.
OFFSET, DECAY = 2.0, 0.5  # the share is (OFFSET + batches before)^-DECAY
START = 1.0  # sum of the first flat counts, in tokens per token of the first batch
FIRST_SWEEPS = 100  # over the first batch; half of them with more topics than wanted
EXCESS = 1.2  # chosen on twelve other corpora, by the coverage after 40 batches


def batch_share(n_documents: int, n_before: int) -> float:
    """Return the share of a batch after `n_before` documents."""
    return float((OFFSET + n_before / n_documents) ** -DECAY)


def weight_products(before, n_documents: int, share: float, n_kept: int):
    """Return sums of products of the documents' weights in kept draws, (n, n).

    `before` is that of the draws before one more batch; zero if there were no
    documents.
    """
    last = (1.0 - share) * before[-1:]
    own = (1.0 - share) * last[:, -1:] + share**2 / n_documents
    return np.block([[before, last.T], [last, own]])[-n_kept:, -n_kept:]


def documents_of(products) -> float:
    """Return of how many documents each kept draw should be, in a mixture of all."""
    mean, own = float(products.mean()), float(products.diagonal().mean())
    width = EXCESS * mean - (own - mean)
    return 1.0 / width if width > 0.0 else math.inf


def first_flat(model) -> float:
    """Return the flat count of each word in each topic before the first batch."""
    return START * model.weight * model.words.size / n_parameters(model)


def next_draws(
    model, sampler, share, last, *, growth, flat, seed, n_chains, n_jobs=None
):
    """Return recorded draws of all chains after one more batch.

    Parameters
    ----------
    model : MinibatchLDA
        The batch, and the priors.
    sampler : Gibbs or another sampler of topics
        Gibbs is for counts.
    share : float
        Of the batch in the result.
    last : ndarray of shape (n_chains, K, W) or None
        Rows of topics of the last draws; None before the first batch.
    growth : float
        Ratio of the documents for which this batch stands to those of the last one.
    flat : float
        Counts of each word in each topic beside those of the last draws.
    seed : SeedSequence
        From which each chain gets a stream of its own.
    n_chains : int
        Where there are no chains yet.
    n_jobs : int, default=None
        Chains at a time, as threads; the result does not depend on it.

    Returns
    -------
    draws : ndarray of shape (n_chains, 1, dim)
        A row for each topic, then the priors.
    """
    model = for_kernels(model)
    if not isinstance(sampler, Gibbs):
        if last is None:
            rng = np.random.default_rng(seed.spawn(1)[0])
            start = random_topics(model, n_chains, rng)
        else:
            start = growth * last.reshape(len(last), -1)
        return _next_topics(model, sampler, share, start, seed, n_jobs)
    if last is None:
        last = first_topics(model, seed.spawn(1)[0], n_chains, n_jobs)
        growth = model.weight
    jobs = zip(growth * (last - model.beta), seed.spawn(len(last)), strict=True)
    counts = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
        joblib.delayed(_next_counts)(model, share, flat, *job) for job in jobs
    )
    draws = np.empty((len(counts), 1, n_recorded(model)), np.float32)
    size = n_parameters(model)
    draws[..., :size] = model.beta + np.reshape(counts, (-1, 1, size))
    draws[..., size:] = np.append(model.alpha, model.beta)
    return draws


def first_topics(model, seed, n_chains, n_jobs=None):
    """Return pseudo-counts of chains that have seen one batch only, (n_chains, K, W).

    The topics of its tokens are drawn until they agree, with more topics than wanted at
    first.
    """
    n, k = n_rows(model), model.alpha.size
    n_extra = n_extra_topics(k)
    start = LDA(
        words=model.words,
        indptr=model.indptr,
        offsets=list_offsets(model.words, model.n_words, k + n_extra),
        alpha=model.alpha,
        beta=model.beta,
        n_topics=k,
        learns_alpha=False,
        learns_beta=False,
        n_extra=n_extra,
        merge_after=FIRST_SWEEPS // 4,
        n_rounds=2,
    )
    draws = sample(
        start,
        Gibbs(),
        InTurn(n),
        step_size=1.0,
        n_draws=1,
        burn_in=FIRST_SWEEPS - 1,
        n_chains=n_chains,
        start=np.log(np.append(model.alpha, model.beta)),
        n_jobs=n_jobs,
        random_state=seed,
    )
    return draws[:, 0, : n_parameters(model)].reshape(n_chains, k, -1)


def _next_counts(model, share, flat, last, seed):
    """Return the counts of one chain, (K, W)."""
    m = np.ascontiguousarray((1.0 - share) * last.T, np.float64)
    new, rng = np.zeros(m.shape), np.random.default_rng(seed)
    add_batch_counts(model, share, rng, m + (1.0 - share) * flat, new)
    return (m + share * model.weight * new).T


def _next_topics(model, sampler, share, start, seed, n_jobs):
    """Return recorded draws after one step from `start`, (n_chains, K * W)."""
    return sample(
        model,
        sampler,
        Minibatch(n_rows(model)),  # all of the batch
        step_size=-2.0 * math.log1p(-share),
        n_draws=1,
        n_chains=len(start),
        start=start,
        scale=np.full(start.shape[1], 1.0 + start.max()),
        n_jobs=n_jobs,
        random_state=seed,
    )
