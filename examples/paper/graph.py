"""Section 5, dependent data: stratified minibatches of the pairs of a graph."""

import numpy as np

from skbayes_sg import SGMCMCMixedMembershipBlockmodel
from skbayes_sg.datasets import make_graph
from skbayes_sg.kernels.capabilities.strata import choose_rows
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    init_work,
    theta_of,
)
from skbayes_sg.kernels.samplers import ExpandedMean

N_NODES, K, BATCH = 60, 3, 100


def run(report, quick):
    """Compare gradients of stratified minibatches with the exact one."""
    report.section("5.3", "Dependent data: graphs")
    graph = make_graph(N_NODES, K, link_rates=0.3, background_rate=0.01, random_state=0)
    fitted = SGMCMCMixedMembershipBlockmodel(
        K, sampler=ExpandedMean(), step_size=0.01, n_draws=2, burn_in=10, thin=1,
        n_chains=1, random_state=0,
    ).fit(graph.adjacency)  # fmt: skip
    model = fitted._model
    theta = theta_of(model, fitted.samples_[0, -1]).astype(float)
    work, rng = init_work(model), np.random.default_rng(0)
    a, b = np.triu_indices(N_NODES, 1)
    pairs = (a * N_NODES + b).astype(np.int32)
    single = np.zeros((len(pairs), theta.size))
    for i in range(len(pairs)):
        add_gradient(model, work, theta, pairs[i : i + 1], 1.0, single[i])
    exact = single.sum(axis=0)
    n_trials = 500 if quick else 2000
    place = np.full(N_NODES**2, -1)
    place[pairs] = np.arange(len(pairs))
    estimates = {"stratified": [], "simple": []}
    idx, scale = np.zeros(BATCH, np.int32), np.zeros(BATCH)
    for _ in range(n_trials):
        choose_rows(model, work, rng, idx, scale)
        estimates["stratified"].append(scale @ single[place[idx]])
        some = rng.choice(len(pairs), BATCH, replace=False)
        estimates["simple"].append(len(pairs) / BATCH * single[some].sum(axis=0))
    stratified, simple = (np.array(estimates[kind]) for kind in estimates)
    error = stratified.std(axis=0) / np.sqrt(n_trials)
    z = np.abs(stratified.mean(axis=0) - exact) / np.maximum(error, 1e-12)
    ratio = np.median(simple.var(axis=0) / np.maximum(stratified.var(axis=0), 1e-300))
    share = graph.adjacency.nnz / (N_NODES * (N_NODES - 1))
    report.text(
        f"A generated graph of {N_NODES} nodes and {K} communities, {share:.0%} of "
        f"whose pairs are linked. Minibatches of {BATCH} pairs, one half links and one "
        f"half pairs without one, {n_trials:,} times, against all {len(pairs):,} pairs."
    )
    report.claim(
        "5",
        "Stratified minibatches of links and of pairs without one estimate the "
        "gradient of the blockmodel without bias.",
        np.mean(z > 3) < 0.01,
        f"{np.mean(z > 3):.1%} of {len(z)} components differ by more than 3 standard "
        f"errors (0.3 % are expected); the variance is {ratio:.1f} times less than "
        "with pairs drawn alike",
    )
