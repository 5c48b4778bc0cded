"""Files of chains that a killed run leaves whole, and that no other run takes over.

A snapshot is written beside the old one and takes its place in one step, so at every
moment one of the two is there in full. It has checksums of the draws made so far, which
are on the disk before it is.
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
except ImportError:  # not on Windows
    fcntl = None

FORMAT = 2  # of the files
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    KeyError,  # no such member
    ValueError,  # no array, or one that only pickle could read
    TypeError,  # one array in place of several
    RuntimeError,  # an encrypted member, an unknown compression
)


class Checkpoint:
    """The files of one run: draws, and a snapshot of each chain.

    They are in a sub-folder for the data, so that the folds of a cross-validation, each
    of which has data of its own, share a folder. Another run on the same data is
    refused: it may be a mistake, and would cost what the first has drawn.

    Parameters
    ----------
    folder : path
        The folder that was asked for.
    model : NamedTuple
        The model, with its data.
    *settings
        All else that the draws depend on.
    """

    def __init__(self, folder, model, *settings):
        self.parent = os.fspath(folder)
        self.folder = os.path.join(self.parent, f"data-{_data_identity(model)}")
        run = identity(skbayes_sg.__version__, model, *settings)
        self.head = {"format": FORMAT, "run": run}
        self.draws = os.path.join(self.folder, "draws.npy")
        self._owner = os.path.join(self.folder, "run.json")
        self._sealed = {}  # by chain: (stop, checksum) of each part of its draws

    @contextlib.contextmanager
    def lock(self):
        """Keep other processes, and other threads, out of the folder."""
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
                    "see to it that no other process uses it",
                    RuntimeWarning,
                    stacklevel=4,
                )
            yield

    def open_draws(self, shape, dtype):
        """Return the file of draws; what was drawn before is there."""
        for path in glob.glob(os.path.join(glob.escape(self.folder), "*.new")):
            os.unlink(path)  # of a run that was killed as it wrote
        before = os.path.join(self.parent, "draws.npy")
        if os.path.exists(before):  # of a format without sub-folders
            raise _foreign(before)
        if self._has_snapshots():
            self._check_owner()
        else:  # a run that ended before its first one has left nothing of use
            with _replacing(self._owner) as file:
                file.write(json.dumps(self.head).encode())
            create(self.draws, shape, dtype, "checkpoint")
        with _whole(self.draws):
            file = DrawFile(self.draws, "checkpoint")
        if file.shape != shape or file.dtype != dtype:
            raise _foreign(self.draws)
        return file

    def _check_owner(self):
        """Raise an error if the folder is another run's, or lacks a file."""
        for path in (self._owner, self.draws):
            if not os.path.exists(path):
                raise _damaged(path, "is missing")
        with _whole(self._owner), open(self._owner, "rb") as file:
            head = json.loads(file.read(10_000))
        if head != self.head:
            raise _foreign(self._owner)

    def save(self, c, chain, t, sealed=()):
        """Write chain c after iteration t, and what its recorder has sealed."""
        parts = self._sealed.setdefault(c, [])
        if sealed and sealed[0] > (parts[-1][0] if parts else 0):
            parts.append(sealed)
        checksums = np.frombuffer(b"".join(checksum for _, checksum in parts), np.uint8)
        arrays = {
            **snapshot(chain, t),
            "head": np.frombuffer(json.dumps(self.head).encode(), np.uint8),
            "stops": np.array([stop for stop, _ in parts], dtype=np.int64),
            "checksums": checksums.reshape(len(parts), CHECKSUM_BYTES),
        }
        with _replacing(self._path(c)) as file:
            np.savez(file, **arrays)

    def load(self, c, chain, file):
        """Bring chain c to where its snapshot says; return t, zero without one.

        The draws in `file` must be those that the snapshot has checksums of.
        """
        path = self._path(c)
        if not os.path.exists(path):
            return 0
        with _whole(path):
            saved = _arrays(path)
            head = json.loads(saved["head"].tobytes())
        if head != self.head:
            raise _foreign(path)
        with _whole(path):
            t = restore(chain, saved)
            checksums = [checksum.tobytes() for checksum in saved["checksums"]]
            parts = zip(saved["stops"].tolist(), checksums, strict=True)
            self._sealed[c] = list(parts)
        self._verify(c, file)
        return t

    def _verify(self, c, file):
        first = 0
        for stop, expected in self._sealed[c]:
            checksum = new_checksum()
            for block in file.blocks(c, first, stop):
                checksum.update(block)
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
    """Return a digest of the arrays with at least a number for each row.

    Shorter ones are settings, or were learned, and differ between runs on equal data.
    """
    arrays = (array for _, array in own_arrays(model))
    return identity(*(array for array in arrays if array.size >= n_rows(model)))


def _arrays(path):
    """Return the arrays of a .npz file, each checked before it is parsed."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    return {
        name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(content))
        for name, content in contents.items()
    }


@contextlib.contextmanager
def _replacing(path):
    """Open a temporary file that takes its place at `path` if the body succeeds."""
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
            "must stay, with space left, while the chains run",
        ) from error


@contextlib.contextmanager
def _whole(path):
    """Name the file that cannot be read."""
    try:
        yield
    except _DAMAGE:
        raise _damaged(path) from None


def _foreign(path):
    return ValueError(
        f"checkpoint: {path} belongs to another run, with other data, parameters, "
        "seed, start, version or format; use another folder, or delete this one to "
        "start again"
    )


def _damaged(path, fault="is truncated or not a checkpoint"):
    return ValueError(f"checkpoint: {path} {fault}; delete its folder to start again")
