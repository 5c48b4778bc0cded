"""Log density of the blockmodel, for those who watch a chain."""

import math

from skbayes_sg.kernels.models.blockmodel import Blockmodel, set_rates
from skbayes_sg.kernels.models.blockmodel_chances import link_probability
from skbayes_sg.kernels.protocol.model import log_likelihood, log_prior


@log_likelihood.register(Blockmodel)
def _(model, work, theta, idx):
    # Half of every pair's. Pairs without a link count by the geometric mean, which is a
    # lower bound.
    set_rates(model, work, theta)
    k, n, value = model.alpha.size, model.indptr.size - 1, 0.0
    for a in idx:
        x, first, last = work.pi[a], model.indptr[a], model.indptr[a + 1]
        value -= (n - 1 - (last - first)) * work.loss[k]
        for j in range(k):
            value -= x[j] * (work.total[j] - x[j]) * (work.loss[j] - work.loss[k])
        for i in range(first, last):
            y = work.pi[model.indices[i]]
            value += math.log(link_probability(x, y, work.rate))
            for j in range(k):
                value += x[j] * y[j] * (work.loss[j] - work.loss[k])
    return 0.5 * value


@log_prior.register(Blockmodel)
def _(model, work, theta):
    # Beta laws on the logit scale; a Gamma(1, 1) law of the mean of alpha, if learned.
    value, k = 0.0, model.alpha.size
    for j in range(k + 1):
        prior = model.link_prior if j < k else model.background_prior
        if j < k or model.learns_background:
            value -= prior[1] * theta[j]
            value -= (prior[0] + prior[1]) * math.log1p(math.exp(-theta[j]))
    if model.learns_alpha:
        value += theta[k + 1] - math.exp(theta[k + 1]) * model.alpha.mean()
    return value
