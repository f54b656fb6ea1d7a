"""A project's vectors are made once, and anew when its documents change."""

import numpy as np
import pytest

from classmark.problems import DamagedFolder, Mistake
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.examples.vectors import vectors_of
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project
from projects import new_project, records_of

TEXTS = {"a": "honey in the hive", "b": "bees and honey", "c": ""}


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "shelf", TEXTS)) as opened:
        yield opened


def dense(collection):
    return collection.rows.to_scipy().toarray()


def test_they_are_those_of_the_vectorizer_and_kept(project):
    made = vectors_of(project)
    expected = Vectorizer(project.settings.text.analyzer, "log-tfidf")
    assert np.array_equal(dense(made), expected.fit_transform(TEXTS.values()).toarray())
    assert made.ids == list(TEXTS)
    (project.folder / "like" / "000001").rename(project.folder / "like" / "000007")
    (project.folder / "like" / "CURRENT").write_text("000007")
    again = vectors_of(project)
    assert (project.folder / "like" / "CURRENT").read_text() == "000007"
    assert np.array_equal(dense(again), dense(made))
    assert again.ids == made.ids
    texts = ["a hive of bees", "unheard"]
    assert np.array_equal(
        again.vectorizer.transform(texts).toarray(),
        made.vectorizer.transform(texts).toarray(),
    )


@pytest.mark.parametrize("new", [{"d": "wax"}, {"a": "wax"}])
def test_new_documents_and_new_texts_make_them_anew(project, new):
    before = vectors_of(project)
    import_records(project, records_of(new), "there", replace=True)
    after = vectors_of(project)
    assert "wax" in after.vectorizer.vocabulary_.terms
    assert after.ids == list(TEXTS | new)
    assert not np.array_equal(dense(before), dense(after))
    assert len(list((project.folder / "like").glob("0*"))) == 1


def test_another_analyzer_makes_them_anew(project):
    vectors_of(project)
    settings = project.folder / "classmark.toml"
    settings.write_text(settings.read_text().replace("|snowball(english)", ""))
    with Project(project.folder) as opened:
        assert "bees" in vectors_of(opened).vectorizer.vocabulary_.terms


def test_damage_is_told_with_its_remedy(project):
    vectors_of(project)
    path = project.folder / "like" / "000001" / "values.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(DamagedFolder, match=r"enough to remove .*like: it is made"):
        vectors_of(project)


def test_without_documents_there_is_nothing(tmp_path):
    with (
        Project(new_project(tmp_path / "empty", [])) as opened,
        pytest.raises(Mistake, match="no documents: import some"),
    ):
        vectors_of(opened)
    assert not (tmp_path / "empty" / "like").exists()
