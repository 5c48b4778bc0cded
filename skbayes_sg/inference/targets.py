"""Targets: the posterior together with the buffers of one chain."""

import numpy as np

from skbayes_sg.kernels.protocol.coordinates import of_one_chain
from skbayes_sg.kernels.protocol.gradient import init_memory
from skbayes_sg.kernels.protocol.model import init_work, n_parameters, parameter_dtype
from skbayes_sg.kernels.protocol.target import (
    GradientNoise,
    Target,
    compiled_estimate,
)


def make_target(
    model, gradient, coordinates, rng, inverse_temperature=1.0, corrects=False
):
    """Return a `Target` for one chain, with newly allocated buffers."""
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
        coordinates=of_one_chain(coordinates),
        inverse_temperature=inverse_temperature,
        theta=zeros[2],
        g=zeros[3],
        noise=noise,
        estimate=compiled_estimate(
            gradient, memory, model, work, zeros[2], rng, zeros[3]
        ),
    )
