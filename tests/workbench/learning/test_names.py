"""Names of categories in a project: trained, asked, decided on, opened, refused."""

from dataclasses import replace

import pytest

from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.learning.models import trained_model
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from projects import new_project

SUBJECTS = ("harbour", "orchard", "violin", "glacier", "pottery", "railway")
CATEGORIES = [
    Category(f"s{at}", name.title(), synonyms=(f"all about a {name}",))
    for at, name in enumerate(SUBJECTS)
] + [Category("s9", "Lighthouse")]


def rows():
    """Documents of which each names its subject, and hardly anything else."""
    for at in range(96):
        which = at % len(SUBJECTS)
        far = " seen from a lighthouse" if at % 13 == 0 else ""
        text = f"the {SUBJECTS[which]} of town{at} and year{at % 5}{far}"
        yield {"id": f"d{at}", "text": text, "labels": [f"s{which}"]}


@pytest.fixture
def folder(tmp_path):
    return new_project(tmp_path / "names", list(rows()), CATEGORIES)


@pytest.fixture
def yes():
    return LearningSettings(names="yes")


def test_a_category_without_documents_is_suggested_by_its_name(folder, yes):
    with Project(folder) as project:
        trained = train(project, yes)
        best = suggest(project, "a lighthouse on the rocks", 1)[0]
    assert trained.names.used
    assert trained.names.count == 2 * len(SUBJECTS) + 1
    assert best.category == "s9"
    assert best.name[0] == "Lighthouse"
    assert best.name[1] > 0


def test_opened_again_it_suggests_the_same(folder, yes):
    text = "a lighthouse at the harbour"
    with Project(folder) as project:
        train(project, yes)
        before = suggest(project, text, 5)
    with Project(folder) as project:
        assert suggest(project, text, 5) == before


def test_names_go_on_counting_while_it_learns(folder, yes):
    with Project(folder) as project:
        assert train(project, yes).live
        decide(project, "d0", Decision(("s9",)))
    with Project(folder) as project:
        best = suggest(project, "a lighthouse on the rocks", 1)[0]
    assert best.category == "s9"
    assert best.name[0] == "Lighthouse"


def test_no_is_words_alone(folder):
    with Project(folder) as project:
        trained = train(project, LearningSettings(names="no"))
        assert trained.names is None
        assert all(s.name is None for s in suggest(project, "a lighthouse", 3))


def test_auto_says_what_names_add(folder):
    with Project(folder) as project:
        tried = train(project, LearningSettings()).names
        model = trained_model(project)
        scores = model.scores(["a lighthouse"])
    assert 0 <= tried.before <= 1
    assert 0 <= tried.after <= 1
    assert (scores[0].argmax() == model.categories.index("s9")) == tried.used


@pytest.mark.parametrize("learner", ["rocchio", "loglinear", "mmp", "perceptron"])
def test_auto_tries_names_with_every_learner_and_held_out_rankings_decide(
    folder, learner
):
    with Project(folder) as project:
        tried = train(project, LearningSettings(learner=learner)).names
        assert tried is not None
        assert not tried.used or tried.after > tried.before
        assert suggest(project, "the harbour", 1)[0].category == "s0"


def test_thresholds_and_names_do_not_go_together(folder, yes):
    with (
        Project(folder) as project,
        pytest.raises(Mistake, match="names is yes beside thresholds"),
    ):
        train(project, replace(yes, thresholds="common"))
