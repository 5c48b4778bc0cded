"""Exact posterior means and sds: importance sampling, quadrature, slice sampling."""

from typing import NamedTuple

import numpy as np

MAX_KHAT = 0.6  # below 0.7 the estimates and their standard errors are reliable
MAX_ERROR = 0.03  # standard error of a mean or an sd, in sds, that a reference may have
GOOD_SHARE = 0.5  # of effective draws, at which adaptation ends
KERNELS = 200  # of the mixture that importance sampling draws from
DOF = 5.0  # of these Student t kernels
CHAINS = 64


class Reference(NamedTuple):
    """Moments of the quantities that are compared, with their standard errors."""

    mean: np.ndarray  # (q,)
    sd: np.ndarray
    kurtosis: np.ndarray  # which says how well draws can estimate an sd
    mean_error: np.ndarray  # standard errors, in units of the sd
    sd_error: np.ndarray
    method: str

    @property
    def error(self):
        """Largest standard error, in sds."""
        return max(self.mean_error.max(), self.sd_error.max())


def exact(density, rng, transform=None):
    """Return the reference of a density, by the first method that is reliable.

    `transform` maps (m, d) parameters to (m, q) quantities; it may be random.
    """
    found, khat = importance(density, rng, transform)
    if khat < MAX_KHAT and found.error < MAX_ERROR:
        return found
    return slices(density, rng, transform)


# Importance sampling
class Mixture:
    """Student t kernels around points, together with the points' mean and covariance.

    Points are drawn to their mean so that the mixture is no wider than they are (West,
    1993); one tenth of the mixture is a wide kernel at the mean.
    """

    def __init__(self, points, center, covariance):
        k, d = points.shape
        width = (4.0 / ((d + 2) * k)) ** (1.0 / (d + 4)) if k > 1 else 1.0
        width = min(1.0, 1.2 * width)
        self.points = center + np.sqrt(1 - width**2) * (points - center)
        root = np.linalg.cholesky(covariance)
        self.parts = [(self.points, width * root), (center[None], 1.5 * root)]
        self.shares = np.array([0.9, 0.1])

    def draw(self, m, rng):
        which = rng.random(m) < self.shares[1]
        out = np.empty((m, self.points.shape[1]))
        for chosen, (points, root) in zip((~which, which), self.parts, strict=True):
            n = chosen.sum()
            z = rng.standard_normal((n, len(root)))
            z /= np.sqrt(rng.chisquare(DOF, n) / DOF)[:, None]
            out[chosen] = points[rng.integers(len(points), size=n)] + z @ root.T
        return out

    def log(self, x):
        total = np.zeros(len(x))
        for share, (points, root) in zip(self.shares, self.parts, strict=True):
            d, inverse = len(root), np.linalg.inv(root)
            u, v = x @ inverse.T, points @ inverse.T
            square = np.sum(u**2, axis=1)[:, None] + np.sum(v**2, axis=1) - 2 * u @ v.T
            kernel = (1 + np.maximum(square, 0) / DOF) ** (-0.5 * (DOF + d))
            total += share * kernel.mean(axis=1) / np.prod(np.diag(root))
        return np.log(np.maximum(total, 1e-300))


def importance(density, rng, transform=None, rounds=8):
    """Adapt a mixture to the density; return the reference and Pareto's k-hat."""
    mode, covariance = density.laplace()
    some = int(np.clip(4e7 / density.cost, 500, 4000))
    many = int(np.clip(3e8 / density.cost, 3000, 20000))
    proposal, last = Mixture(mode[None], mode, covariance), 0.0
    for _ in range(rounds):
        x, log_weights = _weighted(density, proposal, some, rng)
        weights, exponent = _tempered(log_weights)
        share = 1.0 / (len(x) * np.sum(weights**2))
        if exponent == 1.0 and (share > GOOD_SHARE or share < 1.05 * last):
            break
        last = share if exponent == 1.0 else 0.0
        center = weights @ x
        covariance = (weights[:, None] * (x - center)).T @ (x - center)
        # With few effective draws a covariance may be singular: keep a little of all.
        covariance += 1e-9 * np.diag(np.diag(covariance))
        points = x[rng.choice(len(x), KERNELS, p=weights)]
        proposal = Mixture(points, center, covariance)
    x, log_weights = _weighted(density, proposal, many, rng)
    weights = np.exp(log_weights - log_weights.max())
    values = x if transform is None else transform(x)
    found = from_weighted(values, weights / weights.sum(), "importance")
    return found, pareto_k(weights)


def pareto_k(weights):
    """Return the shape of the weights' tail (Zhang & Stephens, 2009; Vehtari, 2024)."""
    tail = np.sort(weights)[-int(min(0.2 * len(weights), 3 * len(weights) ** 0.5)) :]
    x = tail[1:] - tail[0]
    n = len(x)
    if x[n // 4] <= 0:  # equal weights: those of a perfect proposal
        return 0.0
    m = 30 + int(n**0.5)
    b = 1 / x[-1] + (1 - np.sqrt(m / (np.arange(m) + 0.5))) / (3 * x[n // 4])
    k = np.log1p(-b[:, None] * x).mean(axis=1)
    log_likelihood = n * (np.log(-b / k) - k - 1)
    chance = np.exp(log_likelihood - log_likelihood.max())
    b = np.sum(b * chance) / chance.sum()
    return float(np.log1p(-b * x).mean())


def _weighted(density, proposal, m, rng):
    x = proposal.draw(m, rng)
    return x, density.log(x) - proposal.log(x)


def _tempered(log_weights):
    """Return weights w^b that sum to one, b <= 1 as large as 5 % of them allow."""
    exponent = 1.0
    while True:
        weights = np.exp(exponent * (log_weights - log_weights.max()))
        weights /= weights.sum()
        if 1.0 / np.sum(weights**2) > 0.05 * len(weights) or exponent < 1e-6:
            return weights, exponent
        exponent *= 0.7


def from_weighted(values, weights, method):
    """Return the reference of draws (m, q) with weights that sum to one."""
    mean = weights @ values
    centered = values - mean
    variance = weights @ centered**2
    sd = np.sqrt(variance)
    mean_error = np.sqrt(weights**2 @ centered**2) / sd
    sd_error = np.sqrt(weights**2 @ (centered**2 - variance) ** 2) / (2 * variance)
    kurtosis = weights @ centered**4 / variance**2
    return Reference(mean, sd, kurtosis, mean_error, sd_error, method)


# Quadrature
def quadrature(density, n_points=200, reach=9.0):
    """Return the reference in one or two dimensions, by the trapezoidal rule.

    The box is `reach` sds wide to each side, found by repeating; smooth densities that
    vanish at its border are integrated to nearly all digits.
    """
    center, covariance = density.laplace()
    for _ in range(20):
        root = np.linalg.cholesky(covariance)
        axis = np.linspace(-reach, reach, n_points)
        z = np.stack(np.meshgrid(*[axis] * density.dim), axis=-1)
        x = center + z.reshape(-1, density.dim) @ root.T
        log_p = density.log(x)
        weights = np.exp(log_p - log_p.max())
        found = from_weighted(x, weights / weights.sum(), "quadrature")
        moved = np.abs(found.mean - center) / found.sd
        change = np.abs(np.log(found.sd / np.sqrt(np.diag(covariance))))
        if max(moved.max(), change.max()) < 1e-3:
            break
        weights /= weights.sum()
        center = found.mean
        covariance = (weights[:, None] * (x - center)).T @ (x - center)
    none = np.zeros(density.dim)
    return found._replace(mean_error=none, sd_error=none)


# Slice sampling
def slices(density, rng, transform=None, sweeps=100, max_sweeps=1600):
    """Return the reference of many chains of slice sampling (Neal, 2003).

    A sweep moves along random orthogonal directions in coordinates whitened by the
    covariance of all chains. Chains are independent but for that, so their means tell
    the standard error. Runs are doubled until it is small and both halves agree.
    """
    mode, covariance = density.laplace()
    z = rng.standard_normal((CHAINS, density.dim))
    state = mode + z @ np.linalg.cholesky(covariance).T
    for length in (5, 10, 20, 40):  # the covariance grows or shrinks to the right one
        kept = []
        for _ in range(length):
            state = _sweep(density, state, covariance, rng)
            kept.append(state)
        late = np.concatenate(kept[length // 2 :])
        covariance = np.cov(late.T).reshape(density.dim, -1)
        covariance += 1e-9 * np.diag(np.diag(covariance))
    kept = []
    while True:
        for _ in range(sweeps):
            state = _sweep(density, state, covariance, rng)
            kept.append(state if transform is None else transform(state))
        draws = np.stack(kept, axis=1)
        half = draws.shape[1] // 2
        found = from_chains(draws, "slices")
        early, late = from_chains(draws[:, :half], ""), from_chains(draws[:, half:], "")
        gap = np.abs(early.mean - late.mean) / found.sd
        agree = np.all(gap < 4 * np.hypot(early.mean_error, late.mean_error))
        if (agree and found.error < MAX_ERROR) or len(kept) >= max_sweeps:
            return found
        sweeps = len(kept)


def _sweep(density, state, covariance, rng):
    """Return states (chains, d) after a slice update along each of d directions."""
    n, d = state.shape
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    directions = (np.linalg.cholesky(covariance) @ turn).T
    value = density.log(state)
    for direction in directions:
        level = value - rng.exponential(size=n)
        low = -3.0 * rng.random(n)
        high = low + 3.0
        for bound, way in ((low, -3.0), (high, 3.0)):
            out = np.arange(n)
            while out.size:
                at = state[out] + bound[out, None] * direction
                out = out[density.log(at) > level[out]]
                bound[out] += way
        todo = np.arange(n)
        new, new_value = state.copy(), value.copy()
        while todo.size:
            t = low[todo] + (high[todo] - low[todo]) * rng.random(todo.size)
            at = state[todo] + t[:, None] * direction
            found = density.log(at)
            good = found > level[todo]
            new[todo[good]], new_value[todo[good]] = at[good], found[good]
            bad, t = todo[~good], t[~good]
            low[bad] = np.where(t < 0, t, low[bad])
            high[bad] = np.where(t < 0, high[bad], t)
            todo = bad
        state, value = new, new_value
    return state


def from_chains(draws, method):
    """Return the reference of independent chains (n_chains, n_draws, q)."""
    mean = draws.mean(axis=(0, 1))
    centered = draws - mean
    variance = np.mean(centered**2, axis=(0, 1))
    sd, root = np.sqrt(variance), np.sqrt(len(draws))
    mean_error = centered.mean(axis=1).std(axis=0, ddof=1) / root / sd
    squares = np.mean(centered**2, axis=1)
    sd_error = squares.std(axis=0, ddof=1) / root / (2 * variance)
    kurtosis = np.mean(centered**4, axis=(0, 1)) / variance**2
    return Reference(mean, sd, kurtosis, mean_error, sd_error, method)
