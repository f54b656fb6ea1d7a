"""An import says what is new, replaced and unchanged; it replaces only when told to."""

import json

import pytest

from classmark.problems import Mistake
from classmark.workbench.collections import import_library, open_library
from classmark.workbench.files.importing import (
    import_documents,
    import_records,
    import_taxonomy,
)
from classmark.workbench.project import Project
from classmark.workbench.store.log import Act
from projects import new_project, records_of

ANNIF = {
    "train.tsv": "honey in the hive\t<http://x/bees>\na wick\t<http://x/wax>\n",
    "test.tsv": "rye bread\t<http://x/bread>\n",
    "train.csv": "text,subject_uris\nhoney,<http://x/bees>\n",
    "test.csv": "text,subject_uris\nrye,<http://x/bread>\n",
}


@pytest.fixture
def project(tmp_path, any_store):
    folder = new_project(tmp_path / "shelf", [], store=any_store())
    with Project(folder) as opened:
        yield opened


def counts(table):
    return {kind: table.rows[0][kind] for kind in ("new", "replaced", "unchanged")}


def rows(*documents):
    return records_of(documents)


@pytest.mark.parametrize("ending", [".tsv", ".csv"])
def test_two_files_without_ids_stand_beside_each_other(project, tmp_path, ending):
    count = 0
    for name in (f"train{ending}", f"test{ending}"):
        path = tmp_path / name
        path.write_text(ANNIF[name])
        documents = import_documents(project, path).rows[0]["new"]
        assert documents == ANNIF[name].count("<")
        count += documents
    assert len(project.store.ids()) == len(project.store.labels()) == count
    assert all(id_.startswith(("train", "test")) for id_ in project.store.ids())


def test_the_same_file_again_changes_nothing(project, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text(ANNIF["train.tsv"])
    import_documents(project, path)
    before = project.store.counts()
    again = import_documents(project, path)
    assert counts(again) == {"new": 0, "replaced": 0, "unchanged": 2}
    assert project.store.counts() == before


def test_other_contents_under_the_same_ids_are_refused_whole(project):
    import_records(project, rows({"id": "a", "text": "hive"}), "first")
    second = rows({"id": "b", "text": "rye"}, {"id": "a", "text": "wick"})
    before = project.store.counts()
    with pytest.raises(Mistake, match=r"1 of 2 documents .*'a'.*--replace"):
        import_records(project, second, "second")
    assert project.store.counts() == before
    assert project.store.document("a").text == "hive"
    table = import_records(project, second, "second", replace=True)
    assert counts(table) == {"new": 1, "replaced": 1, "unchanged": 0}
    assert project.store.document("a").text == "wick"
    event = project.store.last_event("imported")
    assert event.pop("act")
    assert event == {"source": "second", "count": 2} | counts(table)


@pytest.mark.parametrize(
    ("later", "replaced"),
    [
        ({"labels": ["bees"]}, 0),
        ({}, 0),  # says nothing of labels
        ({"labels": ["bees", "wax"]}, 0),  # more
        ({"labels": ["wax"]}, 1),
        ({"primary": "bees"}, 1),
    ],
)
def test_labels_that_would_be_taken_back_are_replaced(project, later, replaced):
    note = {"id": "a", "text": "hive"}
    import_records(project, rows(note | {"labels": ["bees"]}), "first")
    table = import_records(project, rows(note | later), "second", replace=True)
    unchanged = 1 - replaced
    assert counts(table) == {"new": 0, "replaced": replaced, "unchanged": unchanged}


def test_in_turns_what_would_be_replaced_is_refused_too(project):
    turn = project.store.transaction
    import_records(project, rows({"id": "a", "text": "hive"}), "first", turn=turn)
    with pytest.raises(Mistake, match="1 of 1 documents"):
        import_records(project, rows({"id": "a", "text": "wax"}), "second", turn=turn)
    assert project.store.document("a").text == "hive"


def test_ids_of_lines_carry_the_name_without_compression_or_blanks(tmp_path):
    import gzip

    from classmark.formats import READERS, read_records

    path = tmp_path / "my notes.tsv.gz"
    path.write_bytes(gzip.compress(ANNIF["test.tsv"].encode()))
    (record,) = read_records(path)
    assert record.id == "my_notes.tsv:1"
    (record,) = READERS["annif"].read(path, "sent.tsv")
    assert record.id == "sent.tsv:1"


def test_contents_are_compared_as_they_are_written(project):
    note = {
        "id": "a",
        "text": "Köln",
        "meta": {"year": 1934},
        "links": [{"id": "b", "anchor": "see"}],
        "labels": {"bees": 2, "wax": 0.5},
        "preferences": [{"winner": "bees", "loser": "wax", "weight": 2}],
    }
    import_records(project, rows(json.loads(json.dumps(note))), "first")
    assert counts(import_records(project, rows(note), "again"))["unchanged"] == 1


def test_the_embedded_library_is_imported_again_whatever_was_decided(tmp_path):
    with open_library(tmp_path / "library") as project:
        import_library(project)
        record = next(iter(project.store.records()))
        other = next(c for c in project.categories if c not in record.labels)
        project.store.judge([Act(record.id, "assign", other, 1.0)], "ada")
        assert counts(import_library(project)[1])["replaced"] == 1
        assert project.store.labels()[record.id] == record.labels


def test_a_taxonomy_says_what_is_new_and_what_changed(project, tmp_path):
    file, told = tmp_path / "tree.csv", []
    for rows in ("", "bees,all,Bees", "bees,all,Honey bees", ""):
        file.write_text(f"id,parent,label\nall,,All\n{rows}\n")
        row = import_taxonomy(project, file).rows[0]
        told.append((row["categories"], row["new"], row["changed"]))
    assert told == [(1, 1, 0), (2, 1, 0), (2, 0, 1), (2, 0, 0)]
