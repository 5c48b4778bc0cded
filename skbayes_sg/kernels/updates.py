"""What the model does between the steps of a sampler: refresh, and record a draw.

A model that is hidden from the sampler is called by address.
"""

from skbayes_sg.kernels.generic import kernel_op
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.model import needs_refresh, record, refresh
from skbayes_sg.kernels.protocol.sampler import catch_up
from skbayes_sg.kernels.protocol.target import ALWAYS, HiddenTarget, Target
from skbayes_sg.kernels.separate import call_address


@kernel_op
def refresh_after(target, sampler, state, t, rng):
    """Let the model update its hyperparameters after iteration t, if necessary."""


@refresh_after.register(Target)
def _(target, sampler, state, t, rng):
    if needs_refresh(target.model, t):
        catch_up(sampler, state, target, rng)
        refresh(target.model, target, state.position, rng)


@refresh_after.register(HiddenTarget)
def _(target, sampler, state, t, rng):
    code = target.refresh
    if code.address != 0:
        call_address(code.address, code.memory, (state.position, t, rng))


@kernel_op
def refresh_at(target, position, rng):
    """Let the model update its hyperparameters given the parameters at `position`."""


@refresh_at.register(Target)
def _(target, position, rng):
    refresh(target.model, target, position, rng)


@refresh_at.register(HiddenTarget)
def _(target, position, rng):
    code = target.refresh
    if code.address != 0:
        call_address(code.address, code.memory, (position, ALWAYS, rng))


@kernel_op
def record_draw(target, theta, out):
    """Write one draw to `out`."""


@record_draw.register(Target)
def _(target, theta, out):
    record(target.model, target.work, theta, out)


@record_draw.register(HiddenTarget)
def _(target, theta, out):
    code = target.record
    if code.address == 0:
        copy_to(theta, out)
    else:
        call_address(code.address, code.memory, (theta, out))
