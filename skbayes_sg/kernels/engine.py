"""The compiled loop of a chain, the same for all components.

Its first call compiles it for a sampler or, if the sampler uses the model, for a
sampler, a gradient estimator and a model. Later processes load it from the disk cache.
"""

from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.protocol.gradient import estimate
from skbayes_sg.kernels.protocol.sampler import catch_up, step
from skbayes_sg.kernels.protocol.target import (
    compiled_estimate,
    locate,
    measure_noise,
)
from skbayes_sg.kernels.schedules import step_size_at
from skbayes_sg.kernels.separate import call_address, without_refcounts
from skbayes_sg.kernels.updates import record_draw, refresh_after


@entry_point(forceinline=True)
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
    """Run iterations `start` to `stop` of a chain and record every `thin`-th draw.

    The gradient noise is measured every `noise_every` iterations before `noise_until`.
    All of this depends on the number of the iteration only, so that the result does not
    depend on the chunks in which a chain is run.
    """
    state, target, rng, draws = without_refcounts((state, target, rng, draws))
    for t in range(start, stop):
        step(sampler, state, target, step_size_at(schedule, t), rng)
        refresh_after(target, sampler, state, t, rng)
        if t < noise_until and t % noise_every == 0:
            measure_noise(target, state.position, rng)
        kept = t + 1 - burn_in
        if kept > 0 and kept % thin == 0:
            catch_up(sampler, state, target, rng)
            theta = locate(target, state.position)
            record_draw(target, theta, draws[kept // thin - 1])


def estimate_gradient(gradient, memory, model, work, thetas, rng, out):
    """Write one estimate of the gradient at each row of `thetas` to `out`."""
    parts = gradient, memory, model, work
    code = compiled_estimate(*parts, thetas[0], rng, out[0])
    if code.address != 0:
        _estimate_rows(code, thetas, rng, out)
        return
    for k in range(len(thetas)):
        estimate(*parts, thetas[k], rng, out[k])


@entry_point
def _estimate_rows(code, thetas, rng, out):
    for k in range(thetas.shape[0]):
        call_address(code.address, code.memory, (thetas[k], rng, out[k]))
