"""A graph of all rows as one of any rows, whose data are columns.

PyMC writes data and their length into the graph. Here arrays of n rows become columns,
and n itself a symbol wherever a shape is built. It is for whoever calls this to check
by numbers that the result is right: an array may have n entries by chance.
"""

import numpy as np

from skbayes_sg.custom._graphs import python_function

SHAPED = ("Alloc", "MakeVector", "Reshape")  # they take lengths
WIDE = {"f": "float64", "i": "int64", "u": "int64", "b": "int64"}


class Columns:
    """Arrays of n rows that were met in graphs, with a symbol for each."""

    def __init__(self, n):
        self.n, self.symbols, self.arrays, self._seen = n, {}, {}, {}

    @property
    def length(self):
        """The number of rows, as a symbol; n where no column has been met."""
        if not self.symbols:
            return self.n
        return next(iter(self.symbols.values())).shape[0]

    def symbol(self, array):
        """Return the symbol of an array of n rows, of its own dtype."""
        import pytensor.tensor as pt

        place = array.dtype.str, array.shape, array.tobytes()
        if place not in self._seen:
            name, dtype = f"column_{len(self.symbols)}", WIDE[array.dtype.kind]
            self.symbols[name] = pt.tensor(
                name, dtype=dtype, shape=(None, *array.shape[1:])
            )
            self.arrays[name] = array.astype(dtype)
            self._seen[place] = self.symbols[name]
        return self._seen[place].astype(str(array.dtype))


def by_row(outputs, known, columns):
    """Return `outputs` with columns for arrays of n rows.

    `known` has the replacements of the symbols on which they depend.
    """
    nodes, known = ancestors(outputs, known), dict(known)
    dependent = set(known)
    for node in nodes:
        if dependent.intersection(node.inputs):
            dependent.update(node.outputs)
    active = [node for node in nodes if dependent.intersection(node.inputs)]
    used = [*(x for node in active for x in node.inputs), *outputs]
    data = list(dict.fromkeys(x for x in used if x not in dependent))
    plain = [x for x in data if hasattr(x.type, "ndim")]
    for x, value in zip(plain, python_function([], plain)(), strict=True):
        known[x] = _replaced(x, np.asarray(value), columns)
    for x in data:
        known.setdefault(x, x)  # no array: a slice, None
    for node in active:
        inputs = [known[x] for x in node.inputs]
        for x, new in zip(node.outputs, _rebuilt(node, inputs, columns), strict=True):
            known[x] = new
    return [known[x] for x in outputs]


def ancestors(outputs, known):
    """Return the nodes of which outputs are made, each after those it depends on."""
    order, seen, pending = [], set(), [(x.owner, False) for x in outputs]
    while pending:
        node, is_done = pending.pop()
        if node is None or (node in seen and not is_done):
            continue
        if is_done:
            order.append(node)
            continue
        seen.add(node)
        pending.append((node, True))
        pending += [(x.owner, False) for x in node.inputs if x not in known]
    return order


def _replaced(x, value, columns):
    import pytensor.tensor as pt

    if value.ndim and value.shape[0] == columns.n and value.dtype.kind in WIDE:
        return columns.symbol(value)
    return pt.constant(value, dtype=x.type.dtype)


def _rebuilt(node, inputs, columns):
    """Return the outputs of a node on other inputs."""
    from pytensor.compile.builders import OpFromGraph

    op, kind = node.op, type(node.op).__name__
    if isinstance(op, OpFromGraph):  # shapes inside are those of all rows
        graph = op.fgraph
        if hasattr(graph, "unfreeze"):  # from PyTensor 3 on
            graph = graph.unfreeze()
        inner = dict(zip(graph.inputs, inputs, strict=True))
        return by_row(graph.outputs, inner, columns)
    if kind == "SpecifyShape":
        return inputs[:1]
    if kind == "AdvancedSubtensor":
        inputs = [inputs[0], *(_index(x, columns) for x in inputs[1:])]
    if kind in SHAPED:
        first = 0 if kind == "MakeVector" else 1
        lengths = [_length(x, columns) for x in inputs[first:]]
        inputs = [*inputs[:first], *lengths]
    return op.make_node(*inputs).outputs


def _index(x, columns):
    """Return an index; a mask of n rows among more, of values that are not missing."""
    value = getattr(x, "data", None)
    if np.ndim(value) == 1 and value.dtype == bool and value.sum() == columns.n:
        return columns.symbol(np.flatnonzero(value))
    return x


def _length(x, columns):
    """Return a length, or a vector of lengths, with a symbol in place of n."""
    import pytensor.tensor as pt

    value = getattr(x, "data", None)
    if value is None or not np.any(np.asarray(value) == columns.n):
        return x
    if np.ndim(value) == 0:
        return pt.cast(columns.length, x.type.dtype)
    lengths = [columns.length if v == columns.n else int(v) for v in value]
    return pt.stack([pt.as_tensor(v, dtype=None) for v in lengths]).astype(x.type.dtype)
