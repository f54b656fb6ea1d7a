"""With vectors of meaning a search finds what shares no word with its examples."""

import json

import numpy as np
import pytest

from classmark.examples.screening import StoppingRule
from classmark.formats.weights import read_weights
from classmark.meaning.vector_file import VectorFile
from classmark.problems import Mistake
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.deciding.similar import alike, groups_of, nearly_same
from classmark.workbench.examples import open_searches, screening
from classmark.workbench.examples.example_search import MEANING, ExampleSearch
from classmark.workbench.examples.export import export_ranking, export_weights
from classmark.workbench.examples.like import (
    Answers,
    SearchStart,
    open_example_search,
    rank_by_file,
    rank_in_index,
)
from classmark.workbench.examples.searches import SCREEN, open_search
from classmark.workbench.examples.vectors import saved_vectors, state_of, vectors_of
from classmark.workbench.files.importing import import_records
from classmark.workbench.meaning import set_meaning, vectors_folder
from classmark.workbench.project import Project
from classmark.workbench.search.index import index_project
from classmark.workbench.settings import MeaningSettings
from concepts import STATIC, ConceptVectors, use_concepts
from projects import new_desk, new_project, records_of

TEXTS = {
    "b1": "Honey, a hive and smoke",
    "b2": "The apiary at night",
    "b3": "A drone, a swarm and its flight",
    "d1": "Dough in an oven at night",
    "d2": "A rye loaf and its crust",
    "l1": "The court and its judge",
    "l2": "A magistrate hears the lawsuit",
    "n1": "Clouds over a harbour",
}


@pytest.fixture
def source(monkeypatch):
    return use_concepts(monkeypatch)


@pytest.fixture
def project(tmp_path, source):
    del source
    with Project(new_project(tmp_path / "shelf", TEXTS, meaning=STATIC)) as opened:
        yield opened


@pytest.fixture
def words_alone(tmp_path):
    with Project(new_project(tmp_path / "plain", TEXTS)) as opened:
        yield opened


def like(project, *examples, texts=None, name=None, terms=None, **answers):
    start = SearchStart(examples, texts=texts or {}, name=name)
    return open_example_search(project, start, Answers(**answers), terms=terms)


def ids(ranking):
    return [hit.id for hit in ranking.hits]


def test_the_vectors_are_those_of_words_and_meaning_and_stay(project, source):
    made = vectors_of(project)
    expected = Vectorizer(
        project.settings.text.analyzer, "log-tfidf", meaning=project.meaning()
    ).fit_transform(TEXTS.values())
    assert np.array_equal(made.rows.to_scipy().toarray(), expected.toarray())
    assert made.rows.width == made.n_words + source.dimension
    source.encoded.clear()
    with Project(project.folder) as opened:
        again = vectors_of(opened)
        assert np.array_equal(again.rows.values, made.rows.values)
        assert not source.encoded
        new = ["an apiary", "a drone"]
        assert np.array_equal(
            again.vectorizer.rows(new).values, made.vectorizer.rows(new).values
        )


def test_missing_vectors_are_computed_once_and_stored(project, source):
    source.encoded.clear()
    vectors_of(project)
    assert sorted(source.encoded) == sorted(TEXTS.values())
    assert all(text in project.meaning() for text in TEXTS.values())
    import_records(project, records_of({"b4": "Nectar"}), "more")
    source.encoded.clear()
    assert len(vectors_of(project).ids) == len(TEXTS) + 1
    assert source.encoded == ["Nectar"]


@pytest.mark.parametrize("what", ["weight", "digest", "none"])
def test_another_source_or_weight_makes_them_anew(project, monkeypatch, what):
    before, state = vectors_of(project), state_of(project)
    if what == "digest":
        other = ConceptVectors()
        other.digest = "another"
        use_concepts(monkeypatch, other)
        set_meaning(project, MeaningSettings("static", model="elsewhere"))
    else:
        none = MeaningSettings()
        change = MeaningSettings("static", weight=0.25) if what == "weight" else none
        set_meaning(project, change)
    assert state_of(project) != state
    assert saved_vectors(project) is None
    after = vectors_of(project)
    if what == "weight":
        assert after.vectorizer.meaning_.weight == 0.25
    if what == "none":
        assert after.rows.width == after.n_words < before.rows.width
    assert saved_vectors(project) is not None


def test_the_length_of_a_row_is_known_from_what_it_has(project):
    import_records(project, records_of({"e": "", "w": "Harbour"}), "more")
    vectors = vectors_of(project)
    table = vectors.rows.to_scipy().toarray()
    lengths = np.linalg.norm(table, axis=1)
    lengths[lengths == 0] = 1
    assert np.allclose(vectors.lengths(vectors.rows), lengths)
    assert len(set(lengths.round(3))) == 2
    words = vectors.words(vectors.rows).to_scipy().toarray()
    assert np.array_equal(words, table[:, : vectors.n_words])


def test_a_search_finds_synonyms_that_words_alone_do_not(project, words_alone):
    found = ids(like(project, "b1").rank(2))
    assert sorted(found) == ["b2", "b3"]
    by_words = {hit.id: hit.score for hit in like(words_alone, "b1").rank(9).hits}
    assert by_words["b2"] < max(by_words.values())


def test_reasons_name_words_and_one_part_of_meaning(project):
    search = like(project, "b1")
    ranking = search.rank(7)
    best = ranking.hits[0]
    assert best.parts[MEANING] > 0
    shown = json.dumps(ranking.as_json()) + json.dumps(search.view(7).words)
    assert "meaning[" not in shown
    assert 0 < ranking.meaning < 1
    assert search.view(3).meaning == ranking.meaning
    assert ranking.nonzero <= search.vectors.n_words
    assert search.view(3).terms == ranking.nonzero
    reasons = search.explain(best.id)
    (part,) = [part for part in reasons.parts if part.term == MEANING]
    assert part.weight * part.value == pytest.approx(part.part)
    assert sum(p.part for p in reasons.parts) == pytest.approx(best.score)
    assert part.part == pytest.approx(best.parts[MEANING])
    assert reasons.has_meaning


def test_words_alone_have_no_part_of_meaning(words_alone):
    search = like(words_alone, "b1")
    ranking = search.rank(7)
    assert ranking.meaning == 0
    assert not any(MEANING in hit.parts for hit in ranking.hits)
    assert not search.explain("b1").has_meaning


def test_answers_are_learned_and_taken_back(project):
    search = like(project, "b1")
    before = search.weights.copy()
    search.mark(yes=["b3"], no=["d1"])
    assert ids(search.rank(1)) == ["b2"]
    assert not np.array_equal(search.weights, before)
    search.undo()
    assert np.array_equal(search.weights, before)
    assert sorted(ids(like(project, name=search.search.name).rank(2))) == ["b2", "b3"]


def test_a_text_of_ones_own_is_encoded(project):
    ranking = like(project, texts={"mine": "a beekeeper's bees"}).rank(3)
    assert sorted(ids(ranking)) == ["b1", "b2", "b3"]


def test_a_text_with_neither_a_known_word_nor_meaning_is_refused(project):
    with pytest.raises(Mistake, match=r"example mine: none of its words"):
        like(project, texts={"mine": "xyzzy"})


def test_cutting_the_query_cuts_words_and_keeps_the_meaning(project):
    whole, cut = like(project, "b1", name="whole"), like(project, "b1", terms=1)
    n = whole.vectors.n_words
    assert np.count_nonzero(cut.weights[:n]) == 1
    assert np.array_equal(cut.weights[n:], whole.weights[n:])
    assert cut.weights[n:].any()
    assert (
        f"cut to 1 of {np.count_nonzero(whole.weights[:n])} terms"
        in (cut.rank(2).notes[0])
    )


@pytest.mark.parametrize("ending", [".tsv", ".json"])
def test_the_words_are_written_and_that_meaning_is_not(project, tmp_path, ending):
    search = like(project, "b1")
    path = tmp_path / f"query{ending}"
    export_weights(search, path)
    assert "meaning[" not in path.read_text()
    written = read_weights(path)
    assert written.meaning == pytest.approx(search.rank(1).meaning)
    assert set(written.weights) <= set(search.terms)
    ranking = rank_by_file(project, path, 3)
    assert "which a file does not have: words rank alone" in ranking.notes[-1]
    assert ranking.meaning == 0


def test_a_file_of_words_says_that_meaning_does_not_count(
    project, words_alone, tmp_path
):
    path = tmp_path / "query.tsv"
    export_weights(like(words_alone, "b1"), path)
    assert "meaning" not in path.read_text()
    assert rank_by_file(words_alone, path).notes == []
    assert "meaning does not count here" in rank_by_file(project, path).notes[-1]


def test_what_is_found_is_written_without_names_of_columns(project, tmp_path):
    for ending in (".csv", ".jsonl"):
        export_ranking(like(project, "b1").rank(7), tmp_path / f"found{ending}")
        assert "meaning[" not in (tmp_path / f"found{ending}").read_text()


def test_an_index_says_that_it_ranks_by_words_alone(project, words_alone):
    for each, notes in ((project, 1), (words_alone, 0)):
        index_project(each)
        ranking = rank_in_index(each, SearchStart(("b1",)), Answers())
        assert len(ranking.notes) == notes
    index_note = rank_in_index(project, SearchStart(("b1",)), Answers()).notes[0]
    assert index_note == "by words alone: an index has no vectors of meaning"


def own_vectors(project, ids_):
    """Vectors of the user's own, for some documents, in the project's folder."""
    texts = [TEXTS[id_] for id_ in ids_]
    table = ConceptVectors().encode(texts)
    settings = MeaningSettings("own")
    place = vectors_folder(project.folder, settings)
    VectorFile.of_imported(place, table.shape[1]).add(texts, table)
    return settings


def test_own_vectors_find_documents_and_refuse_texts(words_alone):
    set_meaning(words_alone, own_vectors(words_alone, TEXTS))
    assert sorted(ids(like(words_alone, "b1").rank(2))) == ["b2", "b3"]
    own_text = {"mine": "bees"}
    with pytest.raises(Mistake, match=r"example mine: .* your own, .* give documents"):
        like(words_alone, texts=own_text)
    start = SearchStart(texts=own_text, rule=StoppingRule())
    with pytest.raises(Mistake, match=r"your own, and this text has none"):
        screening.start_screening(words_alone, start)
    assert sorted(ids(like(words_alone, texts={"b": TEXTS["b1"]}).rank(3)))[1:] == [
        "b2",
        "b3",
    ]


def test_a_document_without_a_vector_of_ones_own_is_named(words_alone):
    some = [id_ for id_ in TEXTS if id_ != "l2"]
    set_meaning(words_alone, own_vectors(words_alone, some))
    with pytest.raises(Mistake, match=r"document 'l2' has no vector.*import one"):
        like(words_alone, "b1")


def test_a_screening_reads_synonyms_first(project):
    start = SearchStart(("b1",), name="all", rule=StoppingRule(share=0.0))
    screening.start_screening(project, start)
    first = screening.read_next(project, "all", 2)
    likely = [hit.id for hit in first if hit.origin == "likely"]
    assert set(likely) <= {"b2", "b3"}
    assert likely
    screening.mark(project, "all", {"yes": ["b2,b3"]})
    status = screening.status(project, "all")
    assert status.progress.found == 3
    marks, after = screening.undo(project, "all")
    assert len(marks) == 2
    assert after.progress.found == 1


def test_a_screening_with_a_text_of_ones_own_shows_its_meaning(project):
    start = SearchStart(texts={"t": "bees"}, name="t", rule=StoppingRule())
    screening.start_screening(project, start)
    search = screening.ScreeningSearch(
        project, open_search(project.store, "t", SCREEN), vectors_of(project)
    )
    search.write_shown(search.next_batch(3))
    view = search.view(3)
    assert view.meaning > 0
    assert view.terms <= search.vectors.n_words
    assert not any("meaning[" in word for word, _ in view.words)


def test_documents_are_alike_by_meaning_too(tmp_path, source):
    del source
    with new_desk(tmp_path / "desk", TEXTS, meaning=STATIC) as desk:
        found = alike(desk, "l1")
        assert found[0].document == "l2"
        assert 0 < found[0].cosine < 1
        again = records_of({"l3": TEXTS["l1"]})
        with desk.writing() as project:
            import_records(project, again, "more")
        desk.look_again()
        same = alike(desk, "l1")[0]
        assert same.document == "l3"
        assert same.cosine == pytest.approx(1.0, abs=1e-6)


def test_near_duplicates_are_grouped_by_both(project, words_alone):
    one, two = (groups_of(each, ["l1", "l2"], 0.15) for each in (project, words_alone))
    assert one == [[0, 1]]
    assert two == [[0], [1]]


def test_open_searches_of_a_desk_see_meaning(tmp_path, source):
    del source
    with new_desk(tmp_path / "desk", TEXTS, meaning=STATIC) as desk:
        number = open_searches.begin_for(desk, "ann", SearchStart(("b1",)))
        view = open_searches.show(desk, number, 2)
        assert sorted(hit.id for hit in view.hits) == ["b2", "b3"]
        assert view.meaning > 0
        open_searches.add_text(desk, number, "a swarm of bees")
        open_searches.mark(desk, "ann", number, {"b2": "yes", "d1": "no"})
        assert open_searches.show(desk, number, 1).hits[0].id == "b3"
        open_searches.undo(desk, "ann", number)
        assert "meaning[" not in str(open_searches.show(desk, number, 8))
        assert open_searches.explain(desk, number, "b3").has_meaning
        path = tmp_path / "found.tsv"
        open_searches.write_hits(desk, number, path)
        assert "meaning[" not in path.read_text()


def test_many_missing_vectors_are_made_by_a_job(tmp_path, source, monkeypatch):
    del source
    monkeypatch.setattr(open_searches, "ENCODED_AT_ONCE", 3)
    with new_desk(tmp_path / "desk", TEXTS, meaning=STATIC) as desk:
        with pytest.raises(open_searches.BeingRead):
            desk.search_cache.vectors(desk)
        assert nearly_same(desk, "b1") == []
        desk.jobs.wait()
        assert desk.search_cache.vectors(desk).ids == list(TEXTS)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_kernels_see_both(project, kernel):
    start = SearchStart(("b1",), method="balanced", params={"kernel": kernel})
    search = open_example_search(project, start)
    assert isinstance(search, ExampleSearch)
    assert sorted(ids(search.rank(2))) == ["b2", "b3"]


def test_texts_are_not_encoded_by_a_source_of_before(tmp_path, monkeypatch):
    source = use_concepts(monkeypatch)
    with new_desk(tmp_path / "shelf", TEXTS, meaning=STATIC) as desk:
        start = SearchStart(("b1",), name="bees")
        number = open_searches.begin_for(desk, "", start)
        monkeypatch.setattr(open_searches, "AT_ONCE", 0)
        monkeypatch.setattr(desk.jobs, "start", lambda *_: None)
        set_meaning(desk, MeaningSettings())
        with pytest.raises(open_searches.BeingRead):
            open_searches.add_text(desk, number, "an own text")
        assert "an own text" not in source.encoded
