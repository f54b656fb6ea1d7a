"""Nodes in tasks: how they are put together, what a worker has, what is written."""

import threading

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.hierarchies import model_files
from classmark.hierarchies.model_files import (
    PIECES,
    Finished,
    NodeWorker,
    batches,
    write_pieces,
)
from classmark.hierarchies.nodes import (
    NodeSettings,
    NodeTask,
    NodeWeights,
    largest_first,
    learn_node,
)
from classmark.hierarchies.places import ARRAYS, Lessons, Nodes, places_of, shape_of
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.problems import DamagedFolder, Mistake
from classmark.progress import shown_by, spread_by
from classmark.taxonomy.tree import Taxonomy

EDGES = [(i, 2 * i + j) for i in range(1, 32) for j in (0, 1)]
TREE = Taxonomy(EDGES)
SETTINGS = NodeSettings("svm", 1.0, 0.01, 0.0, 1, "4GB")


def documents(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(32, 64, n).tolist()
    X = rng.random((n, 70)) * (rng.random((n, 70)) < 0.1)
    for row, leaf in enumerate(y):
        X[row, [leaf >> up for up in range(6)]] += 1.0
    return X, y


def nodes_of(X, y):
    places = places_of(TREE, y)
    return Nodes(rows_from(X), places, shape_of(places))


class Alone:
    """One worker: this process."""

    workers, memory = 1, 0

    def __init__(self, fails=None):
        self.folders, self.tasks, self.fails = [], [], fails

    def require_folder(self, folder):
        self.folders.append(folder)

    def spread(self, work, tasks, shared):
        self.tasks += tasks
        for number, task in enumerate(tasks):
            if number == self.fails:
                raise KeyboardInterrupt
            yield number, work(task, *shared)


def test_what_is_saved_teaches_the_same(tmp_path):
    nodes = nodes_of(*documents())
    nodes.save(tmp_path / "l")
    opened = Lessons.open(tmp_path / "l")
    assert opened.size_bytes == nodes.size_bytes
    for name in ARRAYS:
        assert np.array_equal(getattr(opened, name), getattr(nodes, name))
    for at in range(len(nodes.order)):
        one, other = (
            learn_node(n, at, SETTINGS, sparse=False) for n in (nodes, opened)
        )
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert not opened.rows.values.flags.writeable


def lessons(nodes):
    return [NodeTask(at, 1.0, sparse=False) for at in largest_first(nodes)]


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("least", [0.0, 1e-6, 0.3, 1e6])
@pytest.mark.parametrize("each", [1e-3, 10.0])
def test_every_node_is_in_one_task_in_order(monkeypatch, workers, least, each):
    monkeypatch.setattr(model_files, "LEAST", least)
    monkeypatch.setattr(model_files, "EACH", each)
    nodes = nodes_of(*documents())
    order = lessons(nodes)
    tasks = batches(nodes, order, "svm", workers)
    assert [lesson for task in tasks for lesson in task] == order
    assert all(tasks)
    assert len(tasks) >= min(len(order), model_files.FEW * workers) // 2


def test_small_nodes_share_a_task_and_large_ones_have_their_own(monkeypatch):
    monkeypatch.setattr(model_files, "EACH", 0.0)
    nodes = nodes_of(*documents())
    cells = nodes.values * nodes.daughters
    monkeypatch.setitem(model_files.PER_CELL, "svm", 1.0)
    monkeypatch.setattr(model_files, "LEAST", float(cells.max()) / 4)
    monkeypatch.setattr(model_files, "MANY", 1e9)
    monkeypatch.setattr(model_files, "FEW", 1)
    tasks = batches(nodes, lessons(nodes), "svm", 1)
    assert len(tasks[0]) == 1
    assert len(tasks[-2]) > 2
    for task in tasks[:-1]:
        taken = [int(cells[lesson.at]) for lesson in task]
        assert sum(taken) >= cells.max() / 4 > sum(taken[:-1])


def test_a_node_waits_for_room_on_its_worker(tmp_path):
    room = NodeWorker(tmp_path, SETTINGS, 10.0)
    came, sat = threading.Event(), threading.Event()

    def second():
        came.set()
        with room.memory(5.0):
            sat.set()

    with room.memory(6.0):
        other = threading.Thread(target=second)
        other.start()
        assert came.wait(5)
        assert not sat.wait(0.05)
    other.join(5)
    assert sat.is_set()
    with room.memory(1.0), room.memory(9.0):
        pass


def test_one_that_needs_more_than_all_sits_alone(tmp_path):
    room, sat = NodeWorker(tmp_path, SETTINGS, 10.0), threading.Event()

    def alone():
        with room.memory(11.0):
            sat.set()

    threading.Thread(target=alone, daemon=True).start()
    assert sat.wait(5), "it waits for room that there will never be"


def test_spread_is_what_is_learned_here(tmp_path):
    X, y = documents()
    alone, told = Alone(), []

    class Display:
        def track(self, items, what, total):
            told.append((what, total))
            yield from items

    with spread_by(alone), shown_by(Display()):
        found = TopDownClassifier(TREE, folder=tmp_path / "f").fit(X, y)
    local = TopDownClassifier(TREE).fit(X, y)
    assert np.array_equal(found.decision_function(X), local.decision_function(X))
    assert alone.folders == [tmp_path / "f"]
    assert len(alone.tasks) > 1
    assert ("nodes", 31) in told


def test_a_finished_training_asks_nobody(tmp_path):
    X, y = documents()
    TopDownClassifier(TREE, folder=tmp_path / "f").fit(X, y)
    alone = Alone()
    with spread_by(alone):
        TopDownClassifier(TREE, folder=tmp_path / "f").fit(X, y)
    assert not alone.tasks
    assert not alone.folders


def test_damaged_lessons_are_written_again(tmp_path):
    X, y = documents()
    with spread_by(Alone(fails=1)), pytest.raises(KeyboardInterrupt):
        TopDownClassifier(TREE, folder=tmp_path / "f").fit(X, y)
    path = tmp_path / "f" / "lessons" / "rows_values.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with spread_by(Alone()):
        found = TopDownClassifier(TREE, folder=tmp_path / "f").fit(X, y)
    expected = TopDownClassifier(TREE).fit(X, y)
    assert np.array_equal(found.decision_function(X), expected.decision_function(X))


def piece(seed, d=3, m=5):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, d + 1, m)
    entries = int(counts.sum())
    return NodeWeights(
        np.arange(m, dtype=np.uint32), np.cumsum([0, *counts]).astype(np.uint32),
        rng.integers(0, d, entries).astype(np.uint16),
        rng.random(entries).astype(np.float32), rng.random(d), rng.random(d), 0.5, 2.0,
    )  # fmt: skip


def equal(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_pieces_of_both_kinds_are_found_and_forgotten(tmp_path):
    with Finished(tmp_path / "f", "mark") as done:
        done.add(4, piece(4))
        (tmp_path / "f" / PIECES).mkdir()
        write_pieces(tmp_path / "f", [1, 2], [(1, piece(1)), (2, piece(2))])
        assert 1 not in done
        done.look()
        assert 1 in done
    with Finished(tmp_path / "f", "mark") as done:
        assert [at for at in range(6) if at in done] == [1, 2, 4]
        assert all(equal(done.piece(at), piece(at)) for at in (1, 2, 4))
        done.forget()
        assert 1 not in done
    assert not (tmp_path / "f" / PIECES).exists()
    with Finished(tmp_path / "f", "mark") as done:
        assert 4 not in done


def test_pieces_are_written_whole_or_not_at_all(tmp_path):
    (tmp_path / PIECES).mkdir()

    def failing():
        yield 1, piece(1)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_pieces(tmp_path, [1, 2], failing())
    assert not list((tmp_path / PIECES).iterdir())


def test_the_same_nodes_have_one_file(tmp_path):
    (tmp_path / PIECES).mkdir()
    for _ in range(2):
        write_pieces(tmp_path, [1], [(1, piece(1))])
    write_pieces(tmp_path, [2], [(2, piece(2))])
    assert len(list((tmp_path / PIECES).iterdir())) == 2


def test_a_piece_damaged_after_it_was_found_is_told(tmp_path):
    with Finished(tmp_path / "f", "mark") as done:
        done.add(1, piece(1))
        path = tmp_path / "f" / "nodes.bin"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(DamagedFolder, match=r"nodes\.bin does not match"):
            done.piece(1)


def test_documents_that_leave_no_room_are_told(tmp_path):
    alone = Alone()
    alone.memory = 300_000_000
    with spread_by(alone), pytest.raises(Mistake, match=r"workers of 0\.3 GB"):
        TopDownClassifier(TREE, folder=tmp_path / "f").fit(*documents())
