"""
How good is a Bayesian network on MNIST?
========================================

All defaults: 784-100-10 with relu units, four chains of SG-HMC, 55,000 images, against
scikit-learn's `MLPClassifier` of the same size with early stopping. Error rate,
log-loss and expected calibration error (15 bins) on the 10,000 test images. In the
figure, honest probabilities lie on the dashed line; below it they are too cautious,
above it too sure.

It takes some minutes and is not run when the gallery is made::

    python examples/mnist_network.py [--data FOLDER]

.. image:: /_static/gallery/mnist_network.png
"""

# sphinx_gallery_thumbnail_path = "_static/gallery/mnist_network.png"

import argparse
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier

from skbayes_sg import SGHMCClassifierMLP
from skbayes_sg.datasets import fetch_mnist


def calibration_error(p, y, n_bins=15):
    """Return the mean distance between promised and true accuracy over bins."""
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((top * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, right - top, n_bins)
    return np.abs(gaps).sum() / len(y)


def promised_and_true(p, y, n_groups=30):
    """Return the expected and the actual error rate of groups from sure to unsure."""
    expected, wrong = 1.0 - p.max(axis=1), p.argmax(axis=1) != y
    groups = np.array_split(np.argsort(expected), n_groups)
    return np.array([(expected[g].mean(), wrong[g].mean()) for g in groups]).T


def main(folder):
    """Fit both, print a table and show how far their probabilities can be trusted."""
    options = dict(data_home=folder, return_X_y=True)
    X, y = fetch_mnist(subset="train", **options)
    X_test, y_test = fetch_mnist(subset="test", **options)
    models = {
        "MLPClassifier": MLPClassifier((100,), early_stopping=True, random_state=0),
        "SGHMCClassifierMLP": SGHMCClassifierMLP(n_jobs=2, random_state=0),
    }
    fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
    print(f"{'':20s} {'error':>7s} {'log-loss':>9s} {'calibration':>12s} {'fit':>7s}")
    for name, model in models.items():
        began = time.perf_counter()
        model.fit(X[:55_000], y[:55_000])
        seconds = time.perf_counter() - began
        p = model.predict_proba(X_test)
        error = np.mean(p.argmax(axis=1) != y_test)
        print(
            f"{name:20s} {error:7.2%} {log_loss(y_test, p):9.4f} "
            f"{calibration_error(p, y_test):12.4f} {seconds:5.0f} s",
            flush=True,
        )
        ax.loglog(*promised_and_true(p, y_test), "o-", label=name)
    ax.plot((1e-3, 1), (1e-3, 1), color="gray", linestyle="--")
    ax.set(
        xlim=(1e-3, 1),
        ylim=(1e-3, 1),
        xlabel="error rate that the probabilities promise",
        ylabel="error rate",
        title="Groups of 333 test images, from sure to unsure",
    )
    ax.legend()
    plt.show()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", help="folder of the MNIST files")
    main(parser.parse_args().data)
