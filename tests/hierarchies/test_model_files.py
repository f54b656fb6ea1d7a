"""What was learned on disk: saved, opened, cut off, killed, refused."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from classmark.hierarchies import nodes
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.problems import DamagedFolder, Mistake
from classmark.taxonomy.tree import Dummy, Taxonomy

TREE = Taxonomy([("r", "a"), ("r", ("b", 1)), ("a", 1), ("a", 2), ("a", 2.5)])


def drawn(n=60):
    rng = np.random.default_rng(0)
    names = [1, 2, 2.5, ("b", 1), "a"]
    at = rng.integers(0, len(names), n)
    X = rng.random((n, 12)) * 0.2
    X[np.arange(n), 2 * at] += 1.0
    return X, [names[i] for i in at]


@pytest.mark.parametrize("base", ["svm", "logistic", "naive-bayes"])
def test_what_is_saved_is_opened(tmp_path, base):
    X, y = drawn()
    model = TopDownClassifier(TREE, base, beam=3, C=2.0, drop=0.01).fit(X, y)
    model.save(tmp_path / "m")
    found = TopDownClassifier.open(tmp_path / "m")
    assert isinstance(found.trained_.arrays[-1].base, np.memmap)
    assert found.get_params() == model.get_params()
    assert found.classes_ == model.classes_
    assert found.places_.classes == model.places_.classes
    assert Dummy("a") in found.places_.classes
    assert np.array_equal(found.places_.sizes, model.places_.sizes)
    assert (found.dropped_, found.size_bytes_) == (model.dropped_, model.size_bytes_)
    assert np.array_equal(found.decision_function(X), model.decision_function(X))
    assert found.predict(X) == model.predict(X)


def test_damage_is_told(tmp_path):
    X, y = drawn()
    TopDownClassifier(TREE).fit(X, y).save(tmp_path / "m")
    path = tmp_path / "m" / "weight.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFolder, match=r"weight\.npy does not match"):
        TopDownClassifier.open(tmp_path / "m")


def test_names_that_cannot_be_saved_are_told(tmp_path):
    tree = Taxonomy([("r", frozenset("a")), ("r", "b")])
    model = TopDownClassifier(tree).fit(np.eye(2), [[frozenset("a")], "b"])
    with pytest.raises(Mistake, match="cannot be saved"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def counted(monkeypatch):
    """Return a list that gets the number of each node that learns."""
    seen, learn = [], nodes.learn_node

    def told(nodes, at, *rest, **more):
        seen.append(at)
        return learn(nodes, at, *rest, **more)

    monkeypatch.setattr(nodes, "learn_node", told)
    return seen


def test_a_finished_training_is_only_opened(tmp_path, monkeypatch):
    X, y = drawn()
    seen = counted(monkeypatch)
    first = TopDownClassifier(TREE, folder=tmp_path / "f").fit(X, y)
    assert sorted(seen) == [0, 1]
    again = TopDownClassifier(TREE, folder=tmp_path / "f").fit(X, y)
    assert sorted(seen) == [0, 1]
    opened = TopDownClassifier.open(tmp_path / "f")
    alone = TopDownClassifier(TREE).fit(X, y).decision_function(X)
    for model in (first, again, opened):
        assert np.array_equal(model.decision_function(X), alone)


def stopped(folder, X, y, monkeypatch):
    """Train one node of two; the second fails. Return its number."""
    seen, learn = [], nodes.learn_node

    def failing(nodes, at, *rest, **more):
        seen.append(at)
        if len(seen) == 2:
            raise RuntimeError("stop")
        return learn(nodes, at, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(nodes, "learn_node", failing)
        with pytest.raises(RuntimeError, match="stop"):
            TopDownClassifier(TREE, folder=folder, n_jobs=1).fit(X, y)
    return seen[1]


def test_what_was_finished_is_not_done_again(tmp_path, monkeypatch):
    X, y = drawn()
    folder = tmp_path / "f"
    second = stopped(folder, X, y, monkeypatch)
    (folder / ".model.1.writing").mkdir()
    seen = counted(monkeypatch)
    model = TopDownClassifier(TREE, folder=folder).fit(X, y)
    assert seen == [second]
    assert not (folder / ".model.1.writing").exists()
    alone = TopDownClassifier(TREE).fit(X, y)
    assert np.array_equal(model.decision_function(X), alone.decision_function(X))


@pytest.mark.parametrize("cut", [1, 30, 80])
def test_a_record_cut_off_is_done_again(tmp_path, monkeypatch, cut):
    X, y = drawn()
    folder = tmp_path / "f"
    stopped(folder, X, y, monkeypatch)
    path = folder / "nodes.bin"
    path.write_bytes(path.read_bytes()[:-cut])
    seen = counted(monkeypatch)
    model = TopDownClassifier(TREE, folder=folder).fit(X, y)
    assert sorted(seen) == [0, 1]
    alone = TopDownClassifier(TREE).fit(X, y)
    assert np.array_equal(model.decision_function(X), alone.decision_function(X))


@pytest.mark.parametrize(
    "other", [{"C": 2.0}, {"base": "logistic"}, {"drop": 0.1}, {"X": 0.5}, {"y": 1}]
)
def test_another_training_is_refused(tmp_path, other, monkeypatch):
    X, y = drawn()
    stopped(tmp_path / "f", X, y, monkeypatch)
    X, y = X * other.pop("X", 1.0), y[other.get("y", 0) :] + y[: other.pop("y", 0)]
    with pytest.raises(Mistake, match="other documents, another taxonomy or other set"):
        TopDownClassifier(TREE, folder=tmp_path / "f", **other).fit(X, y)


def test_a_wider_vocabulary_is_another_training(tmp_path, monkeypatch):
    X, y = drawn()
    stopped(tmp_path / "f", X, y, monkeypatch)
    wider = np.pad(X, ((0, 0), (0, 1)))
    with pytest.raises(Mistake, match="other documents, another taxonomy or other set"):
        TopDownClassifier(TREE, folder=tmp_path / "f").fit(wider, y)


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(Mistake, match="is not empty and holds no training"):
        TopDownClassifier(TREE, folder=tmp_path).fit(*drawn())


WORKER = """
import sys, time
import numpy as np
from classmark.hierarchies import nodes
from classmark.hierarchies.top_down import TopDownClassifier
from classmark.taxonomy.tree import Taxonomy

learn, done = nodes.learn_node, []
def slow(nodes, at, *rest, **more):
    found = learn(nodes, at, *rest, **more)
    if sys.argv[2] == "slow" and len(done) >= 3:
        print("waiting", flush=True)
        time.sleep(600)
    done.append(at)
    print(at, flush=True)
    return found
nodes.learn_node = slow
edges = [("r", f"i{n}") for n in range(8)]
edges += [(f"i{n}", 3 * n + m) for n in range(8) for m in range(3)]
rng = np.random.default_rng(0)
y = np.arange(96) % 24
X = rng.random((96, 24)) * 0.2 + np.eye(24)[y]
tree, folder = Taxonomy(edges), sys.argv[1]
TopDownClassifier(tree, "naive-bayes", folder=folder, n_jobs=1).fit(X, y)
print("done", flush=True)
"""


def test_killed_and_started_again(tmp_path):
    folder = tmp_path / "f"
    command = [sys.executable, "-c", WORKER, str(folder)]
    first = subprocess.Popen([*command, "slow"], stdout=subprocess.PIPE, text=True)  # noqa: S603 (our own code)
    finished = {int(first.stdout.readline()) for _ in range(3)}
    assert first.stdout.readline() == "waiting\n"
    tree, X, y = same_as_the_worker()
    with pytest.raises(Mistake, match="another training is at work here"):
        TopDownClassifier(tree, "naive-bayes", folder=folder).fit(X, y)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()
    second = subprocess.run(  # noqa: S603 (our own code)
        [*command, "quick"], capture_output=True, text=True, check=True
    )
    *nodes, last = second.stdout.split("\n")[:-1]
    assert last == "done"
    assert sorted([*finished, *map(int, nodes)]) == list(range(9))
    assert TopDownClassifier.open(folder).score(X, y) == 1.0


def same_as_the_worker():
    edges = [("r", f"i{n}") for n in range(8)]
    edges += [(f"i{n}", 3 * n + m) for n in range(8) for m in range(3)]
    y = np.arange(96) % 24
    X = np.random.default_rng(0).random((96, 24)) * 0.2 + np.eye(24)[y]
    return Taxonomy(edges), X, y


def test_other_names_are_another_training(tmp_path):
    X, y = drawn()
    TopDownClassifier(TREE, folder=tmp_path / "here").fit(X, y)
    other = {name: f"{name}s" for name in TREE}
    tree = Taxonomy([(other[u], other[v]) for u, v in TREE.edges])
    named = [other[own] for own in y]
    with pytest.raises(Mistake, match="another taxonomy"):
        TopDownClassifier(tree, folder=tmp_path / "here").fit(X, named)


def test_a_finished_training_is_opened_with_the_settings_given_last(tmp_path):
    X, y = drawn()
    folder = tmp_path / "here"
    TopDownClassifier(TREE, folder=folder).fit(X, y)
    other = TopDownClassifier(TREE, beam=3, scale=2.0, folder=folder).fit(X, y)
    opened = TopDownClassifier.open(folder)
    assert (opened.beam, opened.scale) == (3, 2.0)
    assert np.array_equal(opened.decision_function(X), other.decision_function(X))
    assert not list(folder.glob("*again*")) + list(folder.glob(".*writing"))


def test_a_replacement_that_was_killed_is_completed(tmp_path):
    X, y = drawn()
    folder = tmp_path / "here"
    model = TopDownClassifier(TREE, folder=folder).fit(X, y)
    (folder / "model").rename(folder / "model-again")
    again = TopDownClassifier(TREE, folder=folder).fit(X, y)
    assert np.array_equal(model.decision_function(X), again.decision_function(X))
