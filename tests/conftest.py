"""Fixtures every room uses."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data():
    """Return the folder of the public data sets; skip, with the reason, without it."""
    folder = os.environ.get("CLASSMARK_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the public data sets: set CLASSMARK_DATA to their folder")
    return Path(folder)
