"""Memberships from which a chain starts: dense neighborhoods, one for each community.

From nearly equal memberships a chain takes long to find communities, and some are found
twice and others never. A node whose neighbors are linked to one another lies inside of
one community, and so do its neighbors (Gleich & Seshadhri, 2012). For each community
the best of some nodes at random is taken, by the number of links among neighbors that
no earlier community has: chains start at different places.

In sparse graphs of large communities the neighbors of a node are not linked to one
another, and tell nothing. There memberships spread from the neighbors of a random node
for each community: every node in turn takes the sums of its neighbors' memberships,
divided by the sizes of the communities, or else one of them would win all nodes. A
power of these sums lets the largest grow. Few of the nodes that are reached first
belong together, and a majority among neighbors would lose what they tell; sums keep it.
Memberships move more and more from pass to pass until communities have formed, which
takes the longer the more nodes there are, and then come to rest.
"""

from skbayes_sg.kernels.generic import helper

CANDIDATES = 30  # nodes that are compared for each community
OWN = 0.9  # membership of the neighbors, shared by their communities
DENSE = 1.0  # links of a neighbor to others, on average, in a dense neighborhood
PASSES, MAX_PASSES = 20, 100  # over all nodes
AT_REST = 0.01  # mean change of a node's memberships in a pass, summed over communities
PSEUDO_LINKS, SHARPEN = 0.5, 3  # added to sums over neighbors; their power


@helper
def start_memberships(model, pi, taken, links, rng):
    """Write memberships of all nodes to `pi`, (n, K).

    `taken` and `links` are buffers, (n,): the first is all -1, also afterwards.
    """
    n, k = pi.shape
    pi[:] = 0.0
    links[:] = 0.0
    for j in range(k):
        best = _densest(model, taken, links, rng)
        if j == 0 and best >= 0 and n >= 2 * k:
            if not _is_dense(model, taken, links, best):
                _spread(model, pi, links, rng)
                break
        if best >= 0:
            _take(model, pi[:, j], taken, links, best)
    taken[:] = -1
    for a in range(n):
        _share(pi[a])


@helper
def _densest(model, taken, links, rng):
    """Return the node of the densest neighborhood of some, -1 if there is none."""
    best, most = -1, 0.0
    for _ in range(CANDIDATES if model.indices.size > 0 else 0):
        place = int(rng.random() * model.indices.size)
        a = model.indices[place]
        found = _count_inside(model, taken, links, a)
        if found > most:
            best, most = a, found
        _clear(model, links, a)
    return best


@helper
def _is_dense(model, taken, links, a):
    """Whether the neighbors of `a` are linked to one another."""
    degree = model.indptr[a + 1] - model.indptr[a]
    found = _count_inside(model, taken, links, a)
    _clear(model, links, a)
    return found >= (1.0 + DENSE) * degree


@helper
def _spread(model, pi, buffer, rng):
    """Let memberships spread from the neighbors of random nodes, one per community.

    `buffer` is all zero, before and after.
    """
    n, k = pi.shape
    found, sizes = buffer[:k], buffer[k : 2 * k]
    pi[:] = 1.0 / k
    for j in range(k):
        a = model.indices[int(rng.random() * model.indices.size)]
        for i in range(model.indptr[a], model.indptr[a + 1]):
            pi[model.indices[i]] = 0.0
            pi[model.indices[i], j] = 1.0
    for a in range(n):
        for j in range(k):
            sizes[j] += pi[a, j]
    change = 0.0
    for t in range(MAX_PASSES):
        last, change = change, 0.0
        for a in range(n):
            if model.indptr[a + 1] > model.indptr[a]:
                change += _follow(model, pi, found, sizes, a)
        if t + 1 >= PASSES and change < min(last, AT_REST * n):
            break
    buffer[:] = 0.0


@helper
def _follow(model, pi, found, sizes, a):
    """Write memberships of node a by those of its neighbors; return their change."""
    n, k = pi.shape
    found[:] = 0.0
    for i in range(model.indptr[a], model.indptr[a + 1]):
        y = pi[model.indices[i]]
        for j in range(k):
            found[j] += y[j]
    total = 0.0
    for j in range(k):
        found[j] = (found[j] * n / (k * max(sizes[j], 1.0)) + PSEUDO_LINKS) ** SHARPEN
        total += found[j]
    change = 0.0
    for j in range(k):
        value = found[j] / total
        change += abs(value - pi[a, j])
        sizes[j] += value - pi[a, j]
        pi[a, j] = value
    return change


@helper
def _count_inside(model, taken, links, a):
    """Count the links of each free neighbor of `a` to others; return their sum."""
    total = 0.0
    for i in range(model.indptr[a], model.indptr[a + 1]):
        if taken[model.indices[i]] < 0:
            links[model.indices[i]] = 1.0
    for i in range(model.indptr[a], model.indptr[a + 1]):
        b = model.indices[i]
        if links[b] > 0.0:
            for j in range(model.indptr[b], model.indptr[b + 1]):
                if links[model.indices[j]] > 0.0:
                    links[b] += 1.0
            total += links[b]
    return total


@helper
def _clear(model, links, a):
    for i in range(model.indptr[a], model.indptr[a + 1]):
        links[model.indices[i]] = 0.0


@helper
def _take(model, own, taken, links, a):
    """Let `a` and its neighbors have memberships, but for those hardly linked."""
    total, count = _count_inside(model, taken, links, a), 0.0
    for i in range(model.indptr[a], model.indptr[a + 1]):
        count += links[model.indices[i]] > 0.0
    for i in range(model.indptr[a], model.indptr[a + 1]):
        b = model.indices[i]
        if links[b] >= 0.5 * total / count:
            taken[b] = 1
            own[b] = 1.0
    taken[a] = 1
    own[a] = 1.0
    _clear(model, links, a)


@helper
def _share(row):
    """Let the memberships of a node sum to one, none of them zero."""
    k, found = row.size, 0.0
    for j in range(k):
        found += row[j]
    for j in range(k):
        own = OWN * row[j] / found if found > 0.0 else OWN / k
        row[j] = own + (1.0 - OWN) / k
