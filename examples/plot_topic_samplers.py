"""
Does SCIR learn topics faster than SG-RLD?
==========================================

Stochastic gradient Riemannian Langevin dynamics (SG-RLD) was the first sampler of
topics from minibatches, and the stochastic Cox-Ingersoll-Ross process (SCIR) removes
the error of its discrete steps. Published curves of the two had different priors: 1
for the words of SCIR, 0.0001 for those of SG-RLD. Here they have the same priors, the
same start and the same minibatches, and each its best step size of three. Then they
have the published ones.
"""

# %%
# Chains that are looked at every few minibatches, on generated documents
# -----------------------------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg import SGMCMCLatentDirichletAllocation
from skbayes_sg.datasets import make_documents
from skbayes_sg.kernels.samplers import SCIR, ExpandedMean
from skbayes_sg.metrics import completion_perplexity

K, W, ALPHA, BETA, BATCH, THIN, DRAWS = 10, 300, 0.1, 0.05, 50, 10, 10
data = make_documents(
    1100, W, K, length=60, doc_topic_prior=ALPHA, topic_word_prior=BETA, random_state=0
)
train, test = data.X[:1000], data.X[1000:]
truth = completion_perplexity(test, data.topics + 1e-9, ALPHA)


def curve(sampler, beta, step_size):
    """Return the perplexity of each draw, averaged with those of the half before it."""
    model = SGMCMCLatentDirichletAllocation(
        K,
        doc_topic_prior=ALPHA,
        topic_word_prior=beta,
        sampler=sampler,
        step_size=step_size,
        batch_size=BATCH,
        burn_in=0,
        thin=THIN,
        n_draws=DRAWS,
        n_chains=1,
        random_state=0,
    ).fit(train)
    topics = model.samples_[0, :, : K * W].reshape(DRAWS, K, W).astype(float)
    return [
        completion_perplexity(test, topics[(s + 1) // 2 : s + 1] + 1e-9, ALPHA)
        for s in range(DRAWS)
    ]


# %%
# Perplexity of new documents over the documents seen
# ---------------------------------------------------
# Thin lines have the other step sizes.

seen = BATCH * THIN * np.arange(1, DRAWS + 1)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, title, priors in (
    (axes[0], f"the same priors, beta = {BETA}", (BETA, BETA)),
    (axes[1], "published priors", (1e-4, 1.0)),
):
    for name, sampler, beta in zip(
        ("SG-RLD", "SCIR"), (ExpandedMean(), SCIR()), priors, strict=True
    ):
        curves = {h: curve(sampler, beta, h) for h in (0.05, 0.2, 0.5)}
        best = min(curves, key=lambda h: curves[h][-1])
        label = f"{name}, beta = {beta}, h = {best}"
        (line,) = ax.plot(seen, curves.pop(best), label=label)
        for values in curves.values():
            ax.plot(seen, values, color=line.get_color(), alpha=0.3, linewidth=1)
    ax.axhline(truth, color="0.3", linestyle=":", label="true topics")
    ax.set(xlabel="documents seen", title=title, yscale="log")
    ax.set_yticks([70, 100, 150, 200], labels=["70", "100", "150", "200"])
    ax.tick_params(which="minor", labelleft=False)
    ax.legend(fontsize=8)
axes[0].set_ylabel("perplexity of new documents")
plt.show()

# %%
# With the same priors SCIR allows larger steps, by which it is ahead for the first two
# thousand documents; then the two are alike. What is left above the true topics is the
# noise of minibatches of either sampler, and with the published priors a little more.
