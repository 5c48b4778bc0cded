"""Where draws are kept: in memory or in a file, in any type, or as sums alone."""

import hashlib
import itertools
import os

import numpy as np

from skbayes_sg.inference.draw_files import DrawFile, create
from skbayes_sg.inference.moments import BLOCK, add_draws
from skbayes_sg.kernels.protocol.model import n_recorded, parameter_dtype

MAX_BYTES = 4 * 2**30  # of draws held in memory
BUFFERED = 8  # draws on their way to storage of another type
CHECKSUM_BYTES = 16
FILE_BUFFER = 2**20  # bytes of draws on their way to a file
KEPT = "draws", "moments", "variances"


def check_keep(keep, model, n_chains, storage):
    """Raise a ValueError if what is to be kept has no meaning, or does not fit."""
    if keep not in KEPT:
        raise ValueError(f"keep={keep!r} is not one of {', '.join(map(repr, KEPT))}")
    if keep != "draws" and storage is not None:
        raise ValueError(
            f"storage={storage!r} is for draws, of which keep={keep!r} has none; set "
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
    """Return the path of a new file for draws: fits do not share one."""
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


def recorder(plan, draws, sums, t, c):
    """Return the way of a chain's draws from the compiled loop to where they are kept.

    Parameters
    ----------
    plan : Plan
    draws : ndarray of shape (n_draws, dim) or DrawFile
        Where the draws are kept, if they are.
    sums : Sums
        What is kept of them otherwise.
    t : int
        The iteration at which the chain is.
    c : int
        The number of the chain.
    """
    if plan.keep != "draws":
        return Summed(plan, sums, t)
    if in_file(draws):
        return Filed(plan, draws, t, c)
    if draws.dtype != parameter_dtype(plan.model):
        return Converted(plan, draws, t)
    return Recorder(plan, draws)


class Recorder:
    """Draws are written where they are kept.

    The loop writes them to `buffer`, of which `passed` draws have left already.
    """

    def __init__(self, plan, buffer, passed=0):
        self.plan, self.buffer, self.passed = plan, buffer, passed

    @property
    def first(self):
        """The iteration after which draws are written to the buffer."""
        return self.plan.discarded + self.passed * self.plan.thin

    @property
    def full(self):
        """The iteration after which the buffer has no room left."""
        return self.first + len(self.buffer) * self.plan.thin

    def waiting(self, t):
        """Return the draws in the buffer after iteration t."""
        return self.buffer[: max(0, self.plan.n_kept(t) - self.passed)]

    def update(self, t):
        """Pass on what is to leave the buffer after iteration t."""

    def close(self, t):
        """Pass on all draws that are left after t, the last iteration."""

    def seal(self):
        """Return (stop, checksum) of the draws written to a file since the last time.

        Empty where there is no file.
        """
        return ()


class Converted(Recorder):
    """Draws are kept in another type, and pass through a buffer of a few."""

    def __init__(self, plan, draws, t, n_buffered=BUFFERED):
        buffer = np.empty((n_buffered, draws.shape[-1]), parameter_dtype(plan.model))
        super().__init__(plan, buffer, plan.n_kept(t))
        self.draws = draws

    def update(self, t):
        """Convert all that the buffer holds."""
        draws = self.waiting(t)
        if len(draws) == 0:
            return
        with np.errstate(over="ignore"):
            out = draws.astype(self.draws.dtype)
        if out.dtype != draws.dtype and not np.isfinite(out).all():
            raise ValueError(
                f"storage_dtype={out.dtype.name!r} holds numbers up to "
                f"{np.finfo(out.dtype).max:.3g}, and a draw has "
                f"{np.abs(draws).max():.3g}; use a larger type"
            )
        self._store(out)
        self.passed += len(draws)

    def _store(self, draws):
        self.draws[self.passed : self.passed + len(draws)] = draws


class Filed(Converted):
    """Draws are written to a file, of any type, and a checksum is made on the way."""

    def __init__(self, plan, file, t, c):
        n_bytes = file.shape[2] * parameter_dtype(plan.model).itemsize
        n_buffered = min(file.shape[1], max(1, FILE_BUFFER // n_bytes))
        super().__init__(plan, file, t, n_buffered)
        self.c, self.checksum = c, new_checksum()

    def _store(self, draws):
        self.draws.write(self.c, self.passed, draws)
        self.checksum.update(np.ascontiguousarray(draws).data)

    def seal(self):
        """Return (stop, checksum) of the draws since the last time, now on the disk."""
        self.draws.sync()
        sealed = self.passed, self.checksum.digest()
        self.checksum = new_checksum()
        return sealed


def new_checksum():
    """Return a hash of no draws yet."""
    return hashlib.blake2b(digest_size=CHECKSUM_BYTES)


class Summed(Recorder):
    """Draws are summed in blocks, whole ones whatever the chunks: so is the rounding.

    A block belongs to the chain, so that a snapshot between two of them is complete.
    """

    def __init__(self, plan, sums, t):
        super().__init__(plan, sums.block, plan.n_kept(t) // BLOCK * BLOCK)
        self.sums = sums

    def update(self, t):
        """Add a block that is full."""
        if len(self.waiting(t)) == BLOCK:
            self.close(t)

    def close(self, t):
        """Add the block as far as it is filled."""
        draws = self.waiting(t)
        if len(draws) > 0:
            weights = self.plan.weights(self.passed, self.passed + len(draws))
            add_draws(self.sums, draws, weights)
            self.passed += len(draws)
