"""The plan of a run: all that its chains share, such as components and lengths."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import check_local_variables
from skbayes_sg.kernels.capabilities.theta_blocks import is_lazy
from skbayes_sg.kernels.generic import for_kernels, implements
from skbayes_sg.kernels.protocol.gradient import prepare
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    check_model,
)
from skbayes_sg.kernels.protocol.sampler import check_parts, suited_to
from skbayes_sg.kernels.schedules import Constant, step_size_at

COMPONENTS = "model", "sampler", "gradient", "schedule", "coordinates"


class Plan(NamedTuple):
    """Everything that the chains of one call of `sample` share."""

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
    limit: object  # largest stable step size, None if unknown
    resume: object  # snapshots of the chains to continue, or None
    scale: object = None  # (d,) posterior sds of the position, None if unknown
    checkpoint: object = None  # Checkpoint or None

    @property
    def begin(self):
        """The first iteration."""
        return 0 if self.resume is None else int(self.resume[0]["t"])

    @property
    def discarded(self):
        """Iterations before the first draw: burn-in, or those of a resumed chain."""
        return self.burn_in if self.resume is None else self.begin

    @property
    def n_iter(self):
        """Iterations of each chain, including those before it was resumed."""
        return self.discarded + self.n_draws * self.thin

    @property
    def noise_until(self):
        """The iteration until which the variance of the gradient is measured."""
        if is_lazy(self.sampler):  # full gradients would cost what laziness saves
            return 0
        if not implements(add_gradient, self.model):  # there is no gradient to measure
            return 0
        return self.n_iter if self.corrects else self.burn_in

    def n_kept(self, t):
        """Return the number of draws recorded after t iterations."""
        return max(0, t - self.discarded) // self.thin

    def weights(self, first, stop):
        """Return the step sizes at draws `first` to `stop`, as weights of averages."""
        times = self.discarded + self.thin * np.arange(first + 1, stop + 1) - 1
        return np.array([step_size_at(self.schedule, t) for t in times])

    def for_kernels(self):
        """Return the plan with components of the types that kernels are compiled for.

        Arrays from another process are writable, a different type for which the kernels
        would be compiled again.
        """
        return self._replace(
            **{name: for_kernels(getattr(self, name)) for name in COMPONENTS}
        )


def make_plan(model, sampler, gradient, step_size, coordinates, **settings):
    """Return a plan; a ValueError if its components do not work together."""
    check_model(model)
    check_local_variables(gradient, model)
    plan = Plan(
        model=model,
        sampler=suited_to(sampler, model),
        gradient=prepare(gradient, model),
        schedule=step_size if hasattr(step_size, "_fields") else Constant(step_size),
        coordinates=coordinates,
        **settings,
    ).for_kernels()
    check_parts(plan.sampler, plan.model, plan.gradient, plan.coordinates)
    if plan.corrects and is_lazy(plan.sampler):
        raise ValueError(
            f"noise_correction=True is not supported by {type(sampler).__name__}, "
            "which never computes the whole gradient; use False, or another sampler"
        )
    return plan
