"""Vectors of meaning on workers: the same figures and models, whoever learns."""

import pytest

from classmark.progress import spread_by
from classmark.workbench import meaning
from classmark.workbench.learning.evaluate import evaluate_project
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings, MeaningSettings
from meaning.tiny_models import TABLE, write_safetensors, write_tokenizer
from projects import new_library

pytestmark = pytest.mark.needs("tokenizers")
TEXT = "bee hive honey on the road"


@pytest.fixture
def project(tmp_path):
    write_safetensors(tmp_path / "model.safetensors", embeddings=TABLE)
    write_tokenizer(tmp_path / "tokenizer.json")
    with Project(new_library(tmp_path / "library")) as opened:
        meaning.set_meaning(opened, MeaningSettings("static", str(tmp_path)))
        yield opened


def test_folds_are_learned_with_the_stored_vectors(project, two):
    here = evaluate_project(project, ["rocchio"], 2).table
    with spread_by(two):
        there = evaluate_project(project, ["rocchio"], 2).table
    for row in (*here.rows, *there.rows):
        del row["seconds"]
    assert there.rows == here.rows
    assert "words and meaning" in there.note


def test_the_nodes_of_a_tree_are_learned_with_them(project, two):
    scores = []
    for machines in (None, two):
        train(project, LearningSettings(strategy="top-down"), machines=machines)
        with Project(project.folder) as again:
            scores.append(again.require_model().scores([TEXT]).tolist())
    assert scores[0] == scores[1]
