"""The source of wrappers: from rows and vectors of a chain to PyTensor's function.

They are generated, because a gather of rows with literal widths is half as long again
as fast as one with widths that are known at run time only.
"""

import math

# Rows to prefetch: one for each that is copied, since requests queue up in a burst.
AHEAD = 8
OUTER, INNER = "\n" + 4 * " ", "\n" + 12 * " "  # between lines of source


GRADIENT = """
{call}
g = np.ascontiguousarray(result[{k}])
for j in range(g.size):
    out[j] += g[j]
"""
# Matrix by vector, for all unit vectors: products of matrices take long to compile.
HESSIAN = """
d = theta.size
for e in range(d):
    center[:] = 0.0
    center[e] = 1.0
    {call}
    g = result[{k}]
    for j in range(d):
        out[e * d + j] -= g[j]
"""


def rows_source(columns, n_vectors, has_total, is_hessian=False):
    """Return the source of a function of rows.

    `columns` has the numpy dtype and the shape of each column's rows; of `n_vectors`,
    theta and the center, the graph takes the first ones. That of a Hessian is its
    product with the second one, which is overwritten.
    """
    widths = [math.prod(shape) for _, shape in columns]
    views, copies, start = [], [], 1
    for c, ((dtype, shape), width) in enumerate(zip(columns, widths, strict=True)):
        views += [
            f"words{c} = buffer[n * {start} : n * {start + width}]",
            f"column{c} = words{c}.view(np.{dtype})"
            + (f".reshape(({', '.join(['n', *map(str, shape)])},))" if shape else ""),
        ]
        copies += [
            f"for j in range({width}):",
            f"    words{c}[k * {width} + j] = words[first + {start} + j]",
        ]
        start += width
    vectors = ["theta", "center"][:n_vectors]
    arguments = [*vectors, "weights", *(f"column{c}" for c in range(len(columns)))]
    call = f"result = jit_fn({', '.join(arguments)})"
    after = HESSIAN if is_hessian else GRADIENT
    after = after.format(call=call, k=int(has_total))
    if has_total:
        after += "total[0] += result[0].item()\n"
    views, copies = OUTER.join(views), INNER.join(copies)
    after = OUTER.join(after.strip().split("\n"))
    return f"""
def wrapper(theta, center, rows, idx, each, scale, buffer, total, out):
    n, width = idx.size * each, {start}
    words = rows.reshape(-1)
    values = words.view(np.float64)
    weights = buffer[:n].view(np.float64)
    {views}
    for b in range(idx.size):
        later = min(b + max(1, {AHEAD} // each), idx.size - 1)
        for r in range(each):
            k = b * each + r
            ahead = (np.int64(idx[later]) * each + r) * width
            for j in range(0, width, 8):
                prefetch(words, ahead + j)
            first = (np.int64(idx[b]) * each + r) * width
            weights[k] = scale * values[first]
            {copies}
    {after}
"""


PRIOR_SOURCE = """
def wrapper(theta, total, out):
    value, g = jit_fn(theta)
    total[0] += value.item()
    for j in range(g.size):
        out[j] += g[j]
"""
RECORD_SOURCE = """
def wrapper(theta, out):
    result = jit_fn(theta)
    x = result[0]
    for j in range(x.size):
        out[j] = x[j]
"""
