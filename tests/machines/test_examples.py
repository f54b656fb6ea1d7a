"""Queries by examples learned over machines are those learned here."""

import numpy as np
import pytest

from benchmarks.synthetic_rows import SyntheticRows, synthetic_rows
from classmark.arrays import stack, take
from classmark.corpus.documents import Document
from classmark.examples.query import METHODS, ExampleQuery
from classmark.formats.records import Record
from classmark.index.index import Index
from classmark.machines.rows import Offline, SpreadRows
from classmark.meaning.sources import EncoderVectors
from classmark.problems import Mistake
from classmark.workbench.examples.like import (
    Answers,
    SearchStart,
    open_example_search,
    rank_by_file,
    rank_in_index,
)
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project
from concepts import STATIC, use_concepts
from projects import new_project

WIDTH = 1500
PARTS = [SyntheticRows(1, 500, WIDTH, 20, 30), SyntheticRows(2, 300, WIDTH, 20, 30)]
KNOWN = np.array([0, 1, 2, 500, 501, 502, 503])
REJECTED = np.array([200, 700])
TOL = {"auto": 1e-2}


@pytest.fixture(scope="module")
def spread(started):
    return SpreadRows(started(2), PARTS)


@pytest.fixture(scope="module")
def here():
    return stack([synthetic_rows(part) for part in PARTS])


def gap_of(query):
    """Primal − dual value."""
    return query.duality_gap_ * abs(query.objective_)


def alike(one, other):
    """Two queries of one problem: objectives, and scores where the gap tells of them.

    ½‖w − w*‖² ≤ gap for every method: the objective is strongly convex.
    """
    gap = gap_of(one) + gap_of(other)
    assert abs(one.objective_ - other.objective_) <= gap + 1e-9
    distance = np.linalg.norm(one.coef_ - other.coef_)
    assert distance <= np.sqrt(2 * gap_of(one)) + np.sqrt(2 * gap_of(other)) + 1e-6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("C", [None, 3.0])
def test_every_method_learns_the_same(spread, here, method, C):
    P, N = take(here, KNOWN), take(here, REJECTED)
    known = np.concatenate([KNOWN, REJECTED])
    one, other = (
        ExampleQuery(method, C=C, k=5).fit(P, U, N, known=known) for U in (here, spread)
    )
    assert gap_of(other) <= TOL.get(method, 1e-3) * abs(other.objective_) + 1e-12
    if method == "auto":
        assert one.choice_ == other.choice_
    alike(one, other)
    scores = other.decision_function(spread)
    assert np.array_equal(scores, other.decision_function(here))
    assert np.array_equal(other.rank(spread, 9), other.rank(here, 9))
    assert np.array_equal(other.rank(spread), other.rank(here))


@pytest.mark.parametrize("method", ["auto", "balanced"])
def test_it_learns_again_and_takes_back(two, here, method):
    spread = SpreadRows(two, PARTS)
    P, more, N = take(here, KNOWN[:4]), take(here, KNOWN[4:]), take(here, REJECTED)
    queries = [ExampleQuery(method).fit(P, U, known=KNOWN[:4]) for U in (here, spread)]
    before = queries[1].coef_.copy()
    for query in queries:
        query.partial_fit(more, N, known=[*KNOWN[4:], *REJECTED])
    alike(*queries)
    assert not np.allclose(queries[1].coef_, before)
    assert np.array_equal(queries[1].undo().coef_, before)


def test_one_example_is_enough_for_auto(spread, here):
    one, other = (ExampleQuery().fit(take(here, [0]), U) for U in (here, spread))
    assert one.choice_ == other.choice_
    alike(one, other)


def test_a_sample_is_brought_here_and_serves_kernels(spread, here):
    P = take(here, KNOWN)
    told = {"sample": 100, "kernel": "rbf"}
    one, other = (ExampleQuery("balanced", **told).fit(P, U) for U in (here, spread))
    assert np.array_equal(one.decision_function(here), other.decision_function(here))
    with pytest.raises(Mistake, match=r"score some at a time \(X.take"):
        other.rank(spread, 10)


def test_kernels_need_rows_at_hand(spread, here):
    with pytest.raises(Mistake, match="use the linear one, or give how many"):
        ExampleQuery("balanced", kernel="rbf").fit(take(here, KNOWN), spread)


def test_another_width_is_refused(spread):
    with pytest.raises(Mistake, match="U has 1500 columns and P has 2"):
        ExampleQuery("balanced").fit([[1.0, 0.0]], spread)


def test_a_worker_killed_while_it_learns_changes_nothing(here, killing):
    from classmark.machines.cluster import Machines

    P = take(here, KNOWN)
    told = {"method": "two-class", "C": 20_000.0, "tol": 1e-4}
    with Machines.local(2) as machines:
        spread = SpreadRows(machines, PARTS)
        undisturbed = ExampleQuery(**told).fit(P, spread, known=KNOWN)
        begun = spread.rounds
        with killing(machines, lambda: spread.rounds >= begun + 2) as one:
            disturbed = ExampleQuery(**told).fit(P, spread, known=KNOWN)
        assert one.killed
        scores = disturbed.decision_function(spread)
    assert spread.rounds > begun + 3
    np.testing.assert_array_equal(disturbed.coef_, undisturbed.coef_)
    np.testing.assert_array_equal(scores, disturbed.decision_function(here))


@pytest.fixture(scope="module")
def texts():
    random = np.random.default_rng(2)
    words = np.array([f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(300)])
    common = (300 * random.random((120, 25)) ** 2).astype(int)
    common[:30, :8] = random.integers(200, 215, (30, 8))
    return {f"d{i}": " ".join(words[row]) for i, row in enumerate(common)}


@pytest.fixture
def project(tmp_path, texts):
    with Project(new_project(tmp_path / "shelf", texts)) as opened:
        yield opened


def close(one, other, tol=0.05):
    """The same documents but where scores are nearly the same."""
    scores = {each.id: each.score for each in other.hits}
    assert one.documents == other.documents
    assert len(one.hits) == len(other.hits)
    for each in one.hits:
        assert scores.get(each.id, other.hits[-1].score) == pytest.approx(
            each.score, abs=tol
        )


def test_like_gives_the_same_ranking_over_machines(two, project):
    def ranking(name, machines=None):
        start = SearchStart(("d0", "d1", "d2", "d3"), name=name)
        answers = Answers(no=("d70",))
        return open_example_search(project, start, answers, machines=machines).rank()

    one, other = ranking("one"), ranking("other", two)
    close(one, other)
    assert [e.id for e in one.hits[:5]] == [e.id for e in other.hits[:5]]
    assert one.hits[0].parts.keys() == other.hits[0].parts.keys()
    start, answers = SearchStart(name="other"), Answers(("d5",))
    again = open_example_search(project, start, answers, machines=two)
    assert again.rank(5).yes == 1


def test_a_search_over_machines_is_marked_explained_and_undone(two, project):
    liking = open_example_search(project, SearchStart(("d0", "d1")), machines=two)
    before = liking.scores.copy()
    liking.mark(["d4"], ["d80"])
    assert not np.array_equal(liking.scores, before)
    liking.undo()
    np.testing.assert_array_equal(liking.scores, before)
    reasons = liking.explain("d9")
    assert sum(part.part for part in reasons.parts) == pytest.approx(reasons.score)


def test_a_query_in_a_file_ranks_over_machines(two, project, tmp_path):
    from classmark.workbench.examples.export import export_weights

    liking = open_example_search(project, SearchStart(("d0", "d1")))
    export_weights(liking, tmp_path / "query.json")
    one, other = (
        rank_by_file(project, tmp_path / "query.json", 7, machines=machines)
        for machines in (None, two)
    )
    assert [each.id for each in one.hits] == [each.id for each in other.hits]


def test_documents_that_come_later_are_seen(two, project):
    start = SearchStart(("d0", "d1"), name="one")
    open_example_search(project, start, machines=two)
    new = Record(Document("new", {"text": project.store.document("d0").text}))
    import_records(project, [new], "later")
    found = open_example_search(project, SearchStart(name="one"), machines=two).rank(3)
    assert found.documents == 119
    assert found.hits[0].id == "new"


@pytest.fixture(scope="module")
def index(tmp_path_factory, texts):
    pairs = list(texts.items())
    index = Index.build(tmp_path_factory.mktemp("index") / "i", pairs[:70])
    index.merging = "demand"
    index.add(pairs[70:])
    index.commit()
    index.delete(["d3", "d90"])
    return index.commit()


@pytest.mark.parametrize("method", ["auto", "balanced", "precision@k"])
def test_an_index_is_learned_over_as_its_rows_are(two, index, method):
    from classmark.index.models import Prepared
    from classmark.index.vectors import vectors_of

    start = SearchStart(("d0", "d1", "d2"), method=method)
    answers = Answers(("d4",), ("d80",))
    found = rank_in_index(index.path, start, answers, 6, machines=two)
    assert found.search == "index"
    assert found.documents == 113
    field = Prepared(index.field())
    living = np.flatnonzero(field.field.alive)
    rows = vectors_of(field, living)
    names = [index.id(int(item)) for item in living]
    yes = [names.index(name) for name in ("d0", "d1", "d2", "d4")]
    no = [names.index("d80")]
    query = ExampleQuery(method).fit(
        take(rows, yes), rows, take(rows, no), known=[*yes, *no]
    )
    scores = dict(zip(names, query.decision_function(rows), strict=True))
    left = [name for name in names if name not in {"d0", "d1", "d2", "d4", "d80"}]
    best = sorted(left, key=lambda name: -scores[name])[:6]
    far = np.sqrt(8 * gap_of(query)) + 1e-6
    for each in found.hits:
        assert each.score == pytest.approx(scores[each.id], abs=far)
        assert scores[each.id] >= scores[best[-1]] - 2 * far
    assert sum(found.hits[0].parts.values()) <= found.hits[0].score + 1.0


def test_terms_are_cut_where_asked(two, index):
    start = SearchStart(("d0", "d1"))
    found = rank_in_index(index.path, start, Answers(), 3, terms=4, machines=two)
    assert found.nonzero == 4


@pytest.mark.parametrize(
    ("start", "answers", "message"),
    [
        (SearchStart(), Answers(), "learns from examples"),
        (SearchStart(("d0",)), Answers(no=("d0",)), "yes and no"),
        (SearchStart(examples=("d3",)), Answers(), "'d3' is not in the index"),
        (SearchStart(examples=("d0",), category="x"), Answers(), "takes --examples"),
        (SearchStart(examples=("d0",), method="best"), Answers(), "choose one of auto"),
    ],
)
def test_what_an_index_cannot_do_is_refused(two, index, start, answers, message):
    with pytest.raises(Mistake, match=message):
        rank_in_index(index.path, start, answers, 3, machines=two)


def test_an_index_without_documents_is_refused(two, tmp_path):
    index = Index.build(tmp_path / "i", [])
    with pytest.raises(Mistake, match="has no documents"):
        Offline(index, two)


class Letters:
    """How often a text has each of some letters."""

    def encode(self, texts):
        return [[text.count(letter) for letter in "abcdefgh"] for text in texts]


def test_machines_see_words_and_meaning(two, tmp_path, texts, monkeypatch):
    use_concepts(monkeypatch, EncoderVectors(Letters()))
    with Project(new_project(tmp_path / "both", texts, meaning=STATIC)) as project:
        rankings = []
        for name, machines in (("one", None), ("other", two)):
            start = SearchStart(("d0", "d1", "d2"), name=name)
            search = open_example_search(project, start, machines=machines)
            rankings.append(search.rank())
            assert search.vectors.rows.width == search.vectors.n_words + 8
            search.mark(yes=["d4"])
            search.undo()
            assert search.explain("d9").has_meaning
        close(*rankings)
        assert rankings[0].meaning == pytest.approx(rankings[1].meaning, abs=0.02)
        text = SearchStart(texts={"mine": texts["d0"]}, name="text")
        assert open_example_search(project, text, machines=two).rank(1).hits
