"""Simulated graphs: ranks of the truth among draws are uniform."""

import numpy as np
import pytest
from scipy.stats import chi2

from skbayes_sg import SGMCMCMixedMembershipBlockmodel
from skbayes_sg.datasets import make_graph
from skbayes_sg.inference.graphs import GraphDraws

N_DRAWS, N_GRAPHS = 19, 300


def statistics(memberships, rates, background, activity, shape):
    """Return numbers that no order of the communities changes."""
    if activity.shape[1]:
        rates, background = -np.log1p(-rates), -np.log1p(-background)
    together = memberships[:, :, None, :] * memberships[:, None, :, :]
    above = np.triu_indices(memberships.shape[1], 1)
    overlap = together.sum(axis=-1)[:, *above]
    gap = np.einsum("sabk,sk->sab", together, rates - background[:, None])
    chance = background[:, None] + gap[:, *above]
    if activity.shape[1]:
        both = activity[:, :, None] * activity[:, None, :]
        chance = -np.expm1(-both[:, *above] * chance)
    sizes = memberships.sum(axis=1)
    found = [chance.mean(axis=1), chance.var(axis=1), overlap[:, 0]]
    found += [(sizes**2).sum(axis=1), *shape.T]
    return np.stack(found, axis=1)


@pytest.mark.long
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("prior", [0.5, "learn"])
def test_ranks_of_the_truth_are_uniform(prior, corrected):
    """300 graphs of ten nodes with all parameters drawn from their priors."""
    rng, ranks = np.random.default_rng(0), np.zeros((4 + corrected, N_DRAWS + 1))
    for seed in range(N_GRAPHS):
        alpha = prior if prior != "learn" else rng.exponential()
        rates, background = rng.beta(1, 1, 2), rng.beta(1, 1)
        shape = rng.gamma(2.0, 5.0, (1, 1)) if corrected else None
        data = make_graph(
            10, 2, membership_prior=alpha, link_rates=rates,
            background_rate=background,
            activity_shape=shape.item() if corrected else None, random_state=seed,
        )  # fmt: skip
        if data.adjacency.nnz == 0:
            continue  # an error for users
        model = SGMCMCMixedMembershipBlockmodel(
            2, membership_prior=prior, n_chains=1, n_draws=N_DRAWS, burn_in=200,
            thin=40, degree_correction=corrected, random_state=seed,
        ).fit(data.adjacency)  # fmt: skip
        draws = GraphDraws.of(model.samples_, 10, 2)
        parts = draws.memberships, draws.link_rates, draws.background, draws.activity
        parts = [part[0].astype(np.float64) for part in (*parts, draws.activity_shape)]
        drawn = statistics(*parts)
        known = data.memberships[None], rates[None], np.array([background])
        nothing = np.zeros((1, 0)), np.zeros((1, 0))
        activity = (data.activity[None], shape) if corrected else nothing
        truth = statistics(*known, *activity)
        for j, rank in enumerate((drawn < truth).sum(axis=0)):
            ranks[j, rank] += 1
    expected = ranks.sum(axis=1, keepdims=True) / ranks.shape[1]
    values = ((ranks - expected) ** 2 / expected).sum(axis=1)
    assert values.max() < chi2.ppf(1 - 0.001 / len(ranks), N_DRAWS)
