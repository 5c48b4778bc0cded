"""Imports follow the arrows of the design, and no others.

estimators -> base -> inference -> kernels.engine -> kernels.protocol -> kernels.generic
kernels.{samplers, gradients, models}
    -> kernels.{protocol, capabilities, likelihoods, priors, maps, regions, walls, data,
       numerics, passes}
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


def kernels(*names):
    return tuple(f"{KERNELS}.{name}" for name in names)


def rooms(*names):
    return tuple(f"{PACKAGE}.{name}" for name in names)


GENERIC = (*COMPILED, *kernels("generic", "separate", "linked"))
PROTOCOL = (*GENERIC, *kernels("numerics", "protocol", "capabilities"))
LAWS = kernels("likelihoods", "priors", "maps", "regions", "walls")
SHARED = (*PROTOCOL, *LAWS, *kernels("data", "passes"))
AXES = kernels("samplers", "gradients", "models")
ESTIMATORS = (*NUMERIC, "sklearn", *rooms("base", "utils", "metrics"))

# What a module may import beside the standard library. The longest matching name rules.
LAYERS = {
    KERNELS: (*SHARED, *kernels("schedules", "updates")),
    f"{KERNELS}.garbage": (),
    f"{KERNELS}.interruptible": (),
    f"{KERNELS}.disk_cache": ("numba",),
    f"{KERNELS}.inner_code": ("numba",),
    f"{KERNELS}.compiling": ("numba", f"{KERNELS}.notices"),
    f"{KERNELS}.generic": (
        *COMPILED,
        *kernels("disk_cache", "garbage", "inner_code", "interruptible"),
    ),
    f"{KERNELS}.separate": (*COMPILED, f"{KERNELS}.generic"),
    f"{KERNELS}.linked": (*COMPILED, "llvmlite", f"{KERNELS}.generic"),
    f"{KERNELS}.numerics": (*GENERIC, "llvmlite", f"{KERNELS}.numerics"),
    f"{KERNELS}.numerics.blas": ("threadpoolctl",),
    f"{KERNELS}.protocol": (*GENERIC, *kernels("numerics.vectors", "protocol")),
    f"{KERNELS}.capabilities": (
        *GENERIC,
        *kernels("numerics.vectors", "protocol", "capabilities"),
    ),
    f"{KERNELS}.likelihoods": (*GENERIC, *kernels("numerics", "maps", "likelihoods")),
    f"{KERNELS}.priors": (*GENERIC, *kernels("numerics", "priors")),
    f"{KERNELS}.maps": (*PROTOCOL, f"{KERNELS}.maps"),
    f"{KERNELS}.regions": PROTOCOL,
    f"{KERNELS}.data": (*GENERIC, *kernels("numerics", "data")),
    f"{KERNELS}.data.prefetch": ("numba", "llvmlite"),
    f"{KERNELS}.data.matrices": (*GENERIC, "scipy", f"{KERNELS}.data"),
    f"{KERNELS}.passes": (*PROTOCOL, f"{KERNELS}.data.minibatch"),
    f"{KERNELS}.engine": (*GENERIC, *kernels("protocol", "schedules", "updates")),
    **{axis: (*SHARED, axis) for axis in AXES},
    f"{PACKAGE}.inference": NUMERIC,
    f"{PACKAGE}.utils": (
        *("numpy", "scipy", "sklearn"),
        *rooms("utils", "kernels.data", "inference.arguments"),
    ),
    f"{PACKAGE}.base": ESTIMATORS,
    f"{PACKAGE}.datasets": ("numpy", "scipy", "sklearn", *rooms("datasets", "utils")),
    f"{PACKAGE}.metrics": (*NUMERIC, "sklearn", *rooms("metrics", "utils")),
    **{
        room: (*ESTIMATORS, room)
        for room in rooms(
            "cluster",
            "linear_model",
            "neural_network",
            "decomposition",
            "sequence",
            "model_selection",
            "inspection",
        )
    },
    f"{PACKAGE}.custom": (*ESTIMATORS, f"{PACKAGE}.custom"),
    f"{PACKAGE}.custom._pytensor": (*ESTIMATORS, "numba", f"{PACKAGE}.custom"),
    f"{PACKAGE}.ensemble": (*ESTIMATORS, *rooms("ensemble", "linear_model")),
    PACKAGE: (PACKAGE,),
}
# Files carry the version, which is that of the whole package.
KNOWS_VERSION = rooms("base._saving", "inference.checkpoints")

# Extras: `import skbayes_sg` works without them, so only a function may import them.
EXTRAS = (
    *("matplotlib", "tqdm", "arviz", "arviz_base", "arviz_stats", "pooch", "pandas"),
    *("pytensor", "pymc"),
)


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
        if isinstance(node, ast.If):  # imports for annotations are never executed
            inside = inside or ast.unparse(node.test) == "TYPE_CHECKING"
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
        elif name == PACKAGE and module in KNOWS_VERSION:
            continue
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
        ("kernels.protocol.model", "import scipy"),
        ("kernels.protocol.model", "from skbayes_sg.kernels import engine"),
        ("kernels.protocol.model", "import skbayes_sg.kernels.capabilities.tables"),
        ("kernels.data.rows", "from skbayes_sg.kernels.passes import row_buffer"),
        ("kernels.likelihoods.poisson", "import skbayes_sg.kernels.models.glm"),
        ("kernels.engine", "from skbayes_sg.kernels.samplers.sgld import SGLD"),
        ("kernels.engine", "def f():\n    from skbayes_sg.kernels import samplers"),
        ("kernels.samplers.sgld", "import skbayes_sg.kernels.engine"),
        ("kernels.samplers.sgld", "import skbayes_sg.kernels.models.glm"),
        ("kernels.gradients.plain", "from skbayes_sg.kernels import samplers"),
        ("kernels.models.glm", "from skbayes_sg.kernels.gradients import FULL"),
        ("kernels.models.glm", "from scipy.special import expit"),
        ("kernels.models.glm", "import skbayes_sg"),
        ("kernels.models.glm", "from skbayes_sg import *"),
        ("kernels.models.glm", "def f():\n    import tqdm"),
        ("inference.chains", "import sklearn"),
        ("inference.chains", "import tqdm"),
        ("inference.chains", "from skbayes_sg.base._sampling import BaseSGMCMC"),
        ("inference.chains", "from . import optimize"),
        ("datasets", "from skbayes_sg import SGLDLogisticRegression"),
        ("metrics", "from skbayes_sg.linear_model import SGLDLogisticRegression"),
        ("base._sampling", "import skbayes_sg.linear_model"),
        ("linear_model._logistic", "import skbayes_sg.neural_network"),
        ("linear_model._logistic", "import torch"),
        ("linear_model._logistic", "if True:\n    import matplotlib.pyplot as plt"),
        ("linear_model._logistic", "from ._base import BaseSGMCMC"),
    ],
)
def test_planted_import_is_caught(module, source):
    assert len(violations(f"{PACKAGE}.{module}", source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("kernels.protocol.model", "import functools, numpy as np, numba.extending"),
        ("kernels.samplers", "from skbayes_sg.kernels.samplers.sgld import SGLD"),
        ("kernels.samplers.sgld", "import skbayes_sg.kernels.protocol.sampler"),
        ("kernels.models.glm", "from skbayes_sg.kernels.data.rows import dot_rows"),
        ("inference.chains", "from skbayes_sg.kernels.engine import run_chain"),
        ("inference.chains", "def bar():\n    from tqdm.auto import tqdm"),
        ("linear_model._logistic", "import sklearn.base, skbayes_sg.base._sampling"),
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
