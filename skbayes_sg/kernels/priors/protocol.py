"""Laws of coefficients that are mixtures of Gaussians, and what a prior says of them.

A *law* is that of one coefficient in units of its scale, z = beta / scale:

    z | precision ~ N(0, 1 / precision),    precision ~ the law's own

A *prior* is that of all coefficients of a regression: `Given`, or a `Mixture` of a law.
"""

from skbayes_sg.kernels.generic import kernel_op


# Of a law
@kernel_op
def log_density(law, z):
    """Return the log density of z, its precision integrated out, up to a constant."""
    raise NotImplementedError


@kernel_op
def slope(law, z):
    """Return the derivative of `log_density`."""
    raise NotImplementedError


@kernel_op
def draw_precision(law, z, rng):
    """Return a draw of the precision given z."""
    raise NotImplementedError


# Of a prior
@kernel_op
def n_scales(prior, n_outputs):
    """Return the number of scales that are learned and recorded with each draw."""
    return 0


@kernel_op
def draw_prior(prior, beta, k, scale, precision, rng):
    """Draw the scale and the precisions of the coefficients of output k given them.

    `beta` and `precision` are (width,), coefficients first; `scale` is (K,).
    """


@kernel_op
def log_prior_of_scale(prior, u):
    """Return the log density of u = log s and of what s scales, up to what it scales.

    For p coefficients it is that of u, less p u.
    """
