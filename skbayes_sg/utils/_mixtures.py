"""Quantiles of mixtures of predictive distributions."""

import numpy as np

INTERVAL_DRAWS = 256  # whose predictive distributions are mixed, at the most
HALVINGS = 30  # of the range in which a quantile lies


def mixture_quantile(laws, q, is_discrete):
    """Return quantiles of a mixture, (K, n), of distributions (draws, K, n) in parts.

    They lie between the smallest and the largest quantile of the distributions.
    """
    low = np.min([law.ppf(q).min(axis=0) for law in laws], axis=0)
    high = np.max([law.ppf(q).max(axis=0) for law in laws], axis=0)
    if is_discrete:
        low = low - 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if is_discrete:
            middle = np.floor(middle)
            if np.all(high - low <= 1.0):
                break
        below = np.concatenate([law.cdf(middle) for law in laws]).mean(axis=0)
        enough = below >= q
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
