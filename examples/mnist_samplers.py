"""
Which sampler for a network on MNIST?
=====================================

The network of Nemeth & Fearnhead (2021), section 6.2: 784 pixels, 100 hidden units that
share a softmax, ten classes, 55,000 images, the posterior at temperature 1. SGLD,
SG-HMC and SG-NHT, each with simple minibatches and with control variates, start from
the same trained weights. The figure shows the log-loss on 10,000 test images of single
draws, and of the average over all draws so far.

It takes about three minutes and is not run when the gallery is made::

    python examples/mnist_samplers.py [--iterations 10000] [--data FOLDER]

.. image:: /_static/gallery/mnist_samplers.png
"""

# sphinx_gallery_thumbnail_path = "_static/gallery/mnist_samplers.png"

import argparse

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from skbayes_sg import SGHMCClassifierMLP, SGLDClassifierMLP, SGNHTClassifierMLP
from skbayes_sg.datasets import fetch_mnist

KINDS = {
    "SGLD": SGLDClassifierMLP,
    "SG-HMC": SGHMCClassifierMLP,
    "SG-NHT": SGNHTClassifierMLP,
}
N_DRAWS = 50


def main(iterations, folder, file):
    """Sample with all six algorithms and draw their curves."""
    options = dict(data_home=folder, return_X_y=True)
    X, y = fetch_mnist(subset="train", **options)
    X_test, y_test = fetch_mnist(subset="test", **options)
    thin = iterations // N_DRAWS
    counts = np.arange(1, N_DRAWS + 1, dtype="f4")  # as probabilities are
    fig, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for color, (name, kind) in enumerate(KINDS.items()):
        for gradient, style in (("minibatch", "-"), ("cv", "--")):
            model = kind(
                activation="softmax",
                gradient=gradient,
                batch_size=550,
                temperature=1.0,
                burn_in=0,
                thin=thin,
                n_draws=N_DRAWS,
                n_chains=1,
                random_state=0,
            ).fit(X[:55_000], y[:55_000])
            every = model.predict_proba_samples(X_test)[0]
            single = [log_loss(y_test, p) for p in every]
            so_far = np.cumsum(every, axis=0) / counts[:, None, None]
            averaged = [log_loss(y_test, p) for p in so_far]
            label = name if gradient == "minibatch" else f"{name}-CV"
            steps = thin * counts
            for ax, curve in zip(axes, (single, averaged), strict=True):
                ax.plot(steps, curve, style, c=f"C{color}", label=label)
            print(f"{label:10s} {single[-1]:.4f} {averaged[-1]:.4f}", flush=True)
    axes[0].set(title="single draws", xlabel="iteration", ylabel="test log-loss")
    axes[1].set(title="average over draws so far", xlabel="iteration")
    axes[1].legend()
    if file:
        fig.savefig(file, dpi=120)
    else:
        plt.show()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--data", help="folder of the MNIST files")
    parser.add_argument("--file", help="save the figure here instead of showing it")
    args = parser.parse_args()
    main(args.iterations, args.data, args.file)
