"""Effective draws per second: all defaults here, against NUTS of numpyro and of Stan.

    python benchmarks/bench_nuts.py [--quick] [--only NAME ...] [--d D ...]

The paper's logistic regression, N = 100,000 rows, whose posterior is known from long
runs (`tests/references`). NUTS moves in coordinates that are whitened at the mode, with
the exact Hessian, and its warm-up is not counted; numpyro uses all cores. Stan draws
with `bernoulli_logit_glm`; its time is the difference of a long and a short run.

Columns: seconds, smallest effective sample size of a coefficient and its rate; rate
here over the other's; largest error of a mean, in posterior sds, and the range of sds
over the exact ones. Here, "sampling" counts the search for the mode, the control
variates and the chains, "fit" all from `fit` to the draws, with compiled code on disk.
"""

import argparse
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
from tables import Table

from skbayes_sg import SGLDLogisticRegression
from skbayes_sg.base._diagnostics import smallest_ess
from skbayes_sg.inference import fitting
from skbayes_sg.inference.curvature import curvature_matrix, whitening
from skbayes_sg.inference.exploration import gradients, one_mode
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.references.load import PRIOR_VARIANCE, reference  # noqa: E402

STAN = """
data {
  int N; int d;
  matrix[N, d] Z; vector[N] a; array[N] int y;
  matrix[d, d] L; vector[d] mode; real variance;
}
parameters { vector[d] z; }
model {
  target += -0.5 / variance * dot_self(mode + L * z);
  target += bernoulli_logit_glm_lpmf(y | Z, a, z);
}
"""


class Clock:
    """Seconds in functions, given as pairs of a module and a name."""

    def __init__(self, *places):
        self.seconds = 0.0
        for module, name in places:
            setattr(module, name, self._timed(getattr(module, name)))

    def _timed(self, function):
        def timed(*args, **kwargs):
            began = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - began

        return timed


def ours(X, y, n_repeats=3):
    """Return draws, and seconds of sampling and of a whole fit, the best of several."""
    parts = (one_mode, "find_mode"), (gradients, "anchored"), (fitting, "sample")
    clock, best = Clock(*parts), (np.inf, np.inf)
    SGLDLogisticRegression(n_draws=2, random_state=0).fit(X, y)  # compiles
    for _ in range(n_repeats):
        clock.seconds, began = 0.0, time.perf_counter()
        model = SGLDLogisticRegression(random_state=0).fit(X, y)
        best = min(best, (clock.seconds, time.perf_counter() - began))
    return model, best


def whitened(X, y, mode):
    """Return the rows with an intercept, and L of the coordinates at the mode."""
    rows, none = np.column_stack([X, np.ones(len(X))]), np.empty(0)
    model = GLM(
        Bernoulli(),
        rows,
        y.astype(float),
        none,
        np.full(rows.shape[1], 1 / PRIOR_VARIANCE),
        False,
        1,
    )
    return rows, whitening(curvature_matrix(for_kernels(model), mode))


def numpyro_nuts(X, y, mode, n_warmup, n_draws):
    import jax
    import numpyro
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    rows, L = whitened(X, y, mode)
    rows, signs = jax.numpy.array(rows), jax.numpy.array(2.0 * y - 1.0)

    def potential(z):
        theta = mode + L @ z
        terms = jax.numpy.logaddexp(0.0, -signs * (rows @ theta))
        return terms.sum() + 0.5 / PRIOR_VARIANCE * theta @ theta

    chain = MCMC(
        NUTS(potential_fn=potential),
        num_warmup=n_warmup,
        num_samples=n_draws,
        progress_bar=False,
    )
    keys, start = jax.random.split(jax.random.PRNGKey(0)), jax.numpy.zeros(mode.size)
    chain.warmup(keys[0], init_params=start)
    chain.run(keys[0])  # compiles
    began = time.perf_counter()
    chain.run(keys[1])
    draws = jax.block_until_ready(chain.get_samples())
    seconds = time.perf_counter() - began
    return mode + np.asarray(draws) @ L.T, seconds


def stan_nuts(X, y, mode, n_warmup, n_draws):
    import stan

    rows, L = whitened(X, y, mode)
    data = {
        "N": len(X),
        "d": mode.size,
        "Z": rows @ L,
        "a": rows @ mode,
        "y": y.astype(int),
        "L": L,
        "mode": mode,
        "variance": PRIOR_VARIANCE,
    }
    with redirect_stdout(sys.stderr):  # it reports that it builds
        model, times = stan.build(STAN, data=data, random_seed=1), []
    for count in (10, 10 + n_draws):
        began = time.perf_counter()
        fit = model.sample(
            num_chains=1,
            num_warmup=n_warmup,
            num_samples=count,
            init=[{"z": np.zeros(mode.size).tolist()}],
        )
        times.append(time.perf_counter() - began)
    return mode + fit["z"].T[10:] @ L.T, times[1] - times[0]


NUTS = {"numpyro": numpyro_nuts, "stan": stan_nuts}


def main(quick, only, dims):
    columns = ("seconds", "ESS", "ESS/s", "ratio", "mean error", "sd min", "sd max")
    table = Table("d", "method", *columns, n_labels=2)
    for d in dims:
        truth = reference(f"logistic_d{d}")
        X, y = truth.load()
        model, (sampling, whole) = ours(X, y)
        ess = smallest_ess(model.samples_)

        def line(name, seconds, draws, truth=truth, rate=ess / sampling, d=d):
            n_effective = smallest_ess(draws)
            flat = draws.reshape(-1, draws.shape[-1])
            error = np.max(np.abs(flat.mean(axis=0) - truth.mean) / truth.sd)
            ratio = flat.std(axis=0) / truth.sd
            table.row(
                d,
                name,
                f"{seconds:.2f}",
                f"{n_effective:.0f}",
                f"{n_effective / seconds:.1f}",
                f"{rate * seconds / n_effective:.1f}",
                f"{error:.3f}",
                f"{ratio.min():.3f}",
                f"{ratio.max():.3f}",
            )

        line("ours, sampling", sampling, model.samples_)
        line("ours, fit", whole, model.samples_)
        for name in NUTS if only is None else only:
            lengths = (100, 50) if quick else (300, 300)
            try:
                draws, seconds = NUTS[name](X, y, model.mode_, *lengths)
            except ImportError:
                table.row(d, f"{name}: not installed", *[None] * len(columns))
                continue
            line(f"{name} NUTS", seconds, draws[None])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short, without Stan")
    parser.add_argument("--only", nargs="*", choices=list(NUTS))
    parser.add_argument("--d", nargs="+", type=int, default=[10, 50, 100])
    arguments = parser.parse_args()
    if arguments.quick:  # Stan takes a minute to build a model
        parser.set_defaults(only=["numpyro"], d=[10])
        arguments = parser.parse_args()
    main(arguments.quick, arguments.only, arguments.d)
