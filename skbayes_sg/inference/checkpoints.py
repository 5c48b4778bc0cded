"""Checkpoints: files from which a killed run can be continued.

A new snapshot of a chain is written beside the old one and replaces it atomically, so
that one complete snapshot always exists. It contains checksums of the draws made so
far, which are written to the disk before the snapshot. A folder that belongs to another
run is refused.
"""

import contextlib
import errno
import glob
import io
import json
import lzma
import os
import warnings
import zipfile
import zlib

import numpy as np

import skbayes_sg
from skbayes_sg.inference.draw_files import DrawFile, create
from skbayes_sg.inference.identities import identity
from skbayes_sg.inference.snapshots import own_arrays, restore, snapshot
from skbayes_sg.inference.storage import CHECKSUM_BYTES, new_checksum
from skbayes_sg.kernels.protocol.model import n_rows

try:
    import fcntl
except ImportError:  # Windows does not have it
    fcntl = None

FORMAT = 2  # of the files
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    KeyError,  # a missing member
    ValueError,  # a member that is not an array, or that needs pickle
    TypeError,  # a single array instead of an archive
    RuntimeError,  # an encrypted member or an unknown compression
)


class Checkpoint:
    """The files of one run: its draws, and a snapshot of each chain.

    They are in a subfolder for the data, so that the folds of a cross-validation, which
    have different data, can share a folder. A different run on the same data is
    refused: it may be a mistake, and would overwrite the draws of the first.

    Parameters
    ----------
    folder : path
        The folder given by the user.
    model : NamedTuple
        The model, with its data.
    *settings
        Everything else that the draws depend on.
    """

    def __init__(self, folder, model, *settings):
        self.parent = os.fspath(folder)
        self.folder = os.path.join(self.parent, f"data-{_data_identity(model)}")
        run = identity(skbayes_sg.__version__, model, *settings)
        self.head = {"format": FORMAT, "run": run}
        self.draws = os.path.join(self.folder, "draws.npy")
        self._owner = os.path.join(self.folder, "run.json")
        self._checksums = {}  # by chain: (stop, checksum) of each part of its draws

    @contextlib.contextmanager
    def lock(self):
        """Lock the folder against other processes and threads."""
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, "lock"), "ab") as file:
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BlockingIOError(
                    errno.EAGAIN,
                    f"checkpoint: {self.folder} is in use by another run on the same "
                    "data; wait until it ends, or use another folder",
                ) from None
            except OSError as error:
                warnings.warn(
                    f"checkpoint: {self.folder} cannot be locked ({error.strerror}); "
                    "make sure that no other process uses it",
                    RuntimeWarning,
                    stacklevel=4,
                )
            yield

    def open_draws(self, shape, dtype):
        """Return the file of draws, which contains those made before a crash."""
        for path in glob.glob(os.path.join(glob.escape(self.folder), "*.new")):
            os.unlink(path)  # left by a run that was killed while writing
        before = os.path.join(self.parent, "draws.npy")
        if os.path.exists(before):  # written in an old format without subfolders
            raise _other_run(before)
        if self._has_snapshots():
            self._check_owner()
        else:  # a run that was killed before its first snapshot left nothing to use
            with _replacing(self._owner) as file:
                file.write(json.dumps(self.head).encode())
            create(self.draws, shape, dtype, "checkpoint")
        with _reporting_damage(self.draws):
            file = DrawFile(self.draws, "checkpoint")
        if file.shape != shape or file.dtype != dtype:
            raise _other_run(self.draws)
        return file

    def _check_owner(self):
        """Raise an error if the folder belongs to another run or lacks a file."""
        for path in (self._owner, self.draws):
            if not os.path.exists(path):
                raise _damaged(path, "is missing")
        with _reporting_damage(self._owner), open(self._owner, "rb") as file:
            head = json.loads(file.read(10_000))
        if head != self.head:
            raise _other_run(self._owner)

    def save(self, c, chain, t, checksum=()):
        """Write chain c after iteration t.

        `checksum` is the (stop, checksum) of its recorder for the draws that were
        written since the last call; empty if there are none.
        """
        parts = self._checksums.setdefault(c, [])
        if checksum and checksum[0] > (parts[-1][0] if parts else 0):
            parts.append(checksum)
        checksums = np.frombuffer(b"".join(digest for _, digest in parts), np.uint8)
        arrays = {
            **snapshot(chain, t),
            "head": np.frombuffer(json.dumps(self.head).encode(), np.uint8),
            "stops": np.array([stop for stop, _ in parts], dtype=np.int64),
            "checksums": checksums.reshape(len(parts), CHECKSUM_BYTES),
        }
        with _replacing(self._path(c)) as file:
            np.savez(file, **arrays)

    def load(self, c, chain, file):
        """Restore chain c from its snapshot; return t, zero if there is none.

        The draws in `file` must match the checksums of the snapshot.
        """
        path = self._path(c)
        if not os.path.exists(path):
            return 0
        with _reporting_damage(path):
            saved = _arrays(path)
            head = json.loads(saved["head"].tobytes())
        if head != self.head:
            raise _other_run(path)
        with _reporting_damage(path):
            t = restore(chain, saved)
            checksums = [checksum.tobytes() for checksum in saved["checksums"]]
            parts = zip(saved["stops"].tolist(), checksums, strict=True)
            self._checksums[c] = list(parts)
        self._verify(c, file)
        return t

    def _verify(self, c, file):
        first = 0
        for stop, expected in self._checksums[c]:
            checksum = new_checksum()
            for chunk in file.chunks(c, first, stop):
                checksum.update(chunk)
            if checksum.digest() != expected:
                raise _damaged(
                    self.draws,
                    f"does not hold draws {first} to {stop} of chain {c} as they were "
                    "written",
                )
            first = stop

    def _path(self, c):
        return os.path.join(self.folder, f"chain-{c}.npz")

    def _has_snapshots(self):
        paths = os.path.join(glob.escape(self.folder), "chain-*.npz")
        return bool(glob.glob(paths))


def _data_identity(model):
    """Return a digest of the arrays that have at least one number per row.

    Shorter arrays are settings or learned values, which may differ between runs on the
    same data.
    """
    arrays = (array for _, array in own_arrays(model))
    return identity(*(array for array in arrays if array.size >= n_rows(model)))


def _arrays(path):
    """Return the arrays of a .npz file, whose checksums are verified by `read`."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    return {
        name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(content))
        for name, content in contents.items()
    }


@contextlib.contextmanager
def _replacing(path):
    """Open a temporary file that replaces the one at `path` if the body succeeds."""
    temporary = f"{path}.{os.getpid()}.new"
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise OSError(
            error.errno,
            f"checkpoint: cannot write {path} ({error.strerror or error}); the folder "
            "must exist and have free space while the chains run",
        ) from error


@contextlib.contextmanager
def _reporting_damage(path):
    """Turn an error of a damaged file into one that names the file."""
    try:
        yield
    except _DAMAGE:
        raise _damaged(path) from None


def _other_run(path):
    return ValueError(
        f"checkpoint: {path} belongs to another run, with other data, parameters, "
        "seed, start, version or format; use another folder, or delete this one to "
        "start again"
    )


def _damaged(path, fault="is truncated or not a checkpoint"):
    return ValueError(f"checkpoint: {path} {fault}; delete its folder to start again")
