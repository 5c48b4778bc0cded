"""Spaces of parameters: what a name in a model of the user's own may be.

A chain moves free numbers u, any in R^n. A space makes parameters x = T(u) of them, and
adds log|det dT/du| to the log prior, so that the user's densities are those of x.
"""

import math
from typing import Any

from skbayes_sg.utils._validation import check_integer, check_number


class Real:
    """Parameters that may be any real number.

    Parameters
    ----------
    shape : int or tuple of int, default=()
        Shape of the parameter; a single number by default.
    dims : str or tuple of str, default=None
        Names of its axes in `to_arviz`.

    Examples
    --------
    >>> from skbayes_sg import Real
    >>> Real(3).shape
    (3,)
    """

    _least = 1

    def __init__(self, shape=(), dims=None):
        self.shape = shape if isinstance(shape, tuple) else (shape,)
        for length in self.shape:
            check_integer("shape", length, at_least=self._least)
        self.dims = (dims,) if isinstance(dims, str) else dims
        if dims is not None and len(self.dims) != len(self.shape):
            raise ValueError(
                f"dims={dims!r} must name every axis, but the parameter has shape "
                f"{self.shape}; give one name per axis"
            )

    def __repr__(self):
        return f"{type(self).__name__}({self.shape})"

    @property
    def n_free(self) -> int:
        """How many free numbers stand for the parameter."""
        return math.prod(self.shape)

    @property
    def is_free(self) -> bool:
        """Whether the parameter is its free numbers."""
        return type(self) is Real

    def constrained(self, u: Any) -> Any:
        """Return x = T(u) and log|det dT/du|, symbolically; u is (n_free,)."""
        return u.reshape(self.shape), 0.0


class Positive(Real):
    """Positive parameters, x = exp(u).

    Parameters
    ----------
    shape : int or tuple of int, default=()
        Shape of the parameter; a single number by default.
    dims : str or tuple of str, default=None
        Names of its axes in `to_arviz`.

    Examples
    --------
    >>> from skbayes_sg import Positive
    >>> Positive().shape
    ()
    """

    def constrained(self, u: Any) -> Any:
        """Return x = T(u) and log|det dT/du|, symbolically; u is (n_free,)."""
        import pytensor.tensor as pt

        return pt.exp(u).reshape(self.shape), u.sum()


class Interval(Real):
    """Parameters between two bounds, x = low + (high - low) sigmoid(u).

    Parameters
    ----------
    low, high : float
        The bounds.
    shape : int or tuple of int, default=()
        Shape of the parameter; a single number by default.
    dims : str or tuple of str, default=None
        Names of its axes in `to_arviz`.

    Examples
    --------
    >>> from skbayes_sg import Interval
    >>> Interval(0, 1).high
    1
    """

    def __init__(self, low, high, shape=(), dims=None):
        super().__init__(shape, dims)
        self.low = check_number("low", low)
        self.high = check_number("high", high, above=low)

    def __repr__(self):
        return f"Interval({self.low}, {self.high}, {self.shape})"

    def constrained(self, u: Any) -> Any:
        """Return x = T(u) and log|det dT/du|, symbolically; u is (n_free,)."""
        import pytensor.tensor as pt

        width = self.high - self.low
        x = self.low + width * pt.sigmoid(u)
        slope = math.log(width) - pt.softplus(u) - pt.softplus(-u)
        return x.reshape(self.shape), slope.sum()


class _Vector(Real):
    """Spaces of one axis."""

    def __init__(self, shape, dims=None):
        super().__init__(shape, dims)
        if len(self.shape) != 1:
            raise ValueError(
                f"shape={shape!r} must be one integer for {type(self).__name__}; give "
                "several of them names of their own"
            )


class Ordered(_Vector):
    """Numbers in increasing order, x_1 = u_1 and x_k = x_{k-1} + exp(u_k).

    Parameters
    ----------
    shape : int
        How many.
    dims : str, default=None
        Name of the axis in `to_arviz`.

    Examples
    --------
    >>> from skbayes_sg import Ordered
    >>> Ordered(2).shape
    (2,)
    """

    def constrained(self, u: Any) -> Any:
        """Return x = T(u) and log|det dT/du|, symbolically; u is (n_free,)."""
        import pytensor.tensor as pt

        steps = pt.concatenate([u[:1], pt.exp(u[1:])])
        return pt.cumsum(steps), u[1:].sum()


class Simplex(_Vector):
    """Positive parts that sum to one; the density is that of all parts but the last.

    Parameters
    ----------
    shape : int
        How many parts, at least two.
    dims : str, default=None
        Name of the axis in `to_arviz`.

    Examples
    --------
    >>> from skbayes_sg import Simplex
    >>> Simplex(3).n_free
    2
    """

    _least = 2

    @property
    def n_free(self) -> int:
        """How many free numbers stand for the parameter."""
        return math.prod(self.shape) - 1

    def constrained(self, u: Any) -> Any:
        """Return x = T(u) and log|det dT/du|, symbolically; u is (n_free,)."""
        import pytensor.tensor as pt

        # Ratios to the last part: x = softmax(u, 0), whose log|det| is sum log x.
        logs = pt.concatenate([u, pt.zeros(1)])
        logs = logs - pt.logsumexp(logs)
        return pt.exp(logs), logs.sum()
