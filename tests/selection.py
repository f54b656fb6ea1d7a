"""Which tests ``make test`` runs, and which only ``make test-all``: the mark ``full``.

A test is full by its folder (``FOLDERS``), or because it asks for the public data sets
or for PostgreSQL. With ``-m "not full"`` those folders are not even imported: what they
need (Dask, a browser, Schemathesis …) need not be installed. Registered by conftest.py.
"""

from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
QUICK = "not full"

# Folders of this name, anywhere: a room's long tests are in its folder ``full``.
FOLDERS = {"browser", "full", "kills", "laws", "machines", "promises"}
FIXTURES = {"data", "postgres"}

# Modules of src that cannot be imported without a package.
NEEDS = {
    "src/classmark/machines": "distributed",
    "src/classmark/workbench/postgres.py": "psycopg",
    "src/classmark/workbench/postgres_errors.py": "psycopg",
}


def is_full(path):
    """Whether everything at a path is only in ``make test-all``."""
    return not FOLDERS.isdisjoint(path.relative_to(ROOT).parts)


def pytest_ignore_collect(collection_path, config):
    """Leave out what is not selected, and what lacks its package."""
    if not collection_path.is_relative_to(ROOT):
        return None
    package = NEEDS.get(collection_path.relative_to(ROOT).as_posix())
    if package is not None and find_spec(package) is None:
        return True
    if config.option.markexpr == QUICK and is_full(collection_path):
        return True
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark each test by its folder and by what it asks for."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "data" in fixtures:
            item.add_marker(pytest.mark.data)
        if is_full(item.path) or not FIXTURES.isdisjoint(fixtures):
            item.add_marker(pytest.mark.full)
