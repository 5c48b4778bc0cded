"""Numba's disk cache with checksums, so that damaged files are compiled again.

Numba does not check the files of its cache. A file truncated by a crash or a full disk
causes an error of pickle or of LLVM, and a changed byte in machine code can have any
effect.
"""

import contextlib
import hashlib
import io

from numba.core.caching import IndexDataCacheFile

_BYTES = 16  # of the checksum at the end of a file, which pickle ignores


def verify_cache(dispatcher):
    """Let a dispatcher verify the checksums of files in its disk cache."""
    cache = dispatcher._cache
    cache._cache_file = VerifiedFiles(
        cache_path=cache.cache_path,
        filename_base=cache._impl.filename_base,
        source_stamp=cache._impl.locator.get_source_stamp(),
    )


class VerifiedFiles(IndexDataCacheFile):
    """The index and the data files of one function."""

    def save(self, key, data):
        """Write an entry; if the disk is full, the code is used from memory only."""
        with contextlib.suppress(OSError):
            super().save(key, data)

    def _load_index(self):
        return super()._load_index() if _is_whole(self._index_path) else {}

    def _load_data(self, name):
        if not _is_whole(self._data_path(name)):
            raise OSError(f"{name} is damaged")  # makes numba compile again
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
    except OSError:  # the file does not exist
        return False
    return _checksum(content[:-_BYTES]) == content[-_BYTES:]


def _checksum(content):
    return hashlib.blake2b(content, digest_size=_BYTES).digest()
