"""Whether chains agree on topics, by quantities that do not depend on labels."""

import math

import numpy as np
from scipy.stats import f as f_law

from skbayes_sg.inference.topics import (
    TopicDraws,
    completion_log_probability,
    log_probability_of_tokens,
)

N_FREQUENT = 10  # words, of which all pairs are looked at


def label_free(draws: TopicDraws, beta, given=True, X=None, n_jobs=None) -> dict:
    """Return quantities that chains must agree on, whatever they call their topics.

    Parameters
    ----------
    draws : TopicDraws
        Pseudo-counts of all chains.
    beta : ndarray of shape (n_chains, n_draws)
        The prior of the words in each draw.
    given : bool, default=True
        Whether draws are pseudo-counts, and no draws of the topics themselves.
    X : CSR array of shape (n_documents, W), default=None
        Documents that were not fitted.
    n_jobs : int, default=None
        Threads.

    Returns
    -------
    values : dict of ndarrays of shape (n_chains, n_draws) or (n_chains, n_draws, n)
        "log p(w | z)"; "co-occurrence", sum_k p(k) phi_kv phi_kw for pairs v, w of the
        most frequent words; "held-out log p" of documents, by halves.
    """
    shape = draws.counts.shape[:2]
    total = sum(n.sum(axis=0, dtype=np.float64) for n in draws.counts[:, -1])
    frequent = np.argsort(-total, kind="stable")[:N_FREQUENT]
    pairs = np.triu_indices(frequent.size)
    rng = np.random.default_rng(0)
    tokens, together, held_out = np.empty(shape), np.empty((*shape, len(pairs[0]))), []
    for at in np.ndindex(shape):
        counts = np.asarray(draws.counts[at], np.float64)
        tokens[at] = log_probability_of_tokens(counts, float(beta[at]))
        own, sizes = counts[:, frequent], counts.sum(axis=1)
        rest = sizes - own.sum(axis=1)
        if given:  # a draw of phi, which has more spread than its mean given the counts
            own, rest = rng.standard_gamma(own), rng.standard_gamma(rest)
        phi = own / (own.sum(axis=1) + rest)[:, None]
        together[at] = ((phi.T * sizes) @ phi)[pairs] / sizes.sum()
        if X is not None:
            one = TopicDraws(*(part[at][None, None] for part in draws))
            held_out.append(completion_log_probability(X, one, n_jobs=n_jobs)[0])
    values = {"log p(w | z)": tokens, "co-occurrence": together}
    if X is not None:
        values["held-out log p"] = np.reshape(held_out, shape)
    return values


def split_rhat(values):
    """Return the R-hat of half-chains, and what few draws of one law rarely exceed.

    Parameters
    ----------
    values : ndarray of shape (n_chains, n_draws) or (n_chains, n_draws, n)
        Numbers of each draw.

    Returns
    -------
    rhat, limit : float
        The largest R-hat, and what it exceeds with a probability of 0.001 at most for
        independent Gaussian draws.
    """
    n = values.shape[1] // 2
    halves = np.concatenate([values[:, :n], values[:, -n:]])
    halves = halves.reshape(*halves.shape[:2], -1)
    m = len(halves)
    between = n * halves.mean(axis=1).var(axis=0, ddof=1)
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    moves = within > 0.0
    if not moves.any():
        return 1.0, 1.0
    ratio = np.max(between[moves] / within[moves])
    level = f_law.isf(0.001 / moves.sum(), m - 1, m * (n - 1))
    return tuple(math.sqrt((n - 1 + f) / n) for f in (ratio, level))
