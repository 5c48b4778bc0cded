"""
Which algorithm finds the factors fastest?
==========================================

The error of the averaged prediction against the number of passes over the ratings, for
the algorithms of section 6.3 of Nemeth and Fearnhead (2021) in their setting, and for
the default. The model is theirs, too: 20 factors, no biases, noise precision 3.

It reads MovieLens 100K, from the folder SKBAYES_SG_DATA or by download, and is not run
when the gallery is made.
"""

# %%
# The setting
# -----------
# Minibatches of a tenth of the ratings, automatic steps, each row in units of
# its own. All chains start at the same place, where the warm-up by full gradients ends;
# its passes are not counted. The first draw is as noisy for all of them, and the error
# falls as fast as a chain moves on to draws that differ. The default takes the whole
# gradient, which costs as much as ten minibatches.

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg import SGBPMFRecommender
from skbayes_sg.datasets import fetch_movielens_100k

X_train, X_test, y_train, y_test = fetch_movielens_100k(fold=1, return_X_y=True)
setting = dict(
    n_factors=20,
    biases=False,
    noise_precision=3.0,
    noise_dof=None,
    precision_prior=(1.0, 5.0),
    burn_in=0,
    n_chains=1,
    n_draws=60,
    random_state=0,
)


def error_by_draws(model):
    """Return the error of the average over the first draws, for each number of them."""
    model.fit(X_train, y_train)
    draws, errors = model.samples_, []
    for k in range(1, model.n_draws + 1):
        model.samples_, model.draw_weights_ = draws[:, :k], np.full(k, 1 / k)
        errors.append(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
    return errors


# %%
# The figure
# ----------

algorithms = {
    "SGLD": dict(sampler="sgld", gradient="minibatch"),
    "SGLD-CV": dict(sampler="sgld", gradient="cv"),
    "SG-HMC": dict(sampler="sghmc", gradient="minibatch"),
    "SG-HMC-CV": dict(sampler="sghmc", gradient="cv"),
    "SG-NHT": dict(sampler="sgnht", gradient="minibatch"),
    "default": {},
}
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, parts in algorithms.items():
    thin = 4 if name == "default" else 40
    model = SGBPMFRecommender(thin=thin, **parts, **setting)
    errors = error_by_draws(model)
    passes = 4 * np.arange(1, model.n_draws + 1)
    ax.plot(passes, errors, label=f"{name}: {errors[-1]:.3f}", lw=1.5)
ax.set(xlabel="passes over the ratings", ylabel="root mean square error, fold u1")
ax.set(xscale="log")
ax.legend(title="after all draws")
plt.show()

# %%
# Control variates change little here: these steps are small enough for minibatches, so
# that their curves lie on each other. With a noise precision of 3, more than the data
# say, even Gibbs sampling ends at about 0.94:
# see :ref:`sphx_glr_auto_examples_movielens_folds.py` for what learning it is worth.
