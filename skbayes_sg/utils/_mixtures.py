"""Quantiles of mixtures of predictive distributions."""

import numpy as np

INTERVAL_DRAWS = 256  # whose predictive distributions are mixed, at the most
HALVINGS = 30  # of the range in which a quantile lies
MOST_HALVINGS = 60  # of ranges of counts, whose quantiles are exact


def mixture_quantile(laws, q, is_discrete):
    """Return quantiles of a mixture, (K, n), of distributions (draws, K, n) in parts.

    They lie between the smallest and the largest quantile of the distributions.
    """
    each = [_quantile_bounds(law, q) for law in laws]
    low = np.min([low.min(axis=0) for low, _ in each], axis=0)
    high = np.max([high.max(axis=0) for _, high in each], axis=0)
    if is_discrete:
        low = low - 1.0
    for _ in range(MOST_HALVINGS if is_discrete else HALVINGS):
        middle = 0.5 * (low + high)
        if is_discrete:
            middle = np.floor(middle)
            if np.all(high - low <= 1.0):
                break
        below = np.concatenate([law.cdf(middle) for law in laws]).mean(axis=0)
        enough = below >= q
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _quantile_bounds(law, q):
    """Return bounds of the quantiles of a law, which are mostly these themselves.

    SciPy has none of Poisson laws with means of 2e10 or more: there, the bounds are
    those of Cantelli's inequality, of any law with this mean and variance.
    """
    found = law.ppf(q)
    lost = np.isnan(found)
    if not lost.any():
        return found, found
    odds, mean, sd = np.sqrt(q / (1.0 - q)), law.mean(), law.std()
    return np.where(lost, mean - sd / odds, found), np.where(
        lost, mean + sd * odds, found
    )
