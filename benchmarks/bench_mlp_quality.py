"""How well networks predict on small data, beside scikit-learn's, all defaults.

    python benchmarks/bench_mlp_quality.py [--quick] [--n-jobs 2]

Negative log density of held-out targets in nats, by five-fold cross-validation on the
same folds. A trained regressor gets Gaussian noise of its residuals' sd. Features as
they are, and standardized; --quick takes the first fold only.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from skbayes_sg import SGHMCClassifierMLP, SGHMCRegressorMLP

DATA = {
    "digits": load_digits,
    "breast cancer": load_breast_cancer,
    "diabetes": load_diabetes,
}


def losses(name, train, test, n_jobs):
    """Return the loss of a trained network, of a Bayesian one, and its seconds."""
    (X, y), (X_test, y_test) = train, test
    kind = SGHMCRegressorMLP if name == "diabetes" else SGHMCClassifierMLP
    bayes = kind(n_jobs=n_jobs, random_state=0)
    began = time.perf_counter()
    bayes.fit(X, y)
    seconds = time.perf_counter() - began
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if name == "diabetes":
            trained = MLPRegressor(random_state=0).fit(X, y)
            sd = np.std(y - trained.predict(X))
            theirs = -norm.logpdf(y_test, trained.predict(X_test), sd).mean()
            return theirs, -bayes.log_predictive_density(X_test, y_test).mean(), seconds
        trained = MLPClassifier(random_state=0).fit(X, y)
    theirs = log_loss(y_test, trained.predict_proba(X_test))
    return theirs, log_loss(y_test, bayes.predict_proba(X_test)), seconds


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the first fold only")
    parser.add_argument("--n-jobs", type=int, default=None, help="chains at a time")
    args = parser.parse_args()
    print(f"{'':28s} {'MLP':>8s} {'SGHMC':>8s} {'s per fit':>10s}")
    for name, load in DATA.items():
        X, y = load(return_X_y=True)
        kind = KFold if name == "diabetes" else StratifiedKFold
        folds = list(kind(5, shuffle=True, random_state=0).split(X, y))
        for scaled in (False, True):
            rows = []
            for train, test in folds[:1] if args.quick else folds:
                scaler = StandardScaler(with_mean=scaled, with_std=scaled).fit(X[train])
                A, B = scaler.transform(X[train]), scaler.transform(X[test])
                rows.append(losses(name, (A, y[train]), (B, y[test]), args.n_jobs))
            theirs, ours, seconds = np.mean(rows, axis=0)
            label = f"{name}, standardized" if scaled else name
            print(f"{label:28s} {theirs:8.4f} {ours:8.4f} {seconds:10.1f}", flush=True)


if __name__ == "__main__":
    main()
