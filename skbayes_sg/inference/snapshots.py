"""Snapshots of chains: the random generator and all arrays that a chain changes."""

import json

import numpy as np


def own_arrays(part, name=""):
    """Yield (name, array) of all arrays in a nested NamedTuple."""
    if hasattr(part, "_fields"):
        for field, value in zip(part._fields, part, strict=True):
            yield from own_arrays(value, f"{name}.{field}" if name else field)
    elif isinstance(part, np.ndarray):
        yield name, part


def snapshot(chain, t):
    """Return the state of `chain` after iteration t, as a dict of arrays."""
    rng = json.dumps(chain.rng.bit_generator.state).encode()
    return {
        **dict(own_arrays(chain)),
        "rng": np.frombuffer(rng, np.uint8),
        "t": np.array(t),
    }


def restore(chain, saved):
    """Restore the state of `chain`, a new one of the same type; return t."""
    for name, array in own_arrays(chain):
        if array.shape != saved[name].shape or array.dtype != saved[name].dtype:
            raise KeyError(name)
        array[...] = saved[name]
    chain.rng.bit_generator.state = json.loads(saved["rng"].tobytes())
    return int(saved["t"])
