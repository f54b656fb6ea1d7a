"""Sparse weights against slow passes, and against the dense optimum."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

from classmark.arrays import rows_from
from classmark.datasets import load
from classmark.preferences.labels import levels_from
from classmark.problems import Mistake
from classmark.rankers.linear import Rocchio
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.solvers import kernels_sparse, preference_sparse
from classmark.solvers import kernels_sparse as active
from classmark.solvers.ascent import ascend
from classmark.solvers.preference import Caps, Center, ImplicitDual, fits
from classmark.solvers.preference_sparse import SparseDual, store_of
from classmark.validation import byte_size
from classmark.weighting.vectorizer import Vectorizer
from oracles import active as slow_step
from oracles import sparse as slow

SHAPES = [(12, 10, 6, 2), (12, 10, 40, 1), (12, 12, 40, 3)]


def problem(seed, n, d, k, grades):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.3)
    Y = np.zeros((n, k))
    for i in range(n):
        chosen = rng.choice(k, rng.integers(0, 4), replace=False)
        Y[i, chosen] = rng.integers(1, grades + 1, len(chosen))
    X[:, 0] = 0.1
    return X, Y


def duals(X, Y, center=None, C=0.7, least=1e-7):
    """The sparse problem and the dense one."""
    rows, levels = rows_from(X), levels_from(Y)
    caps = np.full(levels.nnz, C)
    known = None if center is None else Rocchio().fit(rows, levels).weights_ * center
    dense = ImplicitDual(
        rows, levels, "dom", Caps(*np.full((2, Y.shape[1]), C)), center=Center(known)
    )
    return SparseDual(rows, levels, caps, center=known, least=least), dense


def stored(sparse):
    """The learned weights as the store has them, dense."""
    store, W = sparse.store, np.zeros(sparse.center.shape)
    for c in range(len(W)):
        entries = slice(store.first[c], store.first[c] + store.length[c])
        assert len(set(store.label[entries])) == store.length[c] <= store.room[c]
        W[c, store.label[entries]] = store.value[entries]
    return W


def three_steps(step, k, seed):
    """Slacks, shifts and duals of three steps on a group; scores and coefficients."""
    rng = np.random.default_rng(seed)
    n, room, m = k // 2, k + 30, 0
    hidden = np.array([0, 2], np.uint32)
    listed = np.concatenate([hidden, 3 + rng.permutation(k - 3)])[:n]
    f, delta, mark = np.zeros(k + 1), np.zeros(k + 1), np.zeros(k + 1, np.uint8)
    touched, place, a = (
        np.zeros(k, np.uint32),
        np.zeros(room, np.uint32),
        np.zeros(room),
    )
    f[listed], mark[listed], touched[:n] = rng.normal(0, 0.4, n), 1, listed
    work, seen = active.Work(f, delta, mark, touched, place, a, np.zeros(room)), []
    for _ in range(3):
        draws = rng.integers(1, k, 2).astype(np.uint32)
        slack, m, n, shift = step(0, hidden, 1.3, 0.6, m, work, n, draws, 1e-9)
        held = dict(zip(place[:m].tolist(), a[:m].tolist(), strict=True))
        seen += [slack, shift, n, *(held.get(s, 0.0) for s in range(k + 1))]
    return np.array(seen), f[:k], delta[:k]


@pytest.mark.parametrize("k", [5, 30, 90])
@pytest.mark.parametrize("seed", range(4))
def test_a_step_on_active_labels_is_the_slow_one(k, seed):
    fast = three_steps(active.visit_active, k, seed)
    slow_ones = three_steps(slow_step.visit_active, k, seed)
    for one, other in zip(fast, slow_ones, strict=True):
        assert np.allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("center", [None, 1.5])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_pass_is_the_slow_one(shape, center):
    X, Y = problem(1, *shape)
    levels = levels_from(Y).to_scipy().toarray()
    fast, _ = duals(X, Y, center)
    known, caps, alpha = fast.center.toarray(), np.full(Y.shape, 0.7), {}
    V, u, there = np.zeros(known.shape), np.zeros(len(known)), (known, known != 0)
    for turn in range(3):
        order = np.random.default_rng(turn).permutation(len(X))
        draws = np.random.default_rng(turn).integers(0, shape[2], (len(X), 2))
        fast.naps[:], fast.random = 0, Drawn(draws)
        seen = fast.learn(order)
        costs = slow.active_pass(
            order, X, levels, caps, there, alpha, V, u, draws, fast.least
        )
        assert seen == pytest.approx(costs.sum(), abs=1e-6)
        assert np.allclose(stored(fast), V, atol=1e-6)
        assert np.allclose(fast.store.shared, u, atol=1e-6)
    size = kernels_sparse.change_size(fast.store, fast.center_arrays, shape[2])
    assert np.allclose(size, slow.change_size(V, u, known), atol=1e-5)
    total = sum(sum(held.values()) for held in alpha.values())
    half, value = fast.values()
    assert half + value == pytest.approx(total - size[1], abs=1e-5)


class Drawn:
    """A generator that gives what is to be given."""

    def __init__(self, draws):
        self.draws = draws

    def integers(self, *_, dtype):
        return self.draws.astype(dtype)


def test_a_matrix_is_laid_out_as_by_hand():
    matrix = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    store = store_of(csr_matrix(matrix), np.float64, 5, np.zeros(3))
    labels, values = store.label.copy(), store.value.copy()
    store.label[:], store.value[:] = 0, 0
    slow.lay_out(matrix, store)
    assert labels.tolist() == store.label.tolist()
    assert values.tolist() == store.value.tolist()
    assert (store.length.tolist(), store.room.tolist()) == ([2, 0, 1], [3, 0, 1])


@pytest.mark.parametrize("center", [None, 2.0])
@pytest.mark.parametrize("shape", [(7, 4, 4, 2), (25, 20, 50, 1), (25, 20, 50, 3)])
def test_the_optimum_is_that_of_dense_weights(shape, center):
    X, Y = problem(3, *shape)
    sparse, dense = duals(X, Y, center)
    found, known = ascend(sparse, 1e-4, 3000), ascend(dense, 1e-5, 3000)
    assert found.relative_gap <= 1e-4
    assert found.objective == pytest.approx(known.objective, rel=2e-4)
    assert np.allclose(
        found.weights.toarray() + sparse.store.shared[:, None], known.weights, atol=0.02
    )


def test_the_dual_rises_and_the_store_is_what_the_duals_stand_for():
    X, Y = problem(5, 40, 30, 70, 2)
    sparse, _ = duals(X, Y, 1.0)
    before = -np.inf
    for turn in range(6):
        sparse.learn(np.random.default_rng(turn).permutation(40))
        half, value = sparse.values()
        assert before - 1e-9 <= value <= half + sparse.cost()
        before = value
        learned, shared = sparse.learned()
        assert np.allclose(stored(sparse), learned.toarray(), atol=1e-9)
        assert np.allclose(sparse.store.shared, shared, atol=1e-9)


def test_a_store_without_room_grows(monkeypatch):
    X, Y = problem(6, 50, 30, 70, 2)
    roomy = ascend(duals(X, Y)[0], 1e-4, 3000)
    monkeypatch.setattr(preference_sparse, "SPARE", 8)
    tight = duals(X, Y)[0]
    tight.spare = 8
    nothing = csr_matrix(tight.center.shape)
    tight.store = store_of(nothing, np.float64, 8, np.zeros(30))
    found = ascend(tight, 1e-4, 3000)
    assert found.objective == pytest.approx(roomy.objective, rel=2e-4)
    assert np.allclose(stored(tight) + tight.center, found.weights.toarray(), atol=1e-9)


def test_documents_without_words_or_labels_and_labels_without_documents():
    X, Y = problem(7, 40, 30, 50, 1)
    X[3], Y[3, :2], Y[4], Y[5] = 0, 1, 0, 1
    found = ascend(duals(X, Y)[0], 1e-3, 3000)
    assert found.relative_gap <= 1e-3
    assert found.weights.shape == (30, 50)


def test_sizes_are_read_and_told(caplog):
    assert [byte_size(s) for s in ("2GB", "1.5 kB", 10)] == [2e9, 1500, 10]
    for wrong in ("much", "", "0GB", "1.2.3MB"):
        with pytest.raises(Mistake, match="memory is"):
            byte_size(wrong)
    rows = rows_from(np.eye(3))
    with caplog.at_level("INFO"):
        assert fits(rows, 10, "240B", sparse=True)
        assert not caplog.messages
        assert not fits(rows, 10, "239B", sparse=True)
    assert "3 features × 10 labels" in caplog.messages[0]
    with pytest.raises(Mistake, match="loss='dom'"):
        fits(rows, 10, "239B", sparse=False)


@pytest.mark.parametrize("center", [None, 2.0])
def test_the_ranker_switches_by_itself_and_ranks_the_same(center, caplog):
    X, Y = problem(8, 25, 20, 50, 2)
    settings = {"C": 1.0, "tol": 1e-4, "center": center, "max_iter": 3000}
    dense = PreferenceRanker(**settings).fit(X, Y)
    with caplog.at_level("INFO", "classmark"):
        sparse = PreferenceRanker(memory="1kB", **settings).fit(X, Y)
    assert (dense.store_, sparse.store_) == ("dense", "sparse")
    assert "kept sparse" in caplog.text
    assert isinstance(sparse.weights_, csr_matrix)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=2e-4)
    scores = [ranker.decision_function(X) for ranker in (dense, sparse)]
    apart = scores[0] - scores[1]
    assert np.allclose(apart, apart.mean(axis=1, keepdims=True), atol=0.01)
    parts = [ranker.evidence(X[:1], 3).parts for ranker in (dense, sparse)]
    assert np.allclose(*parts, atol=0.01)


def test_a_path_of_c_and_what_sparse_weights_cannot_do():
    X, Y = problem(9, 40, 30, 50, 1)
    small = PreferenceRanker(memory="1kB", class_weight="balanced")
    found = [ranker.objective_ for ranker in small.path(X, Y, [0.1, 1.0])]
    alone = PreferenceRanker(C=1.0, class_weight="balanced").fit(X, Y)
    assert found[0] < found[1] == pytest.approx(alone.objective_, rel=2e-3)
    for wrong in ({"loss": "dme"}, {"kernel": "rbf"}):
        with pytest.raises(Mistake, match="allow more"):
            PreferenceRanker(memory="1kB", **wrong).fit(X, Y)


def test_models_with_sparse_weights_save_open_and_explain(tmp_path):
    words = ["apple pear", "pear plum", "iron lead", "lead zinc", "oak elm", "elm ash"]
    labels = [[0], [0], [1], [1], [2], [2]]
    ranker = PreferenceRanker(memory="1B")
    names = ["fruit", "metal", "tree"]
    model = TextRanker.fit(Vectorizer(), ranker, words, labels, names)
    assert ranker.store_ == "sparse"
    model.save(tmp_path / "model")
    opened = TextRanker.open(tmp_path / "model")
    told = opened.suggest("iron and zinc", k=2)
    assert told == model.suggest("iron and zinc", k=2)
    assert told[0].category == "metal"
    assert {term for term, _ in told[0].favour} == {"iron", "zinc"}


def test_on_a_web_directory_sparse_weights_rank_as_dense_ones(data):
    found = load("lshtc1-dryrun", data)
    used = np.flatnonzero(np.bincount(found.train.X.indices))
    X, test = (normalize(part.X[:, used].log1p()) for part in (found.train, found.test))
    gold = np.array([row[0] for row in found.label_numbers(found.test)])
    hits = []
    for memory in ("1GB", "1MB"):
        ranker = PreferenceRanker(C=1.0, center=3.0, memory=memory)
        ranker.fit(X, found.label_numbers(found.train))
        hits.append((ranker.rank(test, k=1)[:, 0] == gold).mean())
    assert hits[0] > 0.4
    assert hits[0] == pytest.approx(hits[1], abs=0.003)
