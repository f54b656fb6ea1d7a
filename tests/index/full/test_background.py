"""Merging in the background: nobody waits for it, and no change is lost by it."""

import threading

import pytest

from classmark.index import merge
from classmark.index.index import Index
from classmark.index.merge import ASIDE, MergingFailed, merge_segments
from classmark.problems import Mistake

PATIENCE = 30
HIVES = [(f"e{number}", "hive") for number in (5, 6, 7)]


class Gate:
    """A merge that waits at its end until it is let through, and may fail."""

    def __init__(self):
        self.reached, self.open = threading.Event(), threading.Event()
        self.problem = None

    def __call__(self, parts, folder, **options):
        merge_segments(parts, folder, **options)
        if "watch" not in options:  # merged by a commit, not in the background
            return
        self.reached.set()
        while not self.open.wait(0.005):
            options["watch"]()
        if self.problem is not None:
            raise self.problem


@pytest.fixture
def gate(monkeypatch):
    gate = Gate()
    monkeypatch.setattr(merge, "merge_segments", gate)
    yield gate
    gate.open.set()


@pytest.fixture
def index(tmp_path, gate):
    """Return an index with eight segments that are being merged."""
    Index.build(tmp_path, [("d0", "bee")])
    index = Index.open(tmp_path, merging="background")
    for number in range(1, 8):
        index.add([(f"d{number}", f"bee w{number}")])
        index.add([(f"e{number}", "hive")] if number > 4 else [])
        index.commit()
    assert gate.reached.wait(PATIENCE)
    yield index
    gate.open.set()
    index.close()


def found(index):
    return [hit.id for hit in index.search("bee", k=20)]


def segments(path):
    return len(list(path.glob("segment-*")))


def merging_threads():
    return [t for t in threading.enumerate() if t.name.startswith("merging")]


def same_as_rebuilt(path, documents, other):
    opened, rebuilt = Index.open(path), Index.build(other, documents)
    assert opened.check().documents == len(documents)
    hits = [(hit.id, hit.score) for hit in opened.search("bee", k=50)]
    assert hits == [(hit.id, hit.score) for hit in rebuilt.search("bee", k=50)]


def settled(index):
    """Wait until a thread has merged all it can."""
    for thread in merging_threads():
        thread.join(PATIENCE)
    return index


def test_it_goes_into_service_by_itself_and_readers_keep_their_generation(index, gate):
    before, reader = index.generation, Index.open(index.path)
    assert segments(index.path) == 8
    gate.open.set()
    settled(index)
    assert segments(index.path) == 1
    assert index.generation == reader.generation == before
    assert found(index) == found(reader) == [f"d{n}" for n in range(8)]
    opened = Index.open(index.path)
    assert opened.generation == before + 1
    assert opened.check().segments == 1
    assert index.commit().generation == before + 1
    assert not merging_threads()


def test_changes_that_come_meanwhile_are_in_the_merged_segment(
    index, gate, tmp_path_factory
):
    index.delete(["d2"])
    index.replace([("d3", "bee again")])
    index.commit()
    index.delete(["d4"])
    gate.open.set()
    settled(index)
    assert segments(index.path) == 7
    index.delete(["d6"])
    index.add([("d9", "bee bee")])
    index.commit()
    assert segments(index.path) == 3
    settled(index)
    index.delete(["d5"])
    index.commit()
    kept = [("d0", "bee"), *((f"d{n}", f"bee w{n}") for n in (1, 7)), *HIVES]
    kept += [("d3", "bee again"), ("d9", "bee bee")]
    other = tmp_path_factory.mktemp("rebuilt")
    same_as_rebuilt(index.path, kept, other)


def test_discarded_changes_leave_the_merged_segment(index, gate):
    index.delete(["d1"])
    gate.open.set()
    settled(index)
    assert segments(index.path) == 8
    index.discard()
    assert segments(index.path) == 1
    assert len(Index.open(index.path)) == 11


def test_another_that_changes_the_index_comes_first(index, gate, tmp_path_factory):
    other = Index.open(index.path, merging="demand")
    other.delete(["d1"])
    other.commit()
    gate.open.set()
    settled(index)
    kept = [("d0", "bee"), *((f"d{n}", f"bee w{n}") for n in range(2, 8)), *HIVES]
    same_as_rebuilt(index.path, kept, tmp_path_factory.mktemp("rebuilt"))
    index.add([("d8", "wasp")])
    assert len(index.commit()) == 11


def test_while_another_has_changes_it_waits_for_the_end(index, gate):
    other = Index.open(index.path)
    other.add([("x", "bee")])
    gate.open.set()
    settled(index)
    assert segments(index.path) == 8
    other.discard()
    index.close()
    assert segments(index.path) == 1


def test_two_do_not_merge_at_once(index):
    other = Index.open(index.path, merging="background")
    other.delete(["d1"])
    other.commit()
    other.close()
    assert segments(index.path) == 7
    assert list((index.path / ASIDE).glob("segment"))


def test_a_merge_on_demand_comes_first(index):
    assert index.merge() is index
    assert segments(index.path) == 1
    assert not merging_threads()
    assert found(index) == [f"d{n}" for n in range(8)]


def test_closing_ends_it_and_leaves_nothing(index):
    index.add([("x", "bee")])
    assert merging_threads()
    index.close()
    assert not merging_threads()
    assert not list((index.path / ASIDE).glob("*segment*.writing"))
    assert len(Index.open(index.path)) == 11
    assert len(found(index)) == 8
    with pytest.raises(Mistake, match="was closed: open the index again"):
        index.add([("y", "bee")])
    Index.open(index.path).merge()


def test_a_failure_is_said_by_the_next_commit_which_may_be_tried_again(index, gate):
    gate.problem = OSError("no space left")
    gate.open.set()
    settled(index)
    gate.problem = None
    index.add([("x", "bee")])
    with pytest.raises(MergingFailed, match=r"no space left\): nothing committed is"):
        index.commit()
    assert len(Index.open(index.path)) == 11
    assert len(index.commit()) == 12
    settled(index)
    assert segments(index.path) == 1


def test_a_failure_is_said_by_closing(index, gate):
    gate.problem = OSError("no space left")
    gate.open.set()
    settled(index)
    with (
        pytest.raises(MergingFailed, match="merging='demand'"),
        Index.open(index.path),
        index,
    ):
        pass


def test_many_segments_make_a_commit_wait(tmp_path, monkeypatch):
    monkeypatch.setattr("classmark.index.index.CROWD", 10)
    Index.build(tmp_path, [])
    most = 0
    with Index.open(tmp_path, merging="background") as index:
        for number in range(60):
            index.add([(str(number), "bee")])
            most = max(most, Index.open(tmp_path).check().segments)
            index.commit()
    assert most <= 20
    assert Index.open(tmp_path).check().documents == 60


def test_on_demand_nothing_is_merged_before(tmp_path):
    Index.build(tmp_path, [("a", "bee")])
    index = Index.open(tmp_path, merging="demand")
    for number in range(20):
        index.add([(str(number), "bee")])
        index.commit()
    assert segments(tmp_path) == 21
    assert len(index.merge()) == 21
    assert segments(tmp_path) == 1


def test_an_unknown_way_of_merging_is_refused(tmp_path):
    Index.build(tmp_path, [])
    with pytest.raises(Mistake, match="merging is 'often': use one of commit, back"):
        Index.open(tmp_path, merging="often")
