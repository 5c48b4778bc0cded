"""Imports follow the arrows of the design, and no others.

estimators -> inference -> kernels.engine -> kernels.ops -> kernels.generic
kernels.{samplers, gradients, models} -> kernels.{ops, rows, minibatch, passes}
"""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "skbayes_sg"
KERNELS = f"{PACKAGE}.kernels"
COMPILED = ("numpy", "numba")
NUMERIC = ("numpy", "scipy", "joblib", "threadpoolctl", f"{PACKAGE}.inference", KERNELS)
SHARED = tuple(
    f"{KERNELS}.{name}"
    for name in (
        "generic",
        "ops",
        "rows",
        "blocks",
        "minibatch",
        "passes",
        "normals",
        "exponential",
        "matrices",
        "blas",
    )
)
PROTOCOL = (*COMPILED, f"{KERNELS}.generic", f"{KERNELS}.ops")
AXES = tuple(f"{KERNELS}.{name}" for name in ("samplers", "gradients", "models"))

# What a module may import beside the standard library. The longest matching name rules.
LAYERS = {
    KERNELS: COMPILED + SHARED,
    f"{KERNELS}.separate": ("numba",),
    f"{KERNELS}.generic": (*COMPILED, f"{KERNELS}.separate"),
    f"{KERNELS}.ops": (*COMPILED, f"{KERNELS}.separate", f"{KERNELS}.generic"),
    f"{KERNELS}.blas": ("threadpoolctl",),
    f"{KERNELS}.matrices": ("numpy", "scipy", *SHARED),
    f"{KERNELS}.prefetch": ("numba", "llvmlite"),
    f"{KERNELS}.lanes": (*COMPILED, "llvmlite"),
    f"{KERNELS}.blocks": (*COMPILED, f"{KERNELS}.rows", f"{KERNELS}.lanes"),
    f"{KERNELS}.rows": (*PROTOCOL, f"{KERNELS}.prefetch"),
    f"{KERNELS}.minibatch": PROTOCOL,
    f"{KERNELS}.passes": (*PROTOCOL, f"{KERNELS}.minibatch"),
    f"{KERNELS}.engine": PROTOCOL,
    **{axis: (*COMPILED, *SHARED, axis) for axis in AXES},
    f"{PACKAGE}.inference": NUMERIC,
    f"{PACKAGE}.datasets": ("numpy", "scipy", "sklearn", f"{PACKAGE}.datasets"),
    f"{PACKAGE}.metrics": (*NUMERIC, "sklearn", f"{PACKAGE}.metrics"),
    PACKAGE: (*NUMERIC, "sklearn", PACKAGE),  # the estimators: top-level files
}

# Extras: `import skbayes_sg` works without them, so only a function may import them.
EXTRAS = ("matplotlib", "tqdm", "arviz_base", "arviz_stats", "pooch", "pandas")


def covers(prefix, name):
    return f"{name}.".startswith(f"{prefix}.")


def imports(source):
    """Yield (name, is it inside a function, relative level) of each import."""

    def visit(node, lazy):
        if isinstance(node, ast.Import):
            yield from ((alias.name, lazy, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield f"{node.module or ''}.{alias.name}", lazy, node.level
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    return visit(ast.parse(source), False)


def violations(module, source):
    """Return a sentence for each import that ``module`` must not make."""
    layer = max((name for name in LAYERS if covers(name, module)), key=len)
    allowed = (*LAYERS[layer], *sys.stdlib_module_names)
    in_kernels = covers(KERNELS, module)
    found = []
    for name, lazy, level in imports(source):
        extra = any(covers(prefix, name) for prefix in EXTRAS)
        if level:
            found.append(f"{module}: relative import of {name}")
        elif extra and (in_kernels or not lazy):
            found.append(f"{module}: {name} is optional: import it where it is used")
        elif not extra and not any(covers(prefix, name) for prefix in allowed):
            found.append(f"{module}: {name} is not below it")
    return found


def modules():
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@pytest.mark.parametrize(("module", "path"), list(modules()))
def test_imports_follow_the_arrows(module, path):
    assert violations(module, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("kernels.ops", "import scipy"),
        ("kernels.ops", "from skbayes_sg.kernels import engine"),
        ("kernels.rows", "from skbayes_sg.kernels.minibatch import Minibatch"),
        ("kernels.engine", "from skbayes_sg.kernels.samplers.sgld import SGLD"),
        ("kernels.engine", "def f():\n    from skbayes_sg.kernels import samplers"),
        ("kernels.samplers.sgld", "import skbayes_sg.kernels.engine"),
        ("kernels.samplers.sgld", "import skbayes_sg.kernels.models.logistic"),
        ("kernels.gradients.plain", "from skbayes_sg.kernels import samplers"),
        ("kernels.models.logistic", "from skbayes_sg.kernels.gradients import FULL"),
        ("kernels.models.logistic", "from scipy.special import expit"),
        ("kernels.models.logistic", "import skbayes_sg"),
        ("kernels.models.logistic", "from skbayes_sg import *"),
        ("kernels.models.logistic", "def f():\n    import tqdm"),
        ("inference.chains", "import sklearn"),
        ("inference.chains", "import tqdm"),
        ("inference.chains", "from skbayes_sg._base import BaseSGMCMC"),
        ("inference.chains", "from . import optimize"),
        ("datasets", "from skbayes_sg import SGLDLogisticRegression"),
        ("metrics", "from skbayes_sg._logistic import SGLDLogisticRegression"),
        ("_logistic", "import torch"),
        ("_logistic", "if True:\n    import matplotlib.pyplot as plt"),
        ("_logistic", "from ._base import BaseSGMCMC"),
    ],
)
def test_planted_import_is_caught(module, source):
    assert len(violations(f"{PACKAGE}.{module}", source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("kernels.ops", "import functools, numpy as np, numba.extending"),
        ("kernels.samplers", "from skbayes_sg.kernels.samplers.sgld import SGLD"),
        ("kernels.samplers.sgld", "from skbayes_sg.kernels.ops import step"),
        ("kernels.models.softmax", "from skbayes_sg.kernels.rows import row_dot"),
        ("inference.chains", "from skbayes_sg.kernels.engine import run_chain"),
        ("inference.chains", "def bar():\n    from tqdm.auto import tqdm"),
        ("_logistic", "import sklearn.base, skbayes_sg._base"),
    ],
)
def test_proper_import_passes(module, source):
    assert violations(f"{PACKAGE}.{module}", source) == []


def forbidden(source):
    """Return what a module must not do: unpickle, or start threads in a chain."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg in ("parallel", "allow_pickle"):
            if not (isinstance(node.value, ast.Constant) and node.value.value is False):
                found.append(node.arg)
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name in UNPICKLERS]
        if isinstance(node, ast.ImportFrom) and node.module in UNPICKLERS:
            found.append(node.module)
        if isinstance(node, ast.Attribute) and node.attr in ("prange", "read_pickle"):
            found.append(node.attr)
    return found


UNPICKLERS = ("pickle", "cloudpickle", "dill", "shelve", "marshal", "skops")


@pytest.mark.parametrize(("module", "path"), list(modules()))
def test_nothing_is_unpickled_and_no_chain_starts_threads(module, path):
    assert forbidden(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "np.load(path, allow_pickle=True)",
        "@njit(parallel=True)\ndef f():\n    pass",
        "for i in numba.prange(3):\n    pass",
    ],
)
def test_planted_danger_is_caught(source):
    assert len(forbidden(source)) == 1
