"""
Which algorithm finds the factors fastest?
==========================================

The error of the averaged prediction against the number of passes over the ratings, for
the algorithms of section 6.3 of Nemeth and Fearnhead (2021) in their setting, and for
the default. The model is theirs, too: 20 factors, no biases, noise precision 3.

It reads MovieLens 100K, from the folder SKBAYES_SG_DATA or by download, and is not run
when the gallery is made.

.. image:: /_static/gallery/movielens_algorithms.png
"""

# sphinx_gallery_thumbnail_path = "_static/gallery/movielens_algorithms.png"

# %%
# The setting
# -----------
# Minibatches of a tenth of the ratings, 20,000 of them for each algorithm, automatic
# steps, each row in units of its own. All chains start at the same place, where the
# warm-up by full gradients ends; its passes are not counted. The first draw is as noisy
# for all of them, and the error falls as fast as a chain moves on to draws that differ.
# An iteration of SG-HMC has five gradients, and the default takes the whole gradient,
# which costs as much as ten minibatches: all are kept every ten passes.

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg import SGBPMFRecommender
from skbayes_sg.datasets import fetch_movielens_100k

X_train, X_test, y_train, y_test = fetch_movielens_100k(fold=1, return_X_y=True)
n_draws, passes_per_draw = 200, 10
setting = dict(
    n_factors=20,
    biases=False,
    noise_precision=3.0,
    noise_dof=None,
    precision_prior=(1.0, 5.0),
    burn_in=0,
    n_chains=1,
    n_draws=n_draws,
    random_state=0,
)
lengths = np.unique(np.geomspace(1, n_draws, 30).astype(int))


def error_by_draws(model):
    """Return the error of the average over the first draws, for some lengths."""
    model.fit(X_train, y_train)
    draws, errors = model.samples_, []
    for k in lengths:
        model.samples_, model.draw_weights_ = draws[:, :k], np.full(k, 1 / k)
        errors.append(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
    return errors


# %%
# The figure
# ----------

minibatch, cv = dict(gradient="minibatch"), dict(gradient="cv")
algorithms = {  # `thin` counts iterations, here those of ten passes
    "SGLD": (dict(sampler="sgld", thin=100, **minibatch), "C0-"),
    "SGLD-CV": (dict(sampler="sgld", thin=100, **cv), "C1--"),
    "SG-NHT": (dict(sampler="sgnht", thin=100, **minibatch), "C2-"),
    "SG-HMC": (dict(sampler="sghmc", thin=20, **minibatch), "C3-"),
    "SG-HMC-CV": (dict(sampler="sghmc", thin=20, **cv), "C4--"),
    "default": (dict(thin=10), "k-"),
}
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, (parts, style) in algorithms.items():
    errors = error_by_draws(SGBPMFRecommender(**parts, **setting))
    passes = passes_per_draw * lengths
    ax.plot(passes, errors, style, label=f"{name}: {errors[-1]:.3f}", lw=1.5)
ax.set(xlabel="passes over the ratings", ylabel="root mean square error, fold u1")
ax.set(xscale="log")
ax.legend(title="after all draws")
plt.show()

# %%
# Control variates change little here: these steps are small enough for minibatches, so
# that their curves lie on each other. With a noise precision of 3, more than the data
# say, even Gibbs sampling ends at about 0.94:
# see :ref:`sphx_glr_auto_examples_movielens_folds.py` for what learning it is worth.
