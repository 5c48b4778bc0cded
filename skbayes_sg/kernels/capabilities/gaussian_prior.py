"""Gaussian priors N(0, C) of all parameters, where products with C are known.

Trajectories that follow such a prior exactly need no factor of C or of its inverse.
"""

from skbayes_sg.kernels.generic import kernel_op


@kernel_op
def draw_from_prior(model, work, rng, out):
    """Write a draw from N(0, C) to (d,) `out`."""
    raise NotImplementedError


@kernel_op
def likelihood_force(model, work, theta, out):
    """Write the gradient of the log-likelihood of all rows to (d,) `out`.

    Entries too small to matter to a trajectory may be zeros.
    """
    raise NotImplementedError


@kernel_op
def add_prior_covariance(model, work, size, force, out):
    """Add `size` * C `force` to (d,) `out`."""
    raise NotImplementedError
