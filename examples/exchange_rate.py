"""
When was an exchange rate calm, and how sure is that?
=====================================================

Two models of the same daily returns: a hidden Markov model, which has a calm and a
turbulent regime, and stochastic volatility, whose log variance is an autoregression.
Both know their own uncertainty. With a text file of daily prices as argument, one per
line, the script looks at these instead of simulated ones.

.. image:: /_static/gallery/exchange_rate.png
"""

# sphinx_gallery_thumbnail_path = "_static/gallery/exchange_rate.png"

# %%
# Returns in percent
# ------------------

import sys

import matplotlib.pyplot as plt
import numpy as np

from skbayes_sg import SGMCMCGaussianHMM, SGMCMCStochasticVolatility

if len(sys.argv) > 1 and sys.argv[1].endswith(".txt"):
    returns = 100 * np.diff(np.log(np.loadtxt(sys.argv[1])))
    truth = None
else:
    rng, x = np.random.default_rng(0), np.zeros(750)
    for t in range(1, x.size):
        x[t] = 0.97 * x[t - 1] + 0.2 * rng.normal()
    truth = 0.45 * np.exp(x / 2)
    returns = truth * rng.normal(size=x.size)
X = (returns - returns.mean())[:, None]

# %%
# Two regimes, or a volatility that moves
# ---------------------------------------

regimes = SGMCMCGaussianHMM(2, random_state=0).fit(X)
volatility = SGMCMCStochasticVolatility(random_state=0).fit(X)
turbulent = int(np.argmax(regimes.covars_[:, 0]))
print("sd of the regimes", np.sqrt(regimes.covars_[:, 0]).round(3))
print("they last (days) ", (1 / (1 - np.diag(regimes.transmat_))).round(0))
print(f"phi   {volatility.phi_:.3f} +- {volatility.phi_std_:.3f}")
print(f"sigma {volatility.sigma_:.3f} +- {volatility.sigma_std_:.3f}")
print(f"log density: {regimes.score(X):.1f} regimes, {volatility.score(X):.1f} moving")

# %%
# Both over the returns
# ---------------------
# The intervals of stochastic volatility hold the uncertainty of the states and of the
# parameters, and go on into the future.

low, middle, high = volatility.volatility(X)
ahead = volatility.forecast(40)
days, future = np.arange(len(X)), len(X) + np.arange(40)
figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 5), sharex=True)
top.bar(days, X[:, 0], color="0.6", width=1.0)
top.set(ylabel="return (%)", title="Regimes and volatility of an exchange rate")
top.twinx().plot(days, regimes.predict_proba(X)[:, turbulent], color="C3", lw=1)
figure.axes[-1].set(ylabel="P(turbulent)", ylim=(0, 1))
bottom.plot(days, middle, color="C0", label="volatility, with 90 % interval")
bottom.fill_between(days, low, high, color="C0", alpha=0.3, lw=0)
bottom.plot(future, ahead[1], color="C1", label="forecast")
bottom.fill_between(future, ahead[0], ahead[2], color="C1", alpha=0.3, lw=0)
if truth is not None:
    bottom.plot(days, truth, color="k", lw=0.8, ls=":", label="true volatility")
bottom.set(xlabel="day", ylabel="sd of the return (%)", ylim=(0, None))
bottom.legend(loc="lower left", ncols=3)
figure.tight_layout()
plt.show()
