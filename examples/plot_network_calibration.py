"""
Are 90 % really 90 %?
=====================

A calibrated classifier is right in nine of ten cases where it says 90 %. On clean
labels, such as those of digits, a trained network nearly is, and a posterior gains
nothing. Where some labels are wrong, as those of busy annotators, trained networks
learn the mistakes by heart and promise far too much. The posterior promises too little
instead, which costs less: its log-loss is less than half of that of five networks.
"""

# %%
# Fit
# ---
# 400 images to learn from, and 1,397 to judge by. In the second case a fifth of all
# labels is random. The posterior chooses its temperature by cross-validation: cold if
# labels can be trusted, near 1 if they are as random as the likelihood says.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from skbayes_sg import SGHMCClassifierMLP

X, clean = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
random = rng.integers(0, 10, len(clean))
noisy = np.where(rng.random(len(clean)) < 0.2, random, clean)


def fitted(X, y):
    """Return the averaged probabilities of five networks, and two models."""
    members = [
        MLPClassifier((30,), max_iter=5000, random_state=k).fit(X, y) for k in range(5)
    ]
    posterior = SGHMCClassifierMLP((30,), random_state=0).fit(X, y)
    return {
        "one trained network": members[0].predict_proba,
        "five trained networks": lambda X: np.mean(
            [member.predict_proba(X) for member in members], axis=0
        ),
        f"posterior, T = {posterior.temperature_:g}": posterior.predict_proba,
    }


# %%
# Judge
# -----
# Predictions are sorted by their largest probability and cut into ten equal groups. On
# the diagonal, a group's share of right labels is what was promised; below it the
# classifier promises too much. The calibration error is the mean distance from it. The
# log-loss is minus the mean log probability of the right label, the price of a promise.

fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True, layout="constrained")
for ax, (title, y) in zip(axes, {"clean": clean, "noisy": noisy}.items(), strict=True):
    A, B, y_train, y_test = train_test_split(
        X / 16, y, train_size=400, stratify=y, random_state=0
    )
    ax.plot([0, 1], [0, 1], c="0.7", lw=1)
    for name, predict in fitted(A, y_train).items():
        p = predict(B)
        groups = np.array_split(np.argsort(p.max(axis=1)), 10)
        promised = np.array([p[group].max(axis=1).mean() for group in groups])
        right = np.array([np.mean(p[g].argmax(axis=1) == y_test[g]) for g in groups])
        error, loss = np.mean(np.abs(right - promised)), log_loss(y_test, p)
        ax.plot(promised, right, "o-", label=f"{name}: {loss:.2f}; {error:.3f}")
    ax.set(title=f"{title} labels", xlabel="probability of the predicted label")
    ax.set(xlim=(0.2, 1.02), ylim=(0.2, 1.02))
    ax.legend(title="log-loss; calibration error", loc="upper left", fontsize="small")
axes[0].set_ylabel("share of right labels")
plt.show()
