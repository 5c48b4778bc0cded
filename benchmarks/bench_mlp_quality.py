"""How well networks predict on small data, all defaults.

    python benchmarks/bench_mlp_quality.py [--quick] [--n-jobs 2] [--splits 5]
        [--only NAME ...] [--data FOLDER]

Classes: log-loss and calibration error (15 bins) of held-out rows beside those of an
ensemble of five MLPClassifiers, on random splits of 80 and 20 percent. Few rows have
large calibration errors by chance: "if true" is what the Bayesian probabilities would
have if they were true. Numbers: errors, log densities and coverage of 90 % intervals on
the official splits of the UCI sets (Gal & Ghahramani, 2016), with one hidden layer of
50 units and standardized features.
The folder holds `uci` as the package's data page describes it; sets that are not there
are left out. --quick takes the first split of a few sets.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skbayes_sg import SGHMCClassifierMLP, SGHMCRegressorMLP

QUICK = ("iris", "pima, standardized", "yacht")
N_MEMBERS = 5


def generated(kind, noise, seed=0):
    """Return rows of two or three classes; a share of the labels is random."""
    rng = np.random.default_rng(seed)
    if kind == "moons":
        X, y = datasets.make_moons(400, noise=0.15, random_state=seed)
    elif kind == "rings":
        X, y = datasets.make_circles(400, noise=0.1, factor=0.5, random_state=seed)
    else:
        X, y = datasets.make_classification(
            600, 10, n_informative=6, n_classes=3, class_sep=1.5, random_state=seed
        )
    wrong = rng.random(len(y)) < noise
    y[wrong] = rng.integers(0, y.max() + 1, wrong.sum())
    return X, y


def table(folder, name):
    """Return features and labels of a comma-separated file, strings as dummies."""
    path = folder / "uci" / f"{name}.csv"
    text = np.genfromtxt(path, delimiter=",", dtype=str)
    if not _is_number(text[0, -1]) and _is_number(text[1, -1]):
        text = text[1:]
    columns = []
    for column in text[:, :-1].T:
        if all(map(_is_number, column)):
            columns.append(column.astype(float)[:, None])
        else:
            columns.append(OneHotEncoder().fit_transform(column[:, None]).toarray())
    return np.hstack(columns), np.unique(text[:, -1], return_inverse=True)[1]


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def class_sets(folder):
    """Return functions that load the sets with classes, by name."""
    plain = {
        "iris": lambda: datasets.load_iris(return_X_y=True),
        "wine": lambda: datasets.load_wine(return_X_y=True),
        "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
        "digits": lambda: datasets.load_digits(return_X_y=True),
    }
    for name in ("pima-indians-diabetes", "glass", "german"):
        if (folder / "uci" / f"{name}.csv").exists():
            plain[name.split("-")[0]] = lambda name=name: table(folder, name)
    for kind in ("moons", "rings", "blobs"):
        for noise in (0.0, 0.2):
            label = f"{kind}, {'clean' if noise == 0 else 'noisy'}"
            plain[label] = lambda kind=kind, noise=noise: generated(kind, noise)
    out = {}
    for name, load in plain.items():
        if "," not in name and name != "german":
            out[name] = load, False
        out[name if "," in name else f"{name}, standardized"] = load, True
    return out


def calibration_error(y, p, n_bins=15):
    """Return the mean distance of confidence and accuracy, over bins of confidence."""
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((top * n_bins).astype(int), n_bins - 1)
    sums = [
        abs(np.sum(right[bins == b]) - np.sum(top[bins == b])) for b in range(n_bins)
    ]
    return np.sum(sums) / len(y)


def error_by_chance(p, n_repeats=200):
    """Return the mean calibration error for labels drawn with the probabilities p."""
    rng, top, guess = np.random.default_rng(0), p.max(axis=1), p.argmax(axis=1)
    drawn = np.where(rng.random((n_repeats, len(p))) < top, guess, -1)
    return np.mean([calibration_error(y, p) for y in drawn])


def compare_classes(load, scaled, n_splits, n_jobs):
    """Return a row per split: losses and calibration errors of both, and more."""
    X, y = load()
    splits = StratifiedShuffleSplit(n_splits, test_size=0.2, random_state=0)
    rows = []
    for seed, (train, test) in enumerate(splits.split(X, y)):
        scaler = StandardScaler(with_mean=scaled, with_std=scaled).fit(X[train])
        A, B = scaler.transform(X[train]), scaler.transform(X[test])
        members = [
            MLPClassifier(random_state=10 * seed + k).fit(A, y[train])
            for k in range(N_MEMBERS)
        ]
        theirs = np.mean([member.predict_proba(B) for member in members], axis=0)
        began = time.process_time()
        model = SGHMCClassifierMLP(n_jobs=n_jobs, random_state=seed).fit(A, y[train])
        seconds = time.process_time() - began
        ours, labels = model.predict_proba(B), np.arange(y.max() + 1)
        rows.append(
            [
                log_loss(y[test], theirs, labels=labels),
                log_loss(y[test], ours.astype(float), labels=labels),
                calibration_error(y[test], theirs),
                calibration_error(y[test], ours),
                error_by_chance(ours),
                model.temperature_,
                model.r_hat_,
                seconds,
            ]
        )
    return np.array(rows)


def compare_numbers(path, n_splits, n_jobs):
    """Return a row per official split: error, log density, coverage, R-hat, seconds."""
    data, rows = np.load(path), []
    X, y = data["X"], data["y"]
    for seed, test in enumerate(data["test"][:n_splits]):
        held_out = np.zeros(len(y), bool)
        held_out[test] = True
        scaler = StandardScaler().fit(X[~held_out])
        A, B = scaler.transform(X[~held_out]), scaler.transform(X[held_out])
        began = time.process_time()
        model = SGHMCRegressorMLP((50,), n_jobs=n_jobs, random_state=seed)
        model.fit(A, y[~held_out])
        seconds = time.process_time() - began
        interval, t = model.predict_interval(B), y[held_out]
        rows.append(
            [
                np.sqrt(np.mean((model.predict(B) - t) ** 2)),
                model.log_predictive_density(B, t).mean(),
                np.mean((interval[:, 0] <= t) & (t <= interval[:, 1])),
                model.r_hat_,
                seconds,
            ]
        )
    return np.array(rows)


def main():
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one split of a few sets")
    parser.add_argument("--n-jobs", type=int, default=None, help="chains at a time")
    parser.add_argument("--splits", type=int, default=5, help="of sets with classes")
    parser.add_argument("--uci-splits", type=int, default=20, help="of sets of numbers")
    parser.add_argument("--only", nargs="*", default=None, help="names of sets")
    parser.add_argument("--data", default=os.environ.get("SKBAYES_SG_DATA", "data"))
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    folder, ratios = Path(args.data), []
    chosen = QUICK if args.quick and args.only is None else args.only
    if args.quick:
        args.splits = args.uci_splits = 1
    print(f"{'':30s} five MLPs  SGHMC  ratio    ECE    ECE if true      T R-hat  CPU s")
    for name, (load, scaled) in class_sets(folder).items():
        if chosen is not None and name not in chosen:
            continue
        rows = compare_classes(load, scaled, args.splits, args.n_jobs)
        theirs, ours, ece, own, chance, _, r_hat, seconds = rows.mean(axis=0)
        temperature = np.exp(np.log(rows[:, 5]).mean())
        ratios.append(ours / theirs)
        print(
            f"{name:30s} {theirs:8.4f} {ours:8.4f} {ratios[-1]:5.2f} {ece:7.3f} "
            f"{own:6.3f} {chance:7.3f} {temperature:6.2f} {r_hat:5.2f} {seconds:6.1f}",
            flush=True,
        )
    if ratios:
        mean = np.exp(np.mean(np.log(ratios)))
        print(f"geometric mean of ratios {mean:.3f}, largest {max(ratios):.2f}\n")
    print(f"{'':12s} splits  RMSE  log density  covered  R-hat  CPU s")
    for path in sorted((folder / "uci").glob("*.npz")):
        if chosen is not None and path.stem not in chosen:
            continue
        rows = compare_numbers(path, args.uci_splits, args.n_jobs)
        error, density, covered, r_hat, seconds = rows.mean(axis=0)
        print(
            f"{path.stem:12s} {len(rows):6d} {error:7.3f} {density:9.3f} "
            f"{covered:9.3f} {r_hat:8.2f} {seconds:6.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
