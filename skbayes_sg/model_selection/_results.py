"""Results of a search: a table like that of GridSearchCV, and failures."""

import warnings
from numbers import Real

import numpy as np
from sklearn.exceptions import FitFailedWarning


def report_failures(rows):
    """Warn of failures, except divergence, which a search for the limit expects."""
    if all(row["status"] != "ok" for row in rows):
        error = rows[0]["error"]
        error.add_note(f"All {len(rows)} candidates failed; this is the first error.")
        raise error
    failed = [row["error"] for row in rows if row["status"] == "failed"]
    if failed:
        warnings.warn(
            f"{len(failed)} of {len(rows)} candidates failed and rank last. The first "
            f"error is {failed[0]!r}",
            FitFailedWarning,
            stacklevel=4,
        )


def format_results(candidates, rows, error_score):
    results = {
        name: np.array([row[name] for row in rows])
        for name in ("ksd", "ksd_floor", "ess", "n_iter", "iter", "status")
    }
    ok = results["status"] == "ok"
    results["status"] = results["status"].astype(object)
    for name in ("fit_time", "score_time"):
        results[f"mean_{name}"] = np.array([row[name] for row in rows])
        results[f"std_{name}"] = np.zeros(len(rows))
    names = dict.fromkeys(name for candidate in candidates for name in candidate)
    for name in names:
        results[f"param_{name}"] = _masked(name, candidates)
    results["params"] = candidates
    score = np.where(ok, -results["ksd"], error_score)
    for name in ("split0_test_score", "mean_test_score"):
        results[name] = score
    results["std_test_score"] = np.where(ok, 0.0, np.nan)
    # Candidates of later rungs rank first, failed ones last.
    rung, ksd = np.where(ok, results["iter"], -1), np.where(ok, results["ksd"], 0.0)
    better = (rung[:, None] < rung) | ((rung[:, None] == rung) & (ksd[:, None] > ksd))
    results["rank_test_score"] = 1 + better.sum(axis=1).astype(np.int32)
    return results


def _masked(name, candidates):
    """Return the values of one parameter, masked for candidates without it."""
    values = {i: c[name] for i, c in enumerate(candidates) if name in c}
    numeric = all(isinstance(value, Real) for value in values.values())
    dtype = np.array(list(values.values())).dtype if numeric else object
    column = np.ma.masked_all(len(candidates), dtype)
    for i, value in values.items():
        column[i] = value
    return column
