"""More like these: examples in, documents out, every answer learned from and kept."""

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.examples.like import (
    Given,
    Liking,
    like,
    list_likes,
    open_liking,
    rank_by_file,
    weights_of,
)
from classmark.workbench.examples.searches import open_search, standing_marks
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project, create
from classmark.workbench.settings import Settings

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
    create(tmp_path / "shelf", Settings("shelf"))
    with Project(tmp_path / "shelf") as opened:
        opened.store.put_categories([Category("bees"), Category("bread")])
        import_records(
            opened,
            [Record(Document(id_, {"text": text})) for id_, text in TEXTS.items()],
            "here",
        )
        yield opened


def ids(likes):
    return [found.id for found in likes.found]


def acts(project, name=None):
    search = open_search(project.store, name)
    marks = standing_marks(project.store, search)
    return {found.mark.document: found.mark.act for found in marks}


def test_documents_like_the_examples_come_first_with_the_reasons(project):
    found = like(project, Given(("b1,b2",)), k=2)
    assert sorted(ids(found)) == ["b3", "b4"]
    first = found.found[0]
    assert (first.rank, first.id, first.title) == (1, "b3", TEXTS["b3"])
    assert set(first.why) <= {"bees", "hive", "honey"}
    assert list(first.why.values()) == sorted(first.why.values(), reverse=True)
    assert set(found.query) & {"hive", "honey"}
    assert (found.search, found.examples, found.documents) == ("search-1", 2, 8)
    assert acts(project) == {"b1": "example", "b2": "example"}


def test_reasons_add_up_to_the_score(project):
    held = open_liking(project, Given(("b1",)))
    shown = {found.id: found for found in held.rank(everything=True).found}
    for id_ in TEXTS:
        told = held.explain(id_)
        assert told.score == pytest.approx(shown[id_].score, abs=1e-6)
        assert sum(part.part for part in told.parts) == pytest.approx(told.score)
    best = held.explain("b3").parts[0]
    assert best.part == pytest.approx(best.weight * best.value)
    assert {"bees", "honey"} <= {part.word for part in held.explain("b3").parts}


def test_yes_and_no_are_learned_from_kept_and_taken_back(project):
    held = open_liking(project, Given(("b1",)))
    before = held.scores.copy()
    ranks = {found.id: found for found in held.rank(len(TEXTS)).found}
    held.mark(["b3"], ["c1", "d1"])
    assert not {"b1", "b3", "c1", "d1"} & set(ids(held.rank(99)))
    marked = standing_marks(project.store, held.search)[1].mark
    assert (marked.document, marked.act, marked.origin) == ("b3", "yes", "likely")
    assert (marked.rank, marked.score) == (ranks["b3"].rank, ranks["b3"].score)
    rows = [list(TEXTS).index(id_) for id_ in ("c1", "c3")]
    told, untold = (held.scores - before)[rows]
    assert told < untold, "c1 is not wanted, of c3 nothing was said"
    warm = held.scores.copy()
    assert Liking(project, held.search).scores == pytest.approx(warm, abs=1e-2)
    held.undo()
    assert held.scores == pytest.approx(before, abs=1e-3)
    assert acts(project) == {"b1": "example"}
    held.redo()
    assert held.scores == pytest.approx(warm, abs=1e-2)
    held.undo()
    with pytest.raises(Mistake, match="is left without examples"):
        held.undo()


def test_a_change_of_mind_counts_alone(project):
    held = open_liking(project, Given(("b1",)))
    held.mark(["d1"])
    held.mark(no=["d1"])
    told = like(project, Given(("b1",), no=("d1",)), "fresh", everything=True)
    again = held.rank(everything=True)
    assert ids(again) == ids(told)
    assert (again.yes, again.no) == (0, 1)
    held.undo()
    assert acts(project, "search-1") == {"b1": "example", "d1": "yes"}


def test_a_search_goes_on_in_another_process(project):
    like(project, Given(("b1",)), "bees")
    like(project, Given(("d1",)), "bread")
    found = like(project, Given(yes=("b3",)), "bees")
    assert (found.examples, found.yes) == (1, 1)
    assert like(project).search == "bees", "the one marked last"
    assert like(project, Given(undo=True)).yes == 0
    assert like(project, Given(redo=True)).yes == 1
    found = like(project, Given(("b2",)), "bees")
    assert (found.search, found.examples) == ("bees", 2)
    rows = list_likes(project).rows
    assert [(r["search"], r["examples"], r["yes"]) for r in rows] == [
        ("bees", 2, 1),
        ("bread", 1, 0),
    ]


def test_how_to_learn_is_kept_with_the_search(project):
    assert like(project, Given(("b1,b2",), method="centroid")).method == "centroid"
    assert like(project, Given(no=("d1",))).method == "centroid"
    found = like(project, Given(method="balanced", C=0.5))
    assert (found.method, found.C) == ("balanced", 0.5)
    like(project, Given(method="auto"))
    settings = open_search(project.store).settings
    assert (settings["method"], settings["C"]) == ("auto", None)


def test_a_query_without_weights_says_so(project):
    held = open_liking(project, Given(("b1",)))
    assert held.rank().notes == ()
    held.weights = held.weights * 0
    assert "the query has no weights" in held.rank().notes[0]


def test_files_of_ones_own_are_examples(project, tmp_path):
    (tmp_path / "mine.txt").write_text("Tallow and wicks")
    rows = '{"id": "x", "title": "Flames"}\n{"id": "y", "title": "Dips"}\n'
    (tmp_path / "more.jsonl").write_text(rows)
    found = like(project, Given(files=(tmp_path / "mine.txt",)), k=3)
    assert set(ids(found)) == {"c1", "c2", "c3"}
    assert like(project, Given(yes=("c1",)), k=2).examples == 1
    found = like(project, Given(files=(tmp_path / "more.jsonl",)), "search-1", k=1)
    assert (found.examples, ids(found)) == (3, ["c3"])


def test_a_category_gives_examples_and_what_is_rejected_from_it(project):
    decide(project, "b1", Decision(("bees",)), {})
    decide(project, "b2", Decision(primary=("bees",)), {})
    decide(project, "c1", Decision(reject=("bees",)), {})
    found = like(project, Given(category="bees"), k=1)
    assert (found.examples, found.no, ids(found)) == (2, 1, ["b3"])
    like(project, Given(yes=("c1",)))
    like(project, Given(category="bees"), "search-1")
    assert acts(project)["c1"] == "yes", "what the search said itself holds"
    with pytest.raises(Mistake, match="no document is assigned to category 'bread'"):
        like(project, Given(category="bread"))


def test_a_cut_query_tells_what_it_loses(project):
    held = open_liking(project, Given(("b1",), no=("d1",), terms=2))
    told = held.loss(3)
    assert (told.kept, told.k) == (2, 3)
    assert told.of > 2
    assert 0 <= told.share <= 1
    assert (told.before, told.after) == (1, 1)
    assert held.rank(3).nonzero == 2
    assert held.rank(3).notes[0].startswith(f"cut to 2 of {told.of} terms")
    whole = open_liking(project, Given(terms=10**6)).loss(8)
    assert (whole.share, whole.kept) == (1, whole.of)
    assert open_liking(project).loss(3) is None
    lone = open_liking(project, Given(("b1",), terms=2), "lone")
    assert lone.loss(3).before is None
    assert "average precision" not in lone.rank().notes[0]


def test_weights_rank_elsewhere_as_here(project, tmp_path):
    from classmark.formats.weights import write_weights

    held = open_liking(project, Given(("b1,b2",)))
    query = weights_of(held)
    assert query.analyzer == project.settings.text.analyzer
    write_weights(query, tmp_path / "w.json")
    found = rank_by_file(project, tmp_path / "w.json", everything=True)
    here = held.rank(everything=True)
    assert ids(found) == ids(here)
    scores = [each.score for each in here.found]
    assert [each.score for each in found.found] == pytest.approx(scores, abs=1e-6)
    assert found.notes == []
    create(tmp_path / "other", Settings("other"))
    with Project(tmp_path / "other") as other:
        texts = {"x": "A wick", "y": "Hives"}
        records = [Record(Document(id_, {"text": t})) for id_, t in texts.items()]
        import_records(other, records, "there")
        found = rank_by_file(other, tmp_path / "w.json", k=1)
    assert ids(found) == ["y"]
    assert "terms are in no document here" in found.notes[0]


def test_when_all_is_marked_there_is_nothing_to_rank(project):
    with pytest.raises(Mistake, match="all 10 documents are examples or marked"):
        like(project, Given((",".join(TEXTS),)))
    found = like(project, everything=True)
    assert len(found.found) == 10
    assert {each.mark for each in found.found} == {"example"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Given(("b9",)), "no document 'b9': did you mean b"),
        (Given((" , ",)), "--examples is empty"),
        (Given(("b1",), yes=("b9",)), "no document 'b9'"),
        (Given(("b1",), yes=("b2",), no=("b2",)), "'b2': yes and no"),
        (Given(("b1",), method="guess"), "guess"),
        (Given(("b1",), terms=0), "terms is 0"),
        (Given(category="honey"), "no category 'honey'"),
        (Given(), "there is no search yet"),
        (Given(undo=True), "there is no search yet"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(project, given, said):
    with pytest.raises(Mistake, match=said):
        like(project, given)
    assert list_likes(project).rows == []


def test_files_without_use_are_refused(project, tmp_path):
    for name, text, said in (
        ("none.txt", None, "no such file"),
        ("a.pdf", "x", "take its text out first"),
        ("blank.txt", " \n", "there is no text in it"),
        ("strange.txt", "xylophones", "none of its words is in the documents"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(Mistake, match=said):
            like(project, Given(files=(tmp_path / name,)))
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(Mistake, match=r"bytes\.txt"):
        like(project, Given(files=(tmp_path / "bytes.txt",)))
    assert list_likes(project).rows == []


def test_an_id_may_hold_commas(project):
    record = Record(Document("b1,b2", {"text": "Dough and bread"}))
    import_records(project, [record], "here")
    assert ids(like(project, Given(("b1,b2",)), k=1))[0].startswith("d")
