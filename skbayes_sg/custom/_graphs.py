"""From the user's functions to a program, and the checks before a chain trusts it."""

import numpy as np

from skbayes_sg.custom._programs import Program

REWRITES = ("canonicalize", "stabilize", "specialize")
N_CHECKED = 7  # rows that must not depend on the others
TOLERANCE = 1e-8


def stabilized(*graphs):
    """Return graphs that are safe to differentiate.

    The gradient of log1p(-sigmoid(x)), say, is 0/0 for large x unless the graph has
    been rewritten before, not after, it is differentiated.
    """
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.rewriting.utils import rewrite_graph
    from pytensor.tensor.rewriting.shape import ShapeFeature

    # Some of these rewrites ask for the shapes that the feature knows.
    whole = FunctionGraph(outputs=list(graphs), clone=False, features=[ShapeFeature()])
    return rewrite_graph(whole, include=REWRITES).outputs


def without_transposes(graphs):
    """Return graphs that multiply vectors by matrices as these are stored.

    Machine code copies a transposed matrix before it multiplies it: A' v is (v' A)'.
    """
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.rewriting.basic import in2out, node_rewriter
    from pytensor.tensor.elemwise import DimShuffle
    from pytensor.tensor.math import Dot, dot

    @node_rewriter([Dot])
    def turned(fgraph, node):
        left, right = node.inputs
        op = getattr(left.owner, "op", None)
        if not isinstance(op, DimShuffle) or op.new_order != (1, 0):
            return None
        if right.type.shape[1] != 1:
            return None
        product = dot(right.T, left.owner.inputs[0])
        return [product.dimshuffle(1, "x")]

    whole = FunctionGraph(outputs=list(graphs), clone=False)
    in2out(turned).rewrite(whole)
    return whole.outputs


def python_function(inputs, outputs):
    """Return a function that runs at once, without any compilation."""
    import pytensor
    from pytensor.compile.mode import Mode

    return pytensor.function(
        inputs,
        outputs,
        mode=Mode(linker="py", optimizer=None),
        on_unused_input="ignore",
    )


def symbols_of_columns(columns):
    """Return a symbol for each column, of any number of rows."""
    import pytensor.tensor as pt

    return {
        name: pt.tensor(name, dtype=str(each.dtype), shape=(None, *each.shape[1:]))
        for name, each in columns.items()
    }


def call(function, name, arguments):
    """Call a function of the user on symbols, of which it takes those it names."""
    import pytensor.tensor as pt

    try:
        return pt.as_tensor_variable(function(**arguments))
    except Exception as error:
        given = ", ".join(f"{a} {shown(symbol)}" for a, symbol in arguments.items())
        reason = f"{type(error).__name__}: {error}".rstrip(".")
        raise TypeError(
            f"{name} fails on symbolic arrays: {reason}. Write it in pytensor.tensor "
            "(pt.log, pt.where, pt.sum) in place of numpy, for arguments of these "
            f"shapes and dtypes: {given}"
        ) from error


def shown(symbol):
    """Return the shape and the dtype of a symbol, with n for the number of rows."""
    lengths = ["n" if each is None else str(each) for each in symbol.type.shape]
    comma = "," if len(lengths) == 1 else ""
    return f"({', '.join(lengths)}{comma}) {symbol.dtype}"


def build_program(spaces, columns, log_likelihood, log_prior):
    """Return the program of parameters in `spaces` and of the columns' symbols.

    Both functions take dicts of symbols; the second, of parameters alone.
    """
    import pytensor.tensor as pt

    d = sum(space.n_free for space in spaces.values())
    theta = pt.tensor("theta", dtype="float64", shape=(d,))
    parameters, jacobian, first = {}, 0.0, 0
    for name, space in spaces.items():
        u = theta[first : first + space.n_free]
        parameters[name], part = space.constrained(u)
        jacobian, first = jacobian + part, first + space.n_free
    rows = log_likelihood(parameters | columns)
    check_rank(rows)
    if rows.dtype == "float32":
        raise TypeError(
            "log_likelihood returns float32, which cannot tell sums over many rows "
            "apart; leave out casts to float32: columns and parameters are float64"
        )
    prior = log_prior(parameters)
    if prior.ndim != 0:
        raise ValueError(
            f"log_prior returns an array of {prior.ndim} axes; it must return one "
            "number: add up its terms with .sum()"
        )
    flat = [each.reshape((-1,)) for each in parameters.values()]
    is_free = all(space.is_free for space in spaces.values())
    rows, prior = stabilized(rows.astype("float64"), (prior + jacobian) * 1.0)
    m = 0 if is_free else sum(np.prod(s.shape, dtype=int) for s in spaces.values())
    recorded = None if is_free else pt.concatenate(flat)
    return Program(theta, columns, rows, prior, recorded, d, int(m))


def out_of_range(name, error):
    """Return the error of an index that is out of range."""
    reason = str(error).split("\n")[0]
    return ValueError(
        f"{name} takes an index that is out of range: {reason}. Indices of groups go "
        "from 0 to the size of the parameter minus 1"
    )


def check_rank(rows):
    """Raise a ValueError unless the log-likelihood is one number per row."""
    if rows.ndim == 1:
        return
    remedy = "leave out the sum over rows" if rows.ndim == 0 else "sum over other axes"
    raise ValueError(
        f"log_likelihood returns an array of {rows.ndim} axes; it must return one "
        f"number per row, shape (n,): {remedy}"
    )


def check_program(program, columns):
    """Evaluate the log-likelihood of all rows once, in Python, which checks bounds.

    Machine code reads whatever lies behind an array when an index is out of range. And
    rows must not depend on one another: those of a part are the same without the rest.
    """
    inputs = [program.theta, *program.columns.values()]
    function = python_function(inputs, [program.log_likelihood, program.log_prior])
    arrays = [columns[name] for name in program.columns]
    n = len(arrays[0])
    rng = np.random.default_rng(0)
    theta = 0.1 * rng.standard_normal(program.d)
    some = rng.permutation(n)[: max(1, min(N_CHECKED, n // 2))]
    try:
        whole, prior = function(theta, *arrays)
        part, _ = function(theta, *(each[some] for each in arrays))
        opposite, _ = function(-theta, *(each[some] for each in arrays))
    except IndexError as error:
        raise out_of_range("log_likelihood", error) from error
    except ValueError as error:
        reason = str(error).split("\n")[0]
        raise ValueError(
            f"log_likelihood cannot be computed: {reason}. Arrays with an entry for "
            "each row must be columns, passed by name, since minibatches have few rows"
        ) from error
    if whole.shape != (n,):
        raise ValueError(
            f"log_likelihood returns shape {whole.shape} for {n} rows; it must return "
            "one number per row"
        )
    if np.isnan(whole).any() or np.isnan(opposite).any() or np.isnan(prior):
        where = "log_prior" if np.isnan(prior) else "log_likelihood"
        raise ValueError(
            f"{where} is NaN where all parameters are in the middle of their spaces; "
            "declare the spaces of positive or bounded parameters, as sigma=Positive()"
        )
    scale = 1.0 + np.abs(whole[some])
    if part.shape != some.shape or not np.all(
        (np.abs(part - whole[some]) <= TOLERANCE * scale) | (part == whole[some])
    ):
        raise ValueError(
            "the rows of log_likelihood depend on one another: those of some rows "
            "change when the others are left out. Compute means, sums and lags of "
            "columns before, and pass them as columns"
        )
