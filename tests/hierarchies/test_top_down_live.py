"""Documents teach one by one beside a top-down model."""

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.hierarchies.top_down import TopDownRanker
from classmark.hierarchies.top_down_live import LiveTopDownRanker, TreeCenter
from classmark.ranking import rank_of
from classmark.solvers.centers import EveryScore
from classmark.solvers.live_documents import Lesson
from classmark.solvers.preference_beside import LiveDualBeside
from classmark.taxonomy.tree import Taxonomy

FEATURES, LABELS = 30, 24
EDGES = [("r", f"i{i}") for i in range(4)]
EDGES += [(f"i{label % 4}", label) for label in range(LABELS)]
EDGES += [("i0", 1), ("i3", 2)]  # two ways lead to these
TREE = Taxonomy(EDGES)


class EveryLabel(TreeCenter):
    """The same center, which computes the scores of all labels at once."""

    def scores(self, *document):
        return EveryScore(super().scores(*document).every())


@pytest.fixture(params=[3, 8])
def drawn(request):
    rng = np.random.default_rng(request.param)
    X = rng.random((90, FEATURES)) * (rng.random((90, FEATURES)) < 0.2)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    labels = [sorted({*rng.integers(LABELS - 2, size=1 + i % 2)}) for i in range(90)]
    trained = TopDownRanker(TREE, list(range(LABELS))).fit(X[:50], labels[:50])
    return rows_from(X.astype(np.float32)), labels, trained


def lesson(rows, at, labels):
    numbers = np.array(labels, np.uint32)
    return Lesson(*rows.row(at), numbers, np.ones(len(numbers), np.float32))


def teach(live, rows, labels):
    """Teach, forget, merge, hide and add labels; 22 and 23 had no document before."""
    live.grow(FEATURES, LABELS + 2)
    handles = [live.learn(lesson(rows, at, labels[at])) for at in range(50, 70)]
    live.learn(lesson(rows, 70, [23, 3]))
    live.learn(lesson(rows, 71, [LABELS]))
    live.merge(5, 9)
    live.merge(9, 11)
    live.merge(7, LABELS)
    live.hide({4, 5, 7, 9, LABELS + 1})
    live.forget(handles[3])
    live.replace(handles[4], lesson(rows, 72, [0]))
    live.revisit(40)


def ranker_of(drawn):
    rows, labels, trained = drawn
    ranker = LiveTopDownRanker(1.0).go_on_from(TreeCenter(trained))
    teach(ranker.live_, rows, labels)
    return rows, ranker


def test_steps_are_those_with_the_scores_of_all_labels_to_the_bit(drawn):
    rows, labels, trained = drawn
    lazy, dense = (LiveDualBeside(c(trained), 1.0) for c in (TreeCenter, EveryLabel))
    for live in (lazy, dense):
        teach(live, rows, labels)
    assert lazy.duals
    for name, array in lazy.to_arrays().items():
        assert array.tolist() == dense.to_arrays()[name].tolist(), name


@pytest.mark.parametrize("k", [1, 4, 40])
def test_the_best_are_those_of_all_scores(drawn, k):
    rows, ranker = ranker_of(drawn)
    for at in range(len(rows)):
        X = [np.bincount(rows.row(at)[0], rows.row(at)[1], FEATURES)]
        scores = ranker.category_scores(X)[0]
        order = np.lexsort((np.arange(len(scores)), -scores))
        expected = [label for label in order[:k].tolist() if scores[label] > -np.inf]
        best = ranker.best(X, k)
        assert [label for label, _ in best] == expected
        assert [score for _, score in best] == pytest.approx(scores[expected])


def test_ranks_are_those_of_all_scores(drawn):
    rows, ranker = ranker_of(drawn)
    for at in range(0, len(rows), 7):
        X = [np.bincount(rows.row(at)[0], rows.row(at)[1], FEATURES)]
        scores = ranker.category_scores(X)[0]
        for label, standing in enumerate(ranker.ranks(X, range(len(scores)))):
            if scores[label] == -np.inf:
                assert standing is None
            else:
                assert standing.score == pytest.approx(scores[label])
                assert standing.rank == rank_of(scores, label)


def test_a_category_without_documents_counts_from_its_first(drawn):
    rows, _, trained = drawn
    ranker = LiveTopDownRanker(1.0).go_on_from(TreeCenter(trained))
    X = [np.bincount(rows.row(80)[0], rows.row(80)[1], FEATURES)]
    assert ranker.ranks(X, [23]) == [None]
    handle = ranker.live_.learn(lesson(rows, 80, [23]))
    assert ranker.ranks(X, [23])[0].rank <= 4
    ranker.live_.forget(handle)
    assert ranker.ranks(X, [23]) == [None]


def test_what_is_forgotten_was_never_learned(drawn):
    rows, labels, trained = drawn
    ranker = LiveTopDownRanker(1.0).go_on_from(TreeCenter(trained))
    live = ranker.live_
    for at in range(50, 60):
        live.learn(lesson(rows, at, labels[at]))
    before = live.scores(*rows.row(5)).tolist()
    live.forget(live.learn(lesson(rows, 61, [3])))
    assert live.scores(*rows.row(5)).tolist() == before


def test_evidence_is_that_of_the_way_and_of_what_came_since(drawn):
    rows, labels, trained = drawn
    ranker = LiveTopDownRanker(1.0).go_on_from(TreeCenter(trained))
    at = next(a for a in range(50, 90) if trained.is_learned[labels[a][0]])
    X, label = [np.bincount(*rows.row(at), FEATURES)], labels[at][0]
    way = trained.evidence(X, label)
    assert ranker.evidence(X, label).parts == pytest.approx(way.parts)
    moved = ranker.live_.scores(*rows.row(at))[label]
    ranker.live_.learn(lesson(rows, at, [label]))
    moved = ranker.live_.scores(*rows.row(at))[label] - moved
    added = ranker.evidence(X, label).total - way.total
    mean = ranker.live_.moved(*rows.row(at)).mean()
    assert moved > 0
    assert added == pytest.approx(moved - mean)


def test_words_that_came_since_are_evidence_too(drawn):
    rows, labels, trained = drawn
    ranker = LiveTopDownRanker(1.0).go_on_from(TreeCenter(trained))
    at = next(a for a in range(50, 90) if trained.is_learned[labels[a][0]])
    label, (columns, values) = labels[at][0], rows.row(at)
    more = np.append(columns, [FEATURES + 1]).astype(np.uint32)
    words = more, np.append(values, np.float32(1.0))
    ranker.live_.learn(ranker.lesson(words, [label]))
    X = [np.bincount(*words, FEATURES + 2)]
    evidence = ranker.evidence(X, label)
    assert evidence.features[-1] == FEATURES + 1
    assert evidence.parts[-1] > 0
    way = trained.evidence([np.bincount(columns, values, FEATURES)], label)
    moved = ranker.live_.moved(*words)
    assert evidence.total == pytest.approx(way.total + moved[label] - moved.mean())
