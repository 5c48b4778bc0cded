"""Chains: seeds, threads, chunks, progress, divergence and interruption."""

import itertools
import math
import os
import time
import warnings
from contextlib import nullcontext
from typing import NamedTuple

import joblib
import numpy as np

from skbayes_sg.inference.checkpoints import Checkpoint, identity, restore, snapshot
from skbayes_sg.inference.cluster import shared
from skbayes_sg.inference.curvature import curvature_diagonal
from skbayes_sg.inference.moments import Sums, add_draws, init_sums, moments_of
from skbayes_sg.inference.progress import Bar, Progress
from skbayes_sg.kernels.blas import one_blas_thread
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.engine import run_chain
from skbayes_sg.kernels.minibatch import INDEX
from skbayes_sg.kernels.ops import (
    GradientNoise,
    Target,
    add_hessian_diagonal,
    address_of_estimate,
    check_parts,
    implements,
    init_memory,
    init_state,
    init_work,
    is_lazy,
    n_parameters,
    n_recorded,
    n_rows,
    parameter_dtype,
    position_scale,
    prepare,
    sampler_stats,
    step_size_at,
    to_position,
    typed,
)
from skbayes_sg.kernels.passes import subsampled_log_posterior
from skbayes_sg.kernels.schedules import Constant

CHUNK_SECONDS = 0.05  # how long a chain computes before Python looks after it
MONITORED_ROWS = 1000  # from which the log posterior is shown beside the progress
CHECKPOINT_SECONDS = 5.0  # between two checkpoints of a chain
NOISE_EVERY = 10  # iterations between two measurements of the gradient noise
RUNAWAY = 100.0  # posterior sds, or starting distances, that no chain may exceed
MAX_BYTES = 4 * 2**30  # of draws held in memory
BUFFERED = 8  # draws on their way to storage of another type
KEPT = "draws", "moments", "variances"
COMPONENTS = "model", "sampler", "gradient", "schedule", "coordinates"


class DivergenceError(ArithmeticError):
    """A chain left every reasonable region, as it does when its step is too large."""


class SampleInfo(NamedTuple):
    """What `sample` has to tell beside the draws.

    Attributes
    ----------
    step_sizes : ndarray of shape (n_draws,)
        The step size at each recorded draw; weights for averages where steps vary.
        Empty where no draws are kept.
    gradient_variance : ndarray of shape (n_chains, n_parameters)
        Variance of the estimated gradient in the sampler's coordinates, measured during
        burn-in; NaN where nothing was measured.
    stats : list of dict
        What each chain's sampler reports, acceptance rates for instance.
    n_iter : int
        Iterations of each chain, burn-in included, since it began.
    chains : list of dict or None
        Where each chain ended, for `resume`; None where the run was interrupted.
    """

    step_sizes: np.ndarray
    gradient_variance: np.ndarray
    stats: list
    n_iter: int
    chains: list


class Chain(NamedTuple):
    """All that changes while a chain runs."""

    rng: np.random.Generator
    state: NamedTuple
    work: NamedTuple
    memory: NamedTuple
    noise: NamedTuple  # GradientNoise
    sums: NamedTuple  # Sums, of draws that are not kept


class _Plan(NamedTuple):
    """All that the chains of one call share."""

    model: NamedTuple
    sampler: NamedTuple
    gradient: NamedTuple
    schedule: NamedTuple
    coordinates: NamedTuple
    inverse_temperature: float
    burn_in: int
    thin: int
    n_draws: int
    keep: str  # "draws", "moments" or "variances"
    corrects: bool
    scale: object  # (d,) posterior sds of the position where they are known, else None
    limit: object  # largest stable step size where it is known, else None
    resume: object  # snapshots of the chains to go on with, or None
    checkpoint: object  # Checkpoint or None

    @property
    def begin(self):
        """The iteration to start with."""
        return 0 if self.resume is None else int(self.resume[0]["t"])

    @property
    def discarded(self):
        """Iterations before the first that may be kept; a resumed chain is warm."""
        return self.burn_in if self.resume is None else self.begin

    @property
    def n_iter(self):
        return self.discarded + self.n_draws * self.thin

    def n_kept(self, t):
        """Draws that are recorded after t iterations."""
        return max(0, t - self.discarded) // self.thin

    def weights(self, first, stop):
        """Return the step sizes at draws `first` to `stop`, as weights of averages."""
        times = self.discarded + self.thin * np.arange(first + 1, stop + 1) - 1
        return np.array([step_size_at(self.schedule, t) for t in times])


class _Control:
    """What the main thread and the chains tell one another between chunks."""

    def __init__(self, n_chains):
        self.cancelled = False  # chains leave at once
        self.done = [0] * n_chains  # iterations of each chain
        self.running = set()  # chains whose thread is at work

    def wait(self, seconds=0.2):
        """Wait until no chain is at work, unless one takes longer: it compiles."""
        until = time.monotonic() + seconds
        while self.running and time.monotonic() < until:
            time.sleep(0.005)


class _Cancelled(Exception):
    pass


class _End(NamedTuple):
    """What a chain leaves."""

    draws: np.ndarray
    variance: np.ndarray  # of the gradient
    stats: dict
    t: int
    snapshot: dict
    sums: Sums


def sample(
    model,
    sampler,
    gradient,
    *,
    step_size,
    n_draws=1000,
    burn_in=0,
    thin=1,
    n_chains=1,
    start=None,
    coordinates=None,
    temperature=1.0,
    noise_correction=False,
    scale=None,
    step_limit=None,
    storage=None,
    checkpoint=None,
    resume=None,
    storage_dtype=None,
    keep="draws",
    n_jobs=None,
    random_state=None,
    progress=False,
    callback=None,
    return_info=False,
):
    """Draw from a posterior by stochastic-gradient MCMC.

    Parameters
    ----------
    model, sampler, gradient : NamedTuple
        Components, for instance from `skbayes_sg.kernels.models`,
        `skbayes_sg.kernels.samplers` and `skbayes_sg.kernels.gradients`.
    step_size : float or schedule
        The step size h (drift h/2, noise variance h) in the units of `coordinates`, or
        a schedule from `skbayes_sg.kernels.schedules`.
    n_draws, burn_in, thin, n_chains : int
        Each chain makes ``burn_in + thin * n_draws`` iterations and keeps every
        `thin`-th after the first `burn_in`.
    start : ndarray of shape (n_parameters,) or (n_chains, n_parameters), optional
        Where the chains start; at zero by default.
    coordinates : NamedTuple, optional
        Constant preconditioner, from `skbayes_sg.kernels.coordinates`.
    temperature : float, default=1.0
        Sample p(theta | data)^(1 / temperature).
    noise_correction : bool, default=False
        Estimate the variance of the gradient while running, and inject that much less
        noise.
    scale : ndarray of shape (n_parameters,), optional
        Rough posterior sds of the parameters; a chain that goes a hundred of them
        astray is stopped. By default from the curvature at the start, where the model
        knows it.
    step_limit : float, optional
        Largest stable step size, if known, for the message of `DivergenceError`.
    storage : path, optional
        Folder for memory-mapped draws, in a new file ``draws.npy``, ``draws-1.npy`` and
        so on; they are held in memory by default.
    checkpoint : path, optional
        Folder to which draws and chains are written every few seconds. The same call
        with a folder that is there goes on where a killed run ended, bit by bit; one
        with other data, settings or seed is refused. Needs a `random_state`.
    resume : list of dict, optional
        ``info.chains`` of an earlier call with the same components, step size and
        coordinates: its chains go on, without burn-in, as if they had not stopped.
    storage_dtype : dtype, optional
        Type in which draws are kept, float16 for instance; the model's by default.
    keep : {"draws", "moments", "variances"}, default="draws"
        What comes of the draws. With "moments" none is kept, and their mean and
        covariance are returned; with "variances" the diagonal of that alone.
    n_jobs : int, optional
        Chains at a time, as threads. The draws do not depend on it.
    random_state : int, SeedSequence or None
        Seed; every chain gets a stream of its own.
    progress : bool or Bar, default=False
        Show a progress bar, with step size and log posterior (from a part of the rows);
        or go on with one that is shown, for several runs.
    callback : callable, optional
        Called as ``callback(done, total)`` with the iterations of all chains, from time
        to time and from any of their threads, one at a time. A true answer ends the run
        with the draws made so far, at least one of each chain.
    return_info : bool, default=False
        Also return a `SampleInfo`.

    Returns
    -------
    draws : ndarray of shape (n_chains, n_draws, dim) or Moments
        Draws of the model's parameters, or what `keep` says. `Moments` is a tuple of
        ``n_draws``, ``mean`` (n_chains, dim) and ``covariance`` (n_chains, dim, dim) or
        (n_chains, dim); its method ``pooled()`` joins the chains.
    info : SampleInfo
        Only with ``return_info=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import sample
    >>> from skbayes_sg.kernels.gradients import Minibatch
    >>> from skbayes_sg.kernels.models import GaussianMean
    >>> from skbayes_sg.kernels.samplers import SGLD
    >>> y = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = GaussianMean(y, precision=np.eye(2))
    >>> draws = sample(model, SGLD(), Minibatch(10), step_size=0.1, random_state=0)
    >>> draws.shape
    (1, 1000, 2)

    Where draws would not fit into memory, their moments do:

    >>> moments = sample(
    ...     model, SGLD(), Minibatch(10), step_size=0.1, random_state=0, keep="moments"
    ... )
    >>> np.allclose(moments.mean, draws.mean(axis=1))
    True
    """
    model = typed(model)
    _check_keep(keep, model, n_chains, storage)
    schedule = step_size if hasattr(step_size, "_fields") else Constant(step_size)
    plan = _Plan(
        model=model,
        sampler=typed(sampler),
        gradient=typed(prepare(gradient, model)),
        schedule=typed(schedule),
        coordinates=typed(coordinates or Identity()),
        inverse_temperature=1.0 / temperature,
        burn_in=int(burn_in),
        thin=int(thin),
        n_draws=int(n_draws),
        keep=keep,
        corrects=bool(noise_correction),
        scale=None,
        limit=step_limit,
        resume=resume,
        checkpoint=None,
    )
    check_parts(plan.sampler, plan.model, plan.gradient, plan.coordinates)
    if noise_correction and is_lazy(plan.sampler):
        raise ValueError(
            f"noise_correction=True is not for {type(sampler).__name__}, which never "
            "looks at the whole gradient; use False, or another sampler"
        )
    dtype = parameter_dtype(model) if storage_dtype is None else storage_dtype
    n_stored = plan.n_draws if keep == "draws" else 0
    if checkpoint is not None:
        plan = plan._replace(checkpoint=_checkpoint(plan, checkpoint, random_state))
        shape = (n_chains, n_stored, int(n_recorded(model)))
        draws = plan.checkpoint.open_draws(shape, np.dtype(dtype))
    else:
        draws = allocate_draws(model, n_chains, n_stored, storage, dtype)
    start = _starts(plan, start, n_chains)
    if scale is None and implements(add_hessian_diagonal, model):
        scale = 1.0 / np.sqrt(curvature_diagonal(model, start[0]))
    if scale is not None:
        plan = plan._replace(scale=position_scale(plan.coordinates, scale))
    positions = [
        to_position(plan.coordinates, theta).astype(start.dtype) for theta in start
    ]
    seeds = seed_sequence(random_state).spawn(n_chains)
    control = _Control(n_chains)
    blas = _one_blas_thread(n_jobs, n_chains)
    total = (plan.n_iter - plan.begin) * n_chains
    shown = nullcontext(progress) if isinstance(progress, Bar) else Bar(progress)
    with shown as shown, blas:
        bar = Progress(total, shown, callback)
        try:
            own = list(zip(positions, seeds, draws, strict=True))
            if n_chains == 1:  # nothing is gained elsewhere
                results = [_run_one(plan, 0, own[0], control, bar)]
            else:
                common = shared(plan, n_jobs)
                results = joblib.Parallel(n_jobs=n_jobs, prefer="threads")(
                    joblib.delayed(_run_one)(common, c, own[c], control, bar)
                    for c in range(n_chains)
                )
        except BaseException as error:
            control.cancelled = True
            control.wait()
            if isinstance(error, KeyboardInterrupt):
                error.partial = _partial(plan, draws, min(control.done))
            raise
    for c, end in enumerate(results):
        if not np.may_share_memory(end.draws, draws[c]):  # it ran in another process
            draws[c] = end.draws
    variances = np.array([end.variance for end in results])
    if noise_correction:
        _check_correction(plan, variances)
    t = min(end.t for end in results)
    if keep != "draws":
        draws = moments_of([end.sums for end in results], plan.n_kept(t))
    elif t < plan.n_iter or (checkpoint is not None and storage is None):
        draws = np.array(draws[:, : plan.n_kept(t)])
    if not return_info:
        return draws
    info = SampleInfo(
        step_sizes=plan.weights(0, plan.n_kept(t) if keep == "draws" else 0),
        gradient_variance=variances,
        stats=[end.stats for end in results],
        n_iter=t,
        chains=[end.snapshot for end in results] if t == plan.n_iter else None,
    )
    return draws, info


def _check_keep(keep, model, n_chains, storage):
    if keep not in KEPT:
        raise ValueError(f"keep={keep!r} is not one of {', '.join(map(repr, KEPT))}")
    if keep != "draws" and storage is not None:
        raise ValueError(
            f"storage={storage!r} is for draws, of which keep={keep!r} has none; set "
            "one of the two"
        )
    dim = n_recorded(model)
    n_bytes = 8 * n_chains * dim**2
    if keep == "moments" and n_bytes > MAX_BYTES:
        raise ValueError(
            f'keep="moments" needs {n_bytes / 2**30:.1f} GiB for the covariances of '
            f"{dim} parameters in n_chains={n_chains}, more than the "
            f'{MAX_BYTES / 2**30:.0f} GiB held in memory; use keep="variances"'
        )


def _partial(plan, draws, t):
    """Return draws and info of what all chains have done, t iterations at the least."""
    kept = plan.n_kept(t)
    shape = len(draws), n_parameters(plan.model)
    info = SampleInfo(
        step_sizes=plan.weights(0, kept),
        gradient_variance=np.full(shape, np.nan),
        stats=[{} for _ in draws],
        n_iter=t,
        chains=None,
    )
    return np.array(draws[:, :kept]), info


def _checkpoint(plan, folder, random_state):
    """Return the checkpoint of a run, whose name depends on all that its draws do."""
    if random_state is None:
        raise ValueError(
            "checkpoint needs a random_state: a resumed run must draw the same numbers"
        )
    seeds = seed_sequence(random_state)
    settings = plan._replace(limit=None, checkpoint=None, resume=plan.resume is None)
    name = identity(settings, seeds.entropy, seeds.spawn_key, plan.begin)
    return Checkpoint(folder, name)


def allocate_draws(model, n_chains, n_draws, storage=None, dtype=None):
    """Return an array for draws, in memory or mapped to a file in folder `storage`."""
    shape = (n_chains, n_draws, int(n_recorded(model)))
    dtype = parameter_dtype(model) if dtype is None else np.dtype(dtype)
    if storage is not None:
        path = _new_file(storage)
        return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    n_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if n_bytes > MAX_BYTES:
        raise ValueError(
            f"n_chains={n_chains} x n_draws={n_draws} x {shape[2]} parameters need "
            f"{n_bytes / 2**30:.1f} GiB, more than the {MAX_BYTES / 2**30:.0f} GiB "
            "held in memory; keep fewer draws with a larger thin, halve them with "
            'storage_dtype="float16", or set storage to a folder for memory-mapped '
            "draws"
        )
    return np.empty(shape, dtype)


def _new_file(folder):
    """Return the path of a new file for draws: fits do not share one."""
    os.makedirs(folder, exist_ok=True)
    for k in itertools.count():
        path = os.path.join(folder, f"draws-{k}.npy" if k else "draws.npy")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            return path
        except FileExistsError:
            continue


def seed_sequence(random_state):
    """Return the one `SeedSequence` from which all streams of a run come."""
    if isinstance(random_state, np.random.SeedSequence):
        # A fresh copy: spawning changes the object, and equal seeds give equal draws.
        return np.random.SeedSequence(
            random_state.entropy, spawn_key=random_state.spawn_key
        )
    return np.random.SeedSequence(random_state)


def make_target(
    model, gradient, coordinates, rng, inverse_temperature=1.0, corrects=False
):
    """Return one chain's own view of the posterior, its buffers allocated."""
    d, dtype = n_parameters(model), parameter_dtype(model)
    zeros = [np.zeros(d, dtype) for _ in range(4)]
    noise = GradientNoise(
        variance=zeros[0],
        removed=zeros[1],
        count=np.zeros(1),
        pair=np.zeros((2, d), dtype),
        corrects=corrects,
    )
    work, memory = init_work(model), init_memory(gradient, model, zeros[2], rng)
    return Target(
        model=model,
        work=work,
        gradient=gradient,
        memory=memory,
        coordinates=coordinates,
        inverse_temperature=inverse_temperature,
        estimate=address_of_estimate(
            gradient, memory, model, work, zeros[2], rng, zeros[3]
        ),
        theta=zeros[2],
        g=zeros[3],
        noise=noise,
    )


def _run_one(plan, c, own, control, bar):
    """Run chain c to its end, or to where it is stopped.

    `own` is its position, its seed and its array for draws: a tuple, because Dask keeps
    arrays that are arguments on one worker, and loses them with it.
    """
    position, seed, draws = own
    control.running.add(c)
    # Arrays from another process may be written to: another type, compiled anew.
    plan = plan._replace(**{name: typed(getattr(plan, name)) for name in COMPONENTS})
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
    return _End(draws, variance, stats, t, end, chain.sums)


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
    noise_until = plan.n_iter if plan.corrects else plan.burn_in
    if is_lazy(plan.sampler):  # a measurement would cost what it saves
        noise_until = 0
    reach = RUNAWAY * max(1.0, _distance(plan, chain.state.position))
    # Draws that are not kept, or in another type, pass through a buffer of a few.
    dtype, summed = parameter_dtype(plan.model), plan.keep != "draws"
    converts = draws.dtype != dtype
    buffer, kept = draws, 0
    if summed:
        buffer = chain.sums.block
        kept = plan.n_kept(t) // len(buffer) * len(buffer)
    elif converts:
        buffer, kept = np.empty((BUFFERED, draws.shape[1]), dtype), plan.n_kept(t)
    chunk, saved = 1, time.monotonic()
    monitor = _Monitor(plan, target) if bar.enabled and c == 0 else None
    while t < plan.n_iter and not (bar.stopped and plan.n_kept(t) > 0):
        if control.cancelled:
            raise _Cancelled
        first = plan.discarded + kept * plan.thin  # after it, draws fill the buffer
        stop = min(t + chunk, plan.n_iter, first + len(buffer) * plan.thin)
        began = time.perf_counter()
        run_chain(
            plan.sampler,
            chain.state,
            target,
            plan.schedule,
            chain.rng,
            t,
            stop,
            first,
            plan.thin,
            NOISE_EVERY,
            noise_until,
            buffer,
        )
        elapsed = max(time.perf_counter() - began, 1e-6)
        distance = _distance(plan, chain.state.position)
        if not distance <= reach:
            raise _divergence(plan, c, stop, distance)
        done = (stop - first) // plan.thin  # negative before the first
        if summed and done == len(buffer):
            add_draws(chain.sums, buffer, plan.weights(kept, kept + done))
            kept += done
        elif converts and not summed and done > 0:
            _convert(buffer[:done], draws[kept : kept + done])
            kept += done
        bar.update(stop - t, **(monitor.facts(stop) if monitor else {}))
        in_time = int((stop - t) * CHUNK_SECONDS / elapsed)
        t, chunk = stop, max(1, min(2 * chunk, in_time))
        control.done[c] = t
        if plan.checkpoint is not None and (
            t == plan.n_iter or time.monotonic() - saved > CHECKPOINT_SECONDS
        ):
            plan.checkpoint.save(c, chain, t)
            saved = time.monotonic()
    rest = plan.n_kept(t) - kept
    if summed and rest > 0:
        add_draws(chain.sums, buffer[:rest], plan.weights(kept, kept + rest))
    return t


def _convert(draws, out):
    """Write draws to `out`, whose type may be too small for them."""
    with np.errstate(over="ignore"):
        out[...] = draws
    if not np.isfinite(out).all():
        raise ValueError(
            f"storage_dtype={out.dtype.name!r} holds numbers up to "
            f"{np.finfo(out.dtype).max:.3g}, and a draw has {np.abs(draws).max():.3g}; "
            "use a larger type"
        )


class _Monitor:
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


def _distance(plan, position):
    """Root mean square of the position in posterior sds, or in units of 10^4."""
    scale = 1e4 if plan.scale is None else plan.scale
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sqrt(np.mean((position / scale) ** 2)))


def _divergence(plan, chain, iteration, distance):
    h = plan.schedule.step_size
    smaller = h / 10 if plan.limit is None else min(h / 2, plan.limit / 2)
    limit = (
        ""
        if plan.limit is None
        else (f" The largest stable step size here is about {plan.limit:.3g}.")
    )
    where = f"{distance:.3g}" if np.isfinite(distance) else "a non-finite number of"
    unit = "scales" if plan.scale is None else "posterior standard deviations"
    return DivergenceError(
        f"chain {chain} diverged before iteration {iteration}, {where} {unit} away, "
        f"with step_size={h:.3g}.{limit} Try step_size={smaller:.2g}, or "
        'step_size="auto" in an estimator.'
    )


def _check_correction(plan, variances):
    """Say so where the gradients are noisier than the noise they are to replace."""
    ratio = 0.25 * plan.schedule.step_size * variances.mean(axis=0)
    if (ratio > 1.0).any():
        warnings.warn(
            f"noise_correction cannot take off all gradient noise: in {sum(ratio > 1)} "
            f"of {ratio.size} coordinates it is up to {ratio.max():.1f} times what is "
            "injected, so variances stay inflated; use a smaller step_size or larger "
            "minibatches",
            RuntimeWarning,
            stacklevel=3,
        )


def _starts(plan, start, n_chains):
    dtype, d = parameter_dtype(plan.model), n_parameters(plan.model)
    start = np.zeros(d, dtype) if start is None else np.asarray(start, dtype)
    if start.shape not in ((d,), (n_chains, d)):
        raise ValueError(
            f"start has shape {start.shape}; it must be ({d},) or ({n_chains}, {d})"
        )
    return np.broadcast_to(start, (n_chains, d))


def _one_blas_thread(n_jobs, n_chains):
    """Keep BLAS from starting threads of its own under chains that run in parallel."""
    if n_chains > 1 and joblib.effective_n_jobs(n_jobs) > 1:
        return one_blas_thread()
    return nullcontext()
