"""Why a category, in a project: parts, sentences and training documents."""

import numpy as np
import pytest

from classmark.meaning.sources import EncoderVectors
from classmark.meaning.vector_file import VectorFile
from classmark.problems import Mistake
from classmark.rankers import reasons
from classmark.workbench.deciding import why
from classmark.workbench.deciding.decide import Decision, decide_on
from classmark.workbench.deciding.sheet import lay_out
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.deciding.why import meaning_reasons
from classmark.workbench.learning.fit import TEST
from classmark.workbench.learning.live import SharedTextRanker
from classmark.workbench.learning.train import train
from classmark.workbench.meaning import vectors_folder
from classmark.workbench.project import Project
from classmark.workbench.settings import MeaningSettings
from classmark.workbench.team.desk import Desk
from projects import TREE, WORDS, new_desk, new_parish, new_project, parish

NEEDS = [pytest.mark.needs(n) for n in ("tokenizers", "safetensors", "wordllama")]
TEXT = (
    "The committee met in the vestry. An apiarist told of beeswax and swarms! "
    "A wren built her nest above the door."
)


@pytest.fixture
def both(tmp_path):
    """A project that ranks by words and meaning; one note of bees is for testing."""
    rows = [
        *parish(decided=True, waiting=True),
        *[{"id": "bees-t", "title": "Kept apart", "text": TEXT, "labels": ["bees"],
           "meta": {"part": TEST}}],
    ]  # fmt: skip
    static = MeaningSettings("static")
    folder = new_project(tmp_path / "both", rows, TREE, trained=True, meaning=static)
    with Project(folder) as project:
        yield project


def cosine(project, one, other):
    """Of two texts as seen from the centre, the slow way."""
    model = project.model()
    block, units = model.vectorizer.meaning_, []
    for text in (one, other):
        vector = block.source.encode([text])[0].astype(float)
        seen = vector / np.linalg.norm(vector) - block.centre
        units.append(seen / np.linalg.norm(seen))
    return float(units[0] @ units[1])


class TestWithAStaticTable:
    pytestmark = NEEDS

    def test_a_suggestion_says_what_words_and_meaning_add(self, both):
        first, *rest = suggest(both, TEXT, k=4)
        model = both.model()
        raw = model.vectorizer.rows([TEXT]).to_scipy() @ model.ranker.weights_
        lead = raw[0, model.categories.index(first.category)] - raw.mean()
        assert first.words + first.meaning == pytest.approx(lead, abs=1e-6)
        for each in rest:
            behind = first.words + first.meaning - each.words - each.meaning
            assert behind == pytest.approx(first.score - each.score, abs=1e-6)

    def test_the_sentence_that_speaks_for_each_category_comes_first(self, both):
        bees, birds = meaning_reasons(both, TEXT, ["bees", "birds"])
        assert bees.path == ("Nature", "Bees")
        assert "apiarist" in bees.sentences[0].sentence
        assert "wren" in birds.sentences[0].sentence
        by_category = {each.category: each for each in suggest(both, TEXT, k=4)}
        for each in (bees, birds):
            assert each.note == ""
            assert 1 <= len(each.sentences) <= 3
            parts = [part for _, part in each.sentences]
            assert parts == sorted(parts, reverse=True)
            suggested = by_category[each.category]
            assert (each.words, each.meaning) == (suggested.words, suggested.meaning)

    def test_documents_of_the_category_are_ranked_by_cosine(self, both):
        (bees,) = meaning_reasons(both, TEXT, ["bees"])
        records = {r.id: r for r in both.store.records() if r.id.startswith("bees-")}
        del records["bees-t"]
        by_hand = {
            id_: cosine(both, TEXT, both.text_of(record))
            for id_, record in records.items()
        }
        expected = sorted(by_hand, key=lambda id_: -by_hand[id_])[:3]
        assert [each.document for each in bees.documents] == expected
        assert bees.documents[0].title == records[expected[0]].document.title
        for each in bees.documents:
            assert each.cosine == pytest.approx(by_hand[each.document], abs=1e-6)

    def test_a_document_is_not_compared_with_itself(self, both):
        text = both.text_of(both.store.record("bees-3"))
        (alone,) = meaning_reasons(both, text, ["bees"])
        assert alone.documents[0].document == "bees-3"
        assert alone.documents[0].cosine == pytest.approx(1.0, abs=1e-6)
        (own,) = meaning_reasons(both, text, ["bees"], "bees-3")
        assert "bees-3" not in [each.document for each in own.documents]

    def test_what_was_not_looked_at_is_said(self, both, monkeypatch):
        monkeypatch.setattr(why, "SENTENCES", 1)
        monkeypatch.setattr(why, "COMPARED", 4)
        (bees,) = meaning_reasons(both, TEXT, ["bees"])
        assert bees.note == (
            "of 3 sentences the first 1 were read; of its 11 documents the 4 decided "
            "last were compared"
        )
        assert all("vestry" in each.sentence for each in bees.sentences)

    def test_documents_without_a_vector_are_encoded_up_to_a_number(
        self, tmp_path, monkeypatch
    ):
        how = {"meaning": MeaningSettings("static")}
        with new_desk(tmp_path / "new", parish(), WORDS, **how) as desk:
            for number in range(4):
                id_, names = f"bees-{number}", Decision(assign=("bees",))
                decide_on(desk, id_, names, None, "ada")
            decide_on(desk, "birds-0", Decision(assign=("birds",)), None, "ada")
            assert desk.learned(20.0)
            (bees,) = meaning_reasons(desk, TEXT, ["bees"])
            assert len(bees.documents) == 3
            assert bees.note == ""
            monkeypatch.setattr(why, "ENCODED", 1)
            (bees,) = meaning_reasons(desk, TEXT, ["bees"])
            assert [each.document for each in bees.documents] == ["bees-3"]
            assert bees.note == (
                "3 of its documents have no vector yet: run classmark train"
            )

    def test_a_long_sentence_is_cut(self, both):
        (bees,) = meaning_reasons(both, "swarm of bees " * 80, ["bees"])
        assert len(bees.sentences[0].sentence) <= why.LONGEST
        assert bees.sentences[0].sentence.endswith(" …")

    def test_a_category_that_is_not_ranked_is_refused(self, both):
        with pytest.raises(Mistake, match="'ships' is not ranked"):
            meaning_reasons(both, TEXT, ["ships"])

    def test_what_is_decided_speaks_for_its_category_at_once(self, both):
        with Desk(both.folder) as desk:
            (before,) = meaning_reasons(desk, TEXT, ["bees"])
            decide_on(desk, "new-4", Decision(assign=("bees",)), None, "ada")
            assert desk.learned(20.0)
            (after,) = meaning_reasons(desk, TEXT, ["bees"])
            assert isinstance(desk.model(), SharedTextRanker)
            assert after.meaning != before.meaning
            text = desk.text_of(desk.store.record("new-4"))
            (own,) = meaning_reasons(desk, text, ["bees"])
            assert own.documents[0].document == "new-4"
            assert own.documents[0].cosine == pytest.approx(1.0, abs=1e-6)
            best = {each.category: each for each in suggest(desk, TEXT)}["bees"]
            assert (best.words, best.meaning) == (after.words, after.meaning)

    def test_the_sheet_of_a_document_has_both_parts(self, both):
        with Desk(both.folder) as desk:
            choices = lay_out(desk, "new-0").choices
            ranked = [choice for choice in choices if choice.rank is not None]
            assert ranked
            for choice in ranked:
                assert choice.words is not None
                assert choice.meaning is not None


class Letters:
    """A vector of how often some letters are in a text."""

    def encode(self, texts):
        return [[1.0 + text.lower().count(one) for one in "aeiorbw"] for text in texts]


def test_own_vectors_have_documents_and_no_sentences(tmp_path):
    own = MeaningSettings("own")
    folder = new_project(tmp_path / "own", parish(decided=True), WORDS, meaning=own)
    with Project(folder) as project:
        texts = [project.text_of(record) for record in project.store.records()]
        stored = VectorFile(vectors_folder(folder, own), EncoderVectors(Letters()))
        stored.compute(texts)
        train(project)
        text = project.text_of(project.store.record("bees-0"))
        (bees,) = meaning_reasons(project, text, ["bees"], "bees-0")
        assert bees.sentences == ()
        assert "your own vectors are of whole documents" in bees.note
        assert len(bees.documents) == 3
        assert bees.meaning == pytest.approx(suggest(project, text)[0].meaning)


def test_words_alone_have_no_reasons_of_meaning(tmp_path):
    with Project(new_parish(tmp_path / "words")) as project:
        (bees,) = meaning_reasons(project, TEXT, ["bees"])
        assert bees.note == "the model ranks by words alone"
        assert (bees.words, bees.meaning, bees.sentences) == (None, None, ())
        assert {each.meaning for each in suggest(project, TEXT)} == {None}


def test_the_library_and_the_project_read_as_many_sentences():
    assert why.SENTENCES == reasons.SENTENCES
