"""A long import lets others write in between, or is whole: as whoever asks wishes."""

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.workbench.files import importing
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project
from projects import new_project


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "shelf", [])) as opened:
        yield opened


def records(count, text="words", broken=None):
    for at in range(count):
        if at == broken:
            raise Mistake("the file ends here")
        yield Record(Document(f"d{at}", {"text": text}), {"label": 1.0})


def test_others_write_between_the_batches(project, monkeypatch):
    monkeypatch.setattr(importing, "PART", 10)
    seen = []

    def turn():
        with Project(project.folder) as other:
            other.store.note_event("ping", "bob")  # would wait for ever within
            seen.append(len(other.store.ids()))
        return project.store.transaction()

    table = import_records(project, records(25), "here", "ada", turn)
    assert seen == [0, 10, 20, 25]
    assert table.rows[0]["documents"] == 25
    event = project.store.last_event("imported")
    assert (event["source"], event["count"], event["new"]) == ("here", 25, 25)
    assert len(project.store.labels()) == 25


def test_what_was_written_before_a_failure_stays_only_in_turns(project, monkeypatch):
    monkeypatch.setattr(importing, "PART", 10)
    monkeypatch.setattr(importing, "BATCH", 10)
    with pytest.raises(Mistake):
        import_records(project, records(25, broken=15), "here")
    assert project.store.ids() == set()
    with pytest.raises(Mistake):
        import_records(
            project, records(25, broken=15), "here", turn=project.store.transaction
        )
    assert len(project.store.ids()) == 10
    assert project.store.last_event("imported") == {}


def test_long_documents_make_small_batches(project, monkeypatch):
    monkeypatch.setattr(importing, "LETTERS", 20)
    sizes = []
    put = project.store.put_documents
    monkeypatch.setattr(
        project.store,
        "put_documents",
        lambda batch, *by: (sizes.append(len(batch)), put(batch, *by))[1],
    )
    import_records(project, records(7, "five "), "here")
    assert sizes == [4, 3]


def test_whoever_imports_is_named(project):
    import_records(project, records(1), "here", "ada")
    (who,) = project.store.run(
        "SELECT DISTINCT who FROM judgments WHERE document = 'd0'"
    )
    assert who == ("ada (import)",)
