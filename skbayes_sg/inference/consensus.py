"""Consensus Monte Carlo: merging draws of shards into draws of the full posterior."""

import numpy as np

from skbayes_sg.inference.moments import Moments

DRAWS_PER_PARAMETER = 10  # at least, so that the inverse of their covariance is stable
SMALLEST_VARIANCE = 1e-300  # sums of inverses of smaller ones would overflow


def merge_draws(draws, weighting="auto"):
    """Return the precision-weighted average of the shards' draws.

        theta = (sum_s W_s)^-1 sum_s W_s theta_s,    W_s = Cov(theta_s)^-1

    `draws` holds an array (n_chains, n_draws, dim) for each shard. The result has the
    same shape.
    """
    shape, dtype = draws[0].shape, draws[0].dtype
    draws = [shard.reshape(-1, shape[-1]).astype(np.float64) for shard in draws]
    _check_spread([shard.var(axis=0) for shard in draws])
    if not _is_dense(weighting, *draws[0].shape):
        weights = [1.0 / shard.var(axis=0) for shard in draws]
        total = sum(w * shard for w, shard in zip(weights, draws, strict=True))
        merged = total / sum(weights)
    else:
        # Units of the average sd keep the inverses accurate for badly scaled columns.
        unit = np.mean([shard.std(axis=0) for shard in draws], axis=0)
        scaled = [shard / unit for shard in draws]
        weights = _inverses(np.atleast_2d(np.cov(s, rowvar=False)) for s in scaled)
        total = sum(shard @ w for w, shard in zip(weights, scaled, strict=True))
        merged = unit * np.linalg.solve(sum(weights), total.T).T
    return merged.reshape(shape).astype(dtype)


def merge_moments(moments, weighting="auto"):
    """Return the `Moments` of what `merge_draws` returns for independent shards.

    Cov(theta) = (sum_s W_s)^-1 (sum_s W_s Cov(theta_s) W_s) (sum_s W_s)^-1
    """
    n = moments[0].n_draws * len(moments[0].mean)
    means, covariances = zip(*(shard.pooled() for shard in moments), strict=True)
    variances = [c if c.ndim == 1 else np.diagonal(c) for c in covariances]
    _check_spread(variances)
    if covariances[0].ndim == 1:
        if weighting == "dense":
            raise ValueError(
                'weighting="dense" needs covariances, which keep="variances" of the '
                'estimator does not have; use weighting="diagonal" or keep="moments"'
            )
        weights = [1.0 / v for v in variances]
        mean = sum(w * m for w, m in zip(weights, means, strict=True)) / sum(weights)
        return Moments(moments[0].n_draws, mean[None], 1.0 / sum(weights)[None])
    unit = np.mean(np.sqrt(variances), axis=0)
    scaled = [c / np.outer(unit, unit) for c in covariances]
    if _is_dense(weighting, n, unit.size):
        weights = _inverses(scaled)
    else:
        weights = [np.diag(1.0 / np.diagonal(c)) for c in scaled]
    root = np.linalg.inv(sum(weights))
    mean = root @ sum(w @ (m / unit) for w, m in zip(weights, means, strict=True))
    inner = sum(w @ c @ w for w, c in zip(weights, scaled, strict=True))
    covariance = np.outer(unit, unit) * (root @ inner @ root)
    return Moments(moments[0].n_draws, (unit * mean)[None], covariance[None])


def _check_spread(variances):
    """Raise a ValueError if a parameter does not vary: its weight would be infinite."""
    for number, shard in enumerate(variances):
        if not np.all(shard > SMALLEST_VARIANCE):
            raise ValueError(
                f"the draws of shard {number} do not vary, so they cannot be weighted; "
                "increase n_draws or the step_size"
            )


def _inverses(covariances):
    """Return the inverse of each covariance; a ValueError if one is singular."""
    for number, c in enumerate(covariances := list(covariances)):
        smallest, largest = np.linalg.eigvalsh(c)[[0, -1]]
        if not smallest > len(c) * np.finfo(np.float64).eps * largest:
            raise ValueError(
                f"the draws of shard {number} vary in fewer directions than they have "
                'parameters; increase n_draws, or use weighting="diagonal"'
            )
    return [np.linalg.inv(c) for c in covariances]


def _is_dense(weighting, n, dim):
    """Whether n draws of dim parameters are weighted by precision matrices."""
    if weighting == "dense" and n <= dim:
        raise ValueError(
            f'weighting="dense" needs more draws than the {dim} parameters, not {n}; '
            'increase n_draws or use "diagonal"'
        )
    many = n >= DRAWS_PER_PARAMETER * dim
    return many if weighting == "auto" else weighting == "dense"
