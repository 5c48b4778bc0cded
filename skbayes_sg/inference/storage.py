"""Storage of draws: in memory, in a file, in another type, or only as sums."""

import hashlib
import itertools
import os

import numpy as np

from skbayes_sg.inference.arguments import check_option
from skbayes_sg.inference.draw_files import DrawFile, create
from skbayes_sg.inference.moments import add_draws
from skbayes_sg.kernels.protocol.model import n_recorded, parameter_dtype

MAX_BYTES = 4 * 2**30  # of draws held in memory
BUFFERED = 8  # draws that are converted to another type together
CHECKSUM_BYTES = 16
FILE_BUFFER = 2**20  # bytes of draws that are written to a file together
KEPT = "draws", "moments", "variances"


def check_keep(keep, model, n_chains, storage):
    """Raise a ValueError if `keep` is unknown, or does not fit into memory."""
    check_option("keep", keep, KEPT)
    if keep != "draws" and storage is not None:
        raise ValueError(
            f"storage={storage!r} stores draws, but keep={keep!r} keeps none; set only "
            "one of the two"
        )
    dim = n_recorded(model)
    n_bytes = 8 * n_chains * dim**2
    if keep == "moments" and n_bytes > MAX_BYTES:
        raise ValueError(
            f'keep="moments" needs {n_bytes / 2**30:.1f} GiB for the covariances of '
            f"{dim} parameters in n_chains={n_chains}, more than the "
            f'{MAX_BYTES / 2**30:.0f} GiB held in memory; use keep="variances"'
        )


def allocate_draws(model, n_chains, n_draws, storage=None, dtype=None):
    """Return an array for draws, or a new `DrawFile` in folder `storage`."""
    shape = (n_chains, n_draws, int(n_recorded(model)))
    dtype = parameter_dtype(model) if dtype is None else np.dtype(dtype)
    if storage is not None:
        path = _new_file(storage)
        try:
            create(path, shape, dtype, "storage")
        except OSError:
            os.unlink(path)
            raise
        return DrawFile(path, "storage")
    n_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if n_bytes > MAX_BYTES:
        raise ValueError(
            f"n_chains={n_chains} x n_draws={n_draws} x {shape[2]} parameters need "
            f"{n_bytes / 2**30:.1f} GiB, more than the {MAX_BYTES / 2**30:.0f} GiB "
            "held in memory; keep fewer draws with a larger thin, halve them with "
            'storage_dtype="float16", or set storage to a folder for memory-mapped '
            "draws"
        )
    return np.empty(shape, dtype)


def _new_file(folder):
    """Return the path of a new file for draws, since fits do not share files."""
    os.makedirs(folder, exist_ok=True)
    for k in itertools.count():
        path = os.path.join(folder, f"draws-{k}.npy" if k else "draws.npy")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            return path
        except FileExistsError:
            continue


def in_file(draws):
    """Whether draws are kept in a file."""
    return isinstance(draws, DrawFile)


def make_recorder(plan, draws, sums, t, c):
    """Return the recorder that moves a chain's draws from the loop to their storage.

    Parameters
    ----------
    plan : Plan
    draws : ndarray of shape (n_draws, dim) or DrawFile
        Storage of the draws, if they are kept.
    sums : Sums
        Sums of the draws otherwise.
    t : int
        The current iteration of the chain.
    c : int
        The number of the chain.
    """
    if plan.keep != "draws":
        return SummingRecorder(plan, sums, t)
    if in_file(draws):
        return FileRecorder(plan, draws, t, c)
    if draws.dtype != parameter_dtype(plan.model):
        return ConvertingRecorder(plan, draws, t)
    return Recorder(plan, draws)


class Recorder:
    """Record draws in the array in which they are kept.

    The loop writes draws to `buffer`; `passed` counts those that were moved from there
    to their storage.
    """

    def __init__(self, plan, buffer, passed=0):
        self.plan, self.buffer, self.passed = plan, buffer, passed

    @property
    def first(self):
        """The iteration after which draws are written to the buffer."""
        return self.plan.discarded + self.passed * self.plan.thin

    @property
    def full(self):
        """The iteration after which the buffer is full."""
        return self.first + len(self.buffer) * self.plan.thin

    def waiting(self, t):
        """Return the draws in the buffer after iteration t."""
        return self.buffer[: max(0, self.plan.n_kept(t) - self.passed)]

    def update(self, t):
        """Move draws from the buffer to their storage after iteration t."""

    def close(self, t):
        """Move the remaining draws to their storage after t, the last iteration."""

    def take_checksum(self):
        """Return (stop, checksum) of the draws written to a file since the last call.

        Empty if there is no file.
        """
        return ()


class ConvertingRecorder(Recorder):
    """Record draws in another type, through a small buffer."""

    def __init__(self, plan, draws, t, n_buffered=BUFFERED):
        buffer = np.empty((n_buffered, draws.shape[-1]), parameter_dtype(plan.model))
        super().__init__(plan, buffer, plan.n_kept(t))
        self.draws = draws

    def update(self, t):
        """Convert all draws in the buffer."""
        draws = self.waiting(t)
        if len(draws) == 0:
            return
        with np.errstate(over="ignore"):
            out = draws.astype(self.draws.dtype)
        if out.dtype != draws.dtype and not np.isfinite(out).all():
            raise ValueError(
                f"storage_dtype={out.dtype.name!r} holds numbers up to "
                f"{np.finfo(out.dtype).max:.3g}, but a draw contains "
                f"{np.abs(draws).max():.3g}; use a larger type"
            )
        self._store(out)
        self.passed += len(draws)

    def _store(self, draws):
        self.draws[self.passed : self.passed + len(draws)] = draws


class FileRecorder(ConvertingRecorder):
    """Record draws of any type in a file, and compute their checksum."""

    def __init__(self, plan, file, t, c):
        n_bytes = file.shape[2] * parameter_dtype(plan.model).itemsize
        n_buffered = min(file.shape[1], max(1, FILE_BUFFER // n_bytes))
        super().__init__(plan, file, t, n_buffered)
        self.c, self.checksum = c, new_checksum()

    def _store(self, draws):
        self.draws.write(self.c, self.passed, draws)
        self.checksum.update(np.ascontiguousarray(draws).data)

    def take_checksum(self):
        """Return (stop, checksum) of the draws since the last call, now on the disk."""
        self.draws.sync()
        stop_and_checksum = self.passed, self.checksum.digest()
        self.checksum = new_checksum()
        return stop_and_checksum


def new_checksum():
    """Return a hash of no draws yet."""
    return hashlib.blake2b(digest_size=CHECKSUM_BYTES)


class SummingRecorder(Recorder):
    """Record only sums of draws, which are added in groups of the buffer's size.

    The groups, and so the rounding errors, do not depend on the chunks of the run. The
    buffer is part of the chain, so that a snapshot includes the draws still in it.
    """

    def __init__(self, plan, sums, t):
        size = len(sums.block)
        super().__init__(plan, sums.block, plan.n_kept(t) // size * size)
        self.sums = sums

    def update(self, t):
        """Add the draws if the buffer is full."""
        if len(self.waiting(t)) == len(self.buffer):
            self.close(t)

    def close(self, t):
        """Add all draws in the buffer."""
        draws = self.waiting(t)
        if len(draws) > 0:
            weights = self.plan.weights(self.passed, self.passed + len(draws))
            add_draws(self.sums, draws, weights)
            self.passed += len(draws)
