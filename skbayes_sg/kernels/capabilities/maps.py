"""Maps: free numbers u, any in R^n, to constrained parameters x = T(u).

With the log density of x and its gradient g, the density of u is

    log p(u) = log p(T(u)) + log|det J|,    J = dx/du
    grad log p(u) = J' g + grad log|det J|

Where x has more numbers than u, as the parts of a simplex or a symmetric matrix have,
the density of x is that of its free numbers (all parts but the last, the lower
triangle), and g has the derivatives in all numbers of x as if each were free.
"""

from skbayes_sg.kernels.generic import kernel_op, missing, python_op
from skbayes_sg.kernels.protocol.model import is_log_concave


# Inside the loop
@kernel_op
def n_free(map_):
    """Return the length of u."""
    raise NotImplementedError


@kernel_op
def n_constrained(map_):
    """Return the length of x; by default that of u."""
    return n_free(map_)


@kernel_op
def constrain(map_, u, out):
    """Write x = T(u) to `out`."""
    raise NotImplementedError


@kernel_op
def add_pulled_back(map_, u, x, g, share, out):
    """Add J' g + share * grad log|det J| to `out`, where x = T(u)."""
    raise NotImplementedError


@kernel_op
def log_jacobian(map_, u, x):
    """Return log|det J|, where x = T(u)."""
    raise NotImplementedError


@kernel_op
def add_map_metric(map_, u, out):
    """Add the diagonal of a metric of u, for where x says little of it, to `out`.

    It is what keeps steps in the metric of x finite at a border: 1 by default, as free
    numbers are logarithms or the like.
    """
    for j in range(u.size):
        out[j] += 1.0


# Outside the loop, Python only
@python_op
def n_redundant(map_):
    """Return how many free numbers say nothing of x.

    Where there are some, log|det J| stands for the Jacobian and their law together.
    """
    return 0


@python_op
def unconstrain(map_, x):
    """Return u of x = T(u)."""
    raise missing(unconstrain, map_)


@python_op
def is_affine(map_):
    """Whether x is an affine function of u."""
    return False


@python_op
def is_log_concave_through(model, map_):
    """Whether the log posterior of u is smooth and concave; a model knows its maps."""
    return is_affine(map_) and is_log_concave(model)
