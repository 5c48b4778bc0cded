"""Many threads, forked processes, no home: same draws, and no crash."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import skbayes_sg
from skbayes_sg import SGBPMFRecommender, SGMCMCLogisticRegression
from skbayes_sg.datasets import make_logistic, make_ratings

ROOT = Path(skbayes_sg.__file__).parents[1]
X, Y = make_logistic(300, 3, random_state=0)
PAIRS, RATINGS = make_ratings(8, 6, 40, random_state=0)


def logistic(**parameters):
    model = SGMCMCLogisticRegression(n_draws=50, n_chains=2, **parameters)
    return model.fit(X, Y).samples_


def recommender(seed):
    model = SGBPMFRecommender(n_factors=2, n_draws=5, random_state=seed)
    return model.fit(PAIRS, RATINGS).samples_


FITS = [
    lambda: logistic(random_state=0),
    lambda: logistic(random_state=1, n_jobs=2),
    lambda: logistic(random_state=2, gradient="minibatch", batch_size=30),
    lambda: logistic(random_state=3, gradient="cv", batch_size=30),
    lambda: logistic(random_state=4, sampler="baoab"),
    lambda: logistic(random_state=5, schedule="polynomial"),
    lambda: recommender(0),
    lambda: recommender(1),
]


def test_threads_give_the_serial_draws():
    serial = [fit() for fit in FITS]
    for _ in range(2):
        with ThreadPoolExecutor(len(FITS)) as pool:
            threaded = list(pool.map(lambda fit: fit(), FITS))
        for alone, together in zip(serial, threaded, strict=True):
            assert np.array_equal(alone, together)


COMPILING = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
import numpy as np
from skbayes_sg import sample
from skbayes_sg.kernels.gradients import Full, Minibatch
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.samplers import SGLD

data, gate = np.random.default_rng(0).normal(size=(40, 2)), Barrier(8)

def run(k):
    gate.wait()
    gradient = Minibatch(5) if k % 2 else Full()  # two versions to compile
    parameters = dict(step_size=0.01, n_draws=20, random_state=k)
    return sample(GaussianMean(data, np.eye(2)), SGLD(), gradient, **parameters)

with ThreadPoolExecutor(8) as pool:
    first = list(pool.map(run, range(8)))
gate = Barrier(1)
for k, draws in enumerate(first):
    assert np.array_equal(draws, run(k)), k
print("ok")
"""


def python(code, *args, prefix=(), **variables):
    """Run code in a new process and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    environment = {k: v for k, v in environment.items() if v is not None}
    result = subprocess.run(
        [*prefix, sys.executable, "-c", code, *map(str, args)],
        env=environment,
        cwd=environment["PYTHONPATH"],  # which comes before it otherwise
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return result


def test_first_compilation_by_eight_threads_at_once(tmp_path):
    """With an empty cache on disk, of the chain and of its gradient's own code."""
    assert python(COMPILING, NUMBA_CACHE_DIR=str(tmp_path)).stdout == "ok\n"


FORKED = """
import multiprocessing
import warnings
import numpy as np
from skbayes_sg import SGLDLogisticRegression
from skbayes_sg.datasets import make_logistic

# Python warns of any fork with threads about: joblib's idle ones are.
warnings.simplefilter("ignore", DeprecationWarning)
X, y = make_logistic(300, 3, random_state=0)

def fit(n_jobs):
    model = SGLDLogisticRegression(n_draws=50, n_chains=2, random_state=0)
    return model.set_params(n_jobs=n_jobs).fit(X, y).samples_

before = fit(2)  # threads have run in the parent
with multiprocessing.get_context("fork").Pool(2) as pool:
    for draws in pool.map_async(fit, [1, 2, 1, 2]).get(timeout=120):
        assert np.array_equal(draws, before)
print("ok")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="fork is not safe elsewhere")
def test_fit_after_fork():
    assert python(FORKED).stdout == "ok\n"


LIMITED = """
from threading import Thread
import numpy as np
from threadpoolctl import threadpool_info
from skbayes_sg import sample
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.samplers import SGLD

def blas_threads():
    blas = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
    return max((lib["num_threads"] for lib in blas), default=1)

def watch():
    while watching:
        seen.add(blas_threads())

model = GaussianMean(np.zeros((50, 2)), np.eye(2))
parameters = dict(step_size=0.01, n_draws=20, n_chains=2, n_jobs=2, random_state=0)
sample(model, SGLD(), Minibatch(5), **parameters)  # compiled
before, seen, watching = blas_threads(), set(), True
spy = Thread(target=watch)
spy.start()
sample(model, SGLD(), Minibatch(5), **{**parameters, "thin": 200_000})
watching = False
spy.join()
print(before, min(seen), blas_threads())
"""


def test_blas_has_one_thread_while_chains_run():
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    out = python(LIMITED, **dict.fromkeys(variables, "2")).stdout
    before, during, after = map(int, out.split())
    if before == 1:
        pytest.skip("BLAS has one thread here in any case")
    assert during == 1 and after == before


HOMELESS = """
import sys
import warnings
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as caught:
    import numpy as np
    from skbayes_sg import SGLDLogisticRegression
    from skbayes_sg.datasets import make_logistic
    X, y = make_logistic(300, 3, random_state=0)
    parameters = dict(n_draws=20, n_chains=1, gradient="full", random_state=0)
    model = SGLDLogisticRegression(**parameters).fit(X, y)
assert model.score(X, y) > 0.5
print(sum("NUMBA_CACHE_DIR" in str(warning.message) for warning in caught))
"""


@pytest.mark.long
def test_read_only_package_and_no_home():
    """Nowhere to write: one warning, and it works."""
    code = (
        "from numba.core.caching import CacheImpl\n"
        # As root every folder is writable, so the folders are taken away.
        "CacheImpl._locator_classes = []\n" + HOMELESS
    )
    away = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"))
    assert python(code, **away, PYTHONDONTWRITEBYTECODE="1").stdout == "1\n"


@pytest.mark.skipif(not shutil.which("setpriv"), reason="the test needs setpriv")
def test_read_only_folders(tmp_path):
    """The package and its home are there, but nothing may be written to them."""
    site = tmp_path / "site"
    shutil.copytree(
        ROOT / "skbayes_sg", site / "skbayes_sg", ignore=lambda *_: ["__pycache__"]
    )
    folders = [site, *(path for path in site.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    # To root every folder is writable, unless it gives up what makes it root.
    prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    away = {"XDG_CACHE_HOME": None, "NUMBA_CACHE_DIR": None, "HOME": str(site)}
    try:
        out = python(
            HOMELESS, prefix=prefix[: 3 * (os.geteuid() == 0)], PYTHONPATH=site, **away
        ).stdout
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert out == "1\n"


def test_no_home_but_a_package_that_may_be_written():
    away = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"))
    assert python(HOMELESS, **away).stdout == "0\n"
