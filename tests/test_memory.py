"""X larger than the memory that a process may take: mapped from a file, not copied."""

import os
import subprocess
import sys

import numpy as np
import pytest

N, P = 400_000, 250  # 400 MB in single precision

SCRIPT = """
import resource
import sys
import numpy as np
from skbayes_sg import SGLDLogisticRegression

X = np.load(sys.argv[1], mmap_mode="r")
y = np.arange(len(X)) % 2
parameters = dict(n_draws=5, n_chains=2, random_state=0)
SGLDLogisticRegression(**parameters).fit(X[:2000], y[:2000])  # compiled

def data():  # private memory, that of mapped files aside
    lines = open("/proc/self/status").read().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if "VmData" in line)

limit = data() + X.nbytes // 3
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    X + X.dtype.type(1)
    raise SystemExit("the limit does not bind")
except MemoryError:
    pass
model = SGLDLogisticRegression(**parameters).fit(X, y)
assert model.predict_proba(X).shape == (len(X), 2)
assert model.batch_size_ < len(X)
np.save(sys.argv[2], model.samples_)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA is of Linux")
@pytest.mark.long
def test_data_larger_than_memory(tmp_path):
    path, out = tmp_path / "X.npy", tmp_path / "draws.npy"
    X = np.lib.format.open_memmap(path, "w+", dtype=np.float32, shape=(N, P))
    X[:5000] = np.random.default_rng(0).normal(size=(5000, P))  # the rest is a hole
    X.flush()
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, path, out],
        env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert np.isfinite(np.load(out)).all()
