"""A screening learns as it goes, and can be taken back step by step."""

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.evaluation.screening import draw_curves, simulate
from classmark.examples.query import RelevanceQuery
from classmark.examples.screening import Screening, StoppingRule
from classmark.problems import Mistake


class Recorder:
    """A query that knows the order already, and writes down what it is taught."""

    def __init__(self, scores):
        self.scores, self.heard = np.asarray(scores, float), []

    def fit(self, P, U=None, N=None):
        self.heard.append(("fit", len(P), len(U), 0 if N is None else len(N)))

    def partial_fit(self, yes=None, no=None):
        many = [0 if part is None else len(part) for part in (yes, no)]
        self.heard.append(("more", *many))

    def decision_function(self, X):
        assert len(X) == len(self.scores)
        return self.scores


def recorded(n=20, given=(0,), **rule):
    recorder = Recorder(np.arange(n)[::-1])
    rule = StoppingRule(**({"batch": 5, "share": 0.0, "patience": 100.0} | rule))
    screening = Screening(
        rows_from(np.eye(n)), given, rule=rule, query=lambda: recorder
    )
    return screening, recorder


def test_the_likely_unread_ones_come_first_and_answers_are_taught():
    screening, recorder = recorded()
    batch = screening.next()
    assert batch.documents.tolist() == [1, 2, 3, 4, 5]
    assert batch.scores.tolist() == [18, 17, 16, 15, 14]
    assert not batch.random.any()
    assert screening.next().documents.tolist() == batch.documents.tolist()
    screening.answer(batch.documents, [True, False, None, False, True])
    assert screening.next(3).documents.tolist() == [6, 7, 8]
    assert recorder.heard == [("fit", 1, 20, 0), ("more", 2, 2)]
    assert screening.found.tolist() == [0, 1, 5]
    progress = screening.progress()
    assert (progress.read, progress.skipped, progress.documents) == (5, 1, 19)
    assert progress.unread == 14
    assert progress.remaining is None


def test_draws_come_after_the_likely_ones_from_all_that_are_left():
    screening, _ = recorded(n=400, batch=100, share=0.5)
    batch = screening.next()
    assert batch.random.tolist() == [False] * 50 + [True] * 50
    assert batch.documents[:50].tolist() == list(range(1, 51))
    assert len(set(batch.documents.tolist())) == 100
    assert batch.documents[50:].min() > 50
    assert 180 < batch.documents[50:].mean() < 270
    kept = [60]  # the draws that were not answered are drawn again
    screening.answer(batch.documents[kept], [False], batch.random[kept])
    again = screening.next()
    left = np.delete(batch.documents[50:], 10)
    assert again.documents[again.random][:49].tolist() == left.tolist()


def test_draws_are_uniform_over_what_is_left():
    counts = np.zeros(12)
    for seed in range(1500):
        screening = Screening(
            rows_from(np.eye(12)), [0], rule=StoppingRule(batch=4, share=0.5),
            query=lambda: Recorder(np.arange(12)[::-1]), random_state=seed,
        )  # fmt: skip
        batch = screening.next()
        counts[batch.documents[batch.random]] += 1
    assert counts[:3].sum() == 0
    expected = counts[3:].sum() / 9
    assert ((counts[3:] - expected) ** 2 / expected).sum() < 25


def test_without_an_example_everything_is_drawn():
    screening, recorder = recorded(given=())
    batch = screening.next()
    assert batch.random.all()
    assert np.isnan(batch.scores).all()
    screening.answer(batch.documents, [False] * 5, batch.random)
    assert screening.next().random.all()
    assert recorder.heard == []
    screening.answer(screening.next().documents, [True] + [False] * 4)
    assert not screening.next().random.any()
    assert recorder.heard == [("fit", 1, 20, 9)]


def test_a_patience_beyond_all_numbers_reads_all_that_is_likely():
    screening, _ = recorded(patience=1e308)
    screening.answer(screening.next().documents, [True] + [False] * 4)
    left = 20 - len(screening.relevant)
    assert {stop.more for stop in screening.progress().stops} <= set(range(left + 1))


def test_examples_from_elsewhere_teach_and_are_not_counted():
    recorder = Recorder(np.arange(6))
    screening = Screening(
        np.eye(6), examples=np.ones((2, 6)), query=lambda: recorder,
        rule=StoppingRule(batch=2, share=0),
    )  # fmt: skip
    assert screening.next().documents.tolist() == [5, 4]
    assert recorder.heard == [("fit", 2, 6, 0)]
    assert screening.progress().found == 0


def test_undo_brings_back_the_same_batch():
    random = np.random.default_rng(0)
    X = random.random((60, 10)).astype(np.float32)
    truth = X[:, 0] > 0.7
    screening = Screening(
        X, [int(np.argmax(truth))], rule=StoppingRule(batch=6),
        query=lambda: RelevanceQuery(tol=1e-9),
    )  # fmt: skip
    seen = []
    for _ in range(5):
        batch = screening.next()
        seen.append(batch)
        screening.answer(batch.documents, truth[batch.documents], batch.random)
        screening.progress()
    for batch in seen[::-1]:
        back = screening.undo()
        assert [answer.document for answer in back] == batch.documents.tolist()
        assert [answer.random for answer in back] == batch.random.tolist()
        assert screening.next().documents.tolist() == batch.documents.tolist()
    screening.undo()
    assert screening.progress().read == 0
    with pytest.raises(Mistake, match="nothing to undo"):
        screening.undo()


def test_reading_everything_ends_it():
    screening, _ = recorded(n=7, batch=50)
    batch = screening.next()
    assert len(batch.documents) == 6
    screening.answer(batch.documents, [False] * 6, batch.random)
    progress = screening.progress()
    assert (progress.stop, progress.recall_bound, progress.chance) == (True, 1.0, 0.0)
    assert len(screening.next().documents) == 0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: s.answer([99], [True]), "document 99"),
        (lambda s: s.answer([0], [True]), "answered before"),
        (lambda s: s.answer([1, 1], [True, False]), "answered before"),
        (lambda s: s.answer([1, 2], [True]), "entries"),
        (lambda s: s.next(0), "count is 0"),
    ],
)
def test_mistakes_are_told_and_change_nothing(call, said):
    screening, _ = recorded()
    with pytest.raises(Mistake, match=said):
        call(screening)
    assert screening.progress().read == 1


def test_a_relevance_query_meets_liblinear():
    from sklearn.svm import LinearSVC

    random = np.random.default_rng(5)
    X = random.normal(size=(80, 15)) * (random.random((80, 15)) < 0.4)
    yes = X[:, 0] + 0.5 * random.normal(size=80) > 0.4
    query = RelevanceQuery(C=0.3, ratio=4.0, tol=1e-8).fit(X[yes], N=X[~yes])
    peer = LinearSVC(C=0.3, class_weight={0: 1, 1: 4.0}, tol=1e-9, max_iter=100_000)
    peer.fit(X, yes)
    assert np.allclose(query.coef_, peer.coef_[0], atol=1e-4)
    assert np.allclose(query.decision_function(X), peer.decision_function(X), atol=1e-4)
    half = RelevanceQuery(C=0.3, ratio=4.0, tol=1e-8)
    half.fit(X[yes][:5], N=X[~yes][:3])
    half.partial_fit(X[yes][5:])
    half.partial_fit(no=X[~yes][3:])
    assert np.allclose(half.coef_, query.coef_, atol=1e-5)
    assert half.objective_ == pytest.approx(query.objective_)


def test_a_query_refuses_what_it_cannot_learn_from():
    with pytest.raises(Mistake, match="P is empty"):
        RelevanceQuery().fit(np.empty((0, 3)))
    with pytest.raises(Mistake, match="C is 0"):
        RelevanceQuery(C=0).fit(np.eye(2))


def made_up(seed=0, n=1500):
    random = np.random.default_rng(seed)
    truth = np.arange(n) < 40
    X = (random.random((n, 80)) < 0.1).astype(np.float32)
    X[truth, :6] += random.random((40, 6)) < 0.6
    return X, truth


def test_a_simulated_screening_saves_work_and_stops_at_the_target(tmp_path):
    X, truth = made_up()
    found = simulate(X, truth, [3], rule=StoppingRule(target=0.8, error=0.1))
    assert found.recall >= 0.8
    assert found.recall >= found.bound >= 0.8
    assert found.stopped < 1300
    assert found.reached <= found.stopped
    assert found.saved > 0.5
    assert found.saved == pytest.approx((1500 - found.reached) / 1500 - 0.2)
    plain = simulate(
        X, truth, [3], rule=StoppingRule(share=0, patience=1e9), to_stop=False
    )
    assert plain.stopped == 0
    assert plain.order.sum() >= 0.95 * 40
    curve = np.linspace(0, 1, 401)
    draw_curves({"ours": curve}, tmp_path / "x.svg", "X", documents=400, target=0.8,
                stops={"ours": (0.2, 0.9)})  # fmt: skip
    assert "share of the documents read" in (tmp_path / "x.svg").read_text()


def test_the_learned_order_beats_the_random_one():
    X, truth = made_up(1)
    found = simulate(
        X, truth, [0], rule=StoppingRule(share=0, patience=1e9), to_stop=False
    )
    by_chance = simulate(X, truth, [0], rule=StoppingRule(share=1.0), to_stop=False)
    assert found.reached < 0.7 * by_chance.reached


def test_a_simulation_needs_relevant_seeds():
    with pytest.raises(Mistake, match="seeds"):
        simulate(np.eye(3), [True, False, False], [1])
