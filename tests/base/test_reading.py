"""Files of draws from anywhere: an error with a sentence, and no memory for claims."""

import io
import json
import struct
import tracemalloc
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from skbayes_sg import load_draws

SOURCE = Path(__file__).parents[1] / "files" / "draws_format_1.npz"
WHOLE = SOURCE.read_bytes()
with zipfile.ZipFile(SOURCE) as archive:
    MEMBERS = {name: archive.read(name) for name in archive.namelist()}
EXPECTED = load_draws(SOURCE)


def npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array))
    return file.getvalue()


def meta(**changes):
    return {"meta.json": json.dumps({**json.loads(MEMBERS["meta.json"]), **changes})}


def write(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in {**MEMBERS, **members}.items():
            archive.writestr(name, content)


def samples(change):
    array = EXPECTED.samples.copy()
    return {"samples.npy": npy(change(array))}


def with_value(value):
    def change(array):
        array[1, 3, 2] = value
        return array

    return samples(change)


def header(shape, dtype="<f8"):
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


N = EXPECTED.weights.size
FAULTS = {
    "complex": (samples(lambda a: a + 1j), "not the header of an array of floating"),
    "text": (samples(lambda a: a.astype(str)), "not the header of an array of float"),
    "integers": (samples(lambda a: a.astype(int)), "not the header of an array of"),
    "two axes": (samples(lambda a: a[0]), "has shape"),
    "no chains": (samples(lambda a: a[:0]), "has shape"),
    "NaN": (with_value(np.nan), "samples are not all finite"),
    "Inf": (with_value(-np.inf), "samples are not all finite"),
    "fewer draws": (samples(lambda a: a[:, 1:]), f"{N} weights of {N - 1} draws"),
    "negative weight": (
        {"weights.npy": npy(np.r_[-1.0, 2.0, np.zeros(N - 2)])},
        "weights are negative",
    ),
    "NaN weight": ({"weights.npy": npy(np.full(N, np.nan))}, "weights are negative"),
    "wrong sum": ({"weights.npy": npy(np.ones(N))}, "do not sum to one"),
    "format -5": (meta(format=-5), "no format -5"),
    "format 0.5": (meta(format=0.5), "format in meta.json is not of type int"),
    "format True": (meta(format=True), "format in meta.json is not of type int"),
    "future, no version": (meta(format=9, version=None), "version in meta.json"),
    "names": (meta(parameter_names=[1, 2, 3, 4]), "parameter_names are not 4 strings"),
    "text of names": (meta(parameter_names="abcd"), "parameter_names in meta.json"),
    "params": (meta(params=[]), "params in meta.json"),
    "NaN in JSON": (meta(settings={"a": np.nan}), "meta.json holds NaN"),
    "deep JSON": ({"meta.json": "[" * 200_000}, "recursion"),
    "binary JSON": ({"meta.json": b"\xff\xfe\xfd"}, "codec can't decode"),
    "long JSON": ({"meta.json": b" " * 2_000_000}, "meta.json is larger than"),
    "claims": ({"samples.npy": header((4, 10**9, 10**6))}, "does not have"),
    "huge claims": ({"samples.npy": header((10**14, 10**14, 4))}, "does not have"),
    "beyond integers": ({"samples.npy": header((10**40, 1, 4))}, "not the header"),
    "objects": ({"samples.npy": header((2, 10, 4), "|O")}, "not the header"),
    "code": ({"samples.npy": header("__import__('os')")}, "not the header"),
    "half a header": ({"samples.npy": header((2, 10, 4))[:40]}, "not the header"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault, tmp_path):
    members, words = FAULTS[fault]
    write(tmp_path / "draws.npz", members)
    with pytest.raises(
        ValueError, match=f"^path=.*not a complete file of draws.*{words}"
    ):
        load_draws(tmp_path / "draws.npz")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_compressed_members_are_not_unpacked(tmp_path, method):
    """Neither 16 MB from a small file, nor the errors of a decompressor."""
    path = tmp_path / "draws.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        with archive.open("samples.npy", "w") as file:
            file.write(header((2, N, 10**5)))
            for _ in range(2 * N):
                file.write(bytes(8 * 10**5))
        for name in ("weights.npy", "meta.json"):
            archive.writestr(name, MEMBERS[name])
    assert path.stat().st_size < 10**5
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="samples.npy is compressed"):
            load_draws(path)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def mutated(rng):
    """Return a file changed at a few places, most of them in its directory."""
    content = bytearray(WHOLE)
    kind = rng.integers(5)
    for _ in range(rng.integers(1, 6)):
        part = len(content) if rng.random() < 0.4 else min(len(content), 330)
        place = len(content) - 1 - int(rng.integers(part))
        if kind == 0:
            content[place] = rng.integers(256)
        elif kind == 1:
            content[place] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            del content[place : place + int(rng.integers(1, 50))]
        elif kind == 3:
            content[place:place] = rng.bytes(int(rng.integers(1, 30)))
        else:
            number = int(rng.choice([0, 1, 2**31, 2**32 - 1, 2**16 - 1]))
            content[place : place + 4] = struct.pack("<I", number)
    return bytes(content)


def forged(rng, path):
    """Write a file whose checksums fit and in which a member is not as it should be."""
    name = list(MEMBERS)[rng.integers(3)]
    content = bytearray(MEMBERS[name])
    characters = b"0123456789{}()[]'\",:<>fiucSUOVMm-+eE. \n\t\\#\x00\xff"
    for _ in range(rng.integers(1, 4)):
        last = 128 if name.endswith("npy") else len(content)
        place = int(rng.integers(min(last, len(content))))
        content[place : place + int(rng.integers(3))] = bytes(
            characters[k] for k in rng.integers(len(characters), size=rng.integers(3))
        )
    write(path, {name: bytes(content)})


@pytest.mark.parametrize("kind", ["mutated", "forged"])
@pytest.mark.parametrize("n", [300, pytest.param(3000, marks=pytest.mark.long)])
def test_fuzzed_files(tmp_path, n, kind):
    rng, outcomes = np.random.default_rng(n), Counter()
    path = tmp_path / "draws.npz"
    for _ in range(n):
        if kind == "mutated":
            path.write_bytes(mutated(rng))
        else:
            forged(rng, path)
        try:
            saved = load_draws(path)
        except ValueError as error:
            assert str(error).startswith("path=")
            outcomes["refused"] += 1
        else:
            assert saved.samples.shape == EXPECTED.samples.shape
            assert np.isfinite(saved.samples).all()
            if kind == "mutated":
                assert np.array_equal(saved.samples, EXPECTED.samples)
            outcomes["read"] += 1
    assert outcomes["refused"] > n // 2 and outcomes["read"] > 0
