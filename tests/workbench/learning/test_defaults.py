"""One default: a project learns as ``PreferenceRanker()`` does, and tells with what."""

from dataclasses import replace

import numpy as np
import pytest

from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.preferences.labels import labels_from
from classmark.rankers.auto import CENTERS, TREE_CENTERS
from classmark.rankers.preference import PreferenceRanker
from classmark.workbench.learning import fit, unfitted
from classmark.workbench.learning.learner import (
    from_nothing,
    open_learner,
)
from classmark.workbench.learning.models import open_model
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.learning.stream import StreamSettings
from classmark.workbench.learning.train import train
from classmark.workbench.learning.trained import training_of
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from projects import new_library, new_project
from workbench.acts import say

PLAIN = LearningSettings(strategy="plain")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The embedded library, about 600 documents to learn from: enough for a trial."""
    return new_library(tmp_path_factory.mktemp("library") / "p")


def vectors(project, model):
    """The documents as the model has read them, and their labels."""
    records = fit.to_learn_from(project.store.records(), PreferenceRanker())
    collection = fit.collected(project, records)
    assert collection.categories == model.categories
    X = model.vectorizer.transform(collection.texts)
    return X, labels_from(collection.labels, X.shape[0], len(collection.categories))


def test_a_training_is_the_ranker_as_constructed_on_the_same_vectors(folder):
    with Project(folder) as project:
        trained = train(project, PLAIN)
        model = open_model(project, project.models.current())
        X, Y = vectors(project, model)
        ranker = PreferenceRanker().fit(X, Y)
        assert (model.ranker.weights_ == ranker.weights_).all()
        assert (model.ranker.thresholds_ == ranker.thresholds_).all()
        loss, C, center, prior, _, noise = ranker.setting_
        assert (trained.loss, trained.C, trained.noise) == (loss, C, noise)
        assert (trained.center, trained.prior) == (center, prior)
        assert prior == 0.3


def test_a_training_with_a_tree_makes_the_same_choice_and_tells_it(folder):
    with Project(folder) as project:
        trained = train(project)
        assert trained.strategy == "flat"
        assert (trained.loss, trained.C) == ("dom", 0.3)
        assert (trained.prior, trained.noise) == (0.3, 2.0)
        assert trained.center in TREE_CENTERS
        assert trained.live
        how = training_of(project, trained.model).how
        assert (how.prior, how.noise, how.center) == (0.3, 2.0, trained.center)
        before = open_model(project, project.models.current()).ranker.weights_
        train(project, replace(how, strategy="auto"))
        again = open_model(project, project.models.current()).ranker.weights_
        assert (np.asarray(again) == np.asarray(before)).all()


@pytest.mark.parametrize(
    ("given", "parameters"),
    [
        ({}, {"loss": "auto", "C": None, "center": "auto", "prior": "auto"}),
        ({}, {"noise": "auto"}),
        ({"C": 0.5}, {"C": 0.5, "center": 5.0, "prior": None, "noise": None}),
        ({"C": 0.5, "center": 0.0}, {"C": 0.5, "center": 0.0}),
        ({"center": 3.0}, {"C": None, "center": 3.0, "prior": "auto"}),
    ],
)
def test_with_a_tree_the_same_is_left_open(folder, given, parameters):
    learning = replace(LearningSettings(), **given)
    with Project(folder) as project:
        records = list(project.store.records())
        task = fit.task_of(fit.collected(project, records), project.store.categories())
        vectorizer = unfitted.new_vectorizer(project)
        vectorizer.fit(task.collection.texts)
        strategy = fit.Strategy(fit.FLAT, "", fit.Size(1, 1, 1), 0.1)
        ranker = fit.ranker_for(strategy, learning, task, vectorizer)
    assert isinstance(ranker, TaxonomyRanker)
    assert {name: getattr(ranker, name) for name in parameters} == parameters


def test_from_nothing_all_learn_with_one_price(tmp_path):
    """The library, a stream and a project without a model; no prior and no noise."""
    alone = PreferenceRanker().partial_fit(np.eye(2), [[0], [1]])
    streamed = StreamSettings().make("plm").partial_fit(np.eye(2), [[0], [1]])
    with Project(new_project(tmp_path / "p")) as project:
        live = from_nothing(project).ranker.ranker
        live.partial_fit(np.eye(2), [[0], [1]])
    for ranker in (alone, streamed, live):
        assert (ranker.live_.C, ranker.live_.prior) == (1.0, 0.0)
        assert ranker.live_.shelf.problem.noise == 0.0


def test_what_was_chosen_is_written_out_and_trains_the_same_again(folder):
    with Project(folder) as project:
        trained = train(project, PLAIN)
        training = training_of(project, trained.model)
        assert training.asked.C == 0.0
        assert training.asked.loss == "auto"
        chosen = (training.how.loss, training.how.C, training.how.prior)
        assert chosen == (trained.loss, trained.C, trained.prior)
        before = open_model(project, project.models.current()).ranker.weights_
        train(project, training.how)
        again = open_model(project, project.models.current()).ranker.weights_
        assert (np.asarray(again) == np.asarray(before)).all()
        assert rebuild(project).rows[0]["difference"] == 0.0


def test_a_training_with_a_prior_learns_from_every_decision(folder):
    with Project(folder) as project:
        assert train(project, PLAIN).live
        learner = open_learner(project)
        assert learner.ranker.dual.prior == 0.3
        record = next(iter(project.store.records()))
        say(project, record.id, min(record.labels))
        assert rebuild(project).rows[0]["difference"] == 0.0


@pytest.mark.parametrize(
    ("given", "parameters"),
    [
        ({}, {"loss": "auto", "C": None, "center": "auto", "prior": "auto"}),
        ({}, {"noise": "auto"}),
        ({"C": 0.5, "noise": 2.0}, {"C": 0.5, "noise": 2.0}),
        ({"C": 0.5}, {"noise": None}),
        ({"C": 0.5}, {"loss": "auto", "C": 0.5, "center": 5.0, "prior": None}),
        ({"C": 0.5, "center": 0.0}, {"C": 0.5, "center": None, "prior": None}),
        ({"center": 3.0}, {"C": None, "center": 3.0, "prior": "auto"}),
        ({"loss": "dme"}, {"loss": "dme", "C": None, "prior": "auto"}),
        ({"loss": "svm"}, {"loss": "svm", "C": 0.1, "center": 5.0, "prior": None}),
        ({"C": 0.1, "prior": 0.3}, {"C": 0.1, "center": 5.0, "prior": 0.3}),
    ],
)
def test_what_is_set_is_learned_with_and_the_rest_is_chosen(given, parameters):
    ranker = unfitted.new_ranker(replace(LearningSettings(), **given))
    shown = {name: getattr(ranker, name) for name in parameters}
    assert shown == parameters


def test_the_price_is_selected_beside_what_is_chosen(folder):
    with Project(folder) as project:
        for learning in (PLAIN, LearningSettings()):
            trained = train(project, learning, select=True)
            assert (trained.loss, trained.prior) == ("dom", 0.3)
            assert (trained.noise, trained.center in CENTERS) == (2.0, True)
