"""The one road from a model to draws, which every estimator takes.

    explore(model, request) -> start, coordinates, gradient, step size, lengths
    sample(...)             -> draws

`fit_chains` owns what all families share: seeds, retries with smaller steps after a
divergence, warm starts, checkpoints, and interrupts that keep the draws made so far.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from skbayes_sg.inference.chains import InterruptedRun, sample
from skbayes_sg.inference.checkpoints import identity
from skbayes_sg.inference.divergence import (
    DivergenceError,
    check_escape,
    farthest_draw,
)
from skbayes_sg.inference.exploration import (
    Exploration,
    Request,
    Settings,
    check_draws,
    explore,
)
from skbayes_sg.inference.progress import Bar
from skbayes_sg.inference.storage import allocate_draws
from skbayes_sg.inference.verification import sd_error
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.protocol.gradient import batch_size_of
from skbayes_sg.kernels.protocol.model import n_recorded, n_rows, theta_of
from skbayes_sg.kernels.protocol.sampler import friction_of, takes_estimates
from skbayes_sg.kernels.schedules import SCHEDULES

MAX_RETRIES = 5  # of an automatic step size after a divergence
SHRINK = 0.25  # factor of the step size at every retry
MAX_REPAIRS = 2  # retries after draws that are wrong; smaller steps might not help


class Job(NamedTuple):
    """What a fit of chains is asked to do, whatever the model."""

    sampler: NamedTuple
    settings: Settings
    entropy: Sequence[int]  # from which all seeds are made
    callback: Callable | None  # of `sample`
    bar: Bar  # that shows the progress

    def request(self, share=1.0, start=None, total=None, memory=None) -> Request:
        """Return what the exploration has to know."""
        return Request(
            sampler=self.sampler,
            settings=self.settings,
            entropy=tuple(self.entropy),
            share=share,
            start=start,
            total=total,
            memory={} if memory is None else memory,
            progress=self.bar,
        )


class Fit(NamedTuple):
    """Chains that have run, and all that they have learned."""

    model: Any  # NamedTuple
    found: Exploration
    draws: Any  # ndarray (n_chains, n_draws, dim), or Moments where none are kept
    info: Any  # SampleInfo; None before the chains have run
    key: str | None = None  # of the dynamics, where later fits may continue the chains
    interrupt: BaseException | None = None  # after which these are the draws so far
    total: int | None = None  # rows for which the batches of a stream stand
    sd_error: float = 0.0  # relative error of an sd that the draws were found to have

    def stands_for(self, total: int) -> bool:
        """Whether the chains of a stream continue at so many rows."""
        return self.total is not None and self.total <= total < 2 * self.total

    def without_data(self) -> "Fit":
        """Return what the next batch of a stream needs of this fit."""
        return self._replace(model=None, found=self.found._replace(model=None))

    @property
    def gradient_noise_ratio(self) -> float:
        """Variance that gradient estimates add to a step, over what is injected."""
        h, friction = self.found.step_size, friction_of(self.found.sampler)
        return float(0.25 * h * np.max(self.found.gradient_variance) / friction)

    @property
    def batch_size(self) -> int:
        """Rows per gradient estimate."""
        return batch_size_of(self.found.gradient) or n_rows(self.found.model)

    @property
    def has_unstable_steps(self) -> bool:
        """Whether steps are larger than the limit of stability.

        Metropolis samplers reject what is unstable.
        """
        limit = self.found.step_limit
        if limit is None or not takes_estimates(self.found.sampler):
            return False
        return max(self.info.step_sizes, default=self.found.step_size) > limit


# What candidates of a search share, None outside of searches.
_shared: ContextVar = ContextVar("shared", default=None)


@contextmanager
def sharing(memory: dict):
    """Let fits inside find and leave in `memory` what does not depend on the steps."""
    token = _shared.set(memory)
    try:
        yield
    finally:
        _shared.reset(token)


def is_shared() -> bool:
    """Whether this is inside of `sharing`, where a search judges the draws."""
    return _shared.get() is not None


def remembered(name: str, compute) -> Any:
    """Return ``compute()``, or what another fit inside of `sharing` has computed."""
    memory = _shared.get()
    if memory is None:
        return compute()
    if name not in memory:
        memory[name] = compute()
    return memory[name]


def fit_chains(model, job: Job, previous: Fit | None = None, start=None) -> Fit:
    """Explore the posterior and draw from it.

    Parameters
    ----------
    model : NamedTuple
        The posterior.
    job : Job
        Sampler and settings, as the user wants them.
    previous : Fit, default=None
        An earlier fit, whose chains are continued if posterior and dynamics are the
        same.
    start : ndarray of shape (n_chains, dim), default=None
        Recorded draws from which to start otherwise, if they fit the model.

    Returns
    -------
    fit : Fit
        The draws, and how they came about.
    """
    model, settings = for_kernels(model), job.settings
    _check_room(model, settings)
    key = None
    if settings.warm_start:
        key = identity(model, job.sampler, *settings.dynamics)
    with one_blas_thread():  # chains are what runs in parallel
        if key is not None and previous is not None and previous.key == key:
            return _run(previous, job, np.random.SeedSequence(job.entropy))
        return _explore_and_run(model, job, _fitting(start, model, settings), key)


def _explore_and_run(model, job, start, key):
    """Return a new fit; after a divergence, try again with smaller steps."""
    memory = _shared.get()
    memory = {} if memory is None else memory
    for attempt in range(MAX_RETRIES + 1):
        request = job.request(SHRINK**attempt, start, memory=memory)
        is_last = attempt == MAX_RETRIES
        try:
            found = explore(model, request)
        except DivergenceError:
            if is_last:
                raise
            continue
        try:
            fit = Fit(model, found, draws=None, info=None, key=key)
            fit = _run(fit, job, request.seed("chains"), attempt)
            if fit.sd_error == 0.0 or attempt >= MAX_REPAIRS:
                return fit
        except DivergenceError:
            if is_last or job.settings.step_size != "auto":
                raise


def _run(fit, job, seed, attempt=0):
    """Return the fit with draws of its chains, which continue if they have run."""
    found, settings = fit.found, job.settings
    folder, interrupt = settings.checkpoint, None
    if folder is not None:
        folder = os.path.join(folder, f"attempt-{attempt}")
    try:
        draws, info = sample(
            found.model,
            found.sampler,
            found.gradient,
            n_draws=settings.n_draws,
            noise_correction=settings.noise_correction,
            storage=settings.storage,
            storage_dtype=settings.storage_dtype,
            keep=settings.keep,
            checkpoint=folder,
            resume=fit.info.chains if fit.info is not None else None,
            random_state=seed,
            progress=job.bar,
            callback=job.callback,
            return_info=True,
            **_dynamics(found, settings),
        )
    except InterruptedRun as error:
        if not settings.warm_start or error.draws.size == 0:
            raise
        draws, info, interrupt = error.draws, error.info, error
    if settings.keep == "draws":
        check_draws(found.model, draws[:, -1:], found.step_size)
        # Of steps that the user has set, `fit` warns.
        is_last = attempt == MAX_RETRIES  # whatever comes of it is looked at elsewhere
        automatic = settings.step_size == "auto" and not is_last
        if found.center is not None and automatic:
            thetas = np.stack([theta_of(found.model, d) for d in np.concatenate(draws)])
            limit = farthest_draw(draws.size)
            check_escape(thetas, found.center, found.theta_sd, limit, found.step_size)
    fit = fit._replace(draws=draws, info=info, interrupt=interrupt)
    return fit._replace(sd_error=_verified(fit, job))


def _verified(fit, job):
    """Return the error of an sd, 0.0 where none is found or looked for.

    Draws at steps that the user has set are looked at by `check()`.
    """
    found, settings = fit.found, job.settings
    automatic = settings.step_size == "auto" and settings.schedule == "constant"
    if found.factor is None or not automatic or settings.keep != "draws":
        return 0.0
    covariance = found.factor @ found.factor.T
    seed = job.request().seed("verification")
    return sd_error(found.model, found.gradient, fit.draws, covariance, seed)


def fit_batch(
    model, job: Job, total: int, previous: Fit | None = None, start=None
) -> Fit:
    """Advance chains on one batch of a stream, which stands for `total` rows.

    Each chain makes `thin` iterations and keeps one draw. The first call explores the
    posterior; so does one at which `total` has doubled.

    Parameters
    ----------
    model : NamedTuple
        The posterior; the weights of its rows add up to those of `total` rows.
    job : Job
        Sampler and settings, as the user wants them.
    total : int
        Rows for which the batch stands.
    previous : Fit, default=None
        What the last call returned.
    start : ndarray of shape (n_chains, dim), default=None
        Recorded draws from which to start, where chains are not continued.

    Returns
    -------
    fit : Fit
        One draw of each chain, and how they came about.
    """
    model, settings = for_kernels(model), job.settings
    with one_blas_thread():
        if previous is not None and previous.stands_for(total):
            found, resume = previous.found._replace(model=model), previous.info.chains
            total = previous.total or total
        else:
            start, resume = _fitting(start, model, settings), None
            found = explore(model, job.request(start=start, total=total))
        draws, info = sample(
            found.model,
            found.sampler,
            Full(),
            n_draws=1,
            resume=resume,
            random_state=np.random.SeedSequence(job.entropy),
            return_info=True,
            **_dynamics(found, settings),
        )
    return Fit(model, found, draws, info, total=total)


def _dynamics(found, settings):
    """Return the arguments of `sample` that say where and how the chains move."""
    return {
        "step_size": SCHEDULES[settings.schedule](found.step_size),
        "burn_in": found.burn_in,
        "thin": found.thin,
        "n_chains": settings.n_chains,
        "start": found.start,
        "coordinates": found.coordinates,
        "scale": found.theta_sd,
        "step_limit": found.step_limit,
        "n_jobs": settings.n_jobs,
    }


def _fitting(start, model, settings):
    """Return recorded draws to start from, None where they are of another model."""
    if start is None or start.shape != (settings.n_chains, n_recorded(model)):
        return None
    return start


def _check_room(model, settings):
    """Refuse more draws than memory holds, before any work is done."""
    if settings.storage is None and settings.keep == "draws":
        allocate_draws(
            model, settings.n_chains, settings.n_draws, dtype=settings.storage_dtype
        )
