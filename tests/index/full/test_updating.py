"""Whatever was added, replaced and deleted: the index is that of a rebuild."""

import os
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.index import build, merge
from classmark.index.index import MERGING, Index
from classmark.index.merge import newest_to_merge
from classmark.index.snapshot import Lock
from classmark.problems import Mistake
from oracles.indexed import WORDS, ids, texts

changes = st.lists(
    st.one_of(
        st.tuples(st.just("add"), ids, texts),
        st.tuples(st.just("add"), ids, texts),
        st.tuples(st.just("replace"), ids, texts),
        st.tuples(st.just("delete"), ids, st.none()),
        st.tuples(st.just("commit"), st.none(), st.none()),
        st.tuples(st.just("merge"), st.none(), st.none()),
        st.tuples(st.just("discard"), st.none(), st.none()),
        st.tuples(st.just("open"), st.none(), st.none()),
    ),
    max_size=25,
)


class Kept:
    """The obvious index: a dictionary, in the order of arrival."""

    def __init__(self):
        self.committed, self.now = {}, {}

    def act(self, act, name, text):
        """Do it; return whether it is allowed."""
        if act in {"commit", "merge"}:
            self.committed = dict(self.now)
        elif act in {"discard", "open"}:
            self.now = dict(self.committed)
        elif (act == "add") == (name in self.now) and act != "replace":
            return False
        else:
            self.now.pop(name, None)
            if act != "delete":
                self.now[name] = text
        return True


def act_on(index, act, name, text):
    if act in {"add", "replace"}:
        getattr(index, act)([(name, text)])
    elif act == "delete":
        index.delete([name])
    elif act == "open":
        index.close()
        return Index.open(index.path, merging=index.merging)
    else:
        getattr(index, act)()
    return index


def facts(field, index):
    """What can be read of a field, by id and term."""
    alive = range(field.n_items) if field.alive is None else np.flatnonzero(field.alive)
    numbers = [n for n in range(field.n_terms) if field.df[n]]
    lists = field.lists(np.array(numbers, np.int64))
    found = {}
    for at, number in enumerate(numbers):
        run = slice(lists.begins[at], lists.ends[at])
        pairs = zip(lists.items[run], lists.counts[run], strict=True)
        living = set(map(int, alive))
        found[field.term(number)] = (
            int(field.df[number]),
            int(field.cf[number]),
            [(index.id(int(i)), int(n)) for i, n in pairs if int(i) in living],
        )
    lengths = [int(field.lengths[n]) for n in alive]
    return found, lengths, field.n_alive, field.total_length


def answers(index):
    """What is found: ids and scores, the numbers apart."""
    return [
        [(hit.id, hit.score) for hit in index.search(word, model=model)]
        for word in WORDS
        for model in ("bm25", "dirichlet")
    ]


@given(changes, st.sampled_from([0, 10**9]), st.sampled_from(MERGING))
def test_any_sequence_of_changes_equals_a_rebuild(acts, memory, merging):
    with (
        TemporaryDirectory() as folder,
        TemporaryDirectory() as other,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(merge, "FANOUT", 2 if merging == "background" else 8)
        Index.build(folder, [])
        index, kept = Index.open(folder, merging=merging), Kept()
        for act in acts:
            if kept.act(*act):
                index = act_on(index, *act)
            else:
                with pytest.raises(Mistake, match=r"is (already|not) there"):
                    act_on(index, *act)
        index.close()
        kept.act("discard", None, None)
        assert list(index.ids()) == list(kept.committed)
        rebuilt = Index.build(other, kept.committed.items())
        opened = Index.open(folder, memory=memory)
        for one in (index, opened):
            assert facts(one.field(), one) == facts(rebuilt.field(), rebuilt)
            assert answers(one) == answers(rebuilt)
        assert index.check().documents == len(kept.committed)
        merged = opened.merge()
        assert answers(merged) == answers(rebuilt)
        assert segment_files(merged) == segment_files(rebuilt)


def segment_files(index):
    folders = sorted(index.path.glob("segment-*"))
    assert len(folders) <= 1
    return [
        {path.name: path.read_bytes() for path in folder.iterdir()}
        for folder in folders
    ]


def test_readers_keep_their_generation(tmp_path):
    index = Index.build(tmp_path, [("a", "bee"), ("b", "hive")])
    reader = Index.open(tmp_path)
    index.delete(["a"])
    index.add([("c", "bee bee")])
    assert [hit.id for hit in index.search("bee")] == ["a"]
    index.commit()
    index.merge()
    assert [hit.id for hit in index.search("bee")] == ["c"]
    assert [hit.id for hit in reader.search("bee")] == ["a"]
    lists = reader.field().lists(np.array([0]))
    assert lists.items[lists.begins[0] : lists.ends[0]].tolist() == [0]
    assert "a" in reader
    assert "a" not in index
    assert Index.open(tmp_path).generation == index.generation > reader.generation


def test_an_index_is_opened_while_another_changes_it(tmp_path):
    index = Index.build(tmp_path, [("a", "bee")])
    stop = threading.Event()

    def change():
        for number in range(10**6):
            if stop.is_set():
                break
            index.replace([("a", "bee " * (1 + number % 5))])
            index.commit()

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(60):
            assert [hit.id for hit in Index.open(tmp_path).search("bee")] == ["a"]
    finally:
        stop.set()
        changer.join()


def test_only_one_may_change_at_a_time(tmp_path):
    index = Index.build(tmp_path, [("a", "bee")])
    other = Index.open(tmp_path)
    index.add([("b", "hive")])
    with pytest.raises(Mistake, match="being changed"):
        other.add([("c", "wasp")])
    with pytest.raises(Mistake, match="being changed"):
        Index.build(tmp_path, [])
    index.commit()
    other.add([("c", "wasp")])
    other.commit()
    assert list(other.ids()) == ["a", "b", "c"]
    with pytest.raises(Mistake, match="'c' is already there"):
        index.add([("c", "wasp")])
    index.discard()
    Lock(tmp_path).free()


def test_segments_do_not_pile_up(tmp_path):
    index = Index.build(tmp_path, [("first", "bee " * 5)])
    most = 0
    for number in range(70):
        index.add([(f"n{number}", "hive")])
        index.commit()
        most = max(most, len(list(tmp_path.glob("segment-*"))))
    assert most <= 15
    assert len(index) == 71
    assert len([path for path in tmp_path.iterdir() if path.name.isdigit()]) == 1


@given(st.lists(st.integers(1, 600), max_size=40))
def test_the_policy_leaves_few_of_each_level(sizes):
    while many := newest_to_merge(sizes):
        assert many >= 8
        sizes = [*sizes[:-many], sum(sizes[-many:])]
    levels = [len(f"{size:o}") for size in sizes]
    for level in set(levels):
        run = next(
            (i for i, n in enumerate(reversed(levels)) if n > level), len(levels)
        )
        assert run < 8


def test_a_segment_half_deleted_is_written_again(tmp_path):
    index = Index.build(tmp_path, [(str(n), f"bee w{n}") for n in range(10)])
    index.delete(["0", "1"])
    before = {path.name for path in tmp_path.glob("segment-*")}
    index.commit()
    assert {path.name for path in tmp_path.glob("segment-*")} == before
    assert index.field().df.tolist() == [8, 0, 0, *[1] * 8]
    assert index.field().number("w1") is None
    index.delete(["2", "3", "4"])
    index.commit()
    assert {path.name for path in tmp_path.glob("segment-*")} != before
    assert index.field().n_items == 5


def test_many_waiting_documents_become_segments_before_the_commit(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(build, "SHARE", 10**5)
    Index.build(tmp_path, [])
    index = Index.open(tmp_path, memory="1MB")
    index.add((str(n), "bee " * 20) for n in range(12))
    assert len(list(tmp_path.glob("segment-*"))) >= 2
    index.replace([("5", "hive")])
    index.delete(["11"])
    index.commit()
    assert len(index) == 11
    assert index.check().documents == 11
    assert [hit.id for hit in index.search("hive")] == ["5"]


def test_a_string_of_ids_is_refused(tmp_path):
    with pytest.raises(Mistake, match="give a list"):
        Index.build(tmp_path, [("a", "x")]).delete("a")


def test_a_commit_is_synced_before_it_is_in_service(tmp_path, monkeypatch):
    index = Index.build(tmp_path, [])
    synced = []
    monkeypatch.setattr(
        os, "fsync", lambda fd: synced.append(Path(f"/proc/self/fd/{fd}").readlink())
    )
    index.add([("a", "bee")])
    index.commit()
    names = [path.name for path in synced]
    files = {path.name for path in next(tmp_path.glob("segment-*")).iterdir()}
    assert files <= set(names)
    pointer = next(n for n, name in enumerate(names) if name.startswith(".CURRENT"))
    assert files <= set(names[:pointer])
    assert names[-1] == tmp_path.name
