"""The functions that chains need of a program, each compiled when it is asked for."""

import contextlib
import threading
import weakref

import numpy as np

from skbayes_sg.custom import _pytensor, _sources
from skbayes_sg.custom._graphs import without_transposes
from skbayes_sg.custom._programs import program_of
from skbayes_sg.kernels.capabilities.expansion import init_expansion
from skbayes_sg.kernels.models.autodiff import (
    Autodiff,
    AutodiffExpansion,
    AutodiffWork,
    add_all_rows_by,
)
from skbayes_sg.kernels.passes import hessian
from skbayes_sg.kernels.protocol.model import init_work

MOST_WORDS = 2**15  # of gathered rows, which stay in a second-level cache

_CODE: dict = {}  # by digest and kind; None: there is none
_LOCK = threading.RLock()  # PyTensor compiles one graph at a time
_LAST: tuple = (
    (lambda: None),
    None,
    None,
)  # whose rows, at which theta, and the Hessian there


def address(model, kind):
    """Return the address of a function of this process.

    None if it is one of second derivatives, and they are not native or do not exist.
    """
    place = model.program.tobytes(), kind
    with _LOCK:
        if place not in _CODE:
            try:
                _CODE[place] = _KINDS[kind](program_of(model))
            except _pytensor.NotNative:
                _CODE[place] = None
            except _pytensor.undifferentiable() as error:
                if kind not in _SECOND:
                    raise _no_gradient(error) from error
                _CODE[place] = None
        code = _CODE[place]
    return None if code is None else _pytensor.address_of(code)


def _no_gradient(error):
    reason = str(error).split("\n")[0]
    return TypeError(
        f"the model cannot be differentiated: {reason}. Write log_likelihood and "
        "log_prior with operations of pytensor.tensor that have gradients"
    )


def _of_rows(program, n_vectors, outputs_of, allow_python=False, is_hessian=False):
    import pytensor.tensor as pt

    weights, center = pt.dvector("weights"), program.theta.type("center")
    vectors = [program.theta, center][:n_vectors]
    total = (weights * program.log_likelihood).sum()
    outputs = without_transposes(outputs_of(total, program.theta, center))
    inputs = [*vectors, weights, *program.columns.values()]
    code = _pytensor.jitted(inputs, outputs, allow_python)
    source = _sources.rows_source(
        program.layout, n_vectors, len(outputs) == 2, is_hessian
    )
    return _pytensor.compiled(source, _pytensor.OF_ROWS, *code)


def _gradient(total, theta, center):
    import pytensor.tensor as pt

    return [pt.grad(total, theta, disconnected_inputs="ignore")]


def _value_and_gradient(total, theta, center):
    return [total, *_gradient(total, theta, center)]


def _with_product(total, theta):
    """Return the gradient g, a new vector, and the product of the Hessian with it."""
    (g,) = _gradient(total, theta, None)
    away = theta.type("away")
    return g, away, *_gradient((g * away).sum(), theta, None)


def _beyond_linear(total, theta, center):
    """Return g(theta) - g(c) - H (theta - c), where H and g are those of `total`."""
    from pytensor.graph.replace import clone_replace

    g, away, product = _with_product(total, theta)
    linear = clone_replace([g, product], {theta: center}, rebuild_strict=False)
    (product,) = clone_replace([linear[1]], {away: theta - center})
    return [g - linear[0] - product]


def _product(total, theta, center):
    """Return H c, the product of the Hessian at theta with another vector."""
    from pytensor.graph.replace import clone_replace

    _, away, product = _with_product(total, theta)
    return clone_replace([product], {away: center})


def _prior(program):
    outputs = _value_and_gradient(program.log_prior, program.theta, None)
    code = _pytensor.jitted([program.theta], outputs, allow_python=True)
    signature = (_pytensor.VECTOR,) * 3
    return _pytensor.compiled(_sources.PRIOR_SOURCE, signature, *code)


def _record(program):
    code = _pytensor.jitted([program.theta], [program.recorded], allow_python=True)
    signature = (_pytensor.VECTOR,) * 2
    return _pytensor.compiled(_sources.RECORD_SOURCE, signature, *code)


_KINDS = {
    "gradient": lambda program: _of_rows(program, 1, _gradient, True),
    "value and gradient": lambda program: _of_rows(
        program, 1, _value_and_gradient, True
    ),
    "beyond linear": lambda program: _of_rows(program, 2, _beyond_linear),
    "hessian": lambda program: _of_rows(program, 2, _product, is_hessian=True),
    "prior": _prior,
    "record": _record,
}


_SECOND = {"beyond linear", "hessian"}  # there are differences in their place


@init_work.register(Autodiff)
def _(model):
    width = model.rows.shape[1]
    rows = min(1024, max(128, MOST_WORDS // width)) // 8 * 8
    kinds = ["gradient", "value and gradient", "prior"]
    addresses = [address(model, kind) for kind in kinds]
    return AutodiffWork(
        *addresses,
        record=address(model, "record") if model.m else 0,
        buffer=np.zeros(rows * width, np.uint64),
        recorded=np.zeros(model.m),
        g=np.zeros(model.d),
        total=np.zeros(1),
    )


@init_expansion.register(Autodiff)
def _(model, center):
    code = address(model, "beyond linear") or 0
    return AutodiffExpansion(code, *(np.array(center) for _ in range(3)))


@hessian.register(Autodiff)
def _(model, work, theta, out):
    out += _last_hessian(model, work, np.array(theta))


def _last_hessian(model, work, theta):
    """Return the Hessian of -log-likelihood, computed unless it was the last one.

    A fit needs that at the center for its coordinates and for control variates.
    """
    global _LAST
    rows = model.rows
    owner = rows if rows.base is None else rows.base  # `for_kernels` makes views
    place = rows.ctypes.data, rows.shape, model.program.tobytes(), theta.tobytes()
    last_owner, last_place, matrix = _LAST
    if last_owner() is not owner or last_place != place:
        matrix = _hessian(model, work, theta)
        with contextlib.suppress(TypeError):  # of an owner that is no array
            _LAST = weakref.ref(owner), place, matrix
    return matrix


def _hessian(model, work, theta):
    code, matrix = address(model, "hessian"), np.zeros((theta.size, theta.size))
    if code is None:
        hessian.dispatch(object)(model, work, theta, matrix)
    else:
        add_all_rows_by(code, model, work, theta, matrix.reshape(-1))
    return matrix
