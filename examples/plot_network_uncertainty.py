"""
Does a network know when it does not know?
==========================================

Turn the images of digits, and a network that has only seen upright ones must guess.
A single network guesses with confidence. The draws of a Bayesian one disagree, and
their mutual information, the epistemic uncertainty, says so.
"""

# %%
# Fit
# ---

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from skbayes_sg import SGHMCClassifierMLP

images, y = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(images / 16, y, random_state=0)
model = SGHMCClassifierMLP((50,), burn_in=2000, thin=20, n_draws=50, random_state=0)
model.fit(train, y_train)
single = MLPClassifier((50,), max_iter=1000, random_state=0).fit(train, y_train)

# %%
# Turn
# ----
# Up to 90 degrees. Total uncertainty is the entropy of the prediction; its aleatoric
# part is what each draw by itself is unsure of, its epistemic part what the draws
# disagree about.


def turned(angle):
    """Return the test images, each turned by the angle."""
    squares = test.reshape(-1, 8, 8)
    out = rotate(squares, angle, axes=(2, 1), reshape=False, order=1)
    return out.reshape(len(test), -1)


angles = np.arange(0, 91, 10)
parts = [model.predict_uncertainty(turned(angle)) for angle in angles]
p = [single.predict_proba(turned(angle)) for angle in angles]
entropy = [-np.sum(q * np.log(np.maximum(q, 1e-300)), axis=1).mean() for q in p]

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name in ("total", "aleatoric", "epistemic"):
    left.plot(angles, [getattr(part, name).mean() for part in parts], label=name)
left.plot(angles, entropy, "k:", label="total, one trained network")
left.set(xlabel="angle / degrees", ylabel="mean uncertainty / nats")
left.legend(loc="upper right", fontsize="small")
left.set_ylim(0, 1.5)
errors = [np.mean(model.predict(turned(angle)) != y_test) for angle in angles]
right.plot(angles, errors, label="Bayesian network")
errors = [np.mean(single.predict(turned(angle)) != y_test) for angle in angles]
right.plot(angles, errors, "k:", label="one trained network")
right.set(xlabel="angle / degrees", ylabel="share of wrong labels", ylim=(0, 1))
right.legend()
plt.show()
