"""
How sure is a logistic regression of its coefficients?
======================================================

A point estimate hides that some coefficients are known well and others hardly at all.
Draws from the posterior show it, and none of the settings of the sampler has to be
chosen.
"""

# %%
# Fit
# ---
# Ten features of the breast cancer data, standardized. The prior of each coefficient
# is N(0, 10).

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from skbayes_sg import SGLDLogisticRegression

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data[:, :10])
names = [name.removeprefix("mean ") for name in data.feature_names[:10]]
model = SGLDLogisticRegression(random_state=0).fit(X, data.target)
point = LogisticRegression(C=10.0).fit(X, data.target)

# %%
# Compare
# -------
# Intervals hold 90 % of the posterior. Radius, perimeter and area say nearly the same
# about a cell, so the data cannot tell their coefficients apart: the intervals are
# wide, and the penalised maximum is only one point of many.

draws = model.samples_.reshape(-1, X.shape[1] + 1)[:, :-1]
low, high = np.quantile(draws, [0.05, 0.95], axis=0)
order = np.argsort(model.coef_[0])
rows = np.arange(len(order))
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.hlines(rows, low[order], high[order], lw=4, alpha=0.4, label="90 % of the posterior")
ax.plot(model.coef_[0, order], rows, "o", label="posterior mean")
ax.plot(point.coef_[0, order], rows, "x", c="k", label="penalised maximum")
ax.axvline(0, c="0.7", lw=1, zorder=0)
ax.set_yticks(rows, [names[j] for j in order])
ax.set_xlabel("coefficient, per standard deviation of the feature")
ax.legend(loc="upper left")
plt.show()
