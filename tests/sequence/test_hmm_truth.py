"""Posteriors of hidden Markov models against exact gradients; ranks of the truth."""

import numpy as np
import pytest

from skbayes_sg import SGMCMCGaussianHMM
from skbayes_sg.inference.state_answers import log_likelihoods, on_sequences
from tests.sequence.exact import are_uniform, exact_draws

N_SERIES, N_DRAWS = 200, 19


@pytest.mark.long
@pytest.mark.parametrize("length, n_exact", [(10_000, 6000), (100_000, 3000)])
def test_posterior_is_that_of_exact_gradients(length, n_exact):
    rng = np.random.default_rng(0)
    states = np.cumsum(rng.random(length) > 0.95) % 2
    X = rng.normal(2.0 * states, 1.0)[:, None]
    model = SGMCMCGaussianHMM(2, n_draws=2000, random_state=0).fit(X)
    exact = exact_draws(model._model, model.mode_, n_exact, 1)
    drawn = model.samples_.reshape(-1, exact.shape[1])
    mean, sd = exact.mean(axis=0), exact.std(axis=0)
    # Of the first state's probabilities exact chains have few effective draws.
    mean[:2], sd[:2] = start_moments(model, X, mean)
    # Monte Carlo errors of both, up to 0.03 sd and 2 %, are part of the bounds.
    assert np.all(abs(drawn.mean(axis=0) - mean) < 0.1 * sd)
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.05)


def start_moments(model, X, x):
    """Return means and sds of the starting probabilities given the other parameters.

    Under a flat prior their law is a mixture of Beta(2, 1) and Beta(1, 2), whose
    weights are the likelihoods of the two first states.
    """
    first = np.tile(x, (2, 1))
    first[:, :2] = np.eye(2)
    values = log_likelihoods(on_sequences(model._inner, X, [len(X)]), first)
    w = np.exp(values - np.logaddexp.reduce(values))
    mean = w @ [[2 / 3, 1 / 3], [1 / 3, 2 / 3]]
    return mean, np.sqrt(w @ [[1 / 2, 1 / 6], [1 / 6, 1 / 2]] - mean**2)


@pytest.mark.long
def test_ranks_of_the_truth_are_uniform():
    """200 series of 300 points; states have the order of their means."""
    rng, ranks = np.random.default_rng(0), np.zeros((4, N_DRAWS + 1))
    prior = np.array([[8.0, 2.0], [2.0, 8.0]])
    for seed in range(N_SERIES):
        moves = np.array([rng.dirichlet(row) for row in prior])
        means = np.sort(rng.normal(0.0, 10.0, 2))
        variances = 2.0 / rng.gamma(3.0, size=2)
        states = np.zeros(300, np.int64)
        states[0] = rng.random() < rng.random()
        for t in range(1, 300):
            states[t] = rng.random() < moves[states[t - 1], 1]
        X = rng.normal(means[states], np.sqrt(variances[states]))[:, None]
        model = SGMCMCGaussianHMM(
            2,
            transmat_prior=prior,
            means_prior=0.0,
            means_weight=0.01,
            covars_weight=3.0,
            covars_prior=2.0,
            n_chains=1,
            n_draws=N_DRAWS,
            n_init=6,
            random_state=seed,
        ).fit(X)
        drawn = model.samples_[0]
        order = np.argsort(drawn[:, 6:8], axis=1)
        stays = np.take_along_axis(drawn[:, [2, 5]], order, axis=1)
        levels = np.take_along_axis(drawn[:, 6:8], order, axis=1)
        spreads = np.take_along_axis(drawn[:, 8:10], order, axis=1)
        truth = moves[0, 0], moves[1, 1], means[0], variances[1]
        found = stays[:, 0], stays[:, 1], levels[:, 0], spreads[:, 1]
        for j, (value, draws) in enumerate(zip(truth, found, strict=True)):
            ranks[j, np.sum(draws < value)] += 1
    assert are_uniform(ranks)
