"""Rankers with a kernel, saved and opened: their support documents come along."""

import numpy as np
import pytest

from classmark.problems import Mistake
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.storage import open_folder, save
from classmark.weighting.vectorizer import Vectorizer

TEXTS = ["bees and honey", "bread", "honey bread", "a hive of bees", "flour and water"]
LABELS = [[0], [1], [0, 1], [0], [1]]


def trained(**parameters):
    ranker = PreferenceRanker(**parameters)
    return TextRanker.fit(Vectorizer(), ranker, TEXTS, LABELS, ["a", "b", "c"])


@pytest.mark.parametrize("loss", ["dom", "svm"])
@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
def test_a_ranker_with_a_kernel_scores_as_before_it_was_saved(tmp_path, kernel, loss):
    model = trained(kernel=kernel, loss=loss, C=2.0)
    model.save(tmp_path / "model")
    opened = TextRanker.open(tmp_path / "model")
    unseen = [*TEXTS, "honey and water"]
    assert np.allclose(opened.scores(unseen), model.scores(unseen))
    assert opened.suggest("hive", k=1, terms=0)[0].category == "a"
    opened.save(tmp_path / "again")
    assert np.allclose(
        TextRanker.open(tmp_path / "again").scores(unseen), model.scores(unseen)
    )


def test_documents_without_a_part_in_a_score_are_left_out(tmp_path):
    model = trained(kernel="rbf")
    model.ranker.dual_coef_[1] = 0.0
    model.save(tmp_path / "model")
    assert TextRanker.open(tmp_path / "model").ranker.documents_.shape[0] == 4


def test_a_function_cannot_be_saved(tmp_path):
    model = trained(kernel=lambda A, B: (A @ (A if B is None else B).T).toarray())
    with pytest.raises(Mistake, match="kernel is a function, which cannot be saved"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_folder_without_its_support_documents_is_refused_when_opened(tmp_path):
    trained(kernel="rbf").save(tmp_path / "model")
    whole = open_folder(tmp_path / "model", "classmark text ranker", 1)
    rest = {n: a for n, a in whole.arrays.items() if not n.startswith("supports_")}
    save(tmp_path / "old", whole.format, whole.version, rest, whole.settings)
    with pytest.raises(Mistake, match="without its support documents: train it again"):
        TextRanker.open(tmp_path / "old")


def test_a_center_needs_features():
    with pytest.raises(Mistake, match=r"center is 1\.0 beside a kernel"):
        trained(kernel="rbf", center=1.0)
