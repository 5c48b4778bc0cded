"""Factors of users and items with new ratings, given draws of all others.

Given a draw of the items, the row of a user is Gaussian,

    x_i | rest ~ N(P^-1 (L mean_i + alpha s_i sum_k w_k t_j a_j (y_k - c_j)), P^-1),
    P = L + alpha s_i sum_k w_k t_j a_j a_j',      a_j = (V_j, 1),

and its noise s_i has a Gamma law given the row. A few turns of the two draw both. The
rows of others do not move, so that the cost is that of the new ratings alone. With
implicit feedback all other items add alpha c a_j a_j' to P.
"""

import numpy as np

from skbayes_sg.kernels.models.matrix_factorization_draws import unpack

N_TURNS = 5  # of row and noise, which starts at its prior mean


def carried_over(draws, origins, old_sizes, layout):
    """Return recorded draws with the rows of other users and items.

    Parameters
    ----------
    draws : ndarray of shape (..., dim)
        Draws of the old users and items.
    origins : pair of ndarray
        The old code of each new user, and of each new item; -1 for those without one,
        whose rows are the prior's mean.
    old_sizes : pair of int
        Numbers of the old users and items.
    layout : Layout
        What the draws consist of.

    Returns
    -------
    draws : ndarray of shape (..., new_dim)
        Draws of the new users and items. Set members without an origin weigh nothing.
    """
    old = unpack(draws, sum(old_sizes), layout.width)
    known = np.concatenate(origins) >= 0
    shifted = np.concatenate([origins[0], old_sizes[0] + origins[1]])
    places = np.where(known, shifted, 0)
    rows, noise = old.rows[..., places, :], old.noise[..., 1 + places]
    sides = np.repeat([0, 1], [len(origin) for origin in origins])
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


def fold_in(draws, ratings, y, weights, features, users, items, rng, unobserved=0.0):
    """Draw the rows of `users` and `items`, codes, given their ratings and the rest.

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
    users, items : ndarray of int
        Codes of those to be drawn.
    rng : Generator
        Source of random numbers.
    unobserved : float, default=0.0
        Weight of pairs without a rating, of implicit feedback.
    """
    codes = ratings.users, ratings.items
    turns = [(0, users), (1, items)]
    if len(users) and len(items):  # each of the first users had seen none of the items
        turns *= 2
    orders = [np.argsort(code, kind="stable") for code in codes]
    for side, chosen in turns:
        own = codes[side][orders[side]]
        begins, ends = (np.searchsorted(own, chosen, at) for at in ("left", "right"))
        for row, begin, end in zip(chosen, begins, ends, strict=True):
            here = orders[side][begin:end]
            z = features[side][[row]].toarray()[0]
            data = codes[1 - side][here], y[here], weights[here]
            redraw(draws, side, row, *data, z, rng, unobserved)


def redraw(draws, side, row, others, y, weights, features, rng, unobserved=0.0):
    """Draw one user or item anew in all `draws`, a `RatingDraws` that changes in place.

    Parameters
    ----------
    draws : RatingDraws
        Posterior draws, with a row for the user or item.
    side : int
        0 for a user, 1 for an item.
    row : int
        Its code.
    others : ndarray of shape (k,)
        Codes of the items that it rated, or of the users who rated it.
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
    rows, noise, d, dof = draws.rows, draws.noise, draws.n_factors, draws.dof
    n = draws.n_users
    place, others = (row, n + others) if side == 0 else (n + row, others)
    x = rows[:, others].astype(np.float64)  # (S, k, q)
    design = np.concatenate([x[..., :d], np.ones_like(x[..., d:])], axis=2)
    target = y - x[..., d:].sum(axis=2)
    mean = draws.hyper[:, side, 0] + features @ draws.side_links(side)
    w = weights * noise[:, :1].astype(np.float64) * noise[:, 1 + others]
    weighted = np.swapaxes(design * w[..., None], 1, 2)
    gram, linear = weighted @ design, np.einsum("sak,sk->sa", weighted, target)
    if unobserved:
        every = (rows[:, n:] if side == 0 else rows[:, :n]).astype(np.float64)
        alpha = unobserved * noise[:, 0].astype(np.float64)
        rest = np.swapaxes(every, 1, 2) @ every - np.swapaxes(design, 1, 2) @ design
        gram += alpha[:, None, None] * rest
    precision, own = draws.hyper[:, side, 1].astype(np.float64), np.ones(len(rows))
    for _ in range(N_TURNS if dof else 1):
        scaled = own[:, None, None] * gram, own[:, None] * linear
        new = _gaussian(*scaled, precision, mean, rng)
        if dof:
            residual = target - np.einsum("ska,sa->sk", design, new)
            rate = 0.5 * (dof + np.sum(w * residual**2, axis=1))
            own = rng.standard_gamma(0.5 * (dof + weights.sum()), len(rows)) / rate
    rows[:, place], noise[:, 1 + place] = new, own


def _gaussian(gram, linear, precision, mean, rng):
    """Draw rows, (S, q), from N(P^-1 (linear + L mean), P^-1), P = gram + L."""
    q = precision.shape[1]
    gram[:, range(q), range(q)] += precision
    factor = np.linalg.cholesky(gram)
    z = np.linalg.solve(factor, (linear + precision * mean)[..., None])
    z += rng.standard_normal(z.shape)
    return np.linalg.solve(factor.transpose(0, 2, 1), z)[..., 0]
