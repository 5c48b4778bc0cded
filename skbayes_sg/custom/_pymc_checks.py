"""Which PyMC models have rows, and whether a program has the same ones."""

import numpy as np

from skbayes_sg.custom._by_row import ancestors
from skbayes_sg.custom._graphs import TOLERANCE, python_function
from skbayes_sg.utils._warnings import warn_user


class NoRows(ValueError):
    """A model cannot be taken apart into rows."""


def refusal(reason):
    """Return the error of a model that cannot be taken apart."""
    return NoRows(
        "this PyMC model cannot be taken apart into independent rows given global "
        f"parameters: {reason}. Time series, Gaussian processes and parameters of "
        "single rows need pm.sample"
    )


def check_kind(pm_model):
    """Return the number of rows; refuse what is known not to work."""
    if not pm_model.observed_RVs:
        raise refusal("nothing is observed, and a Potential is no likelihood by row")
    if pm_model.discrete_value_vars:
        name = pm_model.discrete_value_vars[0].name
        raise refusal(f"{name} is discrete, and has no gradient; sum it out")
    for rv in pm_model.observed_RVs:
        if "Minibatch" in type(rv.owner.op).__name__:
            raise refusal(
                f"{rv.name} has total_size or pm.Minibatch; give all rows, of which "
                "the chains draw minibatches themselves"
            )
    observed = [pm_model.rvs_to_values[rv] for rv in pm_model.observed_RVs]
    shapes = [each.shape for each in python_function([], observed)()]
    lengths = {shape[0] if shape else 1 for shape in shapes}
    if len(lengths) > 1:
        raise refusal(f"its observed variables have {sorted(lengths)} rows")
    return lengths.pop()


def warn_of_cost(program, n):
    """Warn of models that have rows, but whose steps cost as much as all rows."""
    if program.d >= n > 1:
        warn_user(
            f"the model has {program.d} parameters for {n} rows, so that a minibatch "
            "says nothing of most of them; if each row has a parameter of its own, "
            "integrate it out, or use pm.sample",
            UserWarning,
        )
    arrays = [
        x.data
        for node in ancestors([program.log_likelihood], ())
        for x in node.inputs
        if np.ndim(getattr(x, "data", None))
    ]
    longest = max((len(x) for x in arrays), default=0)
    if longest > n:
        warn_user(
            f"the log-likelihood of {n} rows uses an array of {longest} at every step; "
            "drop rows with missing values before the model is built",
            UserWarning,
        )


def check_values(program, columns, observed, known, n):
    """Refuse a program whose rows are not those of the model."""
    from pytensor.graph.replace import clone_replace

    if not columns.symbols:
        raise refusal("no array has one entry per row")
    terms = clone_replace(observed, known, rebuild_strict=False)
    theirs = python_function([program.theta], terms)
    ours = python_function(
        [program.theta, *program.columns.values()], program.log_likelihood
    )
    rng = np.random.default_rng(1)
    rows = rng.permutation(n)[: max(1, n // 2)]
    for theta in 0.3 * rng.standard_normal((2, program.d)):
        whole = sum(term.reshape(n, -1).sum(axis=1) for term in theirs(theta))
        part = ours(theta, *(array[rows] for array in columns.arrays.values()))
        expected = whole[rows]
        if part.shape != expected.shape or not np.allclose(
            part, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True
        ):
            raise refusal(
                "its likelihood of some rows changes when others are left out"
            )
