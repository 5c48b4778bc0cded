"""Chains at work: in chunks, between which Python has control, and in turns.

Where there are more chains than threads, those of a thread take turns, a chunk each, so
that all of them have come about as far when a run is broken off.
"""

import math
import time
from typing import NamedTuple

import joblib
import numpy as np

from skbayes_sg.inference.cluster import shared, shares_memory
from skbayes_sg.inference.divergence import distance, divergence, reach
from skbayes_sg.inference.moments import Sums, init_sums
from skbayes_sg.inference.snapshots import restore, snapshot
from skbayes_sg.inference.storage import in_file, recorder
from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.engine import run_chain
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.passes import subsampled_log_posterior
from skbayes_sg.kernels.protocol.model import n_recorded, n_rows, parameter_dtype
from skbayes_sg.kernels.protocol.sampler import init_state, sampler_stats
from skbayes_sg.kernels.schedules import step_size_at

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
    coordinates: object = None  # NamedTuple, where they are the chain's own


class End(NamedTuple):
    """What a chain leaves."""

    draws: object  # ndarray or DrawFile
    variance: np.ndarray  # of the gradient
    stats: dict
    t: int
    snapshot: dict
    sums: Sums


def run_chains(plan, own, n_jobs, control, bar):
    """Run all chains to their ends, or to where they are stopped.

    `own` has what belongs to each: its position, its seed and where its draws are kept,
    an array or a `DrawFile`.
    """
    n_chains = len(own)
    n_jobs = min(n_chains, joblib.effective_n_jobs(n_jobs))
    if n_jobs == 1:  # nothing is gained elsewhere
        return _run_in_turns(plan, dict(enumerate(own)), control, bar)
    # A process has tasks of one chain: what it is doing is lost with it.
    step = n_jobs if shares_memory() else n_chains
    groups = [{c: own[c] for c in range(k, n_chains, step)} for k in range(step)]
    common = shared(plan, n_jobs)
    with one_blas_thread():  # it would start threads of its own under each of ours
        ends = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
            joblib.delayed(_run_in_turns)(common, group, control, bar)
            for group in groups
        )
    return [ends[c % step][c // step] for c in range(n_chains)]


def _run_in_turns(plan, group, control, bar):
    """Run some chains, a chunk of each in turn; return their ends.

    `group` has what belongs to each by its number, as tuples: Dask keeps arrays that
    are arguments on one worker, and loses them with it.
    """
    plan = plan.for_kernels()
    runs = {c: _run_one(plan, c, own, control, bar) for c, own in group.items()}
    ends = dict.fromkeys(group)
    with control.task(min(group)):
        while runs:
            for c, run in list(runs.items()):
                try:
                    next(run)
                except StopIteration as stop:
                    ends[c] = stop.value
                    del runs[c]
    return list(ends.values())


def _run_one(plan, c, own, control, bar):
    """Run chain c to its end, or to where it is stopped; yield after each chunk."""
    position, seed, draws = own
    chain, target = _new_chain(plan, position, seed)
    t = plan.begin
    if plan.resume is not None:
        t = restore(chain._replace(sums=None), plan.resume[c])
    if plan.checkpoint is not None:
        t = plan.checkpoint.load(c, chain, draws) or t
    elif not in_file(draws) and not draws.flags.writeable:
        draws = np.empty_like(draws)
    control.done[c] = t
    bar.update(t - plan.begin)
    own = chain, target, draws if in_file(draws) else np.asarray(draws)
    t = yield from _run_from(t, plan, c, *own, control, bar)
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
    own = None if target.coordinates is plan.coordinates else target.coordinates
    return Chain(
        rng, state, target.work, target.memory, target.noise, sums, own
    ), target


def _run_from(t, plan, c, chain, target, draws, control, bar):
    """Run chain c from iteration t on, in chunks; return the iteration it reached.

    It yields after each of them.
    """
    record = recorder(plan, draws, chain.sums, t, c)
    farthest = reach(plan, chain.state.position)
    monitor = Monitor(plan, target) if bar.enabled and c == 0 else None
    chunk, saved = 1, time.monotonic()
    while t < plan.n_iter and not (bar.stopped and plan.n_kept(t) > 0):
        control.check()
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
            plan.checkpoint.save(c, chain, t, record.seal())
            saved = time.monotonic()
        yield
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
