"""
What is a document about, and how sure is that?
===============================================

Topics of news, with intervals of their words; then what a new document is about after
its first few words, and after all of them. The Associated Press corpus is read from the
folder SKBAYES_SG_DATA; without it, documents are generated.
"""

# %%
# Documents
# ---------

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from skbayes_sg import SGMCMCLatentDirichletAllocation
from skbayes_sg.datasets import make_documents

folder = Path(os.environ.get("SKBAYES_SG_DATA", ".")) / "topics" / "ap"
if folder.is_dir():
    lines = (folder / "ap.dat").read_text().splitlines()
    pairs = [[pair.split(":") for pair in line.split()[1:]] for line in lines]
    rows = np.repeat(np.arange(len(pairs)), [len(row) for row in pairs])
    columns, counts = np.array([p for row in pairs for p in row], np.int64).T
    X = sp.csr_array((counts, (rows, columns)))
    vocabulary = np.array((folder / "vocab.txt").read_text().split())
else:
    X = make_documents(500, 400, 20, random_state=0).X
    vocabulary = np.array([f"word {w}" for w in range(X.shape[1])])
train, new = X[:-1], X[[-1]]

# %%
# Topics
# ------
# The six topics on which chains agree best, with 90 % intervals of their words.

model = SGMCMCLatentDirichletAllocation(
    20, doc_topic_prior=0.1, topic_word_prior=0.01, random_state=0
).fit(train)
table = model.top_words(6, prob=0.9, feature_names=vocabulary)
best = np.argsort(-model.affinity_.min(axis=0))[:6]
fig, axes = plt.subplots(2, 3, figsize=(9, 4.5), layout="constrained")
for ax, k in zip(axes.ravel(), best, strict=True):
    mean, places = table.mean[k], np.arange(6)
    ax.errorbar(mean, places, xerr=[mean - table.low[k], table.high[k] - mean], fmt="o")
    ax.set(yticks=places, yticklabels=table.words[k], xlim=(0, None))
    ax.set_title(f"topic {k}, affinity {model.affinity_[:, k].min():.2f}", fontsize=9)
    ax.invert_yaxis()

# %%
# A new document
# --------------
# The more of it is read, the surer it is.

words = np.repeat(new.indices, new.data)
order = np.random.default_rng(0).permutation(words)
lengths = [n for n in (5, 20, 80) if n < len(words)] + [len(words)]
parts = [np.bincount(order[:n], minlength=X.shape[1]) for n in lengths]
mean, std = model.transform(np.stack(parts), return_std=True)
top = np.argsort(-mean[-1])[:4]
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for j, k in enumerate(top):
    label = " ".join(table.words[k][:3])
    places = np.arange(len(lengths)) + 0.1 * j
    bars = np.minimum(std[:, k], mean[:, k]), std[:, k]  # no share is negative
    ax.errorbar(places, mean[:, k], bars, fmt="o", label=f"topic {k}: {label}")
ax.set(xticks=np.arange(len(lengths)), xticklabels=lengths, xlabel="words read")
ax.set(ylabel="share of the document")
ax.legend(fontsize=8)
plt.show()
