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

import numpy as np
from scipy.sparse.csgraph import connected_components

from skbayes_sg import SGMCMCMixedMembershipBlockmodel
from skbayes_sg.datasets import fetch_network

data = fetch_network("netscience")
_, part = connected_components(data.adjacency)
inside = np.flatnonzero(part == np.bincount(part).argmax())
adjacency = data.adjacency[inside][:, inside]
authors = data.nodes[inside]
print(f"{inside.size} authors, {adjacency.nnz // 2} links")

# %%
# Groups of co-authors
# --------------------

model = SGMCMCMixedMembershipBlockmodel(40, n_draws=100, random_state=0)
model.fit(adjacency)
print(f"{model.n_used_} groups; log likelihood of the chains, per link:")
print(model.chain_scores_.round(3))

# %%
# The authors whose second group has the largest share of them, with the numbers that
# the publisher gave them, and with standard deviations.

first, second = np.argsort(model.memberships_, axis=1)[:, ::-1][:, :2].T
every = np.arange(inside.size)
mean, std = model.memberships_, model.memberships_std_
for a in np.argsort(mean[every, second])[::-1][:10]:
    homes = [
        f"group {k:2d} {mean[a, k]:.2f} +- {std[a, k]:.2f}"
        for k in (first[a], second[a])
    ]
    print(f"author {authors[a]:4d}, {adjacency[[a]].nnz:2d} links: " + ", ".join(homes))

# %%
# Which pairs of them have not written a paper yet, but might?

a, b = np.triu_indices(inside.size, 1)
apart = adjacency[a, b] == 0
pairs = np.stack([a, b], axis=1)[apart]
probability, std = model.predict_link(pairs, return_std=True)
for i in np.argsort(probability)[::-1][:5]:
    names = authors[pairs[i]]
    print(f"{names[0]} and {names[1]}: {probability[i]:.2f} +- {std[i]:.2f}")
