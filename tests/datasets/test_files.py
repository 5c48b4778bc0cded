"""Files are found, downloaded and verified; whatever is wrong leaves nothing behind."""

import gzip
import hashlib
import io
import sys
import time
import zipfile
from random import Random

import pytest

from skbayes_sg.datasets import _files
from skbayes_sg.datasets._files import RemoteFile, read_contents

CONTENTS = {"one": b"first 1\nsecond 2\n" * 100, "two": bytes(range(256)) * 10}
SHA256 = {name: hashlib.sha256(data).hexdigest() for name, data in CONTENTS.items()}


def zip_bytes(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


PACKED = {
    "set.zip": (zip_bytes({f"set/{k}": v for k, v in CONTENTS.items()}), SHA256),
    "two.gz": (gzip.compress(CONTENTS["two"]), {"two": SHA256["two"]}),
    "two": (CONTENTS["two"], {"two": SHA256["two"]}),
}


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", PACKED)
def test_download_then_cache(name, publisher, tmp_path):
    data, sha256 = PACKED[name]
    remote = RemoteFile(publisher.publish(name, data), "folder", sha256, False)
    home = tmp_path / "new" / "home"
    expected = {key: CONTENTS[key] for key in sha256}
    assert read_contents(remote, home) == expected
    assert files_in(home) == [home / "folder" / name]
    publisher.close()
    assert read_contents(remote, home) == expected
    assert read_contents(remote, home / "folder") == expected


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("place", [0.02, 0.5, 0.98])
def test_flipped_byte_is_an_error_and_leaves_nothing(name, place, publisher, tmp_path):
    data, sha256 = PACKED[name]
    damaged = bytearray(data)
    damaged[int(place * len(data))] ^= 0x55
    remote = RemoteFile(publisher.publish(name, damaged), "folder", sha256, False)
    home = tmp_path / "home"
    try:
        contents = read_contents(remote, home)
    except OSError as error:
        assert "damaged" in str(error)
        assert list(home.iterdir()) == []
    else:  # the byte was one that no reader uses, such as a date
        assert contents == {key: CONTENTS[key] for key in sha256}


@pytest.mark.parametrize("name", PACKED)
def test_truncated_file_is_an_error_and_leaves_nothing(name, publisher, tmp_path):
    data, sha256 = PACKED[name]
    url = publisher.publish(name, data[: len(data) // 2])
    with pytest.raises(OSError, match="damaged"):
        read_contents(RemoteFile(url, "folder", sha256, False), tmp_path / "home")
    assert list((tmp_path / "home").iterdir()) == []


def test_damaged_local_file_is_an_error_and_stays(tmp_path):
    (tmp_path / "two").write_bytes(CONTENTS["two"][:-1] + b"x")
    remote = RemoteFile("http://127.0.0.1:1/two", "folder", PACKED["two"][1], False)
    with pytest.raises(OSError, match="sha256"):
        read_contents(remote, tmp_path)
    assert (tmp_path / "two").exists()


@pytest.mark.parametrize("form", ["plain", "gzip"])
def test_local_folder_needs_no_download(form, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    for name, data in CONTENTS.items():
        if form == "plain":
            (tmp_path / name).write_bytes(data)
        else:
            (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
    remote = RemoteFile("http://127.0.0.1:1/set.zip", "folder", SHA256, False)
    assert read_contents(remote, tmp_path) == CONTENTS
    monkeypatch.setenv("SKBAYES_SG_DATA", str(tmp_path))
    assert read_contents(remote) == CONTENTS


def symlink(name):
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = 0o120777 << 16
    return info


@pytest.mark.parametrize("complete", [True, False])
def test_hostile_archive_writes_nothing_outside(complete, publisher, tmp_path):
    home = tmp_path / "a" / "b" / "home"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("../evil", "../../evil", str(tmp_path / "evil"), "set/../../evil"):
            archive.writestr(name, b"evil")
        archive.writestr(symlink("set"), str(tmp_path))
        for name, data in CONTENTS.items():
            if complete:
                archive.writestr(f"set/{name}", data)
            else:
                archive.writestr(symlink(f"set/{name}"), str(publisher.folder / name))
                (publisher.folder / name).write_bytes(data)
    url = publisher.publish("set.zip", buffer.getvalue())
    before = set(files_in(tmp_path))
    remote = RemoteFile(url, "folder", SHA256, False)
    if complete:
        assert read_contents(remote, home) == CONTENTS
        assert set(files_in(tmp_path)) - before == {home / "folder" / "set.zip"}
    else:
        with pytest.raises(OSError, match="damaged"):
            read_contents(remote, home)
        assert set(files_in(tmp_path)) == before
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))


def test_decompression_bomb_is_not_unpacked(publisher, tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_MAX_BYTES", 1000)
    url = publisher.publish("two.gz", gzip.compress(bytes(100_000)))
    with pytest.raises(OSError, match="damaged"):
        read_contents(RemoteFile(url, "folder", PACKED["two"][1], False), tmp_path)


def test_text_digest_ignores_white_space_at_line_ends(tmp_path):
    text = CONTENTS["one"]
    digest = hashlib.sha256(text.rstrip()).hexdigest()
    remote = RemoteFile("http://127.0.0.1:1/one", "folder", {"one": digest}, True)
    for variant in (text, text + b"\n\n", text.replace(b"\n", b" \r\n")):
        (tmp_path / "one").write_bytes(variant)
        assert read_contents(remote, tmp_path) == {"one": variant}
    (tmp_path / "one").write_bytes(text.replace(b" ", b"  ", 1))
    with pytest.raises(OSError, match="damaged"):
        read_contents(remote, tmp_path)


def test_many_blanks_take_no_time(tmp_path):
    """A pattern that looked at each of them again took over 40 s."""
    blanks = b" " * 160_000 + b"x"
    archive = zip_bytes({"set/one": blanks})
    assert len(archive) < 2500
    (tmp_path / "set.zip").write_bytes(archive)
    digest = hashlib.sha256(blanks).hexdigest()
    remote = RemoteFile("http://127.0.0.1:1/set.zip", "folder", {"one": digest}, True)
    began = time.process_time()
    assert read_contents(remote, tmp_path) == {"one": blanks}
    for many in (blanks * 50, b" \n" * 10**6, b"\t\r" * 10**6):
        _files._digest(many, True)
    assert time.process_time() - began < 5.0


def test_endless_download(publisher, tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_MAX_BYTES", 1000)
    url = publisher.publish("two", bytes(100_000))
    home = tmp_path / "home"
    with pytest.raises(OSError, match="sends more than 1000 bytes"):
        read_contents(RemoteFile(url, "folder", PACKED["two"][1], False), home)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_unusual_compression_is_one_sentence(method, tmp_path):
    path = tmp_path / "set.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in CONTENTS.items():
            archive.writestr(f"set/{name}", data)
    damaged = bytearray(path.read_bytes())
    damaged[60:70] = bytes(10)
    path.write_bytes(damaged)
    remote = RemoteFile("http://127.0.0.1:1/set.zip", "folder", SHA256, False)
    with pytest.raises(OSError, match="is damaged: no one to .*another compression"):
        read_contents(remote, tmp_path)


@pytest.mark.parametrize("n", [200, pytest.param(3000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["set.zip", "two.gz"])
def test_mutated_archives(name, n, tmp_path):
    """Bytes changed, deleted and added: an error with a sentence, or the contents."""
    whole, sha256 = PACKED[name]
    remote = RemoteFile(f"http://127.0.0.1:1/{name}", "folder", sha256, False)
    random, refused = Random(n), 0
    for _ in range(n):
        data = bytearray(whole)
        for _ in range(random.randrange(1, 5)):
            place = random.randrange(len(data))
            replaced = random.randrange(4)
            data[place : place + replaced] = random.randbytes(random.randrange(4))
        (tmp_path / name).write_bytes(data)
        try:
            contents = read_contents(remote, tmp_path)
        except OSError as error:
            assert "is damaged: " in str(error)
            refused += 1
        else:
            assert contents == {key: CONTENTS[key] for key in sha256}
    assert refused > n // 2


@pytest.mark.parametrize("cause", ["offline", "not found"])
def test_unreachable_publisher_is_one_sentence(cause, publisher, tmp_path):
    if cause == "offline":
        publisher.close()
    remote = RemoteFile(publisher.url + "two", "folder", PACKED["two"][1], False)
    home = tmp_path / "home"
    with pytest.raises(ConnectionError, match="Cannot download") as caught:
        read_contents(remote, home)
    message = str(caught.value)
    assert remote.url in message and str(home) in message
    assert "\n" not in message and message.endswith(".")
    assert caught.value.__suppress_context__
    assert list(home.iterdir()) == []
    if cause == "not found":
        assert caught.value.__context__.response.raw.closed


def test_download_needs_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv("SKBAYES_SG_DATA", raising=False)
    remote = RemoteFile("http://127.0.0.1:1/two", "folder", PACKED["two"][1], False)
    for home in (tmp_path, None):
        with pytest.raises(ImportError, match=r"skbayes_sg\[data\]"):
            read_contents(remote, home)
    assert list(tmp_path.iterdir()) == []


def test_download_can_be_refused(tmp_path):
    remote = RemoteFile("http://127.0.0.1:1/two", "folder", PACKED["two"][1], False)
    with pytest.raises(OSError, match="download_if_missing"):
        read_contents(remote, tmp_path, download_if_missing=False)
