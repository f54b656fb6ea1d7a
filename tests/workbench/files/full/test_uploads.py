"""Files on a desk: looked through, shown, taken in whole; hostile ones are refused."""

import json
import zipfile

import pytest

from classmark.formats import read_records
from classmark.formats.taxonomies import read_categories
from classmark.problems import Mistake
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.files import exporting, previews, uploads
from classmark.workbench.files.uploads import Receiving, upload_of, waiting
from classmark.workbench.store.sqlite import LEARNING
from crawls import town, write
from projects import WORDS, new_desk, parish
from workbench.files.hostile_files import HOSTILE

ROWS = [
    {"id": "n1", "title": "=1+1", "text": "Keels and tar", "labels": ["candles"]},
    {"id": "n2", "text": "Rye", "labels": ["bread", "milling"]},
]


@pytest.fixture
def desk(tmp_path):
    with new_desk(tmp_path / "home" / "shelf", parish(), WORDS) as opened:
        yield opened


def send(desk, name, content, who="ada"):
    with Receiving(desk, name) as receiving:
        for at in range(0, len(content), 1000):
            receiving.write(content[at : at + 1000])
        return receiving.keep(who)


def as_jsonl(rows=ROWS):
    return "\n".join(map(json.dumps, rows)).encode()


def take_in(desk, upload, *how):
    return uploads.start_import(desk, "ada", upload.token, *how).wait(60)


def everything_in(folder):
    return {path.relative_to(folder) for path in folder.rglob("*")}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_and_leave_nothing(desk, tmp_path, name):
    made = tmp_path / "made"
    HOSTILE[name](made)
    content = made.read_bytes()
    made.unlink()
    before = everything_in(tmp_path)
    with pytest.raises(Mistake) as problem:
        send(desk, name, content)
    assert str(desk.folder) not in str(problem.value)
    assert name in str(problem.value)
    left = {
        path for path in everything_in(tmp_path) - before if "-shm" not in str(path)
    }
    assert {path.name for path in left} <= {"uploads", "store.sqlite-wal", LEARNING}
    assert waiting(desk) == []


@pytest.mark.parametrize(
    "name",
    ["../../evil.jsonl", "/etc/evil.jsonl", "..\\..\\evil.jsonl", "a\x00b.jsonl"],
)
def test_no_name_that_was_sent_names_a_file(desk, tmp_path, name):
    upload = send(desk, name, as_jsonl())
    path = uploads.path_of(desk, upload)
    assert path.parent.parent == desk.folder / "uploads"
    assert (path.name, len(upload.token)) == ("data.jsonl", 32)
    assert not list(tmp_path.rglob("*evil*"))
    assert (path.parent.stat().st_mode & 0o777) == 0o700


@pytest.mark.parametrize("token", ["..", "../..", "a" * 32, "", "x/y", "A" * 32])
def test_only_what_waits_is_looked_at(desk, token):
    with pytest.raises(Mistake, match="upload it again"):
        previews.preview(desk, token)


def test_a_file_is_shown_then_imported_whole(desk):
    upload = send(desk, "new.jsonl", as_jsonl())
    shown = previews.preview(desk, upload.token)
    assert (shown.kind, shown.format, shown.mistake) == ("documents", "jsonl", "")
    assert shown.rows == (
        ("n1", "=1+1", "Keels and tar", "candles", ""),
        ("n2", "", "Rye", "bread, milling", ""),
    )
    assert "n1" not in desk.store.ids()
    assert shown.counts == {"new": 2, "replaced": 0, "unchanged": 0}
    job = take_in(desk, upload)
    assert (job.state, job.mistake) == ("done", "")
    assert job.said.startswith(
        "new.jsonl: 2 documents, 2 new, 3 labels, 1 new categories"
    )
    assert desk.store.labels()["n2"] == {"bread": 1.0, "milling": 1.0}
    assert "milling" in desk.categories
    (who,) = desk.store.run(
        "SELECT DISTINCT who FROM judgments WHERE document = 'n1'"
    ).fetchone()
    assert who == "ada (import)"
    assert waiting(desk) == []
    assert not list((desk.folder / "uploads").iterdir())


OTHERS = b'{"id": "bees-0", "text": "other"}\n{"id": "other", "text": "rye"}\n'


def test_what_would_be_replaced_is_told_and_replaced_only_if_chosen(desk, monkeypatch):
    upload = send(desk, "new.jsonl", OTHERS)
    shown = previews.preview(desk, upload.token)
    assert shown.counts == {"new": 1, "replaced": 1, "unchanged": 0}
    before = desk.store.counts()
    refused = take_in(desk, upload)
    assert refused.state == "failed"
    assert "1 of 2 documents" in refused.mistake
    assert desk.store.counts() == before
    monkeypatch.setattr(previews, "COUNTED", 10)
    assert previews.preview(desk, upload.token).counts == {}
    done = uploads.start_import(desk, "ada", upload.token, replace=True).wait(60)
    assert done.state == "done"
    assert desk.store.document("bees-0").text == "other"


def test_two_files_without_ids_carry_the_names_of_their_sender(desk):
    for name in ("train.tsv", "test.tsv"):
        upload = send(desk, name, b"Rye bread\t<http://x/bread>\n")
        assert previews.preview(desk, upload.token).rows[0][0] == f"{name}:1"
        assert take_in(desk, upload).state == "done"
    assert {"train.tsv:1", "test.tsv:1"} <= desk.store.ids()


def test_a_broken_file_changes_nothing_and_names_its_line(desk):
    upload = send(desk, "broken.jsonl", as_jsonl() + b"\n" * 5 + b'{"id": "n3", ')
    shown = previews.preview(desk, upload.token)
    assert (shown.left_out, shown.must_skip) == (1, True)
    assert shown.reasons[0].startswith("line 7: not JSON")
    before = desk.store.counts()
    job = take_in(desk, upload)
    assert job.state == "failed"
    assert job.mistake.startswith("broken.jsonl, line 7")
    assert desk.store.counts() == before
    assert [each.token for each in waiting(desk)] == [upload.token]


@pytest.mark.parametrize(
    ("name", "content", "how", "ids"),
    [
        ("a.csv", b"id,title,text\nc1,One,Rye\n", (), {"c1"}),
        ("a.tsv", b"id\ttext\nt1\tRye\n", ("documents", "csv"), {"t1"}),
        ("annif.tsv", b"Rye bread\t<http://x/bread>\n", (), None),
        ("annif.csv", b"text,subject_uris\nRye,http://x/bread\n", (), None),
    ],
)
def test_tables_and_annif_corpora(desk, name, content, how, ids):
    before = desk.store.ids()
    job = take_in(desk, send(desk, name, content), *how)
    assert (job.state, job.mistake) == ("done", "")
    fresh = desk.store.ids() - before
    assert fresh == ids if ids is not None else len(fresh) == 1


def test_a_folder_of_texts_as_zip(desk, tmp_path):
    path = tmp_path / "texts.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("candles/keel.txt", "A keel")
        archive.writestr("candles/oar.txt", "An oar")
    upload = send(desk, "texts.zip", path.read_bytes())
    assert previews.preview(desk, upload.token).format == "folder"
    assert take_in(desk, upload).state == "done"
    assert desk.store.labels()["candles/keel"] == {"candles": 1.0}


SKOS = b"""@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://x/mills> a skos:Concept ; skos:prefLabel "Mills"@en .
<http://x/wind> a skos:Concept ; skos:prefLabel "Windmills"@en ;
  skos:broader <http://x/mills> .
"""


@pytest.mark.needs("rdflib")
def test_taxonomies(desk):
    upload = send(desk, "mills.ttl", SKOS)
    shown = previews.preview(desk, upload.token)
    assert shown.kind == "taxonomy"
    assert {row[2] for row in shown.rows} == {"Mills", "Windmills"}
    assert take_in(desk, upload).state == "done"
    assert {"Mills", "Windmills"} <= {c.label for c in desk.categories.values()}
    table = b"id,parent,label\nkilns,,Kilns\n"
    assert send(desk, "taxonomy.csv", table).kind == "taxonomy"
    plain = send(desk, "list.csv", table)
    assert plain.kind == "taxonomy"  # its columns say so
    assert take_in(desk, plain, "taxonomy").state == "done"
    assert "kilns" in desk.categories


def test_preferences(desk):
    said = b"document,winner,loser\nbees-0,bees,bread\n"
    upload = send(desk, "shelf.preferences.csv", said)
    shown = previews.preview(desk, upload.token)
    assert (shown.kind, shown.rows) == (
        "preferences",
        (("bees-0", "bees", "bread", "1"),),
    )
    assert not exporting.has_preferences(desk)
    assert take_in(desk, upload).state == "done"
    assert exporting.has_preferences(desk)


@pytest.mark.parametrize(
    ("kind", "format_"), [("people", ""), ("documents", "parquet"), ("", "pickle")]
)
def test_unknown_ways_to_read_are_refused(desk, kind, format_):
    upload = send(desk, "new.jsonl", as_jsonl())
    if kind == "people":
        with pytest.raises(Mistake, match="cannot be imported"):
            previews.preview(desk, upload.token, kind)
    else:
        assert (
            "is not read here"
            in previews.preview(desk, upload.token, kind, format_).mistake
        )


def test_little_waits_and_nothing_for_long(desk, monkeypatch):
    monkeypatch.setattr(uploads, "WAITING", 2)
    first = send(desk, "a.jsonl", as_jsonl())
    send(desk, "b.jsonl", as_jsonl())
    with pytest.raises(Mistake, match="2 files are waiting"):
        send(desk, "c.jsonl", as_jsonl())
    uploads.throw_away(desk, first)
    with pytest.raises(Mistake):
        upload_of(desk, first.token)
    send(desk, "c.jsonl", as_jsonl())
    monkeypatch.setattr(uploads, "KEPT", -1.0)
    send(desk, "d.jsonl", as_jsonl())
    assert [each.name for each in waiting(desk)] == ["d.jsonl"]


def test_too_much_and_nothing_are_refused(desk, monkeypatch):
    with pytest.raises(Mistake, match="empty"):
        send(desk, "a.jsonl", b"")
    monkeypatch.setattr(uploads, "LARGEST", 1500)
    with pytest.raises(Mistake, match="send it in parts"):
        send(desk, "a.jsonl", b" " * 3000)
    assert not list((desk.folder / "uploads").iterdir())


PACKAGES = {"documents.parquet": "pyarrow", "taxonomy.ttl": "rdflib"}


def written_by_extras(name):
    marks = [pytest.mark.needs(PACKAGES[name])] if name in PACKAGES else []
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize(
    "name",
    [written_by_extras(each) for each in (*exporting.DOWNLOADS, *exporting.BACKUPS)],
)
def test_everything_can_be_taken_out(desk, name):
    with desk.writing() as project:
        decide(project, "bees-0", Decision(("bees",), over=(("bees", "bread"),)))
    path, remove = exporting.download(desk, name, whole=True)
    assert desk.folder in path.parents
    if name.startswith("taxonomy"):
        assert {c.label or c.id for c in read_categories(path)} >= {"bees", "candles"}
    elif name.startswith("documents") and "preferences" not in name:
        labels = {record.id: set(record.labels) for record in read_records(path)}
        assert len(labels) == 40
        assert labels["bees-0"] == {"bees"}
    else:
        assert path.stat().st_size
    remove()
    assert not list((desk.folder / "exports").iterdir())


@pytest.mark.parametrize("name", ["store.sqlite", "../classmark.toml", "backup.zip"])
def test_nothing_else_can_be_taken_out(desk, name):
    with pytest.raises(Mistake, match="no download"):
        exporting.download(desk, name)


def test_tables_are_safe_in_spreadsheets_unless_raw(desk):
    assert take_in(desk, send(desk, "new.jsonl", as_jsonl())).state == "done"
    safe, remove_safe = exporting.download(desk, "documents.csv")
    raw, remove_raw = exporting.download(desk, "documents.raw.csv")
    assert "'=1+1" in safe.read_text()
    assert "'=1+1" not in raw.read_text()
    assert "=1+1" in raw.read_text()
    remove_safe()
    remove_raw()


@pytest.mark.needs("resiliparse")
@pytest.mark.parametrize("name", ["crawl.warc", "crawl.warc.gz"])
def test_a_crawl_is_shown_and_taken_in(desk, tmp_path, name):
    upload = send(desk, name, write(tmp_path / name, town()).read_bytes())
    shown = previews.preview(desk, upload.token)
    assert (shown.format, shown.mistake) == ("pages", "")
    assert shown.rows[0][:2] == ("http://eskerton.example/", "Eskerton")
    assert shown.counts["new"] == 9
    done = take_in(desk, upload)
    assert f"{name}: 9 documents" in done.said
    assert "passed over: 1 not HTML" in done.said
    assert str(desk.folder) not in done.said
