"""Models that stay as they are, while their categories are renamed, merged, retired."""

import shutil

import numpy as np
import pytest

from classmark.arrays import rows_from, take
from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.rankers.calibration import PathCalibrator
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.deciding import suggest
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.deciding.queue import queue
from classmark.workbench.deciding.sheet import lay_out
from classmark.workbench.deciding.suggest import place, place_if_any
from classmark.workbench.learning import models
from classmark.workbench.learning.models import (
    BestScores,
    PresentRanker,
    check_model,
    how_to_place,
    open_model,
    trained_model,
)
from classmark.workbench.learning.train import train
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings
from classmark.workbench.team.desk import Desk
from projects import new_project

LEAVES = [f"{top}.{leaf}" for top in "abc" for leaf in range(3)]
HOW = {
    "top-down": LearningSettings(strategy="top-down", base="naive-bayes"),
    "voted": LearningSettings(strategy="top-down", base="naive-bayes", rare=True),
    "flat": LearningSettings(strategy="flat", base="logistic"),
}


def words(leaf, rng):
    noise = [f"w{v}" for v in rng.integers(30, size=4)]
    return " ".join([f"top{leaf[0]}"] * 2 + [f"leaf{leaf[0]}{leaf[2]}"] * 2 + noise)


def made(folder, learning):
    rng = np.random.default_rng(0)
    tree = [Category("r"), *(Category(top, parents=("r",)) for top in "abc")]
    tree += [Category(leaf, parents=(leaf[0],)) for leaf in [*LEAVES, "c.9"]]
    rows = [
        {"id": f"{leaf}-{at}", "text": words(leaf, rng), "labels": [leaf]}
        for leaf in LEAVES
        for at in range(9)
    ]
    rows += [{"id": f"w-{leaf}", "text": words(leaf, rng)} for leaf in LEAVES]
    return new_project(folder, rows, tree, trained=True, learning=learning)


@pytest.fixture(scope="module", params=HOW)
def trained(request, tmp_path_factory):
    return made(tmp_path_factory.mktemp("made") / request.param, HOW[request.param])


@pytest.fixture
def project(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "shelf")
    with Project(tmp_path / "shelf") as opened:
        yield opened


@pytest.fixture
def descending(tmp_path):
    with Project(made(tmp_path / "shelf", HOW["top-down"])) as opened:
        yield opened


def suggested(project, leaf, top=10):
    text = project.store.document(f"w-{leaf}").text
    return [found.category for found in suggest.suggest(project, text, top)]


def queued(project):
    rows = queue(project, "likely", 20).rows
    return {row["document"]: row["category"] for row in rows}


def put(project):
    return {
        row["document"]: (row["kind"], row["category"])
        for row in place(project, precision=0.8, top=0).rows
    }


def test_as_long_as_nothing_changes_nothing_does(project):
    assert set(LEAVES) <= set(suggested(project, "a.1"))
    assert queued(project)["w-a.1"] == "a.1"
    assert put(project)["w-a.1"][1] in {"a.1", "a"}
    check_model(project, project.models.current())


def test_what_is_retired_is_not_offered(project):
    before = put(project)
    edit.retire(project, "a.1")
    assert suggested(project, "a.1", 3)[0] != "a.1"
    assert "a.1" not in suggested(project, "a.1", 20)
    assert "a.1" not in queued(project).values()
    assert "a.1" not in {category for _, category in put(project).values()}
    assert put(project)["w-b.1"] == before["w-b.1"]


def test_what_is_placed_at_a_retired_one_is_placed_above_it(project):
    for leaf in ("a.0", "a.1", "a.2"):
        edit.retire(project, leaf)
    edit.retire(project, "a")
    found = {category for _, category in put(project).values()}
    assert found.isdisjoint({"a", "a.0", "a.1", "a.2"})


def test_what_is_renamed_is_called_by_its_present_id(project):
    before = suggested(project, "a.1", 3)
    place_before = put(project)
    edit.rename(project, "a.1", new_id="new")
    edit.rename(project, "a", new_id="above")
    now = {"a.1": "new", "a": "above"}
    assert suggested(project, "a.1", 3) == [now.get(id_, id_) for id_ in before]
    assert queued(project)["w-a.1"] == "new"
    assert put(project) == {
        document: (kind, now.get(id_, id_))
        for document, (kind, id_) in place_before.items()
    }


def test_what_is_merged_is_called_by_what_it_was_merged_into(project):
    edit.merge(project, "a.1", "a.2")
    edit.merge(project, "a.2", "b.0")
    assert suggested(project, "a.1", 3)[0] == "b.0"
    assert suggested(project, "a.1", 20).count("b.0") == 1
    assert queued(project)["w-a.1"] == queued(project)["w-b.0"] == "b.0"
    text = project.store.document("w-a.1").text
    first = suggest.suggest(project, text, 1)[0]
    assert "leafa1" in first.favour
    known = {category.id for category in project.store.categories()}
    assert {category for _, category in put(project).values()} <= known | {None}


def offsets_now(project):
    """What each category of today adds to its standing, by id."""
    model = trained_model(project)
    offsets = model.calibrator.offsets_
    if not len(offsets):  # the model goes down the tree
        return {}
    return dict(zip(model.categories, offsets.tolist(), strict=True))


def test_probabilities_follow_their_categories(project):
    before = offsets_now(project)
    edit.retire(project, "b.0")
    edit.rename(project, "a.1", new_id="new")
    edit.merge(project, "c.1", "c.2")
    after = offsets_now(project)
    if before:
        before["new"] = before.pop("a.1")
        before["c.2"] = (before["c.2"] + before.pop("c.1")) / 2
        del before["b.0"]
    assert after == pytest.approx(before)
    chances = queue(project, "likely", 20).rows
    assert all(0 < row["probability"] < 1 and row["lead"] >= 0 for row in chances)


def test_everything_retired_is_told(project):
    for category in project.store.categories():
        edit.retire(project, category.id)
    with pytest.raises(Mistake, match="is retired"):
        suggested(project, "a.1")
    with Desk(project.folder) as desk:
        assert desk.model() is None


@pytest.mark.parametrize("rare", [False, True])
def test_everything_retired_is_told_of_a_live_tree_too_until_one_is_decided(
    tmp_path, rare
):
    how = LearningSettings(strategy="top-down", rare=rare)
    with Desk(made(tmp_path / "shelf", how)) as desk:
        assert desk.service.learner is not None
        for category in desk.store.categories():
            with desk.writing():
                edit.retire(desk, category.id)
        assert desk.learned(30)
        with pytest.raises(Mistake, match=r"is retired: undo that, or label"):
            suggested(desk, "a.1")
        assert lay_out(desk, "w-a.1", "ada").choices == ()
    with Desk(desk.folder) as desk:
        with pytest.raises(Mistake, match=r"is retired: undo that, or label"):
            suggested(desk, "a.1")
        with desk.writing():
            edit.add(desk, Category("new"))
            text = {"text": "ortolans of topa leafa1"}
            desk.store.put_documents([Record(Document("odd", text))])
            decide(desk, "odd", Decision(("new",)), {})
        assert desk.learned(30)
        assert suggested(desk, "a.1") == ["new"]
        (only,) = suggest.suggest(desk, text["text"])
        assert only.category == "new"


def test_a_retired_leaf_without_need_is_no_candidate_after_training(project):
    edit.retire(project, "c.9")
    edit.retire(project, "a.1")
    train(project)
    assert "c.9" not in models.open_model(project, project.models.current()).categories
    for leaf in ("a.1", "c.1"):
        assert {"a.1", "c.9"}.isdisjoint(suggested(project, leaf, 20))
    assert {"a.1", "c.9"}.isdisjoint(queued(project).values())


def test_a_leaf_without_documents_has_no_number_that_means_nothing(project):
    text = project.store.document("w-c.1").text
    scores = [found.score for found in suggest.suggest(project, text, 20)]
    assert min(scores) > -1e3


def test_model_and_places_are_opened_once(project, monkeypatch):
    opened = []

    def counted(name):
        inside = getattr(models, name)
        monkeypatch.setattr(
            models, name, lambda *given: opened.append(name) or inside(*given)
        )

    counted("open_model")
    counted("with_beside")
    text = project.store.document("w-a.1").text
    for _ in range(2):
        suggest.suggest(project, text)
        place_if_any(project, text)
    assert opened == ["open_model", "with_beside"]
    edit.rename(project, "a.1", new_id="new")
    suggest.suggest(project, text)
    assert len(opened) == 4


def test_another_process_is_noticed(project):
    assert suggested(project, "a.1", 1) == ["a.1"]
    with Project(project.folder) as other:
        edit.rename(other, "a.1", new_id="new")
    assert suggested(project, "a.1", 1) == ["new"]


def test_the_tree_is_looked_at_when_it_is_needed(project):
    back_off, _ = how_to_place(project)
    assert "_places" not in vars(back_off)


def test_ways_that_were_never_seen_teach_no_probability():
    scores = np.array([[-0.1, -3.0, -np.inf], [-2.0, -0.2, -np.inf]] * 20)
    labels = [[0], [2]] * 20
    found = PathCalibrator().fit(scores, labels)
    assert found.decisions_ == 40
    other = PathCalibrator().fit(scores[:, :2], [[0], []] * 20)
    assert np.array_equal(found.curve_, other.curve_)


def test_where_scores_are_too_many_the_best_of_more_documents_tell_how_likely(
    descending, monkeypatch
):
    monkeypatch.setattr("classmark.rankers.calibration.CELLS", 100)
    assert train(descending).calibrated_on < 60
    monkeypatch.setattr("classmark.workbench.learning.train.LISTED", 1)
    assert train(descending).calibrated_on == 81
    model = open_model(descending, descending.models.current())
    assert model.calibrator.rate_ == pytest.approx(1 / len(model.categories))
    chances = [one.probability for one in suggest.suggest(descending, "topa leafa0")]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.5


def test_the_best_scores_are_those_of_the_ranking(descending):
    ranker = open_model(descending, descending.models.current()).ranker
    rows = rows_from(np.eye(5, ranker.classifier_.n_features_in_))
    right = labels_from([[0], [], [1], [0, 1], [2]], 5, len(ranker.categories))
    best = BestScores.of(ranker, rows, right)
    for i in range(5):
        listed = ranker.best(take(rows, [i]), len(ranker.categories))
        n = len(listed)
        assert best.scores[i, :n].tolist() == [score for _, score in listed]
        assert (best.scores[i, n:] == -np.inf).all()
        marks = [category in right.row(i)[0] for category, _ in listed]
        assert best.right[i, :n].tolist() == marks


def test_a_fitted_ranker_is_not_fitted_again():
    with pytest.raises(Mistake, match="fit that one"):
        PresentRanker(None, []).fit([[1.0]], [[0]])
