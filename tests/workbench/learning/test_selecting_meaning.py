"""The weight of meaning that a training chooses, writes out and learns again with."""

from dataclasses import replace

import pytest

from classmark.rankers import meaning_weight
from classmark.workbench.learning.learner import open_learner
from classmark.workbench.learning.models import trained_model
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.learning.train import train
from classmark.workbench.learning.trained import training_of
from classmark.workbench.meaning import set_meaning
from classmark.workbench.project import Project
from classmark.workbench.settings import MeaningSettings
from meaning.tiny_models import TABLE, write_safetensors, write_tokenizer
from projects import new_project
from workbench.acts import say

WORDS = {"bees": "bee hive honey", "roads": "road car", "honeys": "honey bee"}
DOCUMENTS = [
    {"id": f"{name}{at}", "text": f"{words} {at}", "labels": [name]}
    for name, words in WORDS.items()
    for at in range(4)
]
pytestmark = pytest.mark.needs("tokenizers")


@pytest.fixture
def project(tmp_path):
    table = tmp_path / "tiny"
    table.mkdir()
    write_safetensors(table / "model.safetensors", embeddings=TABLE)
    write_tokenizer(table / "tokenizer.json")
    with Project(new_project(tmp_path / "shelf", DOCUMENTS)) as opened:
        set_meaning(opened, MeaningSettings("static", str(table)))
        yield opened


def weights(project):
    """Of the model in service, and of what it remembers."""
    model = trained_model(project)
    kept = training_of(project, project.models.current().name).meaning.weight
    return model.vectorizer.meaning_.weight, kept


def test_a_chosen_weight_is_used_and_written_out(project, monkeypatch):
    monkeypatch.setattr(meaning_weight, "ENOUGH", 6)
    monkeypatch.setattr(meaning_weight, "WEIGHTS", (0.7,))
    train(project)
    assert weights(project) == (0.7, 0.7)
    say(project, "roads0", "bees")
    rebuild(project)
    assert weights(project) == (0.7, 0.7)
    assert open_learner(project).ranker.vectorizer.meaning_.weight == 0.7


def test_a_weight_of_the_settings_stays(project, monkeypatch):
    monkeypatch.setattr(meaning_weight, "ENOUGH", 6)
    monkeypatch.setattr(meaning_weight, "WEIGHTS", (0.7,))
    set_meaning(project, replace(project.settings.meaning, weight=0.4))
    train(project)
    assert weights(project) == (0.4, 0.4)


def test_a_training_node_by_node_keeps_the_source_s_weight(project, monkeypatch):
    monkeypatch.setattr(meaning_weight, "ENOUGH", 6)
    monkeypatch.setattr(meaning_weight, "WEIGHTS", (0.7,))
    learning = replace(project.settings.learning, strategy="flat", base="logistic")
    train(project, learning)
    assert weights(project) == (0.3, 0.3)


@pytest.mark.parametrize("select", [False, True])
def test_with_few_documents_the_source_s_weight_is_written_out(project, select):
    train(project, select=select)
    assert weights(project) == (0.3, 0.3)
