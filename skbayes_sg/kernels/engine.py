"""The one compiled loop.

It is compiled for its triple of sampler, gradient estimator and model at the first call,
and taken from the disk cache in later processes. A factory's argument is the digest of
all component sources (see `ops.entry_point`).
"""

from skbayes_sg.kernels.ops import (
    entry_point,
    estimate,
    locate,
    measure_noise,
    record,
    refresh,
    step,
    step_size_at,
)


@entry_point
def run_chain(digest):
    """Run iterations `start` to `stop` of a chain and record every `thin`-th draw.

    The gradient noise is measured every `noise_every` iterations before `noise_until`.
    What happens at an iteration depends on its number alone, so it does not matter in
    which chunks a chain is run.
    """

    def run_chain(
        sampler,
        state,
        target,
        schedule,
        rng,
        start,
        stop,
        burn_in,
        thin,
        noise_every,
        noise_until,
        draws,
    ):
        digest  # noqa: B018
        for t in range(start, stop):
            step(sampler, state, target, step_size_at(schedule, t), rng)
            refresh(target.model, target, state.position, rng)
            if t < noise_until and t % noise_every == 0:
                measure_noise(target, state.position, rng)
            kept = t + 1 - burn_in
            if kept > 0 and kept % thin == 0:
                theta = locate(target, state.position)
                record(target.model, target.work, theta, draws[kept // thin - 1])

    return run_chain


@entry_point
def estimate_gradient(digest):
    """Write one estimate of the gradient at each row of `thetas` to `out`."""

    def estimate_gradient(gradient, memory, model, work, thetas, rng, out):
        digest  # noqa: B018
        for k in range(thetas.shape[0]):
            estimate(gradient, memory, model, work, thetas[k], rng, out[k])

    return estimate_gradient
