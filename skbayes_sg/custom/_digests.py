"""Digests of graphs, equal for equal graphs in every process.

Pickles of a graph differ from one building of it to the next: variables without a name
are counted. Here a graph is its operations with their properties, its constants, and
which of them is an input of which.
"""

import hashlib
import re

import numpy as np

ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # in what Python shows of objects


def digest_of(inputs, outputs):
    """Return 16 bytes for the graphs from `inputs` to `outputs`."""
    return hashlib.sha256("\n".join(_lines(inputs, outputs)).encode()).digest()[:16]


def _lines(inputs, outputs):
    """Yield a line for each variable and node, with numbers in place of names."""
    from pytensor.graph.traversal import io_toposort

    numbers = {}

    def number(x):
        if x not in numbers:
            numbers[x] = len(numbers)
        return numbers[x]

    for x in inputs:
        yield f"{number(x)} input {x.type}"
    for node in io_toposort(inputs, outputs):
        for x in node.inputs:
            if x.owner is None and x not in numbers:
                yield f"{number(x)} constant {x.type} {_shown(getattr(x, 'data', x))}"
        op = node.op
        properties = [f"{name}={_shown(getattr(op, name))}" for name in _names(op)]
        yield f"{type(op).__qualname__} {_shown(op)} {properties}"
        if hasattr(op, "inner_outputs"):
            yield from _lines(op.inner_inputs, op.inner_outputs)
        yield f"of {[number(x) for x in node.inputs]}"
        yield f"gives {[(number(x), str(x.type)) for x in node.outputs]}"
    for x in outputs:
        if x.owner is None and x not in numbers:
            yield f"{number(x)} constant {x.type} {_shown(getattr(x, 'data', x))}"
    yield f"returns {[number(x) for x in outputs]}"


def _names(op):
    return getattr(op, "__props__", None) or ()


def _shown(value):
    if isinstance(value, np.ndarray):
        data = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"{value.dtype} {value.shape} {data}"
    return ADDRESS.sub("", str(value))
