"""
Which channels are open, and how sure is that?
==============================================

A recording of three ion channels: the current has four levels, one for each number of
open channels, under noise. The hidden Markov model finds the levels, the rates at which
channels open and close, and the state of every point, all with their uncertainty. Part
of the recording is missing.

.. image:: /_static/gallery/ion_channels.png
"""

# sphinx_gallery_thumbnail_path = "_static/gallery/ion_channels.png"

# %%
# A recording with known states
# -----------------------------

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg import SGMCMCGaussianHMM

rng = np.random.default_rng(0)
n, opening, closing = 20_000, 0.01, 0.03
is_open = np.zeros((n, 3), bool)
for t in range(1, n):
    flips = rng.random(3) < np.where(is_open[t - 1], closing, opening)
    is_open[t] = is_open[t - 1] ^ flips
states = is_open.sum(axis=1)
current = 1.2 * states + rng.normal(0, 0.55, n)
current[10_150:10_190] = np.nan

# %%
# Levels and transitions
# ----------------------

model = SGMCMCGaussianHMM(4, random_state=0).fit(current[:, None])
print("levels       ", model.means_.ravel().round(3))
print("their sd     ", model.means_std_.ravel().round(3))
print("buffer length", model.buffer_length_, "bias", round(model.buffer_bias_, 4))
print("states right ", np.mean(model.predict(current[:, None]) == states).round(3))

# %%
# States over the trace
# ---------------------
# In the gap nothing is observed, and the probabilities of states tend to their long-run
# shares, away from the last state that was seen and towards the next.

shares = model.predict_proba(current[:, None])
here = slice(10_000, 10_300)
time = np.arange(n)[here]
figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 5), sharex=True, height_ratios=[2, 1]
)
top.plot(time, current[here], color="0.6", lw=0.8, label="current")
mean = shares @ model.means_.ravel()
spread = np.sqrt(np.maximum(shares @ model.means_.ravel() ** 2 - mean**2, 0.0))
top.plot(time, 1.2 * states[here], color="k", lw=1, ls=":", label="true level")
top.plot(time, mean[here], color="C0", label="expected level")
top.fill_between(
    time, (mean - spread)[here], (mean + spread)[here], color="C0", alpha=0.3, lw=0
)
top.set(ylabel="current", title="Open channels, with the uncertainty of the state")
top.legend(loc="upper right")
bottom.stackplot(time, shares[here].T, labels=[f"{k} open" for k in range(4)])
bottom.set(xlabel="time", ylabel="probability", xlim=(time[0], time[-1]), ylim=(0, 1))
bottom.legend(loc="upper right", ncols=4, fontsize="small")
figure.tight_layout()
plt.show()
