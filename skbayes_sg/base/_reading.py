"""Reading of files of draws from untrusted sources.

Every size that a file states is checked before memory is allocated. `save_draws` stores
the members of the archive without compression, so that none can be larger than the file
itself; compressed members are refused. A faulty file raises one of the errors `DAMAGE`.
"""

import json
import math
import os
import zipfile

import numpy as np

from skbayes_sg.inference.draw_files import read_header

META = "meta.json"
META_BYTES = 2**20  # largest size of the metadata, to which each parameter adds
NAME_BYTES = 2**10
DAMAGE = (
    zipfile.BadZipFile,
    EOFError,
    OSError,  # a member that lies outside the file
    KeyError,  # no such member
    ValueError,
    RuntimeError,  # an encrypted member, or JSON that is nested too deeply
)
FIELDS = {
    "package": str,
    "version": str,
    "format": int,
    "estimator": str,
    "parameter_names": list,
    "params": dict,
    "settings": dict,
}


def read_meta(archive, dim):
    """Return the metadata of draws of `dim` parameters, with all of `FIELDS`."""
    file = _member(archive, META)
    limit = META_BYTES + NAME_BYTES * dim
    if _size(archive, META) > limit:
        raise ValueError(f"{META} is larger than {limit} bytes")
    with file:
        meta = json.loads(file.read(), parse_constant=_refuse)
    if not isinstance(meta, dict) or meta.get("package") != "skbayes_sg":
        raise ValueError(f"{META} was not written by skbayes_sg")
    for name, kind in FIELDS.items():
        if type(meta.get(name)) is not kind:
            raise ValueError(f"{name} in {META} is not of type {kind.__name__}")
    if meta["format"] < 1:
        raise ValueError(f"there is no format {meta['format']}")
    return meta


def read_names(meta, dim):
    """Return the names of the parameters, one for each of `dim`."""
    names = meta["parameter_names"]
    if len(names) != dim or not all(isinstance(name, str) for name in names):
        raise ValueError(f"parameter_names are not {dim} strings")
    return names


def read_samples(archive):
    """Return the draws, (n_chains, n_draws, dim)."""
    samples = _read_floats(archive, "samples.npy", 3)
    for chain in samples:
        if not np.isfinite(chain).all():
            raise ValueError("samples are not all finite")
    return samples


def read_weights(archive, n_draws):
    """Return the weights of the draws, which sum to one."""
    weights = _read_floats(archive, "weights.npy", 1)
    if len(weights) != n_draws:
        raise ValueError(f"there are {len(weights)} weights of {n_draws} draws")
    if not (weights >= 0).all() or not math.isclose(
        weights.sum(dtype=np.float64), 1.0, rel_tol=1e-3
    ):
        raise ValueError("weights are negative, not finite or do not sum to one")
    return weights


def shape_of(archive):
    """Return the shape of the draws, from a few bytes of the file."""
    with _member(archive, "samples.npy") as file:
        return _header(file, "samples.npy", 3, _size(archive, "samples.npy"))


def _read_floats(archive, name, n_axes):
    size = _size(archive, name)
    with _member(archive, name) as file:
        _header(file, name, n_axes, size)
    with _member(archive, name) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _header(file, name, n_axes, size):
    """Return the shape of an array of floats that has `size` bytes in all."""
    shape, dtype, _ = read_header(file)
    if len(shape) != n_axes or min(shape) < 1:
        raise ValueError(f"{name} has shape {shape}, not of {n_axes} axes with values")
    if file.tell() + math.prod(shape) * dtype.itemsize != size:
        raise ValueError(f"{name} of shape {shape} does not have {size} bytes")
    return shape


def _size(archive, name):
    return archive.getinfo(name).file_size


def _member(archive, name):
    """Open a member after checking that it is uncompressed and within the file."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise ValueError(f"{name} is compressed, which save_draws does not do")
    total = os.fstat(archive.fp.fileno()).st_size
    if info.header_offset + info.file_size > total:
        raise ValueError(f"{name} claims more than the {total} bytes of the file")
    return archive.open(info)


def _refuse(constant):
    raise ValueError(f"{META} holds {constant}")
