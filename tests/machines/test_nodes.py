"""Nodes of a tree learn on workers: the model is the local one, byte for byte."""

import errno
import resource
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.sparse import random as drawn_sparse

from classmark.hierarchies import model_files as spread
from classmark.hierarchies import nodes as node_training
from classmark.hierarchies.model_files import NodeWorker
from classmark.hierarchies.top_down import TopDownClassifier, TopDownRanker
from classmark.problems import Mistake
from classmark.progress import spread_by
from classmark.taxonomy.category import Category
from classmark.taxonomy.tree import Taxonomy
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from projects import new_project

SMALL = 500  # bytes that a file may have where a disk is said to be full
BASES = ["svm", "logistic", "naive-bayes"]
DEEP = [
    (f"n{i}", f"n{3 * i + j}") for i in range(40) for j in (1, 2, 3)
]  # four levels of three daughters
TREES = {
    "deep": Taxonomy(DEEP),
    "flat": Taxonomy([("n0", f"n{i}") for i in range(1, 40)]),
    "graph": Taxonomy([*DEEP, ("n1", "n8"), ("n2", "n40"), ("n7", "n100")]),
    "roots": Taxonomy([edge for edge in DEEP if edge[0] != "n0"]),
}


def documents(tree, n=400, width=300, density=0.05, kind=np.float64):
    """Rows and their categories: leaves, some inner nodes, some of them several.

    A fifth of the leaves has no documents.
    """
    rng = np.random.default_rng(0)
    leaves = [v for at, v in enumerate(tree.leaves) if at % 5]
    names = [*leaves, *(v for v in list(tree)[:6] if not tree.is_leaf(v))]
    y = [[names[i] for i in rng.integers(0, len(names), 1 + (i % 7 == 0))]
         for i in range(n)]  # fmt: skip
    X = drawn_sparse(n, width, density, "csr", rng=rng).tolil()
    for row, several in enumerate(y):
        for name in several:
            for up in [name, *tree.ancestors(name)]:
                X[row, (7 * tree.number(up) + int(rng.integers(3))) % width] = 2.0
    return X.tocsr().astype(kind), y


def contents(folder):
    """What each file of a folder, and below it, holds."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def both(machines, tmp_path, make, X, y):
    """Train here, then on machines; the models' files."""
    make(tmp_path / "here").fit(X, y)
    with spread_by(machines):
        make(tmp_path / "there").fit(X, y)
    return [contents(tmp_path / where / "model") for where in ("here", "there")]


class Watched:
    """Machines that note the nodes of each task, and may be made smaller."""

    def __init__(self, machines, memory=None, after=None):
        self._machines, self.workers = machines, machines.workers
        self.memory = machines.memory if memory is None else memory
        self.after, self.nodes, self.tasks, self.shared = after, [], 0, None

    def require_folder(self, folder):
        self._machines.require_folder(folder)

    def spread(self, work, tasks, shared):
        self.tasks += len(tasks)
        self.shared = shared
        for done, found in enumerate(self._machines.spread(work, tasks, shared), 1):
            self.nodes += found[1]
            yield found
            if done == self.after:
                raise KeyboardInterrupt


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("base", BASES)
def test_every_tree_and_base_is_learned_as_here(two, tmp_path, tree, base):
    X, y = documents(TREES[tree], kind=np.float32 if base == "svm" else np.float64)

    def make(folder):
        return TopDownClassifier(TREES[tree], base, drop=0.01, folder=folder)

    here, there = both(two, tmp_path, make, X, y)
    assert here == there
    assert "weight.npy" in here
    alone = TopDownClassifier(TREES[tree], base, drop=0.01).fit(X, y)
    alone.save(tmp_path / "saved")
    opened = TopDownClassifier.open(tmp_path / "there")
    assert np.array_equal(opened.decision_function(X), alone.decision_function(X))
    folder = tmp_path / "there"
    assert sorted(p.name for p in folder.iterdir()) == [
        "model",
        "nodes.bin",
        "training",
    ]


def test_a_joined_model_has_the_bytes_of_a_saved_one(two, tmp_path):
    X, y = documents(TREES["deep"])
    TopDownClassifier(TREES["deep"]).fit(X, y).save(tmp_path / "saved")
    with spread_by(two):
        TopDownClassifier(TREES["deep"], folder=tmp_path / "there").fit(X, y)
    assert contents(tmp_path / "there" / "model") == contents(tmp_path / "saved")


@pytest.mark.parametrize("policy", ["meta", "random"])
def test_a_pruned_tree_is_learned_as_here(two, tmp_path, policy):
    tree = TREES["deep"]
    X, y = documents(tree)
    names = sorted({name for several in y for name in several})
    labels = [[names.index(name) for name in several] for several in y]

    def make(folder):
        ranker = TopDownRanker(tree, names, prune=policy, bold=True)
        ranker.working = folder
        return ranker

    here, there = both(two, tmp_path, make, X, labels)
    assert here == there
    assert make(None).fit(X, labels).pruned_


def test_what_was_finished_here_is_not_done_on_machines(two, tmp_path, monkeypatch):
    X, y = documents(TREES["deep"])
    seen, learn = [], node_training.learn_node

    def failing(nodes, at, *rest, **more):
        if len(seen) == 10:
            raise KeyboardInterrupt
        seen.append(at)
        return learn(nodes, at, *rest, **more)

    make = TopDownClassifier(TREES["deep"], folder=tmp_path / "t", n_jobs=1)
    with monkeypatch.context() as patch:
        patch.setattr(node_training, "learn_node", failing)
        with pytest.raises(KeyboardInterrupt):
            make.fit(X, y)
    watched = Watched(two)
    with spread_by(watched):
        make.fit(X, y)
    assert len(watched.nodes) == len(set(watched.nodes)) == len(make.places_.inner) - 10
    assert not set(watched.nodes) & set(seen)
    local = TopDownClassifier(TREES["deep"], folder=tmp_path / "l", n_jobs=1).fit(X, y)
    assert contents(tmp_path / "t" / "model") == contents(tmp_path / "l" / "model")
    assert np.array_equal(local.decision_function(X), make.decision_function(X))


def interrupted(machines, tmp_path, X, y):
    """A training on machines that is stopped after two tasks; its nodes by then."""
    watched = Watched(machines, after=2)
    with spread_by(watched), pytest.raises(KeyboardInterrupt):
        TopDownClassifier(TREES["deep"], folder=tmp_path / "t").fit(X, y)
    assert list((tmp_path / "t" / "pieces").glob("*.bin"))
    return set(watched.nodes)


def test_what_machines_finished_is_not_done_here(two, tmp_path, monkeypatch):
    X, y = documents(TREES["deep"])
    done = interrupted(two, tmp_path, X, y)
    seen, learn = [], node_training.learn_node

    def told(nodes, at, *rest, **more):
        seen.append(at)
        return learn(nodes, at, *rest, **more)

    monkeypatch.setattr(node_training, "learn_node", told)
    model = TopDownClassifier(TREES["deep"], folder=tmp_path / "t").fit(X, y)
    assert done
    assert not done & set(seen)
    assert 0 < len(seen) < len(model.places_.inner)
    TopDownClassifier(TREES["deep"], folder=tmp_path / "l").fit(X, y)
    assert contents(tmp_path / "t" / "model") == contents(tmp_path / "l" / "model")
    assert not (tmp_path / "t" / "pieces").exists()
    assert not (tmp_path / "t" / "lessons").exists()


def test_a_piece_that_was_damaged_is_learned_again(two, tmp_path):
    X, y = documents(TREES["deep"])
    interrupted(two, tmp_path, X, y)
    for path in (tmp_path / "t" / "pieces").glob("*.bin"):
        content = bytearray(path.read_bytes())
        content[-2] ^= 1
        path.write_bytes(content)
    with spread_by(two):
        TopDownClassifier(TREES["deep"], folder=tmp_path / "t").fit(X, y)
    TopDownClassifier(TREES["deep"], folder=tmp_path / "l").fit(X, y)
    assert contents(tmp_path / "t" / "model") == contents(tmp_path / "l" / "model")


def test_a_worker_killed_changes_nothing_but_time(two, tmp_path, killing):
    X, y = documents(TREES["deep"], 3000, 2000)
    folder = tmp_path / "t"

    def make(folder):
        return TopDownClassifier(TREES["deep"], "logistic", C=50.0, folder=folder)

    with spread_by(two), killing(two, lambda: any(folder.glob("pieces/*.bin"))) as one:
        make(folder).fit(X, y)
    assert one.killed
    make(tmp_path / "l").fit(X, y)
    assert contents(folder / "model") == contents(tmp_path / "l" / "model")


def test_a_disk_that_is_full_is_told_and_what_is_finished_kept(two, tmp_path):
    X, y = documents(TREES["deep"])
    done = interrupted(two, tmp_path, X, y)
    make = TopDownClassifier(TREES["deep"], folder=tmp_path / "t")
    kind = resource.RLIMIT_FSIZE
    usual, most = resource.getrlimit(kind)
    two.client.run(resource.setrlimit, kind, (SMALL, most))
    said = "make room and repeat the command; what is finished is kept"
    try:
        with spread_by(two), pytest.raises(OSError, match=said) as told:
            make.fit(X, y)
    finally:
        two.client.run(resource.setrlimit, kind, (usual, most))
    assert told.value.errno == errno.EFBIG
    assert str(tmp_path) in str(told.value)
    watched = Watched(two)
    with spread_by(watched):
        make.fit(X, y)
    assert not done & set(watched.nodes)
    TopDownClassifier(TREES["deep"], folder=tmp_path / "l").fit(X, y)
    assert contents(tmp_path / "t" / "model") == contents(tmp_path / "l" / "model")


def test_a_worker_too_small_is_refused_before_anything_is_sent(two, tmp_path):
    X, y = documents(TREES["deep"])
    small = Watched(two, memory=200_000_000)
    said = r"workers of 0\.2 GB, .* leave 0 GB: the node 'n0' .* use fewer features"
    with spread_by(small), pytest.raises(Mistake, match=said):
        TopDownClassifier(TREES["deep"], folder=tmp_path / "t").fit(X, y)
    assert small.tasks == 0
    assert not (tmp_path / "t" / "lessons").exists()


@pytest.mark.parametrize("many", [False, True])
def test_the_memory_asked_for_is_refused_as_here(two, tmp_path, many):
    X, y = documents(TREES["deep"])
    make = TopDownClassifier(
        TREES["deep"], "logistic", memory="1kB", folder=tmp_path / "t"
    )
    said = "memory='1kB': the node 'n0' .*use base='svm'"
    where = spread_by(two) if many else nullcontext()
    with where, pytest.raises(Mistake, match=said):
        make.fit(X, y)


def test_a_node_that_does_not_fit_a_worker_learns_with_sparse_weights(two, tmp_path):
    tree = TREES["flat"]
    X, y = documents(tree, 300, 20_000, 0.002)
    dense = TopDownClassifier(tree, tol=1e-5).fit(X, y)
    small = Watched(two, memory=int((spread.FOOTPRINT + 4.5e6) / spread.USABLE))
    with spread_by(small):
        sparse = TopDownClassifier(tree, tol=1e-5, folder=tmp_path / "t").fit(X, y)
    assert small.shared[0].room < 4.5e6
    np.testing.assert_allclose(
        np.nan_to_num(sparse.decision_function(X), neginf=0.0),
        np.nan_to_num(dense.decision_function(X), neginf=0.0),
        atol=0.03,
    )


def test_a_folder_that_is_not_seen_is_refused(two, tmp_path, monkeypatch):
    X, y = documents(TREES["flat"])
    monkeypatch.setattr("classmark.machines.cluster._sees", lambda _: False)
    said = "give a folder that all machines have under the same name"
    with spread_by(two), pytest.raises(Mistake, match=said):
        TopDownClassifier(TREES["flat"], folder=tmp_path / "t").fit(X, y)


def test_without_a_folder_nothing_is_spread(two):
    X, y = documents(TREES["flat"])
    watched = Watched(two)
    with spread_by(watched):
        TopDownClassifier(TREES["flat"]).fit(X, y)
    assert watched.tasks == 0


def test_a_worker_travels_as_its_description(tmp_path):
    settings = node_training.NodeSettings("svm", 1.0, 0.01, 0.0, 2, "4GB")
    made, given = NodeWorker(tmp_path, settings, 5.0).__reduce__()
    assert (made, given) == (NodeWorker, (tmp_path, settings, 5.0))


WORDS = {
    "bees": "hive honey", "wasps": "sting nest", "bread": "oven dough",
    "cakes": "sugar cream", "crafts": "hand work",
}  # fmt: skip


def project_at(folder, strategy):
    learning = LearningSettings(strategy=strategy, policy="random", bold=True)
    parents = {
        "insects": "all", "food": "all", "crafts": "all", "bees": "insects",
        "wasps": "insects", "bread": "food", "cakes": "food",
    }  # fmt: skip
    tree = [Category("all"), *(Category(v, parents=(p,)) for v, p in parents.items())]
    rows = [
        {"id": f"{name}{at}", "text": f"{words} w{at % 5}", "labels": [name]}
        for name, words in WORDS.items()
        for at in range(8)
    ]
    return new_project(folder, rows, tree, learning=learning)


@pytest.mark.parametrize("strategy", ["top-down", "pruned"])
def test_a_project_is_trained_to_the_same_model(two, tmp_path, strategy):
    models = []
    for machines in (None, two):
        with Project(project_at(tmp_path / str(machines), strategy)) as project:
            found = train(project, machines=machines)
            assert found.strategy == strategy
            models.append(contents(project.models.folder / found.model / "nodes"))
    assert models[0] == models[1]
    assert "weight.npy" in models[0]
