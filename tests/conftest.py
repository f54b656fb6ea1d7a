"""Fixtures every room uses."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The first call of a kernel compiles it: no example has a deadline.
# In CI the examples are the same every time; at the desk they are new ones.
settings.register_profile(
    "classmark", deadline=None, derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("classmark")


@pytest.fixture(scope="session")
def data():
    """Return the folder of the public data sets; skip, with the reason, without it."""
    folder = os.environ.get("CLASSMARK_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the public data sets: set CLASSMARK_DATA to their folder")
    return Path(folder)
