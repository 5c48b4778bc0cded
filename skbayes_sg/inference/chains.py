"""`sample`: draws from a posterior by one or more chains."""

import os
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skbayes_sg.inference.checkpoints import Checkpoint
from skbayes_sg.inference.cluster import shares_memory
from skbayes_sg.inference.control import Control
from skbayes_sg.inference.curvature import curvature_diagonal
from skbayes_sg.inference.moments import moments_of
from skbayes_sg.inference.plans import make_plan
from skbayes_sg.inference.progress import Bar, Progress
from skbayes_sg.inference.running import run_chains
from skbayes_sg.inference.sample_arguments import (
    check_batch,
    check_component,
    check_lengths,
    check_resume,
    check_scale,
    check_schedule,
    check_seed,
    check_settings,
    check_start,
    check_storage,
)
from skbayes_sg.inference.storage import allocate_draws, check_keep, in_file
from skbayes_sg.kernels.capabilities.curvature import add_hessian_diagonal
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.generic import for_kernels, implements
from skbayes_sg.kernels.protocol.coordinates import position_scale, to_position
from skbayes_sg.kernels.protocol.model import n_parameters, n_recorded


class SampleInfo(NamedTuple):
    """What `sample` returns in addition to the draws.

    Attributes
    ----------
    step_sizes : ndarray of shape (n_draws,)
        The step size at each recorded draw, which weights it in averages if step sizes
        vary. Empty if no draws are kept.
    gradient_variance : ndarray of shape (n_chains, n_parameters)
        Variance of the estimated gradient in the sampler's coordinates, measured during
        burn-in; NaN if it was not measured.
    stats : list of dict
        Statistics of each chain's sampler, for instance its acceptance rate.
    n_iter : int
        Iterations of each chain since its start, including burn-in.
    chains : list of dict or None
        The final state of each chain, for `resume`; None if the run was interrupted.
    """

    step_sizes: np.ndarray
    gradient_variance: np.ndarray
    stats: list
    n_iter: int
    chains: list | None


class InterruptedRun(KeyboardInterrupt):
    """A KeyboardInterrupt that carries the draws made so far and their `SampleInfo`."""

    def __init__(self, draws, info):
        super().__init__()
        self.draws, self.info = draws, info


def sample(
    model: tuple,
    sampler: tuple,
    gradient: tuple,
    *,
    step_size: float | tuple,
    n_draws: int = 1000,
    burn_in: int = 0,
    thin: int = 1,
    n_chains: int = 1,
    start: ArrayLike | None = None,
    coordinates: tuple | None = None,
    temperature: float = 1.0,
    noise_correction: bool = False,
    scale: np.ndarray | None = None,
    step_limit: float | None = None,
    storage: str | os.PathLike | None = None,
    checkpoint: str | os.PathLike | None = None,
    resume: list[dict] | None = None,
    storage_dtype: Any = None,
    keep: str = "draws",
    n_jobs: int | None = None,
    random_state: int | np.random.SeedSequence | None = None,
    progress: bool | Bar = False,
    callback: Callable[[int, int], bool] | None = None,
    return_info: bool = False,
) -> Any:
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
        Estimate the variance of the gradient while the chains run, and reduce the
        injected noise by it.
    scale : ndarray of shape (n_parameters,), optional
        Rough posterior standard deviations of the parameters. A chain that moves more
        than 100 standard deviations away is stopped. By default they are computed from
        the curvature at the start, if the model implements it.
    step_limit : float, optional
        Largest stable step size, if known, for the message of `DivergenceError`.
    storage : path, optional
        Folder for memory-mapped draws, in a new file ``draws.npy``, ``draws-1.npy`` and
        so on. By default draws are held in memory.
    checkpoint : path, optional
        Folder to which draws and chains are written every few seconds, in a subfolder
        for the model and its data. Repeating the same call after a crash continues from
        there and gives identical draws. A folder that was written with other settings,
        start, seed or version is refused, and so are damaged files. Needs a
        `random_state`.
    resume : list of dict, optional
        ``info.chains`` of an earlier call with the same components, step size and
        coordinates. Its chains continue, without burn-in, as if they had not stopped.
    storage_dtype : dtype, optional
        Type in which draws are stored, for instance float16; the model's by default.
    keep : {"draws", "moments", "variances"}, default="draws"
        What is kept of the draws. "moments" keeps no draws and returns their mean and
        covariance; "variances" returns only the diagonal of the covariance.
    n_jobs : int, optional
        Number of threads. Chains that share a thread take turns. The draws do not
        depend on it.
    random_state : int, SeedSequence or None
        Seed; every chain gets its own random stream.
    progress : bool or Bar, default=False
        Whether to show a progress bar with the step size and the log posterior
        (estimated from some of the rows), or an existing bar to continue.
    callback : callable, optional
        Called from time to time as ``callback(done, total)`` with the iterations of all
        chains, from any of their threads but never from two at once. If it returns
        True, the run ends with the draws made so far, at least one of each chain.
    return_info : bool, default=False
        Also return a `SampleInfo`.

    Returns
    -------
    draws : ndarray of shape (n_chains, n_draws, dim) or Moments
        Draws of the model's parameters, or their moments, see `keep`. `Moments` is a
        tuple of ``n_draws``, ``mean`` (n_chains, dim) and ``covariance`` (n_chains,
        dim, dim) or (n_chains, dim); its method ``pooled()`` combines the chains.
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

    If the draws do not fit into memory, keep only their moments:

    >>> moments = sample(
    ...     model, SGLD(), Minibatch(10), step_size=0.1, random_state=0, keep="moments"
    ... )
    >>> np.allclose(moments.mean, draws.mean(axis=1))
    True
    """
    parts = {"model": model, "sampler": sampler, "gradient": gradient}
    for name, part in parts.items():
        check_component(name, part)
    if coordinates is not None:
        check_component("coordinates", coordinates)
    check_schedule(step_size)
    check_settings(temperature, noise_correction, step_limit, n_jobs, callback)
    lengths = check_lengths(n_draws=n_draws, burn_in=burn_in, thin=thin)
    n_chains = check_lengths(n_chains=n_chains)["n_chains"]
    check_resume(resume, n_chains)
    model = for_kernels(model)
    check_batch(gradient, model)
    dtype = check_storage(storage, checkpoint, storage_dtype, model)
    check_keep(keep, model, n_chains, storage)
    plan = make_plan(
        model,
        sampler,
        gradient,
        step_size,
        coordinates or Identity(),
        inverse_temperature=1.0 / temperature,
        **lengths,
        keep=keep,
        corrects=bool(noise_correction),
        limit=step_limit,
        resume=resume,
    )
    n_stored = plan.n_draws if keep == "draws" else 0
    starts = check_start(start, model, n_chains)
    scale = check_scale(scale, model)
    if scale is None and implements(add_hessian_diagonal, model):
        scale = 1.0 / np.sqrt(curvature_diagonal(model, starts[0]))
    if scale is not None:
        plan = plan._replace(scale=position_scale(plan.coordinates, scale))
    positions = [
        to_position(plan.coordinates, theta).astype(starts.dtype) for theta in starts
    ]
    seeds = check_seed(random_state).spawn(n_chains)
    lock = nullcontext()
    if checkpoint is not None:
        settings = starts, n_chains, dtype.str
        files = _checkpoint(plan, checkpoint, random_state, *settings)
        plan, lock = plan._replace(checkpoint=files), files.lock()
    control = Control(n_chains)
    total = (plan.n_iter - plan.begin) * n_chains
    if not isinstance(progress, bool | Bar):
        raise TypeError(f"progress={progress!r} must be True or False")
    shown = nullcontext(progress) if isinstance(progress, Bar) else Bar(progress)
    with lock, shown as shown:
        if checkpoint is not None:
            shape = (n_chains, n_stored, int(n_recorded(model)))
            kept = plan.checkpoint.open_draws(shape, dtype)
        else:
            kept = allocate_draws(model, n_chains, n_stored, storage, dtype)
        draws = kept.mapped() if in_file(kept) else kept
        # Workers on other machines may only have access to the checkpoint's folder.
        by_path = checkpoint is not None or (in_file(kept) and shares_memory())
        places = [kept] * n_chains if by_path else draws
        inputs = list(zip(positions, seeds, places, strict=True))
        bar = Progress(total, shown, callback)
        try:
            results = run_chains(plan, inputs, n_jobs, control, bar)
        except BaseException as error:
            control.cancel()
            if isinstance(error, KeyboardInterrupt):
                draws, info = _partial(plan, draws, min(control.done))
                raise InterruptedRun(draws, info) from error
            raise
    if by_path:
        draws = kept.mapped()  # raises an error if another process truncated the file
    for c, result in enumerate(results):
        if not by_path and not np.may_share_memory(result.draws, draws[c]):
            draws[c] = result.draws  # the chain ran in another process
    variances = np.array([result.variance for result in results])
    if noise_correction:
        _check_correction(plan, variances)
    t = min(result.t for result in results)
    if keep != "draws":
        draws = moments_of([result.sums for result in results], plan.n_kept(t))
    elif t < plan.n_iter or (checkpoint is not None and storage is None):
        draws = np.array(draws[:, : plan.n_kept(t)])
    if not return_info:
        return draws
    info = SampleInfo(
        step_sizes=plan.weights(0, plan.n_kept(t) if keep == "draws" else 0),
        gradient_variance=variances,
        stats=[result.stats for result in results],
        n_iter=t,
        chains=[result.snapshot for result in results] if t == plan.n_iter else None,
    )
    return draws, info


def _partial(plan, draws, t):
    """Return draws and info of an interrupted run; t is its slowest chain's count."""
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


def _checkpoint(plan, folder, random_state, *settings):
    """Return the checkpoint of a run, identified by all that its draws depend on."""
    if random_state is None:
        raise ValueError(
            "checkpoint needs a random_state: a resumed run must draw the same numbers"
        )
    seeds = check_seed(random_state)
    shared = plan._replace(model=None, limit=None, scale=None)
    settings = shared, seeds.entropy, seeds.spawn_key, *settings
    return Checkpoint(folder, plan.model, *settings)


def _check_correction(plan, variances):
    """Warn if gradients add more noise to a step than the sampler injects."""
    ratio = 0.25 * plan.schedule.step_size * variances.mean(axis=0)
    if (ratio > 1.0).any():
        warnings.warn(
            "noise_correction cannot remove all gradient noise: in "
            f"{sum(ratio > 1)} of {ratio.size} coordinates its variance is up to "
            f"{ratio.max():.1f} times the injected one, so posterior variances stay "
            "inflated; use a smaller step_size or larger minibatches",
            RuntimeWarning,
            stacklevel=3,
        )
