"""Priors of networks that are scaled by fan-in to the data.

Weights that lead from outputs a of a layer to inputs z of the next have variance

    1 / lambda = spread / E |a|^2 ,

with the expectation over rows and over the prior of the layers before, so that z has
the variance `spread` under the prior, of whatever scale features are and however many
units there are. Biases add a variance of their own.
"""

import math

import numpy as np

from skbayes_sg.inference.exploration.mlp_units import seen_rows
from skbayes_sg.kernels.models.mlp_layers import activate
from skbayes_sg.kernels.protocol.model import n_rows

HIDDEN_SPREAD = 2.0  # variance of the inputs of hidden units, and
OUTPUT_SPREAD = 3.0  # of the outputs of the network, that the weights cause
HIDDEN_BIAS = 1.0  # variances of biases
OUTPUT_BIAS = 3.0
ROWS = 256  # from which the size of rows is measured
MIN_PRECISION = 1e-6
HELD = 0.25  # of its weights: what the prior of a learned lambda counts as, at least
LEAST_SHAPE = 2.0


def scaled_precision(model):
    """Return the lambda of each part of the weights, (n_parts,) float64."""
    rng, n = np.random.default_rng(0), n_rows(model)
    idx = np.unique(np.linspace(0, n - 1, min(n, ROWS)).astype(int))
    a = seen_rows(model, idx)
    values, last = [], model.sizes.size - 2
    for k, m in enumerate(model.sizes[1:]):
        spread = OUTPUT_SPREAD if k == last else HIDDEN_SPREAD
        bias = OUTPUT_BIAS if k == last else HIDDEN_BIAS
        weights = max(np.mean(np.sum(a * a, axis=1)) / spread, MIN_PRECISION)
        copies = model.sizes[0] if k == 0 and model.by_input else 1
        values += [weights] * copies + [1.0 / bias]
        a = a @ rng.standard_normal((a.shape[1], m)) / math.sqrt(weights)
        a += math.sqrt(bias) * rng.standard_normal(m)
        activate(model.activation, a)
    return np.array(values)


def learned_prior(precision, sizes):
    """Return shapes and rates of Gamma priors with the means `precision`, (n_parts,).

    A prior counts as much as a share of the weights whose lambda it is, so that even
    thousands of weights do not take it far away.
    """
    shape = LEAST_SHAPE + HELD * 0.5 * np.asarray(sizes, float)
    return shape, shape / precision
