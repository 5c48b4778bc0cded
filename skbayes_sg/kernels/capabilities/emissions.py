"""Emissions: the law of the observation at a point given its hidden state.

An emission is a NamedTuple of settings. Its constrained parameters are a slice x of the
parameters of the hidden Markov model, and `cache` holds what is computed from them once
for many points. Observations that are NaN are missing and say nothing of the state.
"""

from skbayes_sg.kernels.generic import kernel_op, missing, python_op


# Inside the loop
@kernel_op
def n_emitted(emission):
    """Return the length of x."""
    raise NotImplementedError


@kernel_op
def prepare_emission(emission, x, cache):
    """Write to `cache` what densities and scores need of x."""
    raise NotImplementedError


@kernel_op
def write_log_emissions(emission, x, cache, X, first, last, begin, out):
    """Write log f(X_t | state k) of points first ... last - 1 to (n, K) `out`.

    `begin` is the first point of the sequence, before which nothing was observed.
    """
    raise NotImplementedError


@kernel_op
def add_emission_score(emission, x, cache, X, first, last, begin, weights, out):
    """Add the sum of weights_tk d log f(X_t | k) / dx over these points to `out`."""
    raise NotImplementedError


@kernel_op
def emission_log_prior(emission, x):
    """Return log p(x), up to a constant."""
    raise NotImplementedError


@kernel_op
def add_emission_prior_gradient(emission, x, out):
    """Add grad log p(x) to `out`."""
    raise NotImplementedError


# Outside the loop, Python only
@python_op
def n_cached(emission):
    """Return the size of `cache`."""
    return 1


@python_op
def emission_map(emission, sizes):
    """Return the map of free numbers to x, for about (K,) `sizes` points per state."""
    raise missing(emission_map, emission)


@python_op
def maximized(emission, x, g, sizes):
    """Return x after a step of EM: the mode given the expected states.

    `g` is the gradient of the log posterior in x, and (K,) `sizes` the expected numbers
    of points in each state. A step of EM is one of natural gradient, so that no other
    statistics are needed.
    """
    raise missing(maximized, emission)


@python_op
def starting_emission(emission, points, previous, labels, rng):
    """Return x by the points of each group, for EM to start at.

    `points` and the points before them, `previous`, are (n, p); `labels` are groups.
    """
    raise missing(starting_emission, emission)


@python_op
def draw_emissions(emission, x, states, past, rng):
    """Return observations drawn given the states, (n, p), one after the other.

    `past` holds the observations before the first one, the latest last.
    """
    raise missing(draw_emissions, emission)


@python_op
def relabeled(emission, x, order):
    """Return x with the states in another order, (..., n)."""
    raise missing(relabeled, emission)


@python_op
def state_order(emission, x):
    """Return the order in which states are labeled, (K,), given x."""
    raise missing(state_order, emission)


@python_op
def log_base(emission, X):
    """Return the part of log f(X) that no parameter changes, and kernels leave out."""
    return 0.0
