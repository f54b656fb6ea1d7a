"""A project's index follows its documents; a file has an index of its own."""

import json
import os

import pytest

from classmark.index.index import Index
from classmark.problems import DamagedFolder, Mistake
from classmark.workbench.project import Project
from classmark.workbench.search import index as indexing
from classmark.workbench.search.index import (
    check_index,
    index_file,
    index_project,
    is_stale,
    merge_index,
    merge_project_index,
    open_index,
    open_project_index,
)
from classmark.workbench.settings import Settings, TextSettings
from projects import new_project, records_of

ROWS = [
    {"id": "1", "title": "Bees", "body": "They hum.", "links": [["2", "sweet stuff"]]},
    {"id": "2", "title": "Honey", "body": "Made by bees."},
    {"id": "3", "title": "Tea", "links": [["2", "sweetener"], ["9", "sea"]]},
]


def put(project, *rows):
    project.store.put_documents(records_of(rows))


@pytest.fixture
def project(tmp_path):
    with Project(new_project(tmp_path / "web", ROWS)) as opened:
        yield opened


def changed(table):
    (row,) = table.rows
    return row["documents"], row["added"], row["replaced"], row["deleted"]


def postings(index):
    """Everything an index says, by document."""
    return {
        id_: {
            (name, index.field(name).term(int(t))): int(n)
            for name in index.fields
            for item, t, n in zip(
                *indexing_terms(index.field(name), index.number(id_)), strict=True
            )
        }
        for id_ in index.ids()
    }


def indexing_terms(field, number):
    from classmark.index.feedback import terms_of

    return terms_of(field, [number])


def test_only_what_changed_is_indexed_again(project):
    assert changed(index_project(project)) == (3, 3, 0, 0)
    first = open_project_index(project).generation
    assert changed(index_project(project)) == (3, 0, 0, 0)
    assert open_project_index(project).generation == first
    put(project, {"id": "4", "title": "Wax"}, {**ROWS[1], "body": "Golden."})
    assert changed(index_project(project)) == (4, 1, 1, 0)
    updated = open_project_index(project)
    assert [hit.id for hit in updated.search("golden")] == ["2"]
    rebuilt = Index.build(
        project.folder / "again",
        indexing.project_documents(
            project, {"2": "sweet stuff\nsweetener", "9": "sea"}
        ),
    )
    assert postings(updated) == postings(rebuilt)


def test_anchors_are_a_field_of_their_target(project):
    index_project(project)
    index = open_project_index(project)
    assert index.fields == ["title", "body", "anchor"]
    assert [hit.id for hit in index.search("sweetener")] == ["2"]
    put(project, {**ROWS[2], "links": []})
    assert changed(index_project(project)) == (3, 0, 1, 0)
    assert open_project_index(project).search("sweetener") == []
    assert [hit.id for hit in open_project_index(project).search("sweet")] == ["2"]


def test_documents_that_are_gone_leave_the_index(project, monkeypatch):
    index_project(project)
    monkeypatch.setattr(
        indexing, "DOCUMENTS", "SELECT id, fields FROM documents WHERE id <> '3'"
    )
    assert changed(index_project(project)) == (2, 0, 0, 1)
    assert "3" not in open_project_index(project)


def test_other_settings_build_it_anew(project):
    index_project(project)
    assert not open_project_index(project).has_positions
    assert changed(index_project(project, positions=True)) == (3, 3, 0, 0)
    assert open_project_index(project).has_positions
    assert changed(index_project(project)) == (3, 0, 0, 0)
    assert changed(index_project(project, positions=False)) == (3, 3, 0, 0)
    text = TextSettings(analyzer="words|lower", fields=("title",))
    project.settings = Settings("Web", text=text)
    assert changed(index_project(project)) == (3, 3, 0, 0)
    assert open_project_index(project).fields == ["title", "anchor"]


def test_an_index_changed_by_others_is_built_anew(project):
    index_project(project)
    index = open_project_index(project)
    index.delete(["1"])
    index.commit()
    assert changed(index_project(project)) == (3, 3, 0, 0)


def test_a_failure_leaves_the_index_as_it_was(project, monkeypatch):
    index_project(project)
    put(project, {**ROWS[0], "body": "They buzz."})

    def stopping(stream, digests):
        yield from indexing_noted(stream, digests)
        raise KeyboardInterrupt

    indexing_noted = indexing.noted
    monkeypatch.setattr(indexing, "noted", stopping)
    with pytest.raises(KeyboardInterrupt):
        index_project(project)
    monkeypatch.undo()
    assert open_project_index(project).search("buzz") == []
    assert changed(index_project(project)) == (3, 0, 1, 0)


def test_it_is_known_when_imports_came_later(project):
    index_project(project)
    assert not is_stale(project)
    project.store.note_event("imported", "me")
    assert is_stale(project)
    index_project(project)
    assert not is_stale(project)


def test_without_an_index_the_remedy_is_named(project):
    with pytest.raises(Mistake, match="classmark index --project"):
        open_project_index(project)


def test_a_file_gets_an_index_with_anchors(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    table = index_file(path, tmp_path / "i", positions=True)
    assert table.rows[0]["documents"] == 3
    index = Index.open(tmp_path / "i")
    assert [hit.id for hit in index.search("sweetener")] == ["2"]
    path.write_text(json.dumps(ROWS[1]))
    assert index_file(path, tmp_path / "i").rows[0]["documents"] == 1
    with pytest.raises(Mistake, match="is there and is no index"):
        index_file(path, tmp_path)
    with pytest.raises(Mistake, match="is there and is no index"):
        index_file(path, path)


def test_checking_reads_every_byte(project):
    index_project(project)
    folder = project.index.folder
    assert check_index(folder).rows[0]["documents"] == 3
    postings_file = next(folder.glob("segment-*/0-postings.npy"))
    content = bytearray(postings_file.read_bytes())
    content[-20] ^= 1
    postings_file.write_bytes(content)
    with pytest.raises(DamagedFolder):
        check_index(folder)


def test_checking_a_project_reads_its_index_too(project):
    from classmark.workbench.project import info

    index_project(project)
    assert "index" in info(project, check=True).note
    (file,) = project.index.folder.glob("segment-*/0-postings.npy")
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 0xFF
    file.write_bytes(bytes(raw))
    with pytest.raises(DamagedFolder):
        info(project, check=True)


def test_a_merged_project_index_is_not_built_anew(project):
    index_project(project)
    put(project, {**ROWS[0], "body": "They buzz."})
    assert changed(index_project(project)) == (3, 0, 1, 0)
    project.store.note_event("imported", "me")
    (row,) = merge_project_index(project).rows
    assert (row["documents"], row["segments before"], row["segments"]) == (3, 2, 1)
    assert is_stale(project)
    assert changed(index_project(project)) == (3, 0, 0, 0)
    index = open_project_index(project)
    index.delete(["1"])
    index.commit()
    merge_project_index(project)
    assert changed(index_project(project)) == (3, 3, 0, 0)


def test_a_folder_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    path = tmp_path / "notes.jsonl"
    path.write_text(json.dumps(ROWS[0]))
    Index.build(tmp_path / "i", [("a", "bee")])
    monkeypatch.setattr(os, "access", lambda *_: False)
    for folder, act in (("i", merge_index), ("new", lambda to: index_file(path, to))):
        with pytest.raises(Mistake, match="may not be written by you: choose"):
            act(tmp_path / folder)
    assert not (tmp_path / "new").exists()


def test_an_index_of_its_own_is_merged(tmp_path):
    index = Index.build(tmp_path / "i", [("a", "bee")])
    index.add([("b", "hive")])
    index.commit()
    assert merge_index(tmp_path / "i").rows[0]["segments"] == 1


def test_a_build_that_failed_can_be_tried_again(tmp_path):
    path, to = tmp_path / "notes.jsonl", tmp_path / "i"
    path.write_text(json.dumps(ROWS[0]) + "\nnot json")
    with pytest.raises(Mistake, match=r"notes\.jsonl, line 2"):
        index_file(path, to)
    assert to.is_dir()
    path.write_text(json.dumps(ROWS[0]))
    assert index_file(path, to).rows[0]["documents"] == 1


def test_what_is_no_index_is_told_with_the_remedy(project, tmp_path):
    for name in ("none", "empty"):
        with pytest.raises(Mistake, match=f"classmark index FILE --to .*{name}"):
            open_index(tmp_path / name)
        (tmp_path / "empty").mkdir(exist_ok=True)
    with pytest.raises(Mistake, match="is a project: name it with --project"):
        open_index(project.folder)
