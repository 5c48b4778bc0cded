"""Posterior moments of logistic regressions, from long runs of an exact sampler.

`benchmarks/make_reference.py` writes one JSON file per case beside this file.
The model is y ~ Bernoulli(expit(x.coef + intercept)) with an N(0, 10) prior on every
coefficient and on the intercept; vectors hold the coefficients, then the intercept.

    ref = reference("logistic_d10")
    X, y = ref.load()
    ref.mean, ref.sd  # shape (n_features + 1,); Monte Carlo errors in mcse, mcse_sd
"""

import hashlib
import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from skbayes_sg.datasets import fetch_libsvm, make_logistic

FOLDER = Path(__file__).resolve().parent
PRIOR_VARIANCE = 10.0


def _simulated(n_features):
    return lambda: make_logistic(100_000, n_features, random_state=0)


def _badly_scaled():
    X, y = make_logistic(100_000, 10, random_state=0)
    X *= np.tile([1e3, 1e-3], 5)
    return X, y


def _libsvm(name):
    def load():
        default = FOLDER.parents[2] / "shared" / "data"
        home = Path(os.environ.get("SKBAYES_SG_DATA", default))
        X, y = fetch_libsvm(
            name, data_home=home, return_X_y=True, download_if_missing=False
        )
        return X, (y > 0).astype(np.int64)

    return load


CASES = {
    "logistic_d10": _simulated(10),
    "logistic_d50": _simulated(50),
    "logistic_d100": _simulated(100),
    "logistic_d10_badly_scaled": _badly_scaled,
    "a9a": _libsvm("a9a"),
    "w8a": _libsvm("w8a"),
}


class Reference(NamedTuple):
    name: str
    mean: np.ndarray  # (n_features + 1,), the intercept last
    sd: np.ndarray
    mcse: np.ndarray  # Monte Carlo standard error of mean
    mcse_sd: np.ndarray  # and of sd
    info: dict  # the rest of the file: settings, diagnostics, versions, data

    def load(self):
        """Return the X and y of the case, after a check that they are the same."""
        X, y = CASES[self.name]()
        expected, got = self.info["data"], fingerprint(X, y)
        for key in ("shape", "y_sha256"):
            if got[key] != expected[key]:
                raise ValueError(f"{self.name}: {key} of the data has changed.")
        for key in ("sum_x2", "xty"):
            np.testing.assert_allclose(got[key], expected[key], rtol=1e-8, err_msg=key)
        return X, y


def with_ones(X):
    """Append a column of ones, whose coefficient has the intercept's prior of these.

    An estimator's own intercept has a prior at the mean of the rows, which makes
    another posterior where columns add up to one, as in a9a.
    """
    ones = np.ones((X.shape[0], 1))
    return (
        sp.csr_matrix(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
    )


def fingerprint(X, y):
    """Identify data up to the rounding of matrix products, which differs by machine."""
    squares = X.multiply(X) if sp.issparse(X) else X * X
    return {
        "shape": list(X.shape),
        "y_sha256": hashlib.sha256(y.astype("<i8").tobytes()).hexdigest(),
        "sum_x2": np.ravel(squares.sum(axis=0)).tolist(),
        "xty": (X.T @ (y - 0.5)).tolist(),
    }


def reference(name):
    """Read one case: its moments, their errors, and how to load its data."""
    info = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    arrays = (np.array(info.pop(key)) for key in ("mean", "sd", "mcse", "mcse_sd"))
    return Reference(name, *arrays, info)
