"""Rankers that learn from words and meaning, in a project."""

import pytest

from classmark.formats.svmlight import read_letor
from classmark.problems import Mistake
from classmark.workbench import meaning
from classmark.workbench.project import Project
from classmark.workbench.search.hybrid import FUSED
from classmark.workbench.search.rankers import (
    open_ranker,
    report_ranker,
    stored_ranker,
    use_ranker,
)
from classmark.workbench.search.search import QueryOptions, search_in
from classmark.workbench.search.train_ranker import (
    RankerTraining,
    evaluate_ranker,
    train_ranker,
    write_features,
)
from classmark.workbench.search.tune import Judgments
from concepts import CONCEPTS, STATIC, ConceptVectors, use_concepts
from projects import new_project

# every query has a word of all documents and one that only meaning understands
ROWS = [
    {"id": f"{name}-{at}", "text": f"note {word} of {at}"}
    for name, words in CONCEPTS.items()
    for at, word in enumerate(sorted(words))
]
QUERIES = {
    f"{name}-{word}": f"note {word}"
    for name, words in CONCEPTS.items()
    for word in sorted(words)[:4]
}
GRADES = {
    query: {row["id"]: 1.0 for row in ROWS if row["id"][:3] == query[:3]}
    for query in QUERIES
}
JUDGED = Judgments(texts=QUERIES, grades=GRADES)
OTHERS = Judgments(
    texts={"new": "note verdict judge"}, grades={"new": GRADES["law-court"]}
)
HOW = RankerTraining(prices=(0.1,), force=True)


@pytest.fixture
def project(tmp_path, monkeypatch):
    use_concepts(monkeypatch)
    folder = new_project(tmp_path / "notes", ROWS, indexed=True, meaning=STATIC)
    with Project(folder) as project:
        meaning.compute(project)
        yield project


def test_a_ranker_learns_meaning(project, tmp_path):
    trained = train_ranker(project, JUDGED, HOW)
    ranker = open_ranker(project, trained.number)
    assert ranker.names[-1] == "meaning"
    assert ranker.recipe.meaning == project.meaning().facts
    importance = dict(stored_ranker(project, trained.number).importance)
    assert importance["meaning"] > 0
    rows = {row["order"]: row for row in trained.table.rows}
    assert rows["learned"]["ndcg@10"] > rows["best single model"]["ndcg@10"]
    # what is in service before it is the search by words and meaning
    assert rows["in service"]["ndcg@10"] > rows["best single model"]["ndcg@10"]

    results = search_in(project, "note judge", QueryOptions(explain=True))
    assert results.ranker == trained.number
    assert "meaning" in results.hits[0].parts
    assert all(hit.id.startswith("law") for hit in results.hits[:4])
    assert FUSED not in results.note
    by_hand = search_in(project, "note judge", QueryOptions(hybrid="weight"))
    assert (by_hand.ranker, by_hand.meaning) == (None, True)
    with pytest.raises(Mistake, match="--ranker and --hybrid would both determine"):
        search_in(project, "note", QueryOptions(ranker="1", hybrid="weight"))

    table, page = report_ranker(project, trained.number)
    assert table.rows
    assert "meaning" in page.read_text()
    path = tmp_path / "features.txt"
    features = write_features(project, JUDGED, path)
    assert features.rows[-1]["feature"] == "meaning"
    assert read_letor(path).rows.shape[1] == len(ranker.names)
    compared = evaluate_ranker(project, OTHERS, [trained.number])
    assert compared.rows[0]["ndcg@10"] > 0.5


def test_a_ranker_refuses_other_vectors(project, monkeypatch):
    trained = train_ranker(project, JUDGED, HOW)
    other = ConceptVectors()
    other.digest = "another"
    use_concepts(monkeypatch, other)
    project.change_settings({"meaning.model": "another"}, "me")
    for act in (
        lambda: search_in(project, "note judge", QueryOptions()),
        lambda: evaluate_ranker(project, OTHERS, [trained.number]),
        lambda: train_ranker(project, JUDGED, HOW),
    ):
        with pytest.raises(
            Mistake,
            match=r"ranker 1.* was trained with the vectors of concepts .*c0ffee.*"
            r"has those of concepts .*another.*classmark meaning set SOURCE.*rank "
            "use none.*rank train.*--ranker none",
        ):
            act()
    project.change_settings({"meaning.source": "none", "meaning.model": ""}, "me")
    with pytest.raises(Mistake, match="and the project has none: choose them"):
        search_in(project, "note judge", QueryOptions())
    assert search_in(project, "note judge", QueryOptions(ranker="none")).hits
    use_ranker(project, "none")
    assert not search_in(project, "note judge", QueryOptions()).meaning


def test_without_computed_vectors_a_ranker_learns_words_and_says_so(project):
    meaning.drop(project)
    meaning.set_meaning(project, STATIC)
    trained = train_ranker(project, JUDGED, HOW)
    assert "meaning" not in open_ranker(project, trained.number).names
    assert "have no vector yet" in trained.table.note
