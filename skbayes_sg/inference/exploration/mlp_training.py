"""Training of networks by Adam, from which chains start."""

import math

import numpy as np

from skbayes_sg.inference.chains import sample
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.models.mlp import unpack
from skbayes_sg.kernels.optimizers import Adam
from skbayes_sg.kernels.protocol.model import n_parameters, n_rows, parameter_dtype
from skbayes_sg.kernels.schedules import Polynomial

EPOCHS = 20  # of training, and
MIN_TRAINING = 1000  # steps of it at the least


def random_weights(model, rng):
    """Return theta with the random weights of Glorot & Bengio (2010), (d,)."""
    theta = np.zeros(n_parameters(model), parameter_dtype(model))
    for w in unpack(theta, model.sizes)[0]:
        w[:] = rng.standard_normal(w.shape) * math.sqrt(2.0 / sum(w.shape))
    return theta


def train(model, n_chains, batch_size, rng, **options):
    """Maximize log p by Adam from random weights; return (n_chains, d)."""
    starts = np.stack([random_weights(model, rng) for _ in range(n_chains)])
    n_iter = training_length(model, batch_size)
    draws = sample(
        # Learned without noise, precisions would rise until all weights are zero.
        model._replace(learns_precision=False),
        Adam(),
        Minibatch(batch_size),
        step_size=Polynomial(0.005, 1.0, n_iter / 10),
        thin=n_iter,
        n_draws=1,
        n_chains=len(starts),
        start=starts,
        scale=np.ones(starts.shape[1]),
        **options,
    )
    return draws[:, 0, : starts.shape[1]]


def training_length(model, batch_size):
    """Return the steps of training."""
    return max(MIN_TRAINING, EPOCHS * n_rows(model) // batch_size)
