"""The samplers of the paper's section 6 with the settings of its code."""

import math

from published import MOMENTUM_DECAY

from skbayes_sg.kernels.samplers import SGHMC, SGLD, SGNHT


def by_hand(name, step, decay=MOMENTUM_DECAY):
    """Return the sampler and the step size h that the published code has.

    A learning rate eta and a momentum decay alpha are h = 2 sqrt(eta), C = 2 alpha / h.
    """
    if name in ("SGLD", "SGLD-CV", "ULA"):
        return SGLD(), step
    h = 2 * math.sqrt(step)
    friction = 2 * decay / h
    if name.startswith("SG-HMC"):
        return SGHMC(friction=friction, n_leapfrog=5, resample=True), h
    return SGNHT(diffusion=friction), h


AUTOMATIC = {
    "SGLD": dict(sampler="sgld", gradient="minibatch"),
    "SGLD-CV": dict(sampler="sgld", gradient="cv"),
    "SG-HMC": dict(sampler="sghmc", gradient="minibatch"),
    "SG-HMC-CV": dict(sampler="sghmc", gradient="cv"),
    "SG-NHT": dict(sampler="sgnht", gradient="minibatch"),
    "SG-NHT-CV": dict(sampler="sgnht", gradient="cv"),
    "ULA": dict(sampler="sgld", gradient="full"),
}
