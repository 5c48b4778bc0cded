"""
Which authors have two homes?
=============================

Authors of papers on networks, linked where they have written one together (Newman,
2006). Some belong to two groups of co-authors. Which, and how sure is that? The data
are downloaded.

.. image:: /_static/gallery/coauthors.png
"""

# sphinx_gallery_thumbnail_path = "_static/gallery/coauthors.png"

# %%
# The largest connected part
# --------------------------

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.sparse.csgraph import connected_components, shortest_path
from sklearn.manifold import TSNE

from skbayes_sg import SGMCMCMixedMembershipBlockmodel
from skbayes_sg.datasets import fetch_network

data = fetch_network("netscience")
_, part = connected_components(data.adjacency)
inside = np.flatnonzero(part == np.bincount(part).argmax())
adjacency = data.adjacency[inside][:, inside]
authors, n = data.nodes[inside], inside.size
print(f"{n} authors, {adjacency.nnz // 2} links")

# %%
# Groups of co-authors
# --------------------

K = 40
model = SGMCMCMixedMembershipBlockmodel(K, n_chains=4, random_state=0)
model.fit(adjacency)
print(f"{model.n_used_} groups; log likelihood of the chains, per link:")
print(model.chain_scores_.round(3))

# %%
# Who has two homes?
# ------------------
# An author has two homes in a draw where the second largest membership is above 0.2,
# and surely has if that is so in most draws. Means alone do not tell: an author may
# belong to one group in half of the draws, and to another one in the rest.

draws = model.samples_[..., : n * K].reshape(-1, n, K)
two = (np.sort(draws, axis=2)[..., -2] > 0.2).mean(axis=0)
mean, std = model.memberships_, model.memberships_std_
first, second = np.argsort(mean, axis=1)[:, ::-1][:, :2].T
found = np.argsort(two)[::-1][:10]
for a in found:
    homes = [
        f"group {k:2d} {mean[a, k]:.2f} +- {std[a, k]:.2f}"
        for k in (first[a], second[a])
    ]
    links = f"author {authors[a]:4d}, {adjacency[[a]].nnz:2d} links"
    print(f"{links}, two homes in {two[a]:4.0%} of the draws: " + ", ".join(homes))

# %%
# Which pairs of them have not written a paper yet, but might?

a, b = np.triu_indices(n, 1)
apart = adjacency[a, b] == 0
pairs = np.stack([a, b], axis=1)[apart]
probability, sd = model.predict_link(pairs, return_std=True)
likely = np.argsort(probability)[::-1][:5]
for i in likely:
    names = authors[pairs[i]]
    print(f"{names[0]} and {names[1]}: {probability[i]:.2f} +- {sd[i]:.2f}")

# %%
# The authors in the colors of their groups, near those with whom they have written.
# The ten have rings in the color of their second group, and dashed lines are links that
# might come. To the right, the two largest memberships of the ten, with standard
# deviations.

settings = {"metric": "precomputed", "init": "random", "perplexity": 20}
distances = shortest_path(adjacency, unweighted=True)
places = TSNE(random_state=0, **settings).fit_transform(distances**1.5)
colors = plt.get_cmap("hsv")(np.random.default_rng(0).permutation(K) / K)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 6), width_ratios=[1.6, 1])
rows, columns = adjacency.nonzero()
lines = np.stack([places[rows], places[columns]], axis=1)[rows < columns]
left.add_collection(LineCollection(lines, colors="0.7", linewidths=0.5, zorder=0))
left.scatter(*places.T, s=12, c=colors[model.labels_])
left.scatter(
    *places[found].T, s=90, c=colors[first[found]], ec=colors[second[found]], lw=3
)
lines = places[pairs[likely]]
left.add_collection(LineCollection(lines, colors="k", linestyles="dashed"))
for a in found:
    left.annotate(authors[a], places[a], (6, 6), textcoords="offset points", size=8)
left.set(title="Authors and their groups", xticks=[], yticks=[])

height = np.arange(found.size)[::-1]
for home, shift in ((first, 0.17), (second, -0.17)):
    group = home[found]
    right.barh(
        height + shift,
        mean[found, group],
        xerr=std[found, group],
        height=0.3,
        color=colors[group],
    )
right.set(
    title="Two homes",
    xlabel="membership",
    ylabel="author",
    yticks=height,
    yticklabels=[f"{authors[a]} ({two[a]:.0%})" for a in found],
)
figure.tight_layout()
plt.show()
