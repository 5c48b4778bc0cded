"""Publishers' files: found in a local folder or downloaded, and always verified.

Digests are of contents, not of archives, so that a folder of unpacked or recompressed
files passes as a fresh download does. Archives are read in memory and never extracted:
no name inside one becomes a path on disk.
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
_DAMAGE = (
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    KeyError,  # the archive has no such member
    NotImplementedError,  # a compression method that the publisher does not use
    RuntimeError,  # an encrypted member
)


class RemoteFile(NamedTuple):
    """One file at a publisher's address and the contents that it must hold."""

    url: str
    folder: str  # below data_home
    sha256: dict[str, str]  # of each content, by name
    is_text: bool  # digests of text are blind to white space at the ends of lines

    @property
    def name(self):
        """Name of the file itself."""
        return self.url.rpartition("/")[2]


def read_contents(remote, data_home=None, download_if_missing=True):
    """Return the verified contents of `remote`, a dict of bytes by name.

    They may lie in data_home or in its sub-folder of the data set: as plain files,
    each with gzip, or as the publisher's file.
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
    """Download to a temporary folder; only a verified file moves to its place."""
    downloader = _import_pooch().HTTPDownloader()
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=home) as temporary:
        path = Path(temporary) / remote.name
        try:
            downloader(remote.url, str(path), None)
        except OSError as error:
            if getattr(error, "response", None) is not None:
                error.response.close()  # pooch leaves the socket of a 404 open
            raise ConnectionError(
                f"Cannot download {remote.url} ({type(error).__name__}): connect to "
                f"the internet, or put the file into {home / remote.folder}."
            ) from None
        contents = _read_verified(remote, dict.fromkeys(remote.sha256, path))
        (home / remote.folder).mkdir(exist_ok=True)
        path.replace(home / remote.folder / remote.name)
    return contents


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
        with (
            zipfile.ZipFile(path) as archive,
            archive.open(f"{path.stem}/{name}") as file,
        ):
            return file.read(_MAX_BYTES)
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        return file.read(_MAX_BYTES)


def _digest(content, is_text):
    if is_text:
        content = re.sub(rb"[ \t\r]+\n", b"\n", content).rstrip()
    return hashlib.sha256(content).hexdigest()
