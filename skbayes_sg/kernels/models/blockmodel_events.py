"""Events that make up for what geometric means miss of pairs without a link.

    m_ab ~ Poisson(d_ab)    for all pairs without a link

by thinning: since log u <= u - 1, d_ab is at most sum_k pi_ak pi_bk (L_k - beta_k) +
L_0 - delta, and pairs are drawn with these intensities, one community after another:
as many candidates as there are links, or fewer.
"""

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel_chances import mean_ratio
from skbayes_sg.kernels.numerics.positive import draw_poisson


@helper
def draw_events(model, work, rng):
    """Draw the events of all pairs anew, given memberships and rates."""
    n, k = work.pi.shape
    work.head[:] = -1
    work.n_events[0] = 0
    for j in range(k + 1):
        total = 0.0
        for a in range(n):
            total += work.pi[a, j] if j < k else 1.0
            work.cumulative[a] = total
        mean = 0.5 * work.excess[j] * total * total
        for _ in range(int(draw_poisson(mean, rng))):
            _try_pair(model, work, total, rng)


@helper
def _try_pair(model, work, total, rng):
    """Draw a pair with the intensity of one community, and keep it as thinning asks."""
    n, k = work.pi.shape
    a = _place(work.cumulative, rng.random() * total)
    b = _place(work.cumulative, rng.random() * total)
    x, y = work.pi[a], work.pi[b]
    bound = work.excess[k]
    for j in range(k):
        bound += float(x[j]) * float(y[j]) * work.excess[j]
    if rng.random() * bound >= mean_ratio(x, y, work.rate, work.loss):
        return
    unlinked = not contains(model.indices, model.indptr[a], model.indptr[a + 1], b)
    first, last = model.hidden_indptr[a], model.hidden_indptr[a + 1]
    if a != b and unlinked and not contains(model.hidden, first, last, b):
        _add_event(work, a, b)


@helper
def _add_event(work, a, b):
    e = 2 * work.n_events[0]
    if e >= work.other.size:
        work.overflow[0] += 1
    else:
        work.other[e], work.following[e], work.head[a] = b, work.head[a], e
        e += 1
        work.other[e], work.following[e], work.head[b] = a, work.head[b], e
        work.n_events[0] += 1


@helper
def _place(cumulative, u):
    """Return the first place whose cumulative sum exceeds u, the last if none does."""
    low, high = 0, cumulative.size - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@helper
def contains(values, first, last, value):
    """Whether `value` is among the increasing values from `first` to `last`."""
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low < last and values[low] == value
