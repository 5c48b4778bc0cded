"""Posteriors of the blockmodel by enumeration, and by Gibbs draws of all pairs."""

import itertools

import numpy as np
from scipy.special import betaln, gammaln


class Enumerated:
    """All communities of all pairs, with their posterior probabilities.

    Memberships and rates are integrated out. `rates` are Beta laws of the link rates
    and of the background rate, (2, 2).
    """

    def __init__(self, n, links, hidden, alpha, rates):
        self.alpha, k = np.asarray(alpha, float), len(alpha)
        pairs = [p for p in itertools.combinations(range(n), 2) if p not in hidden]
        state = np.arange(k ** (2 * len(pairs)))
        counts = np.zeros((state.size, n, k))
        self.hits, self.misses = np.zeros((2, state.size, k + 1))
        every = np.arange(state.size)
        for a, b in pairs:
            first, second, state = state % k, state // k % k, state // k**2
            counts[every, a, first] += 1
            counts[every, b, second] += 1
            where = self.hits if (a, b) in links else self.misses
            where[every, np.where(first == second, first, k)] += 1
        prior = np.array([rates[0]] * k + [rates[1]], float)
        self.hits += prior[:, 0]
        self.misses += prior[:, 1]
        self.shape = counts + self.alpha
        logs = gammaln(self.shape).sum(axis=2) - gammaln(self.shape.sum(axis=2))
        logs = logs.sum(axis=1) + betaln(self.hits, self.misses).sum(axis=1)
        self.weights = np.exp(logs - logs.max())
        self.weights /= self.weights.sum()

    def memberships(self):
        """Return means and standard deviations, (n, K) each."""
        total = self.shape.sum(axis=2, keepdims=True)
        mean = self.shape / total
        square = mean * (self.shape + 1) / (total + 1)
        mean, square = (np.tensordot(self.weights, x, 1) for x in (mean, square))
        return mean, np.sqrt(square - mean**2)

    def rates(self):
        """Return means and standard deviations of the rates, (K + 1,) each."""
        total = self.hits + self.misses
        square = self.hits * (self.hits + 1) / total / (total + 1)
        mean, square = (self.weights @ x for x in (self.hits / total, square))
        return mean, np.sqrt(square - mean**2)

    def link(self, a, b):
        """Return the probability of a link."""
        pi = self.shape / self.shape.sum(axis=2, keepdims=True)
        rate = self.hits / (self.hits + self.misses)
        together = pi[:, a] * pi[:, b]
        gap = np.sum(together * (rate[:, :-1] - rate[:, -1:]), axis=1)
        return self.weights @ (rate[:, -1] + gap)


def gibbs(adjacency, alpha, n_draws, burn_in, rng):
    """Yield memberships, (n, K), and rates, (K + 1,), of a chain over all pairs.

    Communities of both ends of every pair are drawn, all at once, then memberships and
    rates given them: nothing is summed over pairs that are not visited. Rates have
    uniform priors; the chain starts at the rows of the adjacency matrix.
    """
    n, k = len(adjacency), len(alpha)
    a, b = np.triu_indices(n, 1)
    linked = adjacency[a, b] > 0
    pi, rate = rng.dirichlet(np.ones(k), n), np.append(np.full(k, 0.5), 0.1)
    same = np.eye(k, dtype=bool)
    for t in range(burn_in + n_draws):
        chance = np.where(same, rate[:k, None], rate[k])
        chance = np.where(linked[:, None, None], chance, 1 - chance)
        joint = pi[a][:, :, None] * pi[b][:, None, :] * chance
        bounds = np.cumsum(joint.reshape(len(a), -1), axis=1)
        u = rng.random(len(a)) * bounds[:, -1]
        z = (bounds < u[:, None]).sum(axis=1)
        first, second = z // k, z % k
        shape = np.tile(np.asarray(alpha, float), (n, 1))
        np.add.at(shape, (a, first), 1)
        np.add.at(shape, (b, second), 1)
        pi = rng.standard_gamma(shape) + 1e-300
        pi /= pi.sum(axis=1, keepdims=True)
        community = np.where(first == second, first, k)
        hits = np.bincount(community[linked], minlength=k + 1)
        misses = np.bincount(community[~linked], minlength=k + 1)
        rate = rng.beta(1 + hits, 1 + misses)
        if t >= burn_in:
            yield pi, rate
