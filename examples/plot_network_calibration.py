"""
Are 90 % really 90 %?
=====================

A calibrated classifier is right in nine of ten cases where it says 90 %. The posterior
of a network need not be: its prior is a convenience and no knowledge. On few rows it is
too cautious here, more so than one trained network, and a likelihood of a lower
temperature makes it less so. Measure it before you rely on it.
"""

# %%
# Fit
# ---
# 500 images of digits to learn from, and 1,297 to judge by. At temperature T the
# likelihood is taken to the power of 1/T, as if each image were there 1/T times.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from skbayes_sg import SGHMCClassifierMLP

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, train_size=500, stratify=y, random_state=0
)
models = {"one trained network": MLPClassifier((50,), max_iter=2000, random_state=0)}
for temperature in (1.0, 0.2, 0.1):
    models[f"posterior, T = {temperature:g}"] = SGHMCClassifierMLP(
        (50,),
        temperature=temperature,
        burn_in=2000,
        thin=20,
        n_draws=50,
        random_state=0,
    )

# %%
# Judge
# -----
# Predictions are sorted by their largest probability and cut into ten equal groups. On
# the diagonal, a group's share of right labels is what was promised; above it the
# classifier is too cautious. The calibration error is the mean distance from it.

fig, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
ax.plot([0, 1], [0, 1], c="0.7", lw=1)
for name, model in models.items():
    p = model.fit(X_train, y_train).predict_proba(X_test)
    groups = np.array_split(np.argsort(p.max(axis=1)), 10)
    promised = np.array([p[group].max(axis=1).mean() for group in groups])
    right = np.array([np.mean(p[g].argmax(axis=1) == y_test[g]) for g in groups])
    error, loss = np.mean(np.abs(right - promised)), log_loss(y_test, p)
    print(f"{name}: log-loss {loss:.3f}, calibration error {error:.3f}")
    ax.plot(promised, right, "o-", label=f"{name}: {error:.3f}")
ax.set(xlabel="probability of the predicted label", ylabel="share of right labels")
ax.set(xlim=(0.3, 1.02), ylim=(0.3, 1.02))
ax.legend(title="calibration error", loc="lower right")
plt.show()
