"""Fixtures for the tests of an index."""

import os

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_waiting_for_the_disk():
    """Let files be written without waiting: a killed process loses nothing by it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield
