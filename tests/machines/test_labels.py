"""Blocks of labels on machines: the same model as all labels at once."""

import os
import re
import shutil
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse, random_array

from classmark.arrays import rows_from
from classmark.evaluation.evaluate import LabelledTexts
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.machines import labels as label_block
from classmark.machines.cluster import Machines
from classmark.machines.labels import LARGEST, PROCESS, block_size, fit_blocks
from classmark.preferences.graph import PreferenceGraph
from classmark.problems import Mistake
from classmark.progress import spread_by
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.taxonomy.category import Category
from classmark.taxonomy.tree import Taxonomy
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.learning.fit import FittedModel, Size, choose, task_of
from classmark.workbench.learning.train import learn_beside
from classmark.workbench.settings import LearningSettings

N, K, D = 120, 28, 60


def made_up(kind=np.float64):
    """Documents with a few words each; some without a label, a label without any."""
    random = np.random.default_rng(3)
    X = random_array((N, D), density=0.15, rng=random, format="csr", dtype=kind)
    Y = [random.choice(K - 1, size=i % 4, replace=False).tolist() for i in range(N)]
    return csr_matrix(X), Y


def indicator(Y):
    found = np.zeros((len(Y), K))
    for row, own in enumerate(Y):
        found[row, own] = 1.0
    return found


def same(one, other):
    assert np.array_equal(one.weights_, other.weights_)
    assert np.array_equal(one.thresholds_, other.thresholds_)
    assert (one.objective_, one.duality_gap_, one.n_iter_) == (
        other.objective_,
        other.duality_gap_,
        other.n_iter_,
    )


@pytest.mark.parametrize("size", [K, K // 2, 4], ids=["one", "two", "seven"])
@pytest.mark.parametrize(
    "settings", [{}, {"class_weight": "balanced"}, {"center": 2.0}], ids=str
)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_blocks_are_the_local_fit(size, settings, kind, tmp_path):
    X, Y = made_up(kind)
    tol = 1e-4
    local = PreferenceRanker("svm", tol=tol, **settings).fit(X, indicator(Y))
    ranker = PreferenceRanker("svm", tol=tol, **settings)
    found = fit_blocks(None, ranker, X, indicator(Y), tmp_path, size)
    assert found is ranker
    assert len(list(tmp_path.glob("labels-*/block-*"))) == K // size
    assert found.weights_.dtype == local.weights_.dtype
    assert found.weights_.shape == local.weights_.shape
    assert 0 <= found.duality_gap_ <= tol
    assert found.objective_ == pytest.approx(local.objective_, rel=2 * tol)
    apart = np.abs(found.decision_function(X) - local.decision_function(X))
    assert apart.max() < 0.05
    if size == K:
        assert apart.max() < 1e-5


def test_every_document_counts_for_or_against(tmp_path):
    """A label's own problem, alone, with all documents that do not have it against."""
    X, Y = made_up()
    found = fit_blocks(
        None, PreferenceRanker("svm", tol=1e-6), X, indicator(Y), tmp_path, 1
    )
    label = Y[1][0]
    alone = PreferenceRanker("svm", tol=1e-6).fit(X, indicator(Y)[:, [label]])
    assert np.allclose(found.weights_[:, [label]], alone.weights_, atol=1e-12)
    assert found.thresholds_[label] == alone.thresholds_[0]


def test_two_workers_or_four_change_no_bit(two, four, tmp_path):
    X, Y = made_up(np.float32)
    here = fit_blocks(None, PreferenceRanker("svm"), X, Y, tmp_path / "here", 5)
    for name, machines in (("two", two), ("four", four)):
        there = fit_blocks(machines, PreferenceRanker("svm"), X, Y, tmp_path / name, 5)
        same(here, there)


def test_a_worker_killed_among_the_blocks(killing, tmp_path):
    X, Y = made_up(np.float32)
    here = fit_blocks(None, PreferenceRanker("svm"), X, Y, tmp_path / "here", 1)
    place = tmp_path / "there"

    def begun():
        return len(list(place.glob("labels-*/block-*"))) >= 2

    with Machines.local(2) as machines, killing(machines, begun) as one:
        there = fit_blocks(machines, PreferenceRanker("svm"), X, Y, place, 1)
        assert one.killed
    same(here, there)


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    X, Y = made_up()
    first = fit_blocks(None, PreferenceRanker("svm"), X, Y, tmp_path, 4)
    blocks = sorted(tmp_path.glob("labels-*/block-*"))
    shutil.rmtree(blocks[2])
    damaged = blocks[4] / "values.npy"
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    documents = blocks[0].parent / "documents" / "rows_values.npy"
    documents.write_bytes(documents.read_bytes()[:-1])
    (blocks[0].parent / ".block-half.writing").mkdir()
    learned, learn = [], label_block.learn_block

    def watched(span, *rest):
        learned.append(span)
        learn(span, *rest)

    monkeypatch.setattr("classmark.machines.labels.learn_block", watched)
    second = fit_blocks(None, PreferenceRanker("svm"), X, Y, tmp_path, 4)
    assert learned == [(8, 12), (16, 20)]
    assert not list(tmp_path.glob("labels-*/.*"))
    same(first, second)


@pytest.mark.parametrize("change", ["X", "Y", "C", "block"])
def test_another_task_begins_anew(change, tmp_path):
    X, Y = made_up()
    fit_blocks(None, PreferenceRanker("svm"), X, Y, tmp_path, 14)
    (before,) = tmp_path.glob("labels-*")
    X = X * 2 if change == "X" else X
    Y = [*Y[:-1], [0, 1]] if change == "Y" else Y
    ranker = PreferenceRanker("svm", C=2.0 if change == "C" else 1.0)
    fit_blocks(None, ranker, X, Y, tmp_path, 7 if change == "block" else 14)
    (after,) = tmp_path.glob("labels-*")
    assert before.name != after.name


def test_another_that_is_at_work_is_left_alone(tmp_path, monkeypatch):
    X, Y = made_up()
    learn = label_block.learn_block

    def meddling(*task):
        with pytest.raises(Mistake, match="another training is at work here"):
            fit_blocks(None, PreferenceRanker("svm", C=9.0), X, Y, tmp_path, K)
        learn(*task)

    monkeypatch.setattr("classmark.machines.labels.learn_block", meddling)
    found = fit_blocks(None, PreferenceRanker("svm"), X, Y, tmp_path, K)
    monkeypatch.undo()
    same(found, fit_blocks(None, PreferenceRanker("svm"), X, Y, tmp_path / "new", K))


def test_two_at_once_write_one_block(tmp_path, monkeypatch):
    """The second finds the first's folder when it comes to rename its own."""
    X, Y = made_up()
    fit_blocks(None, PreferenceRanker("svm"), X, Y, tmp_path, K)
    (working,) = tmp_path.glob("labels-*")
    (block,) = working.glob("block-*")
    before = (block / "manifest.json").read_bytes()
    exists, asked = Path.exists, []

    def late(path):
        asked.append(path == block)
        return exists(path) and sum(asked) != 1

    monkeypatch.setattr(Path, "exists", late)
    parameters = PreferenceRanker("svm", C=3.0).get_params()
    low, high = (int(part) for part in block.name.split("-")[1:])
    label_block.learn_block((low, high), str(working), parameters)
    assert sum(asked) > 1
    assert (block / "manifest.json").read_bytes() == before
    assert [path.name for path in working.glob(".*")] == []


def test_weights_that_take_too_much_are_sparse(tmp_path):
    X, Y = made_up()
    dense = fit_blocks(None, PreferenceRanker("svm"), X, Y, tmp_path / "dense", 3)
    little = PreferenceRanker("svm", memory="2kB")
    with pytest.raises(Mistake, match="more than memory"):
        little.fit(X, Y)
    found = fit_blocks(None, little, X, Y, tmp_path / "sparse", 3)
    assert (dense.store_, found.store_) == ("dense", "sparse")
    assert issparse(found.weights_)
    assert np.array_equal(found.weights_.toarray(), dense.weights_)
    assert found.weights_.has_sorted_indices
    assert np.array_equal(found.rank(X), dense.rank(X))
    assert np.abs(found.weights_.data).min() > 0


def test_the_model_is_kept_and_opened(tmp_path):
    texts = ["bees in a hive", "rye bread", "plum jam", "bees and honey", "bread, jam"]
    Y = [[0], [1], [2], [0], [1, 2]]
    vectorizer = Vectorizer()
    X = vectorizer.fit_transform(texts)
    ranker = PreferenceRanker("svm", memory="100B")
    fit_blocks(None, ranker, X, Y, tmp_path / "working", 2)
    model = TextRanker(vectorizer, ranker, ["bees", "bread", "jam"])
    model.save(tmp_path / "model")
    again = TextRanker.open(tmp_path / "model")
    assert np.array_equal(again.scores(texts), model.scores(texts))
    with pytest.raises(Mistake, match="document by document"):
        ranker.partial_fit(X, Y)


def test_layered_graphs_are_labels_too(tmp_path):
    X, Y = made_up()
    graphs = [PreferenceGraph.multilabel(K, own) for own in Y]
    by_labels = fit_blocks(
        None, PreferenceRanker("svm"), X, indicator(Y), tmp_path / "labels"
    )
    by_graphs = fit_blocks(None, PreferenceRanker("svm"), X, graphs, tmp_path / "g")
    same(by_labels, by_graphs)


@pytest.mark.parametrize(
    ("ranker", "what"),
    [
        (PreferenceRanker("dom"), "'dom' ties labels together.*--loss svm.*top-down"),
        (PreferenceRanker("dis"), "'dis' ties labels together"),
        (PreferenceRanker("dme"), "'dme' ties labels together"),
        (PreferenceRanker("svm", kernel="rbf"), "kernel=None"),
        (TaxonomyRanker(Taxonomy([("r", "a")]), loss="svm"), "TaxonomyRanker"),
    ],
    ids=["dom", "dis", "dme", "kernel", "tree"],
)
def test_labels_that_are_tied_are_refused(ranker, what, tmp_path):
    with pytest.raises(Mistake, match=what):
        fit_blocks(None, ranker, *made_up(), tmp_path)


def test_wrong_input_is_refused(tmp_path):
    X, Y = made_up()
    svm = PreferenceRanker("svm")
    with pytest.raises(Mistake, match="block is 0"):
        fit_blocks(None, svm, X, Y, tmp_path, 0)
    with pytest.raises(Mistake, match="nothing to learn"):
        fit_blocks(None, svm, X[:0], [], tmp_path)
    with pytest.raises(Mistake, match="one label need"):
        fit_blocks(None, PreferenceRanker("svm", memory="1B"), X, Y, tmp_path)


def test_a_large_model_is_calibrated_by_blocks(two, tmp_path):
    """Its folds do not fit the memory either: blocks again, as if it were not large."""
    random = np.random.default_rng(0)
    labels = [[i % 5] for i in range(80)]
    texts = [f"own{c} w{random.integers(9)} w{random.integers(9)}" for [c] in labels]
    names = [str(c) for c in range(5)]
    task = task_of(LabelledTexts(texts, labels, names), [Category(n, n) for n in names])
    learning = LearningSettings(strategy="plain", loss="svm")
    curves = []
    for memory, machines in (("1MB", None), ("200B", None), ("200B", two)):
        vectorizer = Vectorizer()
        X = vectorizer.fit_transform(texts)
        ranker = PreferenceRanker("svm", tol=1e-5, memory=memory)
        working = tmp_path / f"{memory}-{machines is None}"
        model = TextRanker(
            vectorizer,
            fit_blocks(machines, ranker, X, labels, working / "model"),
            names,
        )
        strategy = choose(learning, task.tree, Size(*X.shape, 5))
        assert (ranker.store_ == "sparse") == (memory == "200B")
        with spread_by(machines) if machines else nullcontext():
            learn_beside(FittedModel(model, strategy, X), task, learning, working)
        assert len(list(working.glob("fold-*"))) == (5 if memory == "200B" else 0)
        curves.append(model.calibrator.curve_)
    assert np.array_equal(curves[1], curves[2])
    assert np.allclose(curves[0][1].max(), curves[1][1].max(), atol=0.02)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_workers_stay_within_their_memory(tmp_path):
    """Ten times the documents; all weights at once would take more than a worker."""
    limit = 400_000_000
    random = np.random.default_rng(0)
    with Machines.local(1, memory=limit) as machines:
        (pid,) = machines.client.run(os.getpid).values()
        for n in (60, 600):
            X = random_array((n, 400_000), density=3e-5, rng=random, format="csr")
            Y = [[i % K] for i in range(n)]
            ranker = PreferenceRanker("svm", tol=0.1, memory="100MB")
            assert 8 * X.shape[1] * K > 0.75 * limit - PROCESS
            fit_blocks(machines, ranker, X, Y, tmp_path / str(n))
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024
            assert peak < limit
            assert ranker.weights_.shape == (400_000, K)
        assert list(machines.client.run(os.getpid).values()) == [pid]


class Sized:
    """Machines of which only the memory is asked."""

    def __init__(self, memory):
        self.memory = memory


def test_blocks_are_as_large_as_memory_allows():
    svm, rows = PreferenceRanker("svm"), rows_from(made_up()[0])
    wide = rows.__class__(rows.starts, rows.columns, rows.values, 1_000_000)
    assert block_size(svm, rows, 10_000, None) == LARGEST
    assert block_size(svm, rows, 320, None) == 20
    assert block_size(svm, wide, 10_000, None) == 249
    sizes = [
        block_size(svm, wide, 10_000, Sized(m)) for m in (0, 4e9, 1e9, 4e8)
    ]  # fmt: skip
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 249
    assert sizes[2] < 40
    with pytest.raises(Mistake, match=r"a worker has 0\.3 GB: .* needs 0\.36 GB"):
        block_size(svm, wide, 10_000, Sized(3e8))


def test_a_full_disk_is_told_and_nothing_half_stays(tmp_path, monkeypatch):
    X, Y = made_up()

    def full(*_):
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patched:
        patched.setattr("classmark.storage.os.fsync", full)
        with pytest.raises(OSError, match="No space left"):
            fit_blocks(None, PreferenceRanker("svm"), X, Y, tmp_path, 14)
    found = fit_blocks(None, PreferenceRanker("svm"), X, Y, tmp_path, 14)
    assert found.duality_gap_ <= 1e-3
    assert not list(tmp_path.glob("labels-*/.*"))
