"""Mirrored Langevin by its name: a transform with its Jacobian, see `Transformed`."""

import numpy as np

from skbayes_sg.kernels.maps import AdditiveLogRatio, Interval
from skbayes_sg.kernels.models.transformed import Transformed
from skbayes_sg.kernels.protocol.model import n_parameters


def mirrored(model, mirror, *, low=None, high=None):
    """Return a model for mirrored Langevin (Hsieh et al., 2018).

    A mirror Phi maps x to the dual u = grad Phi(x), and mirrored Langevin is Langevin
    of the density of u. So it is `Transformed` with the inverse of grad Phi, the map
    x = grad Phi*(u), and works with every sampler and gradient estimator.

    Parameters
    ----------
    model : NamedTuple
        A model of parameters on the simplex, or within a box.
    mirror : {"entropic", "logit"}
        "entropic": the simplex with Phi = sum_k x_k log x_k; the dual is the additive
        log ratio. "logit": a box with Phi = sum_j (x_j - low_j) log(x_j - low_j) +
        (high_j - x_j) log(high_j - x_j); the dual is the logit.
    low, high : float or array-like of shape (n_parameters,), optional
        Bounds of the box.

    Returns
    -------
    Transformed

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg.kernels.models import DirichletMultinomial, mirrored
    >>> model = DirichletMultinomial(np.array([0, 0, 2]), np.ones(3))
    >>> mirrored(model, "entropic").map
    AdditiveLogRatio(n_parts=3)
    """
    d = n_parameters(model)
    if mirror == "entropic":
        return Transformed(model, AdditiveLogRatio(d))
    if mirror == "logit" and low is not None and high is not None:
        bounds = [np.broadcast_to(np.asarray(b, float), d).copy() for b in (low, high)]
        return Transformed(model, Interval(*bounds))
    raise ValueError(
        f'mirror={mirror!r} is not available here; use "entropic" for the simplex, or '
        '"logit" together with low and high for a box'
    )
