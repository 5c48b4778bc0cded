"""From a model to draws: the steps of `fit` that all estimators share.

    explore(model, request) -> start, coordinates, gradient, step size, lengths
    sample(...)             -> draws

`fit_chains` handles seeds, retries with smaller steps after a divergence, warm starts,
checkpoints, and interrupts that keep the draws made so far.
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
    check_fit,
    explore,
    longer_thin,
)
from skbayes_sg.inference.progress import Bar
from skbayes_sg.inference.storage import allocate_draws
from skbayes_sg.inference.verification import Errors, verify
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.notices import notice
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.protocol.gradient import batch_size_of
from skbayes_sg.kernels.protocol.model import n_recorded, n_rows, theta_of
from skbayes_sg.kernels.protocol.sampler import friction_of, takes_estimates
from skbayes_sg.kernels.schedules import SCHEDULES

MAX_RETRIES = 5  # of an automatic step size after a divergence
SHRINK = 0.25  # factor of the step size at every retry
MAX_REPAIRS = 2  # retries after draws that are wrong; smaller steps might not help


class Job(NamedTuple):
    """The part of a fit that does not depend on the model."""

    sampler: NamedTuple
    settings: Settings
    entropy: Sequence[int]  # from which all seeds are made
    callback: Callable | None  # of `sample`
    bar: Bar  # that shows the progress
    is_default: bool = False  # whether the sampler may be replaced by a better one

    def request(self, share=1.0, start=None, total=None, memory=None) -> Request:
        """Return the request to an exploration."""
        return Request(
            sampler=self.sampler,
            is_default=self.is_default,
            settings=self.settings,
            entropy=tuple(self.entropy),
            share=share,
            start=start,
            total=total,
            memory={} if memory is None else memory,
            progress=self.bar,
        )


class Fit(NamedTuple):
    """The result of a fit: the exploration and the chains."""

    model: Any  # NamedTuple
    found: Exploration
    draws: Any  # ndarray (n_chains, n_draws, dim), or Moments if none are kept
    info: Any  # SampleInfo; None before the chains have run
    key: str | None = None  # digest of model and dynamics, to continue the chains later
    interrupt: BaseException | None = None  # that ended the chains early
    total: int | None = None  # rows for which the batches of a stream stand
    errors: Errors = Errors()  # that the draws were found to have

    def continues_at(self, total: int) -> bool:
        """Whether the chains of a stream can continue with `total` rows."""
        return self.total is not None and self.total <= total < 2 * self.total

    def without_data(self) -> "Fit":
        """Return a copy without the data, sufficient for the next batch of a stream."""
        return self._replace(model=None, found=self.found._replace(model=None))

    @property
    def gradient_noise_ratio(self) -> float:
        """Ratio of the variance that gradients add to a step to the injected one."""
        h, friction = self.found.step_size, friction_of(self.found.sampler)
        return float(0.25 * h * np.max(self.found.gradient_variance) / friction)

    @property
    def batch_size(self) -> int:
        """Rows per gradient estimate."""
        return batch_size_of(self.found.gradient) or n_rows(self.found.model)

    @property
    def has_unstable_steps(self) -> bool:
        """Whether steps are larger than the limit of stability.

        Always False for Metropolis samplers, which reject unstable steps.
        """
        limit = self.found.step_limit
        if limit is None or not takes_estimates(self.found.sampler):
            return False
        return max(self.info.step_sizes, default=self.found.step_size) > limit


# Results that the candidates of a search share, None outside of searches.
_shared_results: ContextVar = ContextVar("shared", default=None)


@contextmanager
def shared_results(memory: dict):
    """Let all fits in the body share, in `memory`, results independent of step sizes.

    A search uses it for its candidates, for instance to find the mode only once.
    """
    token = _shared_results.set(memory)
    try:
        yield
    finally:
        _shared_results.reset(token)


def inside_search() -> bool:
    """Whether a search runs this fit; it then judges the draws itself."""
    return _shared_results.get() is not None


def computed_once(name: str, compute) -> Any:
    """Return ``compute()``; the fits of a search compute it only once."""
    memory = _shared_results.get()
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
        The sampler and the user's settings.
    previous : Fit, default=None
        An earlier fit, whose chains are continued if posterior and dynamics are the
        same.
    start : ndarray of shape (n_chains, dim), default=None
        Recorded draws from which to start otherwise, if their shape fits the model.

    Returns
    -------
    fit : Fit
        The draws and the exploration.
    """
    model, settings = for_kernels(model), job.settings
    _check_memory(model, settings)
    key = None
    if settings.warm_start:
        key = identity(model, job.sampler, *settings.dynamics)
    with one_blas_thread():  # the chains already run in parallel
        if key is not None and previous is not None and previous.key == key:
            return _run(previous, job, np.random.SeedSequence(job.entropy))
        return _explore_and_run(
            model, job, _compatible_start(start, model, settings), key
        )


def _explore_and_run(model, job, start, key):
    """Return a new fit; after a divergence, try again with smaller steps."""
    memory = _shared_results.get()
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
            fit = _lengthened(fit, job, attempt)
            is_final = attempt >= MAX_REPAIRS or job.settings.step_size != "auto"
            if not fit.errors.found or is_final:
                return fit
        except DivergenceError as error:
            if is_last or job.settings.step_size != "auto":
                raise
            notice(f"{error} This fit tries again with a quarter of it.")


def _lengthened(fit, job, attempt):
    """Return the fit with chains continued for as long as the model wants it."""
    while fit.info.chains is not None and fit.interrupt is None:
        found = fit.found
        thin = longer_thin(found.model, found, job.settings, fit.draws)
        if thin is None:
            break
        found = found._replace(thin=thin, burn_in=fit.info.n_iter)
        name = f"{attempt}-thin-{thin}"
        fit = _run(fit._replace(found=found), job, job.request().seed("longer"), name)
    return fit


def _run(fit, job, seed, attempt=0):
    """Return the fit with draws of its chains, which continue if they have run.

    `attempt` distinguishes checkpoints.
    """
    found, settings = fit.found, job.settings
    folder, interrupt = settings.checkpoint, None
    if folder is not None:
        folder = os.path.join(folder, f"attempt-{attempt}")
    try:
        draws, info = sample(
            found.model,
            found.sampler,
            found.ready or found.gradient,
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
        check_fit(found.model, found, draws)
        # Step sizes set by the user lead to a warning instead, and the draws of the
        # last attempt are accepted, since they are checked for convergence later.
        is_last = attempt == MAX_RETRIES
        automatic = settings.step_size == "auto" and not is_last
        if found.center is not None and automatic:
            thetas = np.stack([theta_of(found.model, d) for d in np.concatenate(draws)])
            limit = farthest_draw(draws.size)
            check_escape(thetas, found.center, found.theta_sd, limit, found.step_size)
    fit = fit._replace(
        found=found._replace(ready=None),  # a copy of the data
        draws=draws,
        info=info,
        interrupt=interrupt,
    )
    fit = fit._replace(errors=_verified(fit, job))
    if found.completion is None:
        return fit
    return fit._replace(draws=_completed(fit, job))


def _completed(fit, job):
    """Return draws of all parameters from those of the parameters that chains visit."""
    first = fit.info.n_iter - fit.draws.shape[1] * fit.found.thin
    key = job.request().seed("completion").spawn_key

    def seed(c, k):
        place = c, first + k * fit.found.thin  # the same for chains that were resumed
        return np.random.SeedSequence(job.entropy, spawn_key=(*key, *place))

    return fit.found.completion.complete(fit.draws, seed)


def _verified(fit, job):
    """Return the errors of the draws, none where they are not looked for."""
    found, settings = fit.found, job.settings
    complete = fit.interrupt is None and settings.keep == "draws"
    if found.factor is None or settings.schedule != "constant" or not complete:
        return Errors()
    covariance = found.factor @ found.factor.T
    seed = job.request().seed("verification")
    return verify(found.model, found.gradient, fit.draws, covariance, seed)


def fit_batch(
    model, job: Job, total: int, previous: Fit | None = None, start=None
) -> Fit:
    """Advance chains on one batch of a stream, scaled up to `total` rows.

    Each chain makes `thin` iterations and keeps one draw. The posterior is explored in
    the first call, and again whenever `total` has doubled.

    Parameters
    ----------
    model : NamedTuple
        The posterior; the weights of its rows add up to those of `total` rows.
    job : Job
        The sampler and the user's settings.
    total : int
        Number of rows to which the likelihood of the batch is scaled.
    previous : Fit, default=None
        The result of the last call.
    start : ndarray of shape (n_chains, dim), default=None
        Recorded draws from which to start if chains are not continued.

    Returns
    -------
    fit : Fit
        One draw of each chain, and the exploration.
    """
    model, settings = for_kernels(model), job.settings
    with one_blas_thread():
        if previous is not None and previous.continues_at(total):
            found, resume = previous.found._replace(model=model), previous.info.chains
            total = previous.total or total
        else:
            start, resume = _compatible_start(start, model, settings), None
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
    """Return the arguments of `sample` that determine the dynamics of the chains."""
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


def _compatible_start(start, model, settings):
    """Return recorded draws to start from, None if their shape does not fit."""
    if start is None or start.shape != (settings.n_chains, n_recorded(model)):
        return None
    return start


def _check_memory(model, settings):
    """Raise an error before any work is done if the draws do not fit into memory."""
    if settings.storage is None and settings.keep == "draws":
        allocate_draws(
            model, settings.n_chains, settings.n_draws, dtype=settings.storage_dtype
        )
