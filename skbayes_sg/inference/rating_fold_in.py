"""Factors of users and items with new ratings, given draws of all others.

Given a draw of the items, the row of a user is Gaussian,

    x_i | rest ~ N(P^-1 (L mean_i + alpha s_i sum_k w_k t_j a_j (y_k - c_j)), P^-1),
    P = L + alpha s_i sum_k w_k t_j a_j a_j',      a_j = (V_j, 1),

where further columns add their factors to V_j and what they explain to c_j, and its
noise s_i has a Gamma law given the row. A few turns of the two draw both. The
rows of others do not move, so that the cost is that of the new ratings alone. With
implicit feedback all other items add alpha c a_j a_j' to P.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.models.matrix_factorization_draws import unpack

N_TURNS = 5  # of row and noise, which starts at its prior mean


def carried_over(draws, origins, old_sizes, layout):
    """Return recorded draws with the rows of other users and items.

    Parameters
    ----------
    draws : ndarray of shape (..., dim)
        Draws of the old users and items.
    origins : list of ndarray
        The old code of each new user, of each new item and of each label of further
        columns; -1 for those without one, whose rows are the prior's mean.
    old_sizes : list of int
        Numbers of the old users, items and labels.
    layout : Layout
        What the draws consist of.

    Returns
    -------
    draws : ndarray of shape (..., new_dim)
        Draws of the new users and items. Set members without an origin weigh nothing.
    """
    n_sides = len(old_sizes)
    old = unpack(draws, sum(old_sizes), layout.width, n_sides)
    known, firsts = np.concatenate(origins) >= 0, np.cumsum([0, *old_sizes])
    shifted = np.concatenate(
        [first + origin for first, origin in zip(firsts, origins, strict=False)]
    )
    places = np.where(known, shifted, 0)
    rows, noise = old.rows[..., places, :], old.noise[..., 1 + places]
    sides = np.repeat(range(n_sides), [len(origin) for origin in origins])
    rows[..., ~known, :] = old.hyper[..., sides[~known], 0, :]
    noise[..., ~known] = 1.0
    links, first = [], 0
    for side in (0, 1):
        last = first + layout.n_features[side]
        links.append(old.links[..., first:last, :])
        first = last
        if layout.has_sets:
            members = origins[1 - side]
            part = old.links[..., first + np.maximum(members, 0), :]
            part[..., members < 0, :] = 0.0
            links.append(part)
            first += old_sizes[1 - side]
    parts = [rows, old.hyper, old.noise[..., :1], noise, *links]
    lead = draws.shape[:-1]
    return np.concatenate([part.reshape(*lead, -1) for part in parts], axis=-1)


def fold_in(draws, ratings, y, weights, features, chosen, rng, unobserved=0.0):
    """Draw the rows of `chosen` users and items given their ratings and the rest.

    Parameters
    ----------
    draws : RatingDraws
        Posterior draws, which change in place.
    ratings : Ratings
        All ratings.
    y, weights : ndarray of shape (n_ratings,)
        The ratings relative to their mean, and factors of their log-likelihoods.
    features : pair of sparse matrix
        Features of all users and of all items.
    chosen : list of ndarray of int
        Codes of the users, the items and the labels of further columns to be drawn.
    rng : Generator
        Source of random numbers.
    unobserved : float, default=0.0
        Weight of pairs without a rating, of implicit feedback.
    """
    turns = [(side, rows) for side, rows in enumerate(chosen) if len(rows)]
    if len(turns) > 1:  # each of the first users had seen none of the items
        turns *= 2
    for side, rows in turns:
        order = np.argsort(ratings.codes[side], kind="stable")
        own = ratings.codes[side][order]
        begins, ends = (np.searchsorted(own, rows, at) for at in ("left", "right"))
        for row, begin, end in zip(rows, begins, ends, strict=True):
            here = order[begin:end]
            z = features[side][[row]].toarray()[0] if side < 2 else np.zeros(0)
            data = ratings.part(here), y[here], weights[here]
            redraw(draws, side, row, *data, z, rng, unobserved)


def redraw(draws, side, row, ratings, y, weights, features, rng, unobserved=0.0):
    """Draw one user or item anew in all `draws`, a `RatingDraws` that changes in place.

    Parameters
    ----------
    draws : RatingDraws
        Posterior draws, with a row for the user or item.
    side : int
        0 for a user, 1 for an item, and more for a label of a further column.
    row : int
        Its code.
    ratings : Ratings
        Its k ratings.
    y : ndarray of shape (k,)
        These ratings, relative to the mean rating.
    weights : ndarray of shape (k,)
        Factors of their log-likelihoods.
    features : ndarray of shape (p,)
        Features of the user or the item, those of its set included.
    rng : Generator
        Source of random numbers.
    unobserved : float, default=0.0
        Weight of pairs without a rating, of implicit feedback.
    """
    law = row_law(draws, side, row, ratings, y, weights, features, unobserved)
    dof, n_draws = draws.dof if side < 2 else 0.0, len(draws.rows)
    own = np.ones(n_draws)
    for _ in range(N_TURNS if dof else 1):
        linear = own[:, None] * np.einsum("ska,sk->sa", law.weighted, law.target)
        scaled = own[:, None, None] * law.gram, linear
        new = _gaussian(*scaled, law.precision, law.mean, rng)
        if dof:
            residual = law.target - np.einsum("ska,sa->sk", law.design, new)
            rate = 0.5 * (dof + np.sum(law.w * residual**2, axis=1))
            own = rng.standard_gamma(0.5 * (dof + weights.sum()), n_draws) / rate
    place = draws.rows_of(side).start + row
    draws.rows[:, place], draws.noise[:, 1 + place] = new, own


class RowLaw(NamedTuple):
    """What the ratings of a row and its prior tell of it under each of S draws."""

    design: np.ndarray  # (S, k, q) a_j
    target: np.ndarray  # (S, k) y_k - c_j
    gram: np.ndarray  # (S, q, q) sum_k alpha w_k t_j a_j a_j', s_i not included
    precision: np.ndarray  # (S, q) L
    mean: np.ndarray  # (S, q)
    w: np.ndarray  # (S, k) alpha w_k t_j

    @property
    def weighted(self):
        """The weighted design, (S, k, q)."""
        return self.design * self.w[..., None]


def row_law(draws, side, row, ratings, y, weights, features, unobserved=0.0):
    """Return the `RowLaw` of a user or an item; parameters are those of `redraw`."""
    rows, noise, pairs = draws.rows, draws.noise.astype(np.float64), ratings.pairs
    design, explained = _without(draws, side, pairs, ratings.values)
    mean = draws.hyper[:, side, 0].astype(np.float64)
    if side < 2:
        mean = mean + features @ draws.side_links(side).astype(np.float64)
    w = weights * noise[:, :1]
    for other in {0, 1} - {side}:
        w = w * noise[:, 1 + pairs[:, other]]
    gram = np.swapaxes(design * w[..., None], 1, 2) @ design
    if unobserved:
        every = rows[:, draws.rows_of(1 - side)].astype(np.float64)
        rest = np.swapaxes(every, 1, 2) @ every - np.swapaxes(design, 1, 2) @ design
        gram += unobserved * noise[:, 0, None, None] * rest
    precision = draws.hyper[:, side, 1].astype(np.float64)
    return RowLaw(design, y - explained, gram, precision, mean, w)


def contributions(draws, user, item, ratings, y, weights, features, unobserved=0.0):
    """Return what the ratings of a user contribute to the mean rating of an item.

    Given a draw of all else, the mean of U_i . V_j + b_i + c_j over the law of the user
    is linear in the user's ratings. `ratings` are those of the user, and the other
    parameters are those of `redraw`.

    Returns
    -------
    parts : ndarray of shape (k,)
        Contributions of the ratings, averaged over draws.
    rest : float
        Contribution of the prior, the bias of the item included.
    """
    law = row_law(draws, 0, user, ratings, y, weights, features, unobserved)
    own = draws.noise[:, 1 + user].astype(np.float64)
    inverse, q = own[:, None, None] * law.gram, law.gram.shape[1]
    inverse[:, range(q), range(q)] += law.precision
    v = draws.rows[:, draws.rows_of(1).start + item].astype(np.float64)
    asked = np.where(np.arange(q) < draws.n_factors, v, 1.0)
    asked = np.linalg.solve(inverse, asked[..., None])[..., 0]  # P is symmetric
    parts = own[:, None] * np.einsum("ska,sa->sk", law.weighted, asked) * law.target
    rest = np.sum(asked * law.precision * law.mean, axis=1)
    rest += v[:, draws.n_factors :].sum(axis=1)
    return draws.weights @ parts, float(draws.weights @ rest)


def _without(draws, side, pairs, values):
    """Return what a row's ratings depend on: (S, k, q) and, without the row, (S, k)."""
    d = draws.n_factors
    z = np.concatenate([np.ones((len(pairs), 2)), values], axis=1)
    together, explained = 0.0, np.zeros((len(draws.rows), len(pairs)))
    for other in range(pairs.shape[1]):
        if other != side:
            x = z[:, other, None] * draws.rows[:, pairs[:, other]].astype(np.float64)
            explained += np.sum(together * x[..., :d], axis=2) + x[..., d:].sum(axis=2)
            together = together + x[..., :d]
    bias = np.ones((*together.shape[:2], draws.rows.shape[2] - d))
    design = np.concatenate([together, bias], axis=2)
    return z[:, side, None] * design, explained


def _gaussian(gram, linear, precision, mean, rng):
    """Draw rows, (S, q), from N(P^-1 (linear + L mean), P^-1), P = gram + L."""
    q = precision.shape[1]
    gram[:, range(q), range(q)] += precision
    factor = np.linalg.cholesky(gram)
    z = np.linalg.solve(factor, (linear + precision * mean)[..., None])
    z += rng.standard_normal(z.shape)
    return np.linalg.solve(factor.transpose(0, 2, 1), z)[..., 0]
