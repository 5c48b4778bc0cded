"""Single steps of samplers without the compiler, with normals of one's own choice.

They show a step as a map z -> z' of position, momentum and other variables, and of the
normals that it consumes. For a linear scheme that map is its law.
"""

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.protocol.gradient import prepare
from skbayes_sg.kernels.protocol.sampler import init_state, step

VARIABLES = ("position", "momentum", "thermostat", "auxiliary", "old")


class Scripted:
    """A generator with given normals, then zeros; proposals are accepted."""

    def __init__(self, normals=()):
        self.normals, self.count = list(normals), 0

    def standard_normal(self, size=None):
        if size is not None:
            return np.array([self.standard_normal() for _ in range(size)])
        self.count += 1
        return self.normals[self.count - 1] if self.count <= len(self.normals) else 0.0

    def random(self):
        return np.nextafter(1.0, 0.0)


def target_of(model, gradient=None, coordinates=None, temperature=1.0, removed=0.0):
    """Return a target; `removed` is the gradient variance to correct for."""
    model = for_kernels(model)
    gradient = for_kernels(prepare(gradient or Full(), model))
    target = make_target(
        model,
        gradient,
        coordinates or Identity(),
        Scripted(),
        1.0 / temperature,
        corrects=bool(np.any(removed)),
    )
    target.noise.variance[:] = removed
    target.noise.removed[:] = removed
    return target


def parts(state):
    """Return the arrays of a state that its law is about, those of size zero apart."""
    names = [name for name in VARIABLES if hasattr(state, name)]
    if hasattr(state, "log_density"):  # the momentum of an exact sampler is a buffer
        names = ["position"]
    return [getattr(state, name) for name in names if getattr(state, name).size]


def variables(state):
    return np.concatenate(parts(state))


def new_state(sampler, target, z=None, **fields):
    """Return a state with variables `z`, zero by default, and other fields as given."""
    state = init_state(sampler, np.zeros_like(target.theta), Scripted())
    for array in parts(state):
        array[:] = 0.0 if z is None else z[: array.size]
        z = None if z is None else z[array.size :]
    for name, value in fields.items():
        getattr(state, name)[:] = value
    return state


def advance(sampler, target, z, h, normals=(), **fields):
    """Return z' and the number of normals that the step drew."""
    state, rng = new_state(sampler, target, z, **fields), Scripted(normals)
    step(sampler, state, target, h, rng)
    return variables(state), rng.count


def noise_map(sampler, target, z, h, **fields):
    """Return the (len(z), n) derivative of z' with respect to the normals of a step."""
    _, count = advance(sampler, target, z, h, **fields)
    ahead, behind = (
        [advance(sampler, target, z, h, unit, **fields)[0] for unit in units]
        for units in (np.eye(count), -np.eye(count))
    )
    return 0.5 * (np.array(ahead) - np.array(behind)).T


def linear_map(sampler, target, h):
    """Return A and B of a linear scheme z' = c + A z + B xi."""
    zero = 0.0 * variables(new_state(sampler, target))
    still, _ = advance(sampler, target, zero, h)
    columns = [
        advance(sampler, target, unit, h)[0] - still for unit in np.eye(zero.size)
    ]
    return np.array(columns).T, noise_map(sampler, target, zero, h)


def stationary_covariance(sampler, target, h):
    """Return the covariance of the position under the law of a linear scheme."""
    a, b = linear_map(sampler, target, h)
    d = target.theta.size
    return solve_discrete_lyapunov(a, b @ b.T)[:d, :d]


def extrapolated(function, h=0.1, levels=7):
    """Return the limit of function(h) as h falls to 0, by Neville's algorithm."""
    steps = h * 0.5 ** np.arange(levels)
    table = [np.asarray(function(step)) for step in steps]
    for width in range(1, levels):
        for k in range(levels - width):
            ratio = steps[k + width] / steps[k]
            table[k] = (table[k + 1] - ratio * table[k]) / (1.0 - ratio)
    return table[0]
