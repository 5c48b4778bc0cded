"""Chains at work: in chunks, between which Python has control."""

import math
import time
from contextlib import nullcontext
from typing import NamedTuple

import joblib
import numpy as np

from skbayes_sg.inference.checkpoints import restore, snapshot
from skbayes_sg.inference.cluster import shared
from skbayes_sg.inference.divergence import distance, divergence, reach
from skbayes_sg.inference.moments import Sums, init_sums
from skbayes_sg.inference.storage import recorder
from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.blas import one_blas_thread
from skbayes_sg.kernels.engine import run_chain
from skbayes_sg.kernels.minibatch import INDEX
from skbayes_sg.kernels.ops import (
    init_state,
    n_recorded,
    n_rows,
    parameter_dtype,
    sampler_stats,
    step_size_at,
)
from skbayes_sg.kernels.passes import subsampled_log_posterior

CHUNK_SECONDS = 0.05  # how long a chain computes before Python looks after it
MONITORED_ROWS = 1000  # from which the log posterior is shown beside the progress
CHECKPOINT_SECONDS = 5.0  # between two checkpoints of a chain
NOISE_EVERY = 10  # iterations between two measurements of the gradient noise


class Chain(NamedTuple):
    """All that changes while a chain runs."""

    rng: np.random.Generator
    state: NamedTuple
    work: NamedTuple
    memory: NamedTuple
    noise: NamedTuple  # GradientNoise
    sums: NamedTuple  # Sums, of draws that are not kept


class End(NamedTuple):
    """What a chain leaves."""

    draws: np.ndarray
    variance: np.ndarray  # of the gradient
    stats: dict
    t: int
    snapshot: dict
    sums: Sums


class Control:
    """What the main thread and the chains tell one another between chunks."""

    def __init__(self, n_chains):
        self.cancelled = False  # chains leave at once
        self.done = [0] * n_chains  # iterations of each chain
        self.running = set()  # chains whose thread is at work

    def cancel(self, seconds=0.2):
        """Wait until no chain is at work, unless one takes longer: it compiles."""
        self.cancelled = True
        until = time.monotonic() + seconds
        while self.running and time.monotonic() < until:
            time.sleep(0.005)


class Cancelled(Exception):
    """Another chain has failed, or the run was interrupted."""


def run_chains(plan, own, n_jobs, control, bar):
    """Run all chains to their ends, or to where they are stopped.

    `own` has what belongs to each: its position, its seed and its array for draws.
    """
    if len(own) == 1:  # nothing is gained elsewhere
        return [_run_one(plan, 0, own[0], control, bar)]
    parallel = joblib.effective_n_jobs(n_jobs) > 1
    # BLAS would start threads of its own under each of the chains.
    with one_blas_thread() if parallel else nullcontext():
        common = shared(plan, n_jobs)
        return joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
            joblib.delayed(_run_one)(common, c, own[c], control, bar)
            for c in range(len(own))
        )


def _run_one(plan, c, own, control, bar):
    """Run chain c to its end, or to where it is stopped.

    `own` is a tuple, because Dask keeps arrays that are arguments on one worker, and
    loses them with it.
    """
    position, seed, draws = own
    control.running.add(c)
    plan = plan.typed()
    try:
        chain, target = _new_chain(plan, position, seed)
        t = plan.begin
        if plan.resume is not None:
            t = restore(chain._replace(sums=None), plan.resume[c])
        if plan.checkpoint is not None:
            t = plan.checkpoint.load(c, chain) or t
            draws = np.lib.format.open_memmap(plan.checkpoint.draws, mode="r+")[c]
        elif not draws.flags.writeable:
            draws = np.empty_like(draws)
        bar.update(t - plan.begin)
        t = _run_from(t, plan, c, chain, target, np.asarray(draws), control, bar)
    finally:
        control.running.discard(c)
    variance = chain.noise.variance
    if chain.noise.count[0] == 0:
        variance = np.full_like(variance, np.nan)
    stats = sampler_stats(plan.sampler, chain.state)
    end = snapshot(chain._replace(sums=None), t)  # who goes on counts new draws alone
    return End(draws, variance, stats, t, end, chain.sums)


def _new_chain(plan, position, seed):
    """Return a chain at its start and its view of the posterior."""
    rng = np.random.default_rng(seed)
    target = make_target(
        plan.model,
        plan.gradient,
        plan.coordinates,
        rng,
        plan.inverse_temperature,
        plan.corrects,
    )
    state = init_state(plan.sampler, position, rng)
    sums = init_sums(n_recorded(plan.model), plan.keep, parameter_dtype(plan.model))
    return Chain(rng, state, target.work, target.memory, target.noise, sums), target


def _run_from(t, plan, c, chain, target, draws, control, bar):
    """Run chain c from iteration t on, in chunks; return the iteration it reached."""
    record = recorder(plan, draws, chain.sums, t)
    farthest = reach(plan, chain.state.position)
    monitor = Monitor(plan, target) if bar.enabled and c == 0 else None
    chunk, saved = 1, time.monotonic()
    while t < plan.n_iter and not (bar.stopped and plan.n_kept(t) > 0):
        if control.cancelled:
            raise Cancelled
        stop = min(t + chunk, plan.n_iter, record.full)
        began = time.perf_counter()
        run_chain(
            plan.sampler,
            chain.state,
            target,
            plan.schedule,
            chain.rng,
            t,
            stop,
            record.first,
            plan.thin,
            NOISE_EVERY,
            plan.noise_until,
            record.buffer,
        )
        elapsed = max(time.perf_counter() - began, 1e-6)
        far = distance(plan, chain.state.position)
        if not far <= farthest:
            raise divergence(plan, c, stop, far)
        record.update(stop)
        bar.update(stop - t, **(monitor.facts(stop) if monitor else {}))
        in_time = int((stop - t) * CHUNK_SECONDS / elapsed)
        t, chunk = stop, max(1, min(2 * chunk, in_time))
        control.done[c] = t
        if plan.checkpoint is not None and (
            t == plan.n_iter or time.monotonic() - saved > CHECKPOINT_SECONDS
        ):
            plan.checkpoint.save(c, chain, t)
            saved = time.monotonic()
    record.close(t)
    return t


class Monitor:
    """What is shown beside the progress of the first chain, at most once a second."""

    def __init__(self, plan, target):
        self.plan, self.target = plan, target
        n, m = n_rows(plan.model), min(n_rows(plan.model), MONITORED_ROWS)
        self.rows = (np.arange(m, dtype=np.int64) * n // m).astype(INDEX)
        self.shown, self.seen = {}, -math.inf

    def facts(self, t):
        """Return step size and log posterior after iteration t."""
        if time.monotonic() - self.seen > 1.0:
            parts = self.plan.model, self.target.work, self.target.theta
            value = subsampled_log_posterior(*parts, self.rows)
            h = step_size_at(self.plan.schedule, t)
            self.shown = {"step": f"{h:.3g}", "log posterior": f"{value:.6g}"}
            self.seen = time.monotonic()
        return self.shown
