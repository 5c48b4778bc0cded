"""Memberships from which a chain starts."""

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.numerics.positive import draw_gamma


@helper
def start_memberships(model, work, rng):
    """Draw memberships of all nodes, almost equal ones."""
    n, k = work.pi.shape
    work.total[:] = 0.0
    for a in range(n):
        total = 0.0
        for j in range(k):
            work.rows[0, j] = draw_gamma(1.0, rng)
            total += work.rows[0, j]
        for j in range(k):
            work.pi[a, j] = work.rows[0, j] / total
            work.total[j] += work.pi[a, j]
