"""Which tests ``make test`` runs, and which only ``make test-all``: the mark ``full``.

A test is full by its folder (``FOLDERS``), because it asks for the public data sets or
for PostgreSQL, or because it needs the package of an extra (the mark ``needs``). With
``-m "not full"`` those folders are not even imported: what they need (Dask, a browser,
Schemathesis …) need not be installed. Registered by conftest.py.
"""

from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
QUICK = "not full"

# Folders of this name, anywhere: a room's long tests are in its folder ``full``.
FOLDERS = {"browser", "full", "kills", "laws", "machines", "promises"}
FIXTURES = {"data", "postgres"}

# Examples of docstrings, and modules of src, that need a package.
EXAMPLES = {"classmark.text.lemmas": "simplemma"}
MODULES = {
    "src/classmark/machines": "distributed",
    "src/classmark/workbench/store/postgres.py": "psycopg",
}


def is_full(path):
    """Whether everything at a path is only in ``make test-all``."""
    return not FOLDERS.isdisjoint(path.relative_to(ROOT).parts)


def pytest_ignore_collect(collection_path, config):
    """Leave out what is not selected, and what lacks its package."""
    if not collection_path.is_relative_to(ROOT):
        return None
    package = MODULES.get(collection_path.relative_to(ROOT).as_posix())
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
        packages = packages_of(item)
        for package in packages:
            if find_spec(package) is None:
                item.add_marker(pytest.mark.skip(reason=f"needs {package}"))
        if (
            packages
            or is_full(item.path)
            or not FIXTURES.isdisjoint(fixtures)
            or item.get_closest_marker("data")
        ):
            item.add_marker(pytest.mark.full)


def packages_of(item):
    """The packages of extras that a test needs."""
    marked = [mark.args[0] for mark in item.iter_markers("needs")]
    return marked + [EXAMPLES[name] for name in [item.name] if name in EXAMPLES]
