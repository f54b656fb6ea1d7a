"""Only the words that speak most for a category are learned from."""

import numpy as np
import pytest

from classmark.problems import Mistake
from classmark.weighting.live import LiveVectorizer
from classmark.weighting.selection import select_features
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.learning import fit, unfitted
from classmark.workbench.learning.learner import open_learner
from classmark.workbench.learning.live import model_in_service
from classmark.workbench.learning.models import open_model
from classmark.workbench.learning.rebuild import rebuild
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from projects import new_parish
from workbench.acts import say

FEW = LearningSettings(select_features=3)
TEXTS = ["A hive of bees", "dough, and an oven", "a bee sting in the dough"]


@pytest.mark.parametrize("weighting", ["tfidf", "pivoted", "binary"])
def test_a_vectorizer_with_terms_left_out_is_one_that_never_knew_them(weighting):
    whole = Vectorizer(weighting=weighting, norm=None).fit(TEXTS)
    terms = whole.get_feature_names_out()
    kept = [at for at, term in enumerate(terms) if term in {"bee", "dough", "hive"}]
    part = Vectorizer(weighting=weighting, norm=None).fit(TEXTS).keep(kept)
    only = [" ".join(t for t in whole.analyzer_(x) if t in terms[kept]) for x in TEXTS]
    expected = Vectorizer(weighting=weighting, norm=None).fit_transform(only)
    assert np.allclose(part.transform(TEXTS).toarray(), expected.toarray())
    with pytest.raises(Mistake, match="keep one term or more"):
        part.keep([])


def test_what_goes_on_from_selected_terms_learns_no_others():
    vectorizer = Vectorizer().fit(TEXTS).keep([0, 2])
    live = LiveVectorizer.start(vectorizer)
    columns, _ = live.learn("a bee on new wax")
    assert live.n_features == 2
    opened = LiveVectorizer.from_arrays(*live.to_arrays())
    assert opened.learn("more new wax")[0].tolist() == []
    assert opened.n_features == 2
    assert live.statistics_.documents == 4
    assert len(columns) == 1
    live.forget("a bee on new wax", columns)
    assert live.statistics_.documents == 3
    again = Vectorizer.from_arrays(*vectorizer.to_arrays())
    assert LiveVectorizer.start(again).vocabulary_.is_closed
    assert not LiveVectorizer.start(Vectorizer().fit(TEXTS)).vocabulary_.is_closed


def test_a_training_keeps_the_terms_that_are_selected(tmp_path):
    with Project(new_parish(tmp_path / "p")) as project:
        records = fit.labelled(project)
        collection = fit.collected(project, records)
        whole = unfitted.new_vectorizer(project)
        X = whole.fit_transform(collection.texts)
        terms = select_features(X, collection.labels, 3, of="positive")
        trained = train(project, FEW)
        assert trained.features == len(terms) < X.shape[1]
        model = open_model(project, project.models.current())
        assert model.vectorizer.get_feature_names_out().tolist() == (
            whole.get_feature_names_out()[terms].tolist()
        )
        assert model.suggest("the bees")[0].category == "bees"


@pytest.mark.parametrize("learner", ["plm", "mmp", "perceptron"])
def test_decisions_after_it_are_learned_by_these_terms_and_rebuilt_to_the_bit(
    tmp_path, learner
):
    learning = LearningSettings(learner=learner, select_features=3)
    with Project(new_parish(tmp_path / "p", learning=learning)) as project:
        before = open_learner(project).ranker.vectorizer.n_features
        for at, name in enumerate(["bees", "bread", "birds"]):
            say(project, f"new-{at}", name)
        learner = open_learner(project).ranker
        assert learner.vectorizer.n_features == before
        assert len(learner.dual.W) == before
        scores = model_in_service(project).scores(["hive honey", "zebra"])
        (row,) = rebuild(project).rows
        assert row["difference"] == 0.0
        assert np.array_equal(
            model_in_service(project).scores(["hive honey", "zebra"]), scores
        )


def test_without_any_label_there_is_nothing_to_select_by(tmp_path):
    with Project(new_parish(tmp_path / "p")) as project:
        collection = fit.collected(project, fit.labelled(project))
        none = fit.task_of(
            type(collection)(
                collection.texts, [[] for _ in collection.texts], collection.categories
            ),
            project.store.categories(),
        )
        with pytest.raises(Mistake, match="no word is typical of any category"):
            fit.fit(none, unfitted.new_vectorizer(project), FEW)
