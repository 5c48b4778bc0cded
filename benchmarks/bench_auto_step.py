"""The automatic step size against the best of a grid, and the moments it leads to.

    python benchmarks/bench_auto_step.py [--quick] [--part ...] [--data ...] [...]

Part "ksd": 4 chains of 2,000 iterations (10 for each of `--draws`, 200) after a tenth
of that as burn-in, every tenth kept. The automatic step runs beside 20 step sizes from
a 50th of it to 20 times, from which `KSDStepSizeSearch` finds the best by halving, all
with the same random numbers. Columns: the automatic step, rows per gradient, its kernel
Stein discrepancy, the ratio of that to the best in the grid, and where the best step
is.

Part "moments": 4 chains of 1,000 draws (or `--draws`), as long as the estimator
chooses. Columns: the step, rows per gradient, iterations of each chain, seconds;
posterior sds over the reference's, their mean, smallest and largest; the largest error
of a mean, in posterior sds; and the fewest effective draws of any coordinate. With
2,500 effective draws an sd has a Monte Carlo error of 1.4 % and a mean one of 0.02 sds,
and the most extreme of 100 coordinates lies 2.6 such errors away. Sds of chains with
plain minibatches are too large by design, as far as that lowers the total error in the
given time: they are shown, not judged. Of all others "ok" says that sds are within 5 %
of the reference's and means within 0.1 sds and four of their Monte Carlo errors.

The variants named as in the literature use minibatches of 1,000 rows, "default" sets
nothing. The reference posteriors are those of `tests/references`.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from skbayes_sg import DivergenceError, KSDStepSizeSearch, SGMCMCLogisticRegression
from skbayes_sg.base._diagnostics import smallest_ess

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.references.load import CASES, reference  # noqa: E402

VARIANTS = {
    f"{sampler.upper()}{'-CV' * (gradient == 'cv')}": {
        "sampler": sampler,
        "gradient": gradient,
        "batch_size": 1000,
    }
    for sampler in ("sgld", "sghmc", "sgnht")
    for gradient in ("minibatch", "cv")
}
VARIANTS["default"] = {}


def compare(name, settings, n_draws=200, n_steps=20):
    """Return columns of part "ksd"."""
    X, y = reference(name).load()
    length = {"n_draws": n_draws, "thin": 10, "burn_in": n_draws}
    auto = SGMCMCLogisticRegression(random_state=0, **length, **settings).fit(X, y)
    h, ksd = auto.step_size_, auto.ksd(max_draws=200)
    search = KSDStepSizeSearch(
        SGMCMCLogisticRegression(random_state=0, **length, **settings),
        {"step_size": h * np.geomspace(1 / 50, 20, n_steps)},
        strategy="halving",
        ksd_params={"max_draws": 200},
        refit=False,
    ).fit(X, y)
    return [
        f"{h:8.3g} {auto.batch_size_:6} {ksd:7.3f}",
        f"{-ksd / search.best_score_:6.2f}",
        f"{search.best_params_['step_size'] / h:7.2g}x",
    ]


def moments(name, settings, n_draws=1000):
    """Return columns of part "moments"."""
    truth = reference(name)
    X, y = truth.load()
    start = time.perf_counter()
    auto = SGMCMCLogisticRegression(n_draws=n_draws, random_state=0, **settings)
    auto.fit(X, y)
    seconds = time.perf_counter() - start
    draws = auto.samples_.reshape(-1, auto.samples_.shape[-1])
    ratio = draws.std(axis=0) / truth.sd
    error = np.abs(draws.mean(axis=0) - truth.mean) / truth.sd
    mcse = np.hypot(auto.summary()["mcse"], truth.mcse) / truth.sd
    within = np.all(error < 0.1 + 4 * mcse) and np.all(np.abs(ratio - 1) <= 0.05)
    judged = settings.get("gradient") != "minibatch"
    return [
        f"{auto.step_size_:8.3g} {auto.batch_size_:6} {auto.n_iter_:7} {seconds:6.0f}",
        f"{ratio.mean():6.3f} {ratio.min():6.3f} {ratio.max():6.3f} {error.max():6.3f}",
        f"{smallest_ess(auto.samples_):6.0f}",
        ("ok" if within else "OUTSIDE") if judged else "-",
    ]


PARTS = {
    "ksd": (compare, "    step  batch     KSD  ratio  best at"),
    "moments": (
        moments,
        "    step  batch  n_iter   time     sd    min    max   mean    ESS",
    ),
}


def main(quick=False, part=None, data=None, variants=None, draws=None):
    if quick:
        data, draws = data or ["logistic_d10"], draws or 100
        variants = variants or ["SGLD-CV", "SGHMC-CV", "default"]
    for kind in part or PARTS:
        measure, header = PARTS[kind]
        print(f"{'data':>26} {'variant':>9} {header}")
        for name in data or CASES:
            for variant in variants or VARIANTS:
                length = [draws] if draws else []
                try:
                    columns = measure(name, VARIANTS[variant], *length)
                except DivergenceError as error:
                    columns = [f"DIVERGED: {error}"]
                print(f"{name:>26} {variant:>9}", *columns, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one data set, fewer runs")
    parser.add_argument("--part", nargs="+", choices=list(PARTS))
    parser.add_argument("--data", nargs="+", choices=list(CASES))
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS))
    parser.add_argument("--draws", type=int, help="of each chain")
    main(**vars(parser.parse_args()))
