"""Hidden Markov models: how far their posteriors are from Gaussian.

Probabilities move as logarithms of ratios. Given c expected transitions, the logarithm
of a probability is about that of a Gamma(c + prior) variable: skewed if c is small.
"""

import numpy as np
from scipy.special import gammaincinv, polygamma

from skbayes_sg.inference.exploration.sequences import skewness
from skbayes_sg.kernels.models.hmm import HMM
from skbayes_sg.kernels.passes import row_log_posterior
from skbayes_sg.kernels.protocol.model import init_work

RARE = 0.999  # quantile of a variable up to which steps have to be stable
LEAST = 0.1  # shape of a Gamma variable


@skewness.register(HMM)
def _(model, theta):
    g, k = np.empty(theta.size), model.start_prior.size
    row_log_posterior(model, init_work(model), theta, g)
    end = k + k * k  # times x, g is an expected number plus its prior less one
    least = max(LEAST, float(np.min(theta[:end] * g[:end] + 1.0)))
    steepness = gammaincinv(least, RARE) / least
    slowness = (least * polygamma(1, least)) ** 2
    return float(steepness), float(slowness)
