"""Memberships of a node that was not there, given a draw of all others."""

from skbayes_sg.kernels.generic import entry_point, kernel_op
from skbayes_sg.kernels.models.blockmodel import Blockmodel
from skbayes_sg.kernels.models.blockmodel_degree_nodes import draw_masses
from skbayes_sg.kernels.models.blockmodel_degrees import DegreeBlockmodel
from skbayes_sg.kernels.models.blockmodel_nodes import draw_node


@kernel_op
def draw_one(model, work, a, rng):
    """Draw the memberships of node a given all others."""
    raise NotImplementedError


@kernel_op
def memberships_of(model, work, a):
    """Return the memberships of node a, up to a factor, as a view of `work`."""
    raise NotImplementedError


@draw_one.register(Blockmodel)
def _(model, work, a, rng):
    draw_node(model, work, a, rng)


@memberships_of.register(Blockmodel)
def _(model, work, a):
    return work.pi[a]


@draw_one.register(DegreeBlockmodel)
def _(model, work, a, rng):
    draw_masses(model, work, a, rng)


@memberships_of.register(DegreeBlockmodel)
def _(model, work, a):
    return work.mass[a]


@entry_point
def add_node_moments(model, work, a, rng, n_burn_in, n_sweeps, mean, square):
    """Draw the memberships of node a, and add their moments to (K,) arrays.

    Parameters
    ----------
    model : Blockmodel or DegreeBlockmodel
        Its graph has the links of node a; no other node changes.
    work : BlockmodelWork or DegreeWork
        Its totals are those of the nodes without a. There are no events of pairs
        without a link: a Blockmodel counts these by their geometric means.
    a : int
        The node.
    rng : numpy.random.Generator
        For the draws.
    n_burn_in, n_sweeps : int
        Draws before and while moments are summed.
    mean, square : (K,)
        Means of pi and pi^2 are added to them.
    """
    k, own = work.total.size, memberships_of(model, work, a)
    for j in range(k):
        work.total[j] += own[j]
    for t in range(n_burn_in + n_sweeps):
        draw_one(model, work, a, rng)
        if t >= n_burn_in:
            total = 0.0
            for j in range(k):
                total += own[j]
            for j in range(k):
                share = own[j] / total
                mean[j] += share / n_sweeps
                square[j] += share * share / n_sweeps
    for j in range(k):
        work.total[j] -= own[j]
