"""Programs: the symbols of a model, which its posterior refers to by a digest."""

import copyreg
import hashlib
from typing import Any, NamedTuple

import numpy as np

from skbayes_sg.custom._digests import digest_of
from skbayes_sg.kernels.models.autodiff import Autodiff

PROGRAMS: dict = {}  # by digest


class Program(NamedTuple):
    """The symbols of a model: a flat theta, columns of rows, and what is made of them.

    All are PyTensor's variables.
    """

    theta: Any  # (d,)
    columns: dict  # by name, (n, ...) each, float64 or int64
    log_likelihood: Any  # (n,)
    log_prior: Any  # ()
    recorded: Any  # (m,) constrained parameters; None: theta
    d: int
    m: int  # 0: theta alone is recorded

    @property
    def layout(self):
        """The dtype and the shape of the rows of each column."""
        types = [column.type for column in self.columns.values()]
        return [(each.dtype, each.shape[1:]) for each in types]

    @property
    def graph(self):
        """All inputs and all outputs."""
        outputs = [self.log_likelihood, self.log_prior, self.recorded]
        inputs = [self.theta, *self.columns.values()]
        return inputs, [each for each in outputs if each is not None]


def model_of(program, columns, weights):
    """Return the posterior of a program given columns, arrays of equal length."""
    digest = digest_of(*program.graph)
    while not _is_same(program, PROGRAMS.setdefault(digest, program)):
        digest = hashlib.sha256(digest).digest()[:16]
    parts = [weights.astype(np.float64)[:, None].view(np.uint64)]
    for (dtype, _), name in zip(program.layout, program.columns, strict=True):
        values = np.ascontiguousarray(columns[name], dtype)
        parts.append(values.reshape(len(values), -1).view(np.uint64))
    return Autodiff(
        rows=np.ascontiguousarray(np.hstack(parts)),
        program=np.frombuffer(digest, np.uint8),
        d=program.d,
        m=program.m,
    )


def _is_same(one, other):
    """Whether two programs compute the same; the digest may have missed something."""
    from pytensor.graph.basic import equal_computations

    if one is other:
        return True
    (inputs, outputs), (others, results) = one.graph, other.graph
    return len(outputs) == len(results) and equal_computations(
        outputs, results, inputs, others
    )


def program_of(model):
    """Return the program of a model."""
    return PROGRAMS[model.program.tobytes()]


def _restored(program, fields):
    model = Autodiff(*fields)
    PROGRAMS.setdefault(model.program.tobytes(), program)
    return model


# A model travels with its program, so that other processes can compile it.
copyreg.pickle(Autodiff, lambda m: (_restored, (program_of(m), tuple(m))))
