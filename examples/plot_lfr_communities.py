"""
Are overlapping communities found that no model has generated?
==============================================================

LFR benchmark graphs have degrees and sizes of communities that follow power laws, and
some nodes with two homes. They are not graphs of a blockmodel. Are their communities
found, who has two homes, and are links predicted that were hidden?
"""

# %%
# A benchmark graph
# -----------------
# One pair of nodes in a hundred is hidden, linked or not.

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg import SGMCMCMixedMembershipBlockmodel
from skbayes_sg.datasets import make_lfr_graph
from skbayes_sg.inference.alignment import align

graph = make_lfr_graph(400, mean_degree=16, n_overlapping=40, random_state=0)
n, n_true = graph.communities.shape
rng = np.random.default_rng(0)
pairs = np.stack(np.triu_indices(n, 1), axis=1)
hidden = pairs[rng.random(len(pairs)) < 0.01]
print(f"{n} nodes, {n_true} communities, {graph.adjacency.nnz // 2} links")

# %%
# Communities, more of them than there are
# ----------------------------------------

K = n_true + 4
model = SGMCMCMixedMembershipBlockmodel(K, random_state=0)
model.fit(graph.adjacency, exclude=hidden)
print("log likelihood of the chains, per link:", model.chain_scores_.round(3))

truth = np.zeros((n, K))
truth[:, :n_true] = graph.communities
order = align([model.memberships_.T], truth.T + 1e-9).order[0]
memberships = model.memberships_[:, order]
members = memberships[:, :n_true] > 0.1
both = (members & graph.communities).sum(axis=0)
f1 = 2 * both / (members.sum(axis=0) + graph.communities.sum(axis=0))
print("F1 of the true communities:", f1.round(2), "mean", f1.mean().round(3))

# %%
# Memberships against the truth; the second largest membership of nodes with one home
# and with two; and hidden pairs with 90 % intervals of the probability of a link.

figure, axes = plt.subplots(1, 4, figsize=(12, 3.6), width_ratios=[1, 1, 1.2, 1.4])
rows = np.lexsort(graph.communities.T[::-1])[::-1]
for axis, values, title in (
    (axes[0], truth / truth.sum(axis=1, keepdims=True), "True communities"),
    (axes[1], memberships, "Posterior means"),
):
    axis.imshow(values[rows], aspect="auto", cmap="Blues", vmin=0, vmax=1)
    axis.set(title=title, xlabel="community", ylabel="node", yticks=[])

second = np.sort(memberships, axis=1)[:, -2]
two = graph.communities.sum(axis=1) == 2
bins = np.linspace(0, 0.5, 21)
for here, label in ((~two, "one home"), (two, "two homes")):
    axes[2].hist(second[here], bins, density=True, alpha=0.6, label=label)
axes[2].set(title="Second largest membership", yticks=[])
axes[2].legend()

probability = model.predict_link(hidden)
low, high = np.quantile(model.predict_link_samples(hidden), [0.05, 0.95], axis=0)
linked = graph.adjacency[hidden[:, 0], hidden[:, 1]] > 0
shown = np.argsort(probability)[-60:]
for here, color, label in ((linked, "C0", "linked"), (~linked, "C3", "not linked")):
    some = np.flatnonzero(here[shown])
    at = shown[some]
    errors = probability[at] - low[at], high[at] - probability[at]
    errors = np.maximum(errors, 0.0)
    style = {"fmt": "o", "ms": 3, "lw": 0.8, "color": color, "label": label}
    axes[3].errorbar(probability[at], some, xerr=errors, **style)
axes[3].set(title="Hidden pairs", xlabel="probability of a link", yticks=[])
axes[3].legend(loc="lower right")
figure.tight_layout()

# %%
# Links among the hidden pairs, and how many of them were expected.

print(f"{linked.sum()} links, {probability.sum():.1f} expected")
