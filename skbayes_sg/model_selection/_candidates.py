"""The candidates of a search: their validation, lengths and results."""

import math
import time

import joblib
import numpy as np
from sklearn.base import clone

from skbayes_sg.base._diagnostics import last_step, smallest_ess
from skbayes_sg.inference.divergence import DivergenceError
from skbayes_sg.inference.fitting import shared_results

BURN_IN_SHARE = 0.1  # of the kept iterations, if burn_in="auto"
MIN_ITER = 10
USUAL_DRAWS = 100  # of each chain, if n_draws="auto"
# Parameters of estimators that do not change the posterior, which all candidates share.
SAMPLING = {
    *("step_size", "sampler", "gradient", "batch_size", "preconditioner", "schedule"),
    *("noise_correction", "n_draws", "burn_in", "thin", "n_chains", "random_state"),
    *("dtype", "storage", "storage_dtype", "keep", "checkpoint", "warm_start"),
    *("n_jobs", "verbose"),
}


def check_candidates(candidates, estimator, prefix):
    """Raise an error if candidates would sample different posteriors.

    Other steps of a pipeline change the data, and so the posterior. Unknown names are
    left to `set_params`, whose error message lists the known ones.
    """
    known = estimator.get_params()
    for name in sorted({name for candidate in candidates for name in candidate}):
        parameter = name.removeprefix(prefix)
        allowed = name.startswith(prefix) and parameter in SAMPLING
        if name in known and not allowed:
            raise ValueError(
                f"param_grid tunes {name!r}, which changes the posterior, but the "
                "discrepancies of different posteriors cannot be compared. Tune only "
                f"parameters of the sampling, such as '{prefix}step_size' or "
                f"'{prefix}batch_size', and choose {name!r} by predictions, with "
                "GridSearchCV"
            )


def seeded(estimator, seed):
    """Return a clone in which each `random_state` that is None is `seed`."""
    estimator = clone(estimator)
    unset = [
        name
        for name, value in estimator.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    ]
    return estimator.set_params(**dict.fromkeys(unset, seed))


def sharing_groups(candidates, step_size):
    """Return a key for each candidate, equal if only `step_size` differs."""
    keys = []
    for candidate in candidates:
        rest = {name: candidate[name] for name in candidate if name != step_size}
        try:
            keys.append(joblib.hash(rest))
        except Exception:  # a value cannot be pickled
            keys.append(len(keys))
    return keys


def leaders_and_followers(running, groups):
    """Return the first candidate of each group, and the others, which use its results.

    The two lists are sampled one after the other.
    """
    first = {groups[i]: i for i in reversed(running)}
    leaders = [i for i in running if first[groups[i]] == i]
    return [leaders, [i for i in running if first[groups[i]] != i]]


def usual_draws(estimator):
    """Return `n_draws`, where "auto" is the number that is kept if memory allows."""
    return USUAL_DRAWS if estimator.n_draws == "auto" else estimator.n_draws


def chain_lengths(estimator, n_iter, share):
    """Return the parameters of chains whose length is `share` of the full length."""
    last, prefix = last_step(estimator)
    burn_in = BURN_IN_SHARE * n_iter if last.burn_in == "auto" else last.burn_in
    kept = max(math.ceil(share * n_iter), min(n_iter, MIN_ITER))
    thin = math.ceil(kept / usual_draws(last))
    burn_in = math.ceil(share * burn_in)
    lengths = {"n_draws": kept // thin, "thin": thin, "burn_in": burn_in}
    return {prefix + name: value for name, value in lengths.items()}


def ksd_arguments(ksd_params, share):
    """Return the arguments of `ksd` for a rung, with its share of the draws."""
    max_draws = max(2, math.ceil(share * ksd_params["max_draws"]))
    return {**ksd_params, "max_draws": max_draws, "return_floor": True}


def evaluate(
    base,
    length,
    candidate,
    memory,
    X,
    y,
    params,
    ksd_params,
    error_score,
    verbose,
    control,
):
    """Sample with one candidate; return its results and those that others share."""
    estimator = clone(base).set_params(**length)
    result = {"status": "ok", "ksd": np.nan, "ksd_floor": np.nan, "ess": np.nan}
    result.update(error=None, n_iter=0, score_time=0.0)
    start = time.perf_counter()
    try:
        estimator.set_params(**clone(candidate, safe=False))
        last, _ = last_step(estimator)
        # The chains run in threads, so that the data are not copied.
        threads = joblib.parallel_config("threading")
        with shared_results(memory), threads, control.task(id(estimator)):
            estimator.fit(X, y, **params)
            result["fit_time"] = time.perf_counter() - start
            result["n_iter"] = last.n_iter_
            result["ksd"], result["ksd_floor"] = last.ksd(**ksd_params)
        result["ess"] = smallest_ess(last._draws)
        result["score_time"] = time.perf_counter() - start - result["fit_time"]
    except Exception as error:
        if isinstance(error_score, str):
            raise
        diverged = isinstance(error, DivergenceError)
        result["status"] = "diverged" if diverged else "failed"
        result["error"] = error
        result.setdefault("fit_time", time.perf_counter() - start)
    if verbose > 1:
        outcome = result["error"] or f"ksd={result['ksd']:.4g}"
        print(f"{candidate}: {outcome}, {result['fit_time']:.1f} s", flush=True)
    return result, memory
