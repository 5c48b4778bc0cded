"""Hidden Markov models: how far their posteriors are from Gaussian.

Probabilities are shares of independent variables with laws that are about
Gamma(c + prior), given c expected transitions. The free numbers are close to Gaussian
where c + prior is one or more, see `kernels.maps.normalized_gammas`, and have a long
flat tail towards zero where it is less.
"""

import numpy as np

from skbayes_sg.inference.exploration.sequences import skewness
from skbayes_sg.kernels.models.hmm import HMM
from skbayes_sg.kernels.passes import row_log_posterior
from skbayes_sg.kernels.protocol.model import init_work

LEAST = 0.1  # shape of a Gamma variable
STEEPNESS = 1.6  # the largest for shapes of one or more, by numerical integration


@skewness.register(HMM)
def _(model, theta):
    g, k = np.empty(theta.size), model.start_prior.size
    row_log_posterior(model, init_work(model), theta, g)
    end = k + k * k  # times x, g is an expected number plus its prior less one
    least = max(LEAST, float(np.min(theta[:end] * g[:end] + 1.0)))
    # Both fitted to numerical integration of the law of u, for shapes 0.02 to 200.
    return max(STEEPNESS, 0.5 / least), max(1.0, 2.0 / least - 1.0)
