"""Sparse weights and top-down models learn from every decision, beside them."""

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.taxonomy.category import Category
from classmark.workbench.categories.edit import add
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.learning import learner
from classmark.workbench.learning.live import Service, and_learn
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from classmark.workbench.store.undo import undo
from projects import TREE, new_project, parish

LITTLE = {
    "sparse": LearningSettings(memory="500B", strategy="plain"),
    "top-down": LearningSettings(strategy="top-down"),
    "pruned": LearningSettings(strategy="pruned"),
}
TEXTS = ["honey and wax", "a nest in the oven", "rye", "what the smith made"]


@pytest.fixture(params=list(LITTLE))
def project(request, tmp_path, monkeypatch):
    """Trained so; re-visits only as the log tells."""
    monkeypatch.setattr(learner, "BUDGET", 0.0)
    documents = parish(decided=True, waiting=True)
    with Project(new_project(tmp_path / "parish", documents, TREE)) as opened:
        assert train(opened, LITTLE[request.param]).live
        yield opened


def say(project, document, category):
    logged = and_learn(project, decide(project, document, Decision((category,)), {}))
    assert logged.learned is not None
    assert logged.learned.documents == 1
    return logged.numbers[0]


def scores(project):
    model = project.require_model()
    return model.scores(TEXTS).tolist()


def test_a_decision_is_learned_before_the_next_document(project):
    text = project.store.document("new-0").text

    def lead():
        scores = {one.category: one.score for one in suggest(project, text, 50)}
        return scores["birds"] - scores["bread"]

    before = lead()
    say(project, "new-0", "birds")
    assert lead() > before


def test_undone_it_is_to_the_bit_as_never_said(project):
    say(project, "new-1", "bees")
    before = scores(project)
    number = say(project, "new-0", "birds")
    assert scores(project) != before
    undone = and_learn(project, undo(project, number))
    assert scores(project) == before
    say(project, "new-2", "birds")
    with_it = scores(project)
    and_learn(project, undo(project, undone.numbers[0]))
    assert scores(project) != with_it


def test_opened_by_another_process_it_ranks_as_before(project):
    say(project, "new-0", "birds")
    before = scores(project)
    service = Service(project)
    service.open()
    assert service.model.scores(TEXTS).tolist() == before


def test_a_new_category_is_usable_at_once(project):
    and_learn(project, add(project, Category("wasps", "Wasps")))
    text = project.store.document("new-0").text
    say(project, "new-0", "wasps")
    assert "wasps" in [one.category for one in suggest(project, text, 3)]


def test_new_words_are_learned_and_shown_as_reasons(project):
    text = "ortolans and zebras among honey and a hive"
    project.store.put_documents([Record(Document("odd", {"text": text}))])
    say(project, "odd", "birds")
    (first,) = suggest(project, "ortolans and zebras", 1)
    assert first.category == "birds"
    assert set(first.favour) == {"ortolans", "zebras"}
