"""Snapshots of chains, and files of them that a killed run leaves whole.

A chain owns its generator and the arrays of its sampler's state, its estimator's memory
and its model's work; a snapshot is those, by name. A file is written beside the old one
and takes its place in one step, so at every moment one of the two is there in full.
"""

import hashlib
import json
import os
import zipfile

import numpy as np

FORMAT = 1  # of the files


def own_arrays(part, name=""):
    """Yield (name, array) of all arrays in a nested NamedTuple."""
    if hasattr(part, "_fields"):
        for field, value in zip(part._fields, part, strict=True):
            yield from own_arrays(value, f"{name}.{field}" if name else field)
    elif isinstance(part, np.ndarray):
        yield name, part


def snapshot(chain, t):
    """Return what `chain` owns after iteration t, as a dict of arrays."""
    rng = json.dumps(chain.rng.bit_generator.state).encode()
    return {
        **dict(own_arrays(chain)),
        "rng": np.frombuffer(rng, np.uint8),
        "t": np.array(t),
    }


def restore(chain, saved):
    """Bring `chain`, new and of the same kind, to where it was; return t."""
    for name, array in own_arrays(chain):
        if array.shape != saved[name].shape or array.dtype != saved[name].dtype:
            raise KeyError(name)
        array[...] = saved[name]
    chain.rng.bit_generator.state = json.loads(saved["rng"].tobytes())
    return int(saved["t"])


def identity(*values):
    """Return a digest of data and settings; equal runs have equal ones."""
    digest = hashlib.blake2b(digest_size=16)
    pending = list(values)
    while pending:
        value = pending.pop()
        if hasattr(value, "_fields"):
            digest.update(type(value).__name__.encode())
            pending.extend(value)
        elif isinstance(value, np.ndarray):
            digest.update(f"{value.dtype}{value.shape}".encode())
            for block in _blocks(value):
                digest.update(np.ascontiguousarray(block).data)
        else:
            digest.update(repr(value).encode())
    return digest.hexdigest()


def _blocks(array, n_bytes=2**24):
    """Yield pieces of an array that may be larger than memory."""
    if array.ndim == 0 or array.size == 0:
        yield array.reshape(-1)
        return
    n = max(1, n_bytes // max(1, array[:1].nbytes))
    for first in range(0, len(array), n):
        yield array[first : first + n].reshape(-1)


class Checkpoint:
    """The files of one run in a folder: draws, and a snapshot of each chain."""

    def __init__(self, folder, name):
        self.folder, self.name = os.fspath(folder), name
        self.draws = os.path.join(self.folder, "draws.npy")

    def open_draws(self, shape, dtype):
        """Return the draws, mapped to their file; what was drawn before is there."""
        os.makedirs(self.folder, exist_ok=True)
        if not os.path.exists(self.draws):
            return np.lib.format.open_memmap(
                self.draws, mode="w+", dtype=dtype, shape=shape
            )
        size = os.path.getsize(self.draws)  # a map would grow a file that is too short
        try:
            draws = np.lib.format.open_memmap(self.draws, mode="r+")
        except (ValueError, EOFError, IsADirectoryError):
            raise _damaged(self.draws) from None
        if size < draws.nbytes:
            raise _damaged(self.draws)
        if draws.shape != shape or draws.dtype != dtype:
            raise self._foreign(self.draws)
        return draws

    def save(self, c, chain, t):
        """Write chain c after iteration t."""
        path = self._path(c)
        head = json.dumps({"format": FORMAT, "run": self.name}).encode()
        arrays = {**snapshot(chain, t), "head": np.frombuffer(head, np.uint8)}
        with open(path + ".new", "wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".new", path)

    def load(self, c, chain):
        """Bring chain c to where its file says; return t, zero without a file."""
        path = self._path(c)
        if not os.path.exists(path):
            return 0
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as parts:
                saved = dict(parts)
            head = json.loads(saved["head"].tobytes())
        except (zipfile.BadZipFile, ValueError, EOFError, OSError, KeyError):
            raise _damaged(path) from None
        if head != {"format": FORMAT, "run": self.name}:
            raise self._foreign(path)
        return restore(chain, saved)

    def _path(self, c):
        return os.path.join(self.folder, f"chain-{c}.npz")

    def _foreign(self, path):
        return ValueError(
            f"checkpoint: {path} belongs to another run, with other data, parameters, "
            "seed or format; use another folder, or delete this one to start again"
        )


def _damaged(path):
    return ValueError(
        f"checkpoint: {path} is truncated or not a checkpoint; delete its folder to "
        "start again"
    )
