"""Digests of data and settings, from an encoding that differs for different values.

Every value is encoded as its type, its length and its contents, so that for instance
("a", "bc") and ("ab", "c") have different encodings.
"""

import hashlib
import struct

import numpy as np

CHUNK_BYTES = 2**24  # bytes of an array that are read at a time


def identity(*values):
    """Return a digest of data and settings, equal only for equal values."""
    digest = hashlib.blake2b(digest_size=16)
    _add(digest, values)
    return digest.hexdigest()


def _add(digest, value):
    """Add a value of any kind to the digest."""
    if hasattr(value, "_fields"):
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        _add_text(digest, "component", kind)
        _add_all(digest, "fields", (*value._fields, *value))
    elif isinstance(value, np.ndarray) and value.dtype.hasobject:
        _add_text(digest, "objects", repr(value.shape))
        _add_all(digest, "items", value.ravel().tolist())
    elif isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        _add_text(digest, "array", f"{array.dtype.str}{array.shape}")
        for chunk in _chunks(array):
            digest.update(chunk.data)
    elif isinstance(value, dict):
        _add_all(digest, "dict", sorted(value.items(), key=repr))
    elif isinstance(value, tuple | list):
        _add_all(digest, type(value).__name__, value)
    elif isinstance(value, float):
        _add_text(digest, "float", value.hex())
    elif isinstance(value, type):
        _add_text(digest, "class", f"{value.__module__}.{value.__qualname__}")
    else:
        _add_text(digest, type(value).__qualname__, repr(value))


def _add_text(digest, kind, text):
    for part in (kind.encode(), text.encode("utf-8", "surrogatepass")):
        digest.update(struct.pack("<q", len(part)))
        digest.update(part)


def _add_all(digest, kind, values):
    _add_text(digest, kind, str(len(values)))
    for value in values:
        _add(digest, value)


def _chunks(array):
    """Yield pieces of an array that may be larger than memory."""
    if array.ndim == 0 or array.size == 0:
        yield array.reshape(-1).view(np.uint8)
        return
    n = max(1, CHUNK_BYTES // max(1, array[:1].nbytes))
    for first in range(0, len(array), n):
        # Some types of NumPy, such as dates, cannot be hashed except as bytes.
        yield np.ascontiguousarray(array[first : first + n]).reshape(-1).view(np.uint8)
