"""Numba's disk cache, whose files carry a checksum: a damaged one is compiled anew.

Numba reads whatever is there. Of a file that a crash or a full disk cut short comes an
error of pickle or of LLVM, and of a changed byte in machine code anything.
"""

import contextlib
import hashlib
import io

from numba.core.caching import IndexDataCacheFile

_BYTES = 16  # of a checksum, at the end of a file, where pickle does not look


def verify_cache(dispatcher):
    """Let a dispatcher with a disk cache check what it reads from there."""
    cache = dispatcher._cache
    cache._cache_file = VerifiedFiles(
        cache_path=cache.cache_path,
        filename_base=cache._impl.filename_base,
        source_stamp=cache._impl.locator.get_source_stamp(),
    )


class VerifiedFiles(IndexDataCacheFile):
    """The index and the data files of one function."""

    def save(self, key, data):
        """Write an entry; without space the code in memory has to do."""
        with contextlib.suppress(OSError):
            super().save(key, data)

    def _load_index(self):
        return super()._load_index() if _is_whole(self._index_path) else {}

    def _load_data(self, name):
        if not _is_whole(self._data_path(name)):
            raise OSError(f"{name} is damaged")  # numba's sign to compile
        return super()._load_data(name)

    @contextlib.contextmanager
    def _open_for_write(self, filepath):
        with super()._open_for_write(filepath) as file:
            content = io.BytesIO()
            yield content
            file.write(content.getvalue() + _checksum(content.getvalue()))


def _is_whole(path):
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:  # there is none
        return False
    return _checksum(content[:-_BYTES]) == content[-_BYTES:]


def _checksum(content):
    return hashlib.blake2b(content, digest_size=_BYTES).digest()
