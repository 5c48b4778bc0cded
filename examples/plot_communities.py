"""
Which communities does a node belong to, and how sure is that?
==============================================================

A graph whose nodes belong to one or two of four communities. The blockmodel finds the
communities, tells the nodes with two homes from those with one, and predicts which
nodes are linked, with intervals.
"""

# %%
# A graph with known communities
# ------------------------------
# One pair in twenty is hidden from the fit, to see whether its links are predicted.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from skbayes_sg import SGMCMCMixedMembershipBlockmodel
from skbayes_sg.datasets import make_graph
from skbayes_sg.inference.alignment import align

K, n = 4, 160
graph = make_graph(
    n,
    K,
    membership_prior=0.15,
    link_rates=[0.5, 0.4, 0.6, 0.5],
    background_rate=0.005,
    random_state=3,
)
rng = np.random.default_rng(0)
pairs = np.stack(np.triu_indices(n, 1), axis=1)
hidden = pairs[rng.random(len(pairs)) < 0.05]

# %%
# Communities and their uncertainty
# ---------------------------------

model = SGMCMCMixedMembershipBlockmodel(K, n_draws=50, random_state=0)
model.fit(graph.adjacency, exclude=hidden)
order = align([graph.memberships.T], model.memberships_.T).order[0]
truth = graph.memberships[:, order]

# %%
# The graph, each node near the communities it belongs to; memberships against the
# truth; and hidden pairs by their predicted probability: the share of links among them
# should be that probability.

colors = np.array([plt.get_cmap("tab10")(k)[:3] for k in range(K)])
angle = 2 * np.pi * np.arange(K) / K + 0.4
corners = np.stack([np.cos(angle), np.sin(angle)], axis=1)
places = model.memberships_ @ corners + rng.normal(0, 0.07, (n, 2))
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4))

rows, columns = graph.adjacency.nonzero()
lines = np.stack([places[rows], places[columns]], axis=1)[rows < columns]
left.add_collection(LineCollection(lines, colors="0.6", linewidths=0.2, zorder=0))
left.scatter(*places.T, c=model.memberships_ @ colors, s=22, edgecolors="k", lw=0.3)
left.set(title="Nodes near their communities", xticks=[], yticks=[])

for k in range(K):
    middle.errorbar(
        truth[:, k],
        model.memberships_[:, k],
        yerr=model.memberships_std_[:, k],
        fmt="o",
        ms=3,
        lw=0.5,
        color=colors[k],
    )
middle.plot([0, 1], [0, 1], "k--", lw=1)
middle.set(title="Memberships", xlabel="true", ylabel="posterior mean and sd")

linked = graph.adjacency[hidden[:, 0], hidden[:, 1]]
probability = model.predict_link(hidden)
edges = np.array([0, 0.01, 0.05, 0.15, 0.3, 0.45, 0.8])
group = np.digitize(probability, edges[1:-1])
for g in range(len(edges) - 1):
    here = group == g
    if here.any():
        share, count = linked[here].mean(), here.sum()
        error = np.sqrt((share * (1 - share) + 1 / (4 * count)) / count)
        right.errorbar(probability[here].mean(), share, yerr=error, fmt="ko", capsize=3)
right.plot([0, 0.6], [0, 0.6], "k--", lw=1)
right.set(title="Hidden pairs", xlabel="predicted probability", ylabel="share linked")
figure.tight_layout()

# %%
# The mean log probability of the hidden pairs, against that of a guess that knows how
# many links there are.

base = linked.mean()
guess = np.where(linked, np.log(base), np.log1p(-base)).mean()
print(f"score {model.score(hidden, linked):.4f}, by a guess {guess:.4f}")
print(f"link rates {model.link_rates_.round(2)} +- {model.link_rates_std_.round(2)}")
