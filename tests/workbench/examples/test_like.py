"""More like these: examples in, documents out, every answer learned from and kept."""

import re

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.formats.weights import read_weights
from classmark.problems import Mistake
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.examples.example_search import ExampleSearch
from classmark.workbench.examples.export import export_weights
from classmark.workbench.examples.like import (
    Answers,
    SearchStart,
    ids_of,
    list_likes,
    open_example_search,
    rank_by_file,
    texts_of,
)
from classmark.workbench.examples.searches import (
    acts_by_document,
    current_marks,
    open_search,
    undo_marks,
)
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project
from projects import new_project, parish

TEXTS = {
    "b1": "Honey and honeycombs in the hive",
    "b2": "A queen bee swarms from the hive",
    "b3": "Bees, hive smoke and honey",
    "b4": "Wax of bees",
    "d1": "Dough in the oven",
    "d2": "Rye bread and yeast",
    "d3": "Knead dough and yeast",
    "c1": "A wick in tallow and wax",
    "c2": "A burning wick",
    "c3": "Tallow dips and a flame",
}


@pytest.fixture
def project(tmp_path):
    folder = new_project(tmp_path / "shelf", TEXTS, ["bees", "bread"])
    with Project(folder) as opened:
        yield opened


def said(*examples, **parts):
    return {"examples": examples, **parts}


def opened(project, said=None, name=None):
    said = {"examples": (), **(said or {})}
    answers = {key: said.pop(key) for key in Answers._fields if key in said}
    terms, files = said.pop("terms", None), said.pop("files", ())
    start = SearchStart(**said, texts=texts_of(project, files), name=name)
    return open_example_search(project, start, Answers(**answers), terms=terms)


def like(project, said=None, name=None, k=10, *, everything=False):
    return opened(project, said, name).rank(k, everything=everything)


def ids(ranking):
    return [hit.id for hit in ranking.hits]


def acts(project, name=None):
    return acts_by_document(project.store, open_search(project.store, name))


def test_documents_like_the_examples_come_first_with_the_reasons(project):
    found = like(project, said("b1", "b2"), k=2)
    assert sorted(ids(found)) == ["b3", "b4"]
    first = found.hits[0]
    assert (first.rank, first.id, first.title) == (1, "b3", TEXTS["b3"])
    assert set(first.parts) <= {"bees", "hive", "honey"}
    assert list(first.parts.values()) == sorted(first.parts.values(), reverse=True)
    assert set(found.query) & {"hive", "honey"}
    assert (found.search, found.examples, found.documents) == ("search-1", 2, 8)
    assert acts(project) == {"b1": "example", "b2": "example"}


def test_reasons_add_up_to_the_score(project):
    held = opened(project, said("b1"))
    shown = {found.id: found for found in held.rank(everything=True).hits}
    for id_ in TEXTS:
        told = held.explain(id_)
        assert told.score == pytest.approx(shown[id_].score, abs=1e-6)
        assert sum(part.part for part in told.parts) == pytest.approx(told.score)
    best = held.explain("b3").parts[0]
    assert best.part == pytest.approx(best.weight * best.value)
    assert {"bees", "honey"} <= {part.word for part in held.explain("b3").parts}


def test_yes_and_no_are_learned_from_kept_and_taken_back(project):
    held = opened(project, said("b1"))
    before = held.scores.copy()
    ranks = {found.id: found for found in held.rank(len(TEXTS)).hits}
    held.mark(["b3"], ["c1", "d1"])
    assert not {"b1", "b3", "c1", "d1"} & set(ids(held.rank(99)))
    marked = current_marks(project.store, held.search)[1]
    assert (marked.document, marked.act, marked.origin) == ("b3", "yes", "likely")
    assert (marked.rank, marked.score) == (ranks["b3"].rank, ranks["b3"].score)
    rows = [list(TEXTS).index(id_) for id_ in ("c1", "c3")]
    told, untold = (held.scores - before)[rows]
    assert told < untold, "c1 is not wanted, of c3 nothing was said"
    warm = held.scores.copy()
    assert ExampleSearch(project, held.search).scores == pytest.approx(warm, abs=1e-2)
    held.undo()
    assert held.scores == pytest.approx(before, abs=1e-3)
    assert acts(project) == {"b1": "example"}
    undo_marks(project.store, held.search, redo=True)
    held.learn()
    assert held.scores == pytest.approx(warm, abs=1e-2)
    held.undo()
    with pytest.raises(Mistake, match="lacks an example"):
        held.undo()


def test_a_change_of_mind_counts_alone(project):
    held = opened(project, said("b1"))
    held.mark(["d1"])
    held.mark(no=["d1"])
    told = like(project, said("b1", no=("d1",)), "fresh", everything=True)
    again = held.rank(everything=True)
    assert ids(again) == ids(told)
    assert (again.yes, again.no) == (0, 1)
    held.undo()
    assert acts(project, "search-1") == {"b1": "example", "d1": "yes"}


def test_a_search_goes_on_in_another_process(project):
    like(project, said("b1"), "bees")
    like(project, said("d1"), "bread")
    found = like(project, said(yes=("b3",)), "bees")
    assert (found.examples, found.yes) == (1, 1)
    assert like(project).search == "bees", "the one marked last"
    assert like(project, said(undo=True)).yes == 0
    assert like(project, said(redo=True)).yes == 1
    found = like(project, said("b2"), "bees")
    assert (found.search, found.examples) == ("bees", 2)
    rows = list_likes(project).rows
    assert [(r["search"], r["examples"], r["yes"]) for r in rows] == [
        ("bees", 2, 1),
        ("bread", 1, 0),
    ]


def test_how_to_learn_is_kept_with_the_search(project):
    assert like(project, said("b1", "b2", method="centroid")).method == "centroid"
    assert like(project, said(no=("d1",))).method == "centroid"
    found = like(project, said(method="balanced", C=0.5))
    assert (found.method, found.C) == ("balanced", 0.5)
    like(project, said(method="auto"))
    settings = open_search(project.store).settings
    assert (settings["method"], settings["C"]) == ("auto", None)


def test_a_query_without_weights_says_so(project):
    held = opened(project, said("b1"))
    assert held.rank().notes == ()
    held.weights = held.weights * 0
    assert "the query has no weights" in held.rank().notes[0]


def test_files_of_ones_own_are_examples(project, tmp_path):
    (tmp_path / "mine.txt").write_text("Tallow and wicks")
    rows = '{"id": "x", "title": "Flames"}\n{"id": "y", "title": "Dips"}\n'
    (tmp_path / "more.jsonl").write_text(rows)
    found = like(project, said(files=(tmp_path / "mine.txt",)), k=3)
    assert set(ids(found)) == {"c1", "c2", "c3"}
    assert like(project, said(yes=("c1",)), k=2).examples == 1
    found = like(project, said(files=(tmp_path / "more.jsonl",)), "search-1", k=1)
    assert (found.examples, ids(found)) == (3, ["c3"])


def test_a_category_gives_examples_and_what_is_rejected_from_it(project):
    decide(project, "b1", Decision(("bees",)), {})
    decide(project, "b2", Decision(primary=("bees",)), {})
    decide(project, "c1", Decision(reject=("bees",)), {})
    found = like(project, said(category="bees"), k=1)
    assert (found.examples, found.no, ids(found)) == (2, 1, ["b3"])
    like(project, said(yes=("c1",)))
    like(project, said(category="bees"), "search-1")
    assert acts(project)["c1"] == "yes", "what the search said itself holds"
    with pytest.raises(Mistake, match="no document is in category 'bread'"):
        like(project, said(category="bread"))


def test_a_cut_query_tells_what_it_loses(project):
    held = opened(project, said("b1", no=("d1",), terms=2))
    cut = held.rank(3)
    assert cut.nonzero == 2
    (note,) = cut.notes
    terms, of, share, k = re.match(
        r"cut to (\d+) of (\d+) terms: (\d+) % of the first (\d+) are kept",
        note,
    ).groups()
    assert (terms, k) == ("2", "3")
    assert int(of) > 2
    assert 0 <= int(share) <= 100
    assert note.endswith("on judged documents 1.000 before, 1.000 after")
    (whole,) = opened(project, said(terms=10**6)).rank(8).notes
    assert f"cut to {of} of {of} terms: 100 % of" in whole
    assert not opened(project).rank(3).notes
    lone = opened(project, said("b1", terms=2), "lone")
    assert "average precision" not in lone.rank().notes[0]


def test_weights_rank_elsewhere_as_here(project, tmp_path):
    held = opened(project, said("b1", "b2"))
    export_weights(held, tmp_path / "w.json")
    analyzer = read_weights(tmp_path / "w.json").analyzer
    assert analyzer == project.settings.text.analyzer
    found = rank_by_file(project, tmp_path / "w.json", everything=True)
    here = held.rank(everything=True)
    assert ids(found) == ids(here)
    scores = [each.score for each in here.hits]
    assert [each.score for each in found.hits] == pytest.approx(scores, abs=1e-6)
    assert found.notes == []
    texts = {"x": "A wick", "y": "Hives"}
    with Project(new_project(tmp_path / "other", texts)) as other:
        found = rank_by_file(other, tmp_path / "w.json", k=1)
    assert ids(found) == ["y"]
    assert "terms are in no document here" in found.notes[0]


def test_when_all_is_marked_there_is_nothing_to_rank(project):
    with pytest.raises(Mistake, match="nothing is left to rank"):
        like(project, said(*TEXTS))
    found = like(project, everything=True)
    assert len(found.hits) == 10
    assert {each.mark for each in found.hits} == {"example"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (said("b9"), "no document 'b9': did you mean b"),
        (said("b1", yes=("b9",)), "no document 'b9'"),
        (said("b1", yes=("b2",), no=("b2",)), "'b2' is marked yes and no"),
        (said("b1", method="guess"), "guess"),
        (said("b1", terms=0), "terms is 0"),
        (said(category="honey"), "no category 'honey'"),
        (said(), "there is no search yet"),
        (said(undo=True), "there is no search yet"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(project, given, told):
    with pytest.raises(Mistake, match=told):
        like(project, given)
    assert list_likes(project).rows == []


def test_files_without_use_are_refused(project, tmp_path):
    for name, text, told in (
        ("none.txt", None, "no such file"),
        ("a.pdf", "x", "take its text out first"),
        ("blank.txt", " \n", "there is no text in it"),
        ("strange.txt", "xylophones", "none of its words is in the documents"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(Mistake, match=told):
            like(project, said(files=(tmp_path / name,)))
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(Mistake, match=r"bytes\.txt"):
        like(project, said(files=(tmp_path / "bytes.txt",)))
    assert list_likes(project).rows == []


def test_ids_are_typed_with_commas(project):
    assert ids_of(["b1, b2", "b1,"], "--examples", project.store) == ("b1", "b2")
    assert ids_of(["b1,b2"], "--examples") == ("b1", "b2")
    with pytest.raises(Mistake, match="--examples is empty"):
        ids_of([" , "], "--examples", project.store)


def test_an_id_may_hold_commas(project):
    record = Record(Document("b1,b2", {"text": "Dough and bread"}))
    import_records(project, [record], "here")
    assert ids(
        like(project, {"examples": ids_of(["b1,b2"], "--examples", project.store)}, k=1)
    )[0].startswith("d")


def test_the_k_the_sample_and_the_kernel_of_a_search_are_remembered(project):
    params = {"k": 2, "kernel": "rbf", "gamma": 0.5}
    how = said("b1", "b2", method="precision@k", params=params)
    found = like(project, how, name="curved")
    assert found.params == params
    assert len({hit.score for hit in found.hits}) > 1
    assert found.query == {}
    assert not any(hit.parts for hit in found.hits)
    assert "no reasons are shown" in found.notes[0]
    assert found.nonzero > 0
    again = like(project, name="curved")
    assert [hit.score for hit in again.hits] == [hit.score for hit in found.hits]
    flat = like(project, said(params={"kernel": "linear"}), name="curved")
    assert flat.params == {"k": 2, "kernel": "linear"}
    assert flat.query
    other = like(project, said(method="rocchio"), name="curved")
    assert other.params == {}
    few = like(project, said(method="balanced", params={"sample": 3}), name="curved")
    assert few.params == {"sample": 3}
    assert few.as_json()["params"] == {"sample": 3}


def test_a_search_with_a_kernel_has_nothing_to_say_of_words(project, tmp_path):
    how = said("b1", method="balanced", params={"kernel": "polynomial", "degree": 3})
    search = opened(project, how, name="curved")
    with pytest.raises(Mistake, match="kernel polynomial has no weights of words"):
        search.explain("b3")
    with pytest.raises(Mistake, match="use the linear one"):
        export_weights(search, tmp_path / "words.tsv")
    with pytest.raises(Mistake, match="leave --terms"):
        opened(project, said(terms=3), name="curved")
    assert "kernel = polynomial" in search.view(3).learned


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"params": {"k": 3}}, "k is of precision@k and recall@k, not of auto"),
        ({"method": "centroid", "params": {"sample": 3}}, "not of centroid"),
        ({"params": {"kernel": "rbf"}}, "kernel is of centroid and rocchio and"),
        ({"method": "balanced", "params": {"gamma": 2.0}}, "of polynomial and rbf"),
        (
            {"method": "balanced", "params": {"kernel": "rbf", "degree": 2}},
            "degree is of polynomial, not of rbf",
        ),
        ({"method": "balanced", "params": {"kernel": "tanh"}}, "'tanh' is not known"),
        (
            {"method": "balanced", "params": {"kernel": "rbf", "gamma": -1.0}},
            "gamma is -1.0: give a number over 0",
        ),
        ({"method": "recall@k", "params": {"k": 99}}, "a number from 1 to 10"),
    ],
)
def test_parameters_without_effect_or_sense_are_refused(project, how, message):
    with pytest.raises(Mistake, match=re.escape(message)):
        like(project, said("b1", "b2", **how), name="new")
    assert list_likes(project).rows == []


@pytest.mark.parametrize(
    ("n_examples", "words"),
    [
        (1, "auto: 50 % SVM (C = 1, 2 hopeful documents), 50 % Rocchio"),
        (10, "auto: 50 % SVM (C = 0.225, 2 hopeful documents), 50 % Rocchio"),
        (24, "auto: 62 % squared hinges (C = 0.1), 32 % SVM (C = 0.025, others × 2), "),
    ],
)
def test_it_is_said_what_auto_has_chosen(tmp_path, n_examples, words):
    with Project(new_project(tmp_path / "parish", parish())) as project:
        names = ("bees", "bread", "candles")
        examples = [f"{names[at % 3]}-{at // 3}" for at in range(n_examples)]
        search = open_example_search(project, SearchStart(tuple(examples)))
        ranking = search.rank()
        assert ranking.learned.startswith(words)
        averaged = ranking.as_json()["averaged"]
        assert sum(part["share"] for part in averaged) == pytest.approx(1.0)
        assert search.view(5).averaged == tuple(ranking.averaged)
        assert search.view(5).learned == ranking.learned
