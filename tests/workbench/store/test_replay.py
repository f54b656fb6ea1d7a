"""What a replay reads from the store when asked is what the log says act by act."""

import numpy as np
import pytest

from classmark.taxonomy.category import taxonomy_of
from classmark.workbench.learning.learner import UNDONE, LiveFacts
from classmark.workbench.project import Project
from classmark.workbench.store.log import (
    LogReplay,
    StoredCategories,
    StoredReplay,
    stored_rows,
)
from projects import TREE, new_project, parish
from workbench.acts import Acts

LEARNED = {"id", "parents", "status", "stands"}


def facts_now(store, start):
    """What a learner knows that comes to the present end of the log."""
    undone = {seq for (seq,) in store.run(UNDONE, (start,) * 2)}
    (upto,) = store.run("SELECT max(seq) FROM judgments").fetchone()
    return LiveFacts("", {}, start, set(), upto=upto, skipped=undone)


def described(replay, store):
    rows = {n: row for n, row in replay.rows.items() if row["stands"]}
    return (
        {n: {column: row[column] for column in LEARNED} for n, row in rows.items()},
        replay.names,
        {n for n, row in replay.rows.items() if row["id"]},
        [replay.judged(record) for record in store.records(ever=True)],
        {n: list(replay.naming(n)) for n in sorted(replay.names)},
        (replay.acts, replay.upto),
    )


@pytest.mark.parametrize("seed", range(3))
def test_at_any_moment_it_is_as_the_log_replayed(tmp_path, seed):
    folder = new_project(tmp_path / "parish", parish(decided=True, waiting=True), TREE)
    with Project(folder) as project:
        store, rng = project.store, np.random.default_rng(seed)
        acts = Acts(project, rng, learn=lambda _: None)
        (first,) = store.run("SELECT max(seq) FROM judgments").fetchone()
        moments, of_today = [], 0
        for _ in range(25):
            acts.act()
            moments.append(facts_now(store, int(first)))
        stored, listed = StoredCategories(stored_rows(store)), store.categories()
        tree, expected = stored.tree(), taxonomy_of(listed)
        assert (list(tree), tree) == (list(expected), expected)
        assert list(stored.items()) == [(category.id, category) for category in listed]
        moments.append(LiveFacts("", {}, upto=-1))
        last = moments[-2]
        without = store.undone_since(int(first))
        moments.append(LiveFacts("", {}, int(first), set(without), upto=int(first)))
        again = LiveFacts("", {}, int(first), {1}, upto=last.upto, skipped=last.skipped)
        moments.append(again)  # what was undone at a training, and holds again
        for facts in moments:
            stored = StoredReplay(store, facts.upto, facts.skips)
            replayed = LogReplay(store.log(), facts.upto, facts.skips, by_number=True)
            of_today += set(next(iter(stored.rows.values()), ())) == LEARNED
            replayed.upto = facts.upto
            assert described(stored, store) == described(replayed, store)
            assert stored.rows.keys() <= replayed.rows.keys()
            if not facts.holds_with(last.skipped):
                continue  # a learner goes back to before what was undone since
            facts.skipped |= last.skipped
            for entry in store.log(facts.upto):
                for replay in (stored, replayed):
                    (replay.skip if facts.skips(entry) else replay.take)(entry)
            assert described(stored, store) == described(replayed, store)
        assert 0 < of_today < len(moments), "categories of today, and not"
