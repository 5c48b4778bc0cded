"""The automatic step size against the best of a grid.

    python benchmarks/bench_auto_step.py [--quick] [--data ...] [--variants ...]

For every data set and variant, an estimator with the automatic step size runs 4 chains
for as many iterations as it chooses itself. `KSDStepSizeSearch` then gives the same
number of iterations to 20 step sizes, from a 50th of the automatic one to 10 times.
Columns: the automatic step, rows per gradient, iterations of each chain; the ratio of
the automatic step's KSD to the lowest in the grid and where that is; the ratio of
posterior sds to the reference's, mean and most distant from 1 (its Monte Carlo error is
about 3 % for 1,000 draws), and the largest error of a mean, in posterior sds.

The reference posteriors are those of `tests/references`; each has an N(0, 10) prior.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from skbayes_sg import DivergenceError, KSDStepSizeSearch, SGMCMCLogisticRegression

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.references.load import CASES, FOLDER, reference  # noqa: E402

VARIANTS = {
    "SGLD": {"sampler": "sgld", "gradient": "minibatch"},
    "SGLD-CV": {"sampler": "sgld", "gradient": "cv"},
    "SGHMC": {"sampler": "sghmc", "gradient": "minibatch"},
    "SGHMC-CV": {"sampler": "sghmc", "gradient": "cv"},
    "SGNHT": {"sampler": "sgnht", "gradient": "minibatch"},
    "SGNHT-CV": {"sampler": "sgnht", "gradient": "cv"},
    "default": {},
}
HEADER = (
    f"{'data':>26} {'variant':>9} {'step':>9} {'batch':>6} {'n_iter':>7} "
    f"{'KSD':>7} {'ratio':>6} {'best at':>8} {'sd':>6} {'worst':>6} {'mean':>6}"
)


def compare(X, y, settings, n_draws, n_steps):
    """Return the automatic estimator and the search around it, on 4 chains."""
    auto = SGMCMCLogisticRegression(n_draws=n_draws, random_state=0, **settings)
    auto.fit(X, y)
    h = auto.step_size_
    given = {"n_draws": n_draws, "thin": auto.thin_, "burn_in": auto.burn_in_}
    grid = h * np.append(1.0, np.geomspace(1 / 50, 10, n_steps))
    search = KSDStepSizeSearch(
        SGMCMCLogisticRegression(**given, **settings),
        {"step_size": grid.tolist()},
        ksd_params={"max_draws": 500},
        refit=False,
        random_state=0,
    ).fit(X, y)
    return auto, search


def report(name, variant, settings, n_draws, n_steps):
    has_moments = (FOLDER / f"{name}.json").exists()
    X, y = reference(name).load() if has_moments else CASES[name]()
    try:
        auto, search = compare(X, y, settings, n_draws, n_steps)
    except DivergenceError as error:
        print(f"{name:>26} {variant:>9} DIVERGED: {error}", flush=True)
        return
    ksd = search.cv_results_["ksd"]
    steps = search.cv_results_["param_step_size"].data
    best = 1 + np.nanargmin(ksd[1:])
    columns = [
        f"{name:>26} {variant:>9} {auto.step_size_:9.3g} {auto.batch_size_:6}",
        f"{auto.n_iter_:7} {ksd[0]:7.3f} {ksd[0] / ksd[best]:6.2f}",
        f"{steps[best] / steps[0]:7.2g}x",
    ]
    if has_moments:
        truth = reference(name)
        draws = auto.samples_.reshape(-1, auto.samples_.shape[-1])
        ratio = draws.std(axis=0) / truth.sd
        worst = ratio[np.argmax(np.abs(np.log(ratio)))]
        error = np.max(np.abs(draws.mean(axis=0) - truth.mean) / truth.sd)
        columns.append(f"{ratio.mean():6.3f} {worst:6.3f} {error:6.3f}")
    print(*columns, flush=True)


def main(quick=False, data=None, variants=None):
    if quick:
        data = data or ["logistic_d10"]
        variants = variants or ["SGLD-CV", "SGHMC-CV", "default"]
    print(HEADER)
    for name in data or CASES:
        for variant in variants or VARIANTS:
            sizes = (100, 10) if quick else (250, 20)
            report(name, variant, VARIANTS[variant], *sizes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one data set, 10 steps")
    parser.add_argument("--data", nargs="+", choices=list(CASES))
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS))
    main(**vars(parser.parse_args()))
