"""What an exploration is asked for, and what it answers."""

import os
import zlib
from typing import Any, NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import python_op


class Settings(NamedTuple):
    """What a user may set of a run, under the names of the estimators' parameters."""

    step_size: float | str = "auto"
    gradient: Any = "auto"
    batch_size: int | str = "auto"
    preconditioner: str = "auto"
    n_draws: int = 1000
    burn_in: int | str = "auto"
    thin: int | str = "auto"
    n_chains: int = 4
    schedule: str = "constant"
    noise_correction: bool = False
    storage: str | os.PathLike | None = None
    storage_dtype: str | None = None
    keep: str = "draws"
    warm_start: bool = False
    checkpoint: str | os.PathLike | None = None
    n_jobs: int | None = None

    @property
    def dynamics(self):
        """Settings on which the dynamics of the chains depend."""
        return (
            *(self.step_size, self.gradient, self.batch_size, self.preconditioner),
            *(self.thin, self.n_chains, self.schedule, self.noise_correction),
        )


class Request(NamedTuple):
    """What the exploration of a posterior has to know beside the model."""

    sampler: NamedTuple
    is_default: bool  # whether the user has left the choice of the sampler open
    settings: Settings
    entropy: tuple  # of all seeds
    share: float  # of the automatic step sizes; less than 1 after a divergence
    start: np.ndarray | None  # (n_chains, dim) recorded draws of an earlier fit
    total: int | None  # rows for which the rows of a stream's batch stand
    memory: dict  # for results that depend neither on step sizes nor on lengths
    progress: Any  # Bar

    def seed(self, purpose: str) -> np.random.SeedSequence:
        """Return the seed for one purpose, the same at every attempt."""
        key = zlib.crc32(purpose.encode())
        return np.random.SeedSequence(self.entropy, spawn_key=(key,))

    def run_options(self, purpose: str) -> dict:
        """Return options of `sample` for a run that comes before the main one."""
        folder = self.settings.checkpoint
        return {
            "checkpoint": None if folder is None else os.path.join(folder, purpose),
            "n_jobs": self.settings.n_jobs,
            "progress": self.progress,
            "random_state": self.seed(purpose),
        }


class Exploration(NamedTuple):
    """Where the chains of a fit start, and how they are to move."""

    model: Any  # NamedTuple, as the chains see it
    sampler: NamedTuple
    gradient: NamedTuple
    coordinates: NamedTuple
    start: np.ndarray  # (n_chains, d)
    mode: np.ndarray  # (d,) the mode, or the point that stands for it
    theta_sd: np.ndarray  # (d,) rough posterior sds of the parameters
    gradient_variance: np.ndarray  # (d,) of the estimates, in the sampler's coordinates
    step_size: float
    burn_in: int
    thin: int
    step_limit: float | None  # largest stable step size, where it is known
    center: np.ndarray | None = None  # (d,) posterior means where sds are known
    factor: np.ndarray | None = None  # (d, d) F, F F' about the covariance, to verify
    ready: Any = None  # NamedTuple: `gradient` prepared for the data, where it is known
    spent: int = 0  # iterations of burn-in that the exploration has made
    completion: Any = None  # what makes whole draws of those of the chains, see `wide`


@python_op
def check_draws(model, draws, step_size):
    """Raise a DivergenceError if recorded draws, (n_chains, n_draws, dim), are absurd.

    For models of which a part may diverge unseen in the mean over all parameters.
    """


@python_op
def check_fit(model, found, draws):
    """Raise a DivergenceError if draws fit worse than what the exploration found.

    `draws` are all recorded draws, (n_chains, n_draws, dim).
    """


@python_op
def longer_thin(model, found, settings, draws):
    """Return the thinning with which chains should continue, None if all is well.

    The `draws` made so far are then discarded. The answer may depend on the draws, but
    not on time, so that equal seeds give equal draws.
    """
    return None


@python_op
def for_diagnostics(model):
    """Return the posterior of theta alone, hyperparameters integrated out if can be."""
    return model


def chosen(value, automatic):
    """Return a setting, or what is automatic where it is "auto"."""
    return automatic if isinstance(value, str) and value == "auto" else value


def rows_at_once(settings, automatic, n):
    """Return how many of n rows an iteration reads."""
    check_batch_size(settings.batch_size, n)
    if settings.gradient == "full":
        return n
    return chosen(settings.batch_size, automatic)


def check_batch_size(size, n):
    """Raise a ValueError if a minibatch of `size` is more than all `n` rows."""
    if size != "auto" and size is not None and size > n:
        raise ValueError(
            f"batch_size={size} is larger than n_samples={n}; "
            'use at most n_samples, or "auto"'
        )
