"""Running chains in chunks of iterations, between which Python has control.

If there are more chains than threads, the chains of a thread take turns, one chunk at a
time, so that all chains are about equally long if the run is interrupted.
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
from skbayes_sg.inference.storage import in_file, make_recorder
from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.engine import run_chain
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.passes import subsampled_log_posterior
from skbayes_sg.kernels.protocol.model import n_recorded, n_rows, parameter_dtype
from skbayes_sg.kernels.protocol.sampler import init_state, sampler_stats, sees_model
from skbayes_sg.kernels.protocol.target import hidden
from skbayes_sg.kernels.schedules import step_size_at

CHUNK_SECONDS = 0.05  # duration of a chunk of iterations in compiled code
MONITORED_ROWS = 1000  # for the log posterior that the progress bar shows
CHECKPOINT_SECONDS = 5.0  # between two checkpoints of a chain
NOISE_EVERY = 10  # iterations between two measurements of the gradient noise


class Chain(NamedTuple):
    """Everything that changes while a chain runs."""

    rng: np.random.Generator
    state: NamedTuple
    work: NamedTuple
    memory: NamedTuple
    noise: NamedTuple  # GradientNoise
    sums: NamedTuple  # Sums, of draws that are not kept
    coordinates: object = None  # NamedTuple, where they are the chain's own


class ChainResult(NamedTuple):
    """What a chain returns when it ends."""

    draws: object  # ndarray or DrawFile
    variance: np.ndarray  # of the gradient
    stats: dict
    t: int
    snapshot: dict
    sums: Sums


def run_chains(plan, inputs, n_jobs, control, bar):
    """Run all chains until they end or are stopped; return their `ChainResult`.

    `inputs` holds, for each chain, its position, its seed and the storage of its draws,
    an array or a `DrawFile`.
    """
    n_chains = len(inputs)
    n_jobs = min(n_chains, joblib.effective_n_jobs(n_jobs))
    if n_jobs == 1:
        return _run_in_turns(plan, dict(enumerate(inputs)), control, bar)
    # A process runs one chain at a time, to lose only that one if the process dies.
    step = n_jobs if shares_memory() else n_chains
    groups = [{c: inputs[c] for c in range(k, n_chains, step)} for k in range(step)]
    common = shared(plan, n_jobs)
    with one_blas_thread():  # BLAS would start more threads in each of ours
        results = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
            joblib.delayed(_run_in_turns)(common, group, control, bar)
            for group in groups
        )
    return [results[c % step][c // step] for c in range(n_chains)]


def _run_in_turns(plan, group, control, bar):
    """Run some chains, a chunk of each in turn; return their results.

    `group` maps the number of each chain to the tuple of its inputs. They are not
    passed as arrays, because Dask would keep those on a single worker, which may die.
    """
    plan = plan.for_kernels()
    runs = {c: _run_one(plan, c, inputs, control, bar) for c, inputs in group.items()}
    results = dict.fromkeys(group)
    with control.task(min(group)):
        while runs:
            for c, run in list(runs.items()):
                try:
                    next(run)
                except StopIteration as stop:
                    results[c] = stop.value
                    del runs[c]
    return list(results.values())


def _run_one(plan, c, inputs, control, bar):
    """Run chain c until it ends or is stopped; yield after each chunk."""
    position, seed, draws = inputs
    chain, target = _new_chain(plan, position, seed)
    t = plan.begin
    if plan.resume is not None:
        t = _resumed(chain._replace(sums=None), plan.resume[c])
    if plan.checkpoint is not None:
        t = plan.checkpoint.load(c, chain, draws) or t
    elif not in_file(draws) and not draws.flags.writeable:
        draws = np.empty_like(draws)
    control.done[c] = t
    bar.update(t - plan.begin)
    storage = draws if in_file(draws) else np.asarray(draws)
    t = yield from _run_from(t, plan, c, chain, target, storage, control, bar)
    variance = chain.noise.variance
    if chain.noise.count[0] == 0:
        variance = np.full_like(variance, np.nan)
    stats = sampler_stats(plan.sampler, chain.state)
    # Without the sums: a chain that is resumed computes moments of its new draws only.
    end = snapshot(chain._replace(sums=None), t)
    return ChainResult(draws, variance, stats, t, end, chain.sums)


def _resumed(chain, saved):
    """Restore a chain from the state that an earlier call returned; return t."""
    try:
        return restore(chain, saved)
    except (KeyError, ValueError, TypeError, AttributeError):
        raise ValueError(
            "resume holds chains of another model, sampler, gradient or coordinates; "
            "use info.chains of a call with the same ones"
        ) from None


def _new_chain(plan, position, seed):
    """Return a chain at its start and its `Target`."""
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
    """Run chain c from iteration t on; return the iteration that it reached.

    Yields after each chunk of iterations.
    """
    record = make_recorder(plan, draws, chain.sums, t, c)
    view = target
    if not sees_model(plan.sampler):
        view = hidden(target, chain.rng, record.buffer)
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
            view,
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
            plan.checkpoint.save(c, chain, t, record.take_checksum())
            saved = time.monotonic()
        yield
    record.close(t)
    return t


class Monitor:
    """Facts for the progress bar about the first chain, updated once a second."""

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
