"""Fixtures every room uses."""

import os
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings

import selection

# The first call of a kernel compiles it: no example has a deadline.
# In CI the examples are the same every time; at the desk they are new ones.
PROFILE = settings(deadline=None, derandomize=bool(os.environ.get("CI")))
settings.register_profile("quick", PROFILE, max_examples=25)
settings.register_profile("full", PROFILE, max_examples=40)
settings.register_profile("promises", PROFILE, max_examples=200)


def pytest_configure(config):
    """Choose the tests, and how many examples of each property are drawn."""
    config.pluginmanager.register(selection)
    quick = config.option.markexpr == selection.QUICK
    promises = os.environ.get("CLASSMARK_PROMISES") == "full"
    settings.load_profile("promises" if promises else "quick" if quick else "full")


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk():
    """Let files be written without waiting: a killed process loses nothing by it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def data():
    """Return the folder of the public data sets; skip, with the reason, without it."""
    folder = os.environ.get("CLASSMARK_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the public data sets: set CLASSMARK_DATA to their folder")
    return Path(folder)


@pytest.fixture(scope="session")
def promised():
    """Choose how often something is tried: few times, or as often as is promised.

    ``make promises`` sets CLASSMARK_PROMISES=full.
    """
    full = os.environ.get("CLASSMARK_PROMISES") == "full"
    return lambda quick, whole: whole if full else quick


@pytest.fixture(scope="session")
def postgres():
    """Return the url of a running PostgreSQL; skip, with the reason, without one."""
    from postgres_server import program, running_server

    pytest.importorskip("psycopg", reason="needs psycopg: install classmark[postgres]")
    if program("initdb") is None:
        pytest.skip("needs PostgreSQL: install its server programs")
    with running_server() as url:
        yield url


@pytest.fixture
def postgres_store(postgres, monkeypatch):
    """Return a function that names a place for one more store on the server."""
    from classmark.workbench.settings import StoreSettings

    monkeypatch.delenv("CLASSMARK_STORE", raising=False)

    return lambda: StoreSettings(postgres, f"t{uuid4().hex}")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.full)])
def any_store(request):
    """Return a function that names a place for a store: a file, then PostgreSQL."""
    from classmark.workbench.settings import StoreSettings

    if request.param == "sqlite":
        return StoreSettings
    return request.getfixturevalue("postgres_store")
