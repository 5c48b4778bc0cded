"""Checks of the arguments of `sample`, before any chain runs."""

import numpy as np

from skbayes_sg.inference.arguments import (
    check_bool,
    check_integer,
    check_n_jobs,
    check_number,
    check_path,
    shown,
)
from skbayes_sg.kernels.protocol.gradient import batch_size_of
from skbayes_sg.kernels.protocol.model import n_parameters, n_rows, parameter_dtype

COUNTS = {"n_draws": 1, "burn_in": 0, "thin": 1, "n_chains": 1}


def check_component(name, value):
    """Raise a TypeError if `value` is no component of a chain."""
    if isinstance(value, type) or not hasattr(value, "_fields"):
        example = {"model": "GaussianMean(y, precision)", "sampler": "SGLD()"}
        raise TypeError(
            f"{name}={shown(value)} must be an instance of a component, such as "
            f"{example.get(name, 'Full()')} of skbayes_sg.kernels.{name}s"
        )


def check_batch(gradient, model):
    """Raise a ValueError if a minibatch has no rows, or more than there are."""
    size, n = batch_size_of(gradient), n_rows(model)
    if size is not None and not 1 <= size <= n:
        raise ValueError(
            f"gradient={shown(gradient)} has minibatches of {size} rows; there are "
            f"{n}, so use a number from 1 to {n}"
        )


def check_lengths(**counts):
    """Return the numbers of draws, chains and so on, as integers."""
    return {
        name: int(check_integer(name, value, at_least=COUNTS[name]))
        for name, value in counts.items()
    }


def check_schedule(step_size):
    """Raise an error unless step sizes are positive."""
    if not hasattr(step_size, "_fields") or isinstance(step_size, type):
        check_number("step_size", step_size, above=0)
        return
    limits = {"step_size": 0, "delay": 0, "period": 0}
    for name, value in zip(step_size._fields, step_size, strict=True):
        where = f"step_size={shown(step_size)}: {name}"
        if name in limits:
            check_number(where, value, above=limits[name])
        else:
            check_number(where, value, at_least=0)


def check_settings(temperature, noise_correction, step_limit, n_jobs, callback):
    """Raise an error for a setting that is out of its range."""
    check_number("temperature", temperature, above=0)
    check_bool("noise_correction", noise_correction)
    check_n_jobs(n_jobs)
    if step_limit is not None:
        check_number("step_limit", step_limit, above=0)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r} must be a function of two integers")


def check_storage(storage, checkpoint, storage_dtype, model):
    """Return the type in which draws are stored; check the folders."""
    check_path("storage", storage)
    check_path("checkpoint", checkpoint)
    if storage_dtype is None:
        return np.dtype(parameter_dtype(model))
    try:
        dtype = np.dtype(storage_dtype)
    except (TypeError, ValueError):
        dtype = None
    if dtype is None or dtype.kind != "f" or dtype.itemsize > 8:
        raise TypeError(
            f"storage_dtype={storage_dtype!r} must be None, float16, float32 or float64"
        )
    return dtype


def check_scale(scale, model):
    """Return posterior standard deviations, (d,), or None."""
    if scale is None:
        return None
    d = n_parameters(model)
    values = _floats("scale", scale)
    if values.shape != (d,) or not (values > 0).all():
        raise ValueError(
            f"scale={shown(scale)} must be {d} positive numbers, one per parameter"
        )
    return values


def check_start(start, model, n_chains):
    """Return where each chain starts, (n_chains, n_parameters); zero by default."""
    dtype, d = parameter_dtype(model), n_parameters(model)
    if start is None:
        return np.broadcast_to(np.zeros(d, dtype), (n_chains, d))
    start = _floats("start", start).astype(dtype)
    if start.shape not in ((d,), (n_chains, d)):
        raise ValueError(
            f"start has shape {start.shape}; it must be ({d},) or ({n_chains}, {d})"
        )
    if not np.isfinite(start).all():
        raise ValueError("start holds NaN or infinity; chains start at finite numbers")
    return np.broadcast_to(start, (n_chains, d))


def check_resume(resume, n_chains):
    """Raise an error unless `resume` has the form of ``info.chains``."""
    if resume is None:
        return
    known = isinstance(resume, list | tuple) and all(
        isinstance(chain, dict) and {"t", "rng"} <= set(chain) for chain in resume
    )
    if not known or len(resume) != n_chains:
        raise ValueError(
            f"resume must hold the states of n_chains={n_chains} chains; use "
            "info.chains of an earlier call with return_info=True"
        )


def check_seed(random_state):
    """Return the `SeedSequence` of an argument that `sample` accepts."""
    if isinstance(random_state, np.random.SeedSequence):
        # Spawning changes the object; a copy gives equal draws for equal seeds.
        return np.random.SeedSequence(
            random_state.entropy, spawn_key=random_state.spawn_key
        )
    try:
        if isinstance(random_state, bool | str):
            raise TypeError
        return np.random.SeedSequence(random_state)
    except (TypeError, ValueError):
        raise TypeError(
            f"random_state={shown(random_state)} must be None, an integer of at least "
            "0 or a numpy SeedSequence"
        ) from None


def _floats(name, values):
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}={shown(values)} must be an array of numbers, one per parameter"
        ) from None
