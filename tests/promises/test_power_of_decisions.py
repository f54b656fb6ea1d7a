"""Promise 3, decisions: power may fail; what was acknowledged is in the log after.

What the program says to SQLite is heard, and said again over a file layer that loses
what was not synced.
"""

import shutil
import sqlite3

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.project import STORE
from classmark.workbench.store.log import Act
from classmark.workbench.store.store import Store
from promises.sectors import after_failure, replayed

DECISIONS = 40


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Every statement of a project's first decisions, as SQLite was told them."""
    found = []
    honest = sqlite3.connect

    def connect(*arguments, **options):
        connection = honest(*arguments, **options)
        connection.set_trace_callback(found.append)
        return connection

    folder = tmp_path_factory.mktemp("heard")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect)
        with Store(folder / STORE, create=True) as store:
            store.put_categories([Category("bees"), Category("wasps")])
            store.put_documents([Record(Document("d", {"text": "hum"}))])
            for turn in range(DECISIONS):
                act = "remove" if turn % 3 == 2 else "assign"
                store.judge([Act("d", act, "bees", 1.0, note="n" * turn * 40)], "ann")
    return [sql for sql in found if not sql.startswith("--")]


def outcomes(said, tmp_path, schedules):
    """Commits acknowledged, and commits found again, of each schedule."""
    path = tmp_path / STORE
    changes = replayed(said, path)
    with Store(path) as store:
        rows = store.run("SELECT count(*) FROM judgments").fetchone()[0]
    assert rows == DECISIONS + 1
    first = sum(sql.startswith("COMMIT") for sql in said) - rows
    for seed in range(schedules):
        rng = np.random.default_rng(seed)
        folder = tmp_path / "disk"
        moment = int(rng.integers(len(changes) + 1))
        promised = after_failure(changes, moment, rng, folder)
        yield max(0, promised - first), _kept(folder)
        shutil.rmtree(folder)


def _kept(folder):
    if not (folder / STORE).exists():
        return 0
    with Store(folder / STORE, create=True) as store:
        store.check()
        return store.run("SELECT count(*) FROM judgments").fetchone()[0]


def test_no_acknowledged_decision_is_lost(said, tmp_path, promised):
    found = list(outcomes(said, tmp_path, promised(200, 2000)))
    assert all(kept >= told for told, kept in found)
    assert len({told for told, _ in found}) > DECISIONS // 2


@pytest.mark.parametrize("level", ["NORMAL", "OFF"])
def test_fewer_syncs_are_caught(said, tmp_path, level):
    """The promise rests on the setting: with any lesser one the test above fails."""
    full = "PRAGMA synchronous = FULL"
    assert full in said
    lesser = [f"PRAGMA synchronous = {level}" if s == full else s for s in said]
    lost = 0
    try:
        lost = sum(kept < told for told, kept in outcomes(lesser, tmp_path, 300))
    except Mistake:
        lost = 1
    assert lost
