"""Memberships of a node that was not there, given a draw of all others."""

from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.models.blockmodel_nodes import draw_node


@entry_point
def add_node_moments(model, work, a, rng, n_burn_in, n_sweeps, mean, square):
    """Draw the memberships of node a, and add their moments to (K,) arrays.

    Parameters
    ----------
    model : Blockmodel
        Its graph has the links of node a; no other node changes.
    work : BlockmodelWork
        Its totals are those of the nodes without a. There are no events: pairs
        without a link count by their geometric means.
    a : int
        The node.
    rng : numpy.random.Generator
        For the draws.
    n_burn_in, n_sweeps : int
        Draws before and while moments are summed.
    mean, square : (K,)
        Means of pi and pi^2 are added to them.
    """
    k = work.total.size
    for j in range(k):
        work.total[j] += work.pi[a, j]
    for t in range(n_burn_in + n_sweeps):
        draw_node(model, work, a, rng)
        if t >= n_burn_in:
            for j in range(k):
                mean[j] += work.pi[a, j] / n_sweeps
                square[j] += work.pi[a, j] * work.pi[a, j] / n_sweeps
    for j in range(k):
        work.total[j] -= work.pi[a, j]
