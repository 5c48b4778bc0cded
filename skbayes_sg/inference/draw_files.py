"""Draws in a file: a .npy array whose space is reserved before the first draw.

Chains write to the file instead of to a memory map. A full disk, a deleted folder or a
file truncated by another process then raises an error with an explanation, while a
memory map would kill the process by a signal.
"""

import errno
import math
import os
import re
import shutil

import numpy as np

CHUNK_BYTES = 2**24  # bytes that are read at a time
# The header that NumPy writes for floating-point numbers. NumPy's own reader accepts
# any Python literal, and a damaged one may raise any error.
_HEADER = re.compile(
    r"\{'descr': '([<>]f[248])', 'fortran_order': (False|True), "
    r"'shape': \(((?:\d{1,15}, ?)*(?:\d{1,15})?)\), \} *\n"
)


def create(path, shape, dtype, name):
    """Write an array of zeros to a new file at `path`, and reserve all of its space.

    `name` is the parameter that asked for the file, for messages.
    """
    temporary = f"{path}.{os.getpid()}.new"
    header = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
        "fortran_order": False,
        "shape": tuple(shape),
    }
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        with open(temporary, "wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            file.flush()
            _reserve(file, file.tell() + n_bytes)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise _explained(error, name, path, n_bytes) from error


def _reserve(file, n_bytes):
    """Extend the file to `n_bytes`; an OSError if the disk has too little space."""
    if n_bytes > shutil.disk_usage(os.path.dirname(os.path.abspath(file.name))).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, n_bytes)
            return
        except OSError as error:  # some file systems cannot reserve
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise
    file.truncate(n_bytes)


def read_header(file):
    """Return shape, dtype and whether the array is in Fortran order, of a .npy file.

    Raises a ValueError unless the file holds floating-point numbers in version 1.0 of
    the format.
    """
    magic = file.read(10)
    if len(magic) < 10 or magic[:8] != np.lib.format.magic(1, 0):
        raise ValueError("not an array in version 1.0 of NumPy's format")
    text = file.read(int.from_bytes(magic[8:], "little")).decode("latin-1")
    match = _HEADER.fullmatch(text)
    if match is None:
        raise ValueError("not the header of an array of floating-point numbers")
    dtype, fortran_order, shape = match.groups()
    shape = tuple(int(length) for length in shape.split(",") if length.strip())
    return shape, np.dtype(dtype), fortran_order == "True"


class DrawFile:
    """A file of draws, an array (n_chains, n_draws, dim).

    Parameters
    ----------
    path : str
        Path of the file. Raises a ValueError if it is not an array of draws.
    name : str
        The parameter that asked for the file, for messages.
    """

    def __init__(self, path, name):
        self.path, self.name = path, name
        try:
            with open(path, "rb") as file:
                self.shape, self.dtype, fortran_order = read_header(file)
                self.offset = file.tell()
                size = os.fstat(file.fileno()).st_size
        except IsADirectoryError:
            raise ValueError("a folder") from None
        self.size = self.offset + math.prod(self.shape) * self.dtype.itemsize
        if len(self.shape) != 3 or fortran_order:
            raise ValueError("not an array of draws")
        if size != self.size:
            raise ValueError(f"{size} bytes instead of {self.size}")

    def write(self, c, first, draws):
        """Write (k, dim) draws of chain c from draw `first` on."""
        try:
            with open(self.path, "r+b") as file:
                self._find(file, c, first)
                file.write(np.ascontiguousarray(draws, self.dtype).data)
        except OSError as error:
            raise _explained(error, self.name, self.path, draws.nbytes) from error

    def sync(self):
        """Wait until everything has been written to the disk."""
        try:
            with open(self.path, "r+b") as file:
                os.fsync(file.fileno())
        except OSError as error:
            raise _explained(error, self.name, self.path) from error

    def chunks(self, c, first, stop):
        """Yield the draws `first` to `stop` of chain c, as bytes of a limited size."""
        left = (stop - first) * self.shape[2] * self.dtype.itemsize
        with open(self.path, "rb") as file:
            self._find(file, c, first)
            while left > 0:
                chunk = file.read(min(left, CHUNK_BYTES))
                left -= len(chunk)
                yield chunk

    def mapped(self, mode="r+"):
        """Return all draws as a memory map; an OSError if the file was truncated."""
        try:
            with open(self.path, "rb") as file:
                self._find(file, 0, 0)
        except OSError as error:
            raise _explained(error, self.name, self.path) from error
        if self.shape[1] == 0:  # nothing to map
            return np.empty(self.shape, self.dtype)
        return np.memmap(self.path, self.dtype, mode, self.offset, self.shape)

    def _find(self, file, c, first):
        size = os.fstat(file.fileno()).st_size
        if size != self.size:
            raise OSError(
                errno.EIO, f"another process changed its size to {size} bytes"
            )
        _, n_draws, dim = self.shape
        place = (c * n_draws + first) * dim * self.dtype.itemsize
        file.seek(self.offset + place)


def _explained(error, name, path, n_bytes=0):
    """Return `error` with a message that explains it and tells what to do."""
    folder = os.path.dirname(os.path.abspath(path))
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        free = shutil.disk_usage(folder).free
        return OSError(
            error.errno,
            f"{name}: no space for {n_bytes / 2**20:.3g} MiB in {folder}, where "
            f"{free / 2**20:.3g} MiB are free ({reason}); free some space, keep fewer "
            "draws with a larger thin, or use another folder",
        )
    if isinstance(error, FileNotFoundError):
        reason = "it was deleted while the chains ran"
    return OSError(
        error.errno,
        f"{name}: cannot use {path} ({reason}); use another folder, which no other "
        "process changes",
    )
