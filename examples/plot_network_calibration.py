"""
Are 90 % really 90 %?
=====================

A calibrated classifier is right in nine of ten cases where it says 90 %. A network
trained to its maximum is too sure of itself, the more so the fewer rows it has seen. An
average over posterior draws is not.
"""

# %%
# Fit
# ---
# Only 150 images of digits to learn from, and 1,647 to judge by.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from skbayes_sg import SGHMCClassifierMLP

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, train_size=150, stratify=y, random_state=0
)
models = {
    "trained network": MLPClassifier((50,), max_iter=2000, random_state=0),
    "Bayesian network": SGHMCClassifierMLP(
        (50,), burn_in=2000, thin=20, n_draws=50, random_state=0
    ),
}

# %%
# Judge
# -----
# Predictions are sorted by their largest probability and cut into ten equal groups. On
# the diagonal, a group's share of right labels is what was promised. The expected
# calibration error is the mean distance from it.

fig, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
ax.plot([0, 1], [0, 1], c="0.7", lw=1)
for name, model in models.items():
    p = model.fit(X_train, y_train).predict_proba(X_test)
    order = np.argsort(p.max(axis=1))
    groups = np.array_split(order, 10)
    promised = np.array([p[group].max(axis=1).mean() for group in groups])
    right = np.array([np.mean(p[g].argmax(axis=1) == y_test[g]) for g in groups])
    error = np.mean(np.abs(right - promised))
    label = f"{name}\nlog-loss {log_loss(y_test, p):.2f}, calibration error {error:.3f}"
    ax.plot(promised, right, "o-", label=label)
ax.set(xlabel="probability of the predicted label", ylabel="share of right labels")
ax.legend(loc="upper left", fontsize="small")
plt.show()
