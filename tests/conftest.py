"""Fixtures shared by all tests."""

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def data_dir(pytestconfig):
    """Folder of the real data sets, which are not part of the repository."""
    default = pytestconfig.rootpath.parent / "shared" / "data"
    path = Path(os.environ.get("SKBAYES_SG_DATA", default))
    if not path.is_dir():
        pytest.skip(f"no data sets in {path}; set SKBAYES_SG_DATA to their folder")
    return path


@pytest.fixture
def rng():
    """Return a generator with the same seed in every test."""
    return np.random.default_rng(20240917)
