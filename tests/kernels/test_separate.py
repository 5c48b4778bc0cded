"""Arrays that loops borrow keep their owners, and what loops allocate keeps its own."""

import gc
import sys
import weakref
from typing import NamedTuple

import numba
import numpy as np

from skbayes_sg.kernels.generic import OPTIONS, entry_point
from skbayes_sg.kernels.separate import (
    address_of,
    call_address,
    load,
    stored,
    without_refcounts,
)


class Parts(NamedTuple):
    x: np.ndarray
    inner: tuple


@numba.njit(**OPTIONS)
def half(x):
    return x[: x.size // 2]


@numba.njit(**OPTIONS)
def work(parts, n_times):
    parts = without_refcounts(parts)
    value = 0.0
    for _ in range(n_times):
        view, fresh = half(parts.x), np.ones(3)
        value += view.sum() + half(parts.inner[0]).sum() + half(fresh).sum()
    return value


@numba.njit(**OPTIONS)
def hand_on(parts, n_times):
    return work(parts, n_times)


def test_owners_count_as_before():
    x, y = np.ones(10), np.full(4, 2.0)
    before = sys.getrefcount(x), sys.getrefcount(y)
    assert hand_on(Parts(x, (y,)), 1000) == 1000 * (5.0 + 4.0 + 1.0)
    assert (sys.getrefcount(x), sys.getrefcount(y)) == before
    assert x.sum() == 10.0 and y.sum() == 8.0


def test_arrays_are_freed_when_their_owner_goes():
    class Array(np.ndarray):
        """One that can be referred to weakly."""

    x = np.ones(10).view(Array)
    seen = weakref.ref(x)
    work(Parts(np.asarray(x), (np.ones(2),)), 10)
    del x
    gc.collect()
    assert seen() is None


def test_python_sees_the_same_parts():
    parts = Parts(np.ones(2), (np.ones(1),))
    assert without_refcounts(parts) is parts


class Mixed(NamedTuple):
    flag: bool
    count: int
    x: np.ndarray
    inner: NamedTuple


@entry_point
def write_sums(memory, scale, out):
    mixed = load(memory)
    out[0] = scale * mixed.x.sum() if mixed.flag else -1.0
    out[1] = mixed.count + mixed.inner.inner[0][0, 1]


@entry_point
def call_twice(code, memory, out):
    call_address(code, memory, (2.0, out))
    call_address(code, memory, (3.0, out))


def test_compiled_code_reads_what_is_stored():
    x, y = np.arange(5, dtype=np.float32), np.arange(6.0).reshape(2, 3)
    before, out = sys.getrefcount(x), np.zeros(2)
    for flag, expected in ((True, 30.0), (False, -1.0)):
        value = Mixed(flag, 7, x, Parts(x[::2], (y,)))
        memory = stored(value)
        code = address_of(write_sums, value, 1.0, out)
        call_twice(code, memory, out)
        assert out.tolist() == [expected, 8.0]
    del value
    assert sys.getrefcount(x) == before


@numba.njit(**OPTIONS)
def fill(parts, value):
    (parts,) = without_refcounts((parts,))
    for j in range(parts.x.size):
        parts.x[j] = value + j


def test_assignments_without_reference_counts_are_made():
    """Numba removes them from a function into which it has inlined another."""
    x = np.zeros(3)
    fill(Parts(x, (x,)), 2.0)
    np.testing.assert_array_equal(x, [2.0, 3.0, 4.0])
