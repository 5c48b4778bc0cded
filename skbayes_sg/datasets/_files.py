"""Publishers' files, which are found in a local folder or downloaded, and verified.

Digests are those of the contents, not of archives, so that unpacked or recompressed
files are accepted as well. Archives are read in memory and never extracted, so that no
name inside an archive becomes a path on disk.
"""

import gzip
import hashlib
import os
import re
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

_MAX_BYTES = 1 << 26  # more than the largest content; stops decompression bombs
# Linear time: a match starts at the first blank and never backtracks.
_LINE_END = re.compile(rb"(?<![ \t\r])[ \t\r]++\n")
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,  # a member that lies outside the file, or bytes not written by gzip
    ValueError,
    KeyError,  # the archive has no such member
    NotImplementedError,  # a compression method that the publisher does not use
    RuntimeError,  # an encrypted member
)


class RemoteFile(NamedTuple):
    """One file at a publisher's address and the contents that it must hold."""

    url: str
    folder: str  # below data_home
    sha256: dict[str, str]  # of each content, by name
    is_text: bool  # digests of text ignore white space at the ends of lines

    @property
    def name(self):
        """Name of the file itself."""
        return self.url.rpartition("/")[2]


def read_contents(remote, data_home=None, download_if_missing=True):
    """Return the verified contents of `remote`, a dict of bytes by name.

    They may be in data_home or in its subfolder for the data set, as plain files, as
    files compressed by gzip, or as the publisher's file.
    """
    home = _data_home(data_home)
    for folder in (home / remote.folder, home):
        for pattern in ("{}", "{}.gz", remote.name):
            paths = {name: folder / pattern.format(name) for name in remote.sha256}
            if all(path.is_file() for path in paths.values()):
                return _read_verified(remote, paths)
    if not download_if_missing:
        raise OSError(
            f"{remote.name} is not in {home} and download_if_missing is False."
        )
    return _download(remote, home)


def _data_home(data_home):
    if data_home is None:
        data_home = os.environ.get("SKBAYES_SG_DATA")
    if data_home is None:
        data_home = _import_pooch().os_cache("skbayes_sg")
    return Path(data_home).expanduser()


def _import_pooch():
    try:
        import pooch
    except ImportError:
        raise ImportError(
            "Downloading data sets needs pooch: pip install 'skbayes_sg[data]', or "
            "give data_home, a folder that holds the publisher's files."
        ) from None
    return pooch


def _download(remote, home):
    """Download to a temporary folder, and move the file when it is verified."""
    responses = []  # pooch does not close them after an error
    downloader = _import_pooch().HTTPDownloader(
        hooks={"response": lambda response, **_: responses.append(response)}
    )
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=home) as temporary:
        path = Path(temporary) / remote.name
        try:
            with open(path, "xb") as file:
                downloader(remote.url, _Limited(file), None)
        except _TooLarge:
            raise OSError(
                f"{remote.url} sends more than {_MAX_BYTES} bytes, so it is not the "
                f"publisher's file; put that file into {home / remote.folder}."
            ) from None
        except OSError as error:
            raise ConnectionError(
                f"Cannot download {remote.url} ({type(error).__name__}): connect to "
                f"the internet, or put the file into {home / remote.folder}."
            ) from None
        finally:
            for response in responses:
                response.close()
        contents = _read_verified(remote, dict.fromkeys(remote.sha256, path))
        (home / remote.folder).mkdir(exist_ok=True)
        path.replace(home / remote.folder / remote.name)
    return contents


class _TooLarge(Exception):
    """A server sends more bytes than any publisher's file has."""


class _Limited:
    """A file that refuses more than `_MAX_BYTES` bytes."""

    def __init__(self, file):
        self.file, self.flush, self.n_bytes = file, file.flush, 0

    def write(self, chunk):
        """Write a part of a download."""
        self.n_bytes += len(chunk)
        if self.n_bytes > _MAX_BYTES:
            raise _TooLarge
        self.file.write(chunk)


def _read_verified(remote, paths):
    contents = {}
    for name, path in paths.items():
        try:
            content = _read(path, name)
        except _DAMAGE as error:
            raise OSError(f"{path} is damaged: no {name} to read ({error}).") from None
        if _digest(content, remote.is_text) != remote.sha256[name]:
            raise OSError(
                f"{path} is damaged: the sha256 of {name} is not the publisher's."
            )
        contents[name] = content
    return contents


def _read(path, name):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            member = archive.getinfo(f"{path.stem}/{name}")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise NotImplementedError("another compression than the publisher's")
            with archive.open(member) as file:
                return file.read(_MAX_BYTES)
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        return file.read(_MAX_BYTES)


def _digest(content, is_text):
    if is_text:
        content = _LINE_END.sub(b"\n", content).rstrip()
    return hashlib.sha256(content).hexdigest()
