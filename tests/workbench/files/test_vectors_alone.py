"""Vectors of counts are a project: imported, learned from, suggested for."""

import numpy as np
import pytest

from classmark.formats import guess_format, read_records
from classmark.formats.feature_lines import feature_text, line_text
from classmark.problems import Mistake, UnreadableFile
from classmark.workbench.deciding.suggest import suggest
from classmark.workbench.examples.like import texts_of
from classmark.workbench.files.importing import import_documents
from classmark.workbench.learning.train import train
from classmark.workbench.meaning import set_meaning
from classmark.workbench.project import Project
from classmark.workbench.search.index import index_project
from classmark.workbench.settings import MeaningSettings, read_settings
from projects import new_project

LINES = "".join(
    f"{1 + at % 2} 0:9 {10 * (1 + at % 2) + at % 5}:2 {3 + at % 3}:1\n"
    for at in range(40)
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "train.svm"
    path.write_text(LINES)
    return path


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "vectors", [])) as opened:
        yield opened


def test_a_line_is_a_document_of_features(file):
    assert guess_format(file) == "libsvm"
    first, second, *_ = read_records(file)
    assert (first.id, dict(first.labels)) == ("train.svm:1", {"1": 1.0})
    assert first.document.text == "f3 f10 f10"
    assert second.document.text == "f4 f21 f21"


def test_several_labels_comments_and_names(tmp_path):
    path = tmp_path / "named.svm"
    path.write_text("12, 7 1:1 2:2 3:1 # a9\n")
    (tmp_path / "named.names").write_text("Bee\nwax comb\n")
    (record,) = read_records(path)
    assert (record.id, set(record.labels)) == ("a9", {"12", "7"})
    assert record.document.text == "Bee f2 f2 f3"


def test_weights_are_refused_by_line(tmp_path):
    path = tmp_path / "weights.svm"
    path.write_text("1 7:1\n1 7:0.35\n")
    with pytest.raises(UnreadableFile, match=r"line 2: feature 7 counts 0\.35"):
        list(read_records(path))
    with pytest.raises(Mistake, match="whole times"):
        feature_text(np.array([1]), np.array([-1.0]))
    with pytest.raises(Mistake, match="write number:count"):
        line_text("7:x")


def test_a_project_of_vectors_learns_and_suggests(project, file):
    import_documents(project, file)
    assert project.has_vectors_alone
    assert project.settings.learning.characters == 0
    train(project)
    for category in ("1", "2"):
        line = f"0:4 {10 * int(category) + 1}:2 4:1"
        assert suggest(project, line, 1)[0].category == category


def test_what_needs_text_is_refused_with_the_reason(project, file, tmp_path):
    import_documents(project, file)
    (tmp_path / "own.txt").write_text("bees")
    for act in (
        lambda: index_project(project),
        lambda: set_meaning(project, MeaningSettings("static")),
        lambda: texts_of(project, [tmp_path / "own.txt"]),
    ):
        with pytest.raises(Mistake, match="are vectors without text"):
            act()


def test_vectors_do_not_come_among_texts(project, file, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "a", "text": "bees"}\n')
    import_documents(project, tmp_path / "a.jsonl")
    with pytest.raises(Mistake, match="a project of their own"):
        import_documents(project, file)


def test_an_import_that_fails_leaves_the_settings(project, tmp_path):
    broken = tmp_path / "broken.svm"
    broken.write_text("1 7:1\n1 7:0.35\n")
    before = project.settings
    with pytest.raises(UnreadableFile):
        import_documents(project, broken)
    assert project.settings == before == read_settings(project.folder)
    assert not project.has_vectors_alone
