"""Scores: the gradient of the log posterior at recorded draws."""

from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.protocol.target import gradient_at
from skbayes_sg.kernels.updates import refresh_at


@entry_point
def score_draws(target, thetas, rng, out):
    """Write the gradient that `target` estimates at each row of `thetas` to `out`.

    Hyperparameters are first drawn given theta. By Fisher's identity, the gradient
    given such a draw is an unbiased estimate of the gradient of theta's marginal
    posterior.
    """
    for k in range(len(thetas)):
        refresh_at(target, thetas[k], rng)
        gradient_at(target, thetas[k], rng, out[k])
