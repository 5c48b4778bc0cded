"""Probabilities of links, and how far means are above geometric means."""

import math

from skbayes_sg.kernels.generic import helper

LEAST = 1e-18  # of differences, which rounding errors may make negative


@helper
def softplus(x):
    """Return log(1 + exp(x)), the loss -log(1 - rate) of a rate with logit x."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@helper
def link_probability(x, y, rate):
    """Return p_ab of memberships x and y, (K,) each; sum_k w_k L_k of losses."""
    k, p = x.size, rate[x.size]
    for j in range(k):
        p += float(x[j]) * float(y[j]) * (rate[j] - rate[k])
    return p


@helper
def mean_ratio(x, y, rate, loss):
    """Return d_ab, the log of mean over geometric mean; a little above zero."""
    k = x.size
    p, geometric = rate[k], loss[k]
    for j in range(k):
        w = float(x[j]) * float(y[j])
        p += w * (rate[j] - rate[k])
        geometric += w * (loss[j] - loss[k])
    return max(math.log1p(-p) + geometric, LEAST)
