"""Links by their communities, and what all other pairs have in common."""

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel import link_probability


@helper
def count_pairs(model, work, rng, hits, misses):
    """Count links by community, and pairs without a link by the sums of their w."""
    n, k = work.pi.shape
    everything = work.rows[3]
    hits[:] = 0.0
    for j in range(k):
        everything[j] = 0.5 * work.total[j] * work.total[j]
    n_hidden = model.hidden.size // 2
    n_missing = 0.5 * n * (n - 1.0) - model.indices.size // 2 - n_hidden
    for a in range(n):
        x = work.pi[a]
        for j in range(k):
            everything[j] -= 0.5 * x[j] * x[j]
        for i in range(model.hidden_indptr[a], model.hidden_indptr[a + 1]):
            y = work.pi[model.hidden[i]]
            for j in range(k):
                everything[j] -= 0.5 * x[j] * y[j]
        for i in range(model.indptr[a], model.indptr[a + 1]):
            b = model.indices[i]
            if b < a:
                y = work.pi[b]
                u = rng.random() * link_probability(x, y, work.rate)
                found = k
                for j in range(k):
                    everything[j] -= x[j] * y[j]
                    u -= x[j] * y[j] * work.rate[j]
                    if u < 0.0 and found == k:
                        found = j
                hits[found] += 1.0
    misses[k] = n_missing
    for j in range(k):
        misses[j] = max(everything[j], 0.0)
        misses[k] -= misses[j]
    misses[k] = max(misses[k], 0.0)
