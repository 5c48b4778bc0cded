"""Fit, tune, diagnose and predict on embedded data; print a table, save pictures."""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skbayes_sg import CoefficientDisplay, SGLDLogisticRegression, TraceDisplay

OUT = Path(__file__).parent / "output"


def main():
    """Run the whole job."""
    OUT.mkdir(exist_ok=True)
    data = load_breast_cancer(as_frame=True)
    X = data.data.iloc[:, :10].rename(columns=lambda name: name.removeprefix("mean "))
    X_train, X_test, y_train, y_test = train_test_split(
        X, data.target, test_size=0.4, random_state=0, stratify=data.target
    )
    scaler = StandardScaler().set_output(transform="pandas").fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

    print("Fitting (the first run also compiles) ...", flush=True)
    began = time.perf_counter()
    model = SGLDLogisticRegression(random_state=0, n_jobs=2).fit(X_train, y_train)
    seconds = time.perf_counter() - began
    print(
        f"{model.n_chains} chains of {model.n_iter_} iterations in {seconds:.1f} s; "
        f"chosen: step_size={model.step_size_:.3g}, batch_size={model.batch_size_}, "
        f"burn_in={model.burn_in_}, thin={model.thin_}\n"
    )
    print(model.summary().round(3).to_string())
    ksd, floor = model.ksd(return_floor=True)
    print(f"\nKSD {ksd:.3f} (perfect independent draws: {floor:.3f})")

    point = LogisticRegression(C=10.0).fit(X_train, y_train)
    for name, fitted in (("posterior average", model), ("point estimate", point)):
        loss = log_loss(y_test, fitted.predict_proba(X_test))
        accuracy = fitted.score(X_test, y_test)
        print(f"{name:18} test log-loss {loss:.4f}, accuracy {accuracy:.3f}")

    save(CoefficientDisplay.from_estimator(model).figure_, "coefficients.png")
    save(
        TraceDisplay.from_estimator(model, parameters=["radius", "area"]).figure_,
        "traces.png",
    )
    display = CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=8)
    save(display.figure_, "calibration.png")
    every = model.predict_proba_samples(X_test)[..., 1].reshape(-1, len(X_test))
    save(uncertainty_figure(every), "predictions.png")
    print(f"pictures in {OUT}: {', '.join(sorted(p.name for p in OUT.glob('*.png')))}")


def uncertainty_figure(every):
    """Plot each patient's probability with the interval that holds 90 % of draws."""
    mean = every.mean(axis=0)
    order = np.argsort(mean)
    low, high = np.quantile(every[:, order], [0.05, 0.95], axis=0)
    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    ax.fill_between(np.arange(len(mean)), low, high, alpha=0.3, label="90 % interval")
    ax.plot(mean[order], label="posterior average")
    ax.set(xlabel="patients of the test set, in order", ylabel="P(benign)")
    ax.legend()
    return figure


def save(figure, name):
    """Write a picture and close it."""
    figure.savefig(OUT / name, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
