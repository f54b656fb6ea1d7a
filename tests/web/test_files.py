"""The page Import and export: a file is sent, looked at, taken in; or refused."""

import subprocess
import sys

import pytest

from workbench.desk.hostile_files import HOSTILE

NEW = b'{"id": "n1", "title": "<b>Bold</b>", "text": "honey", "labels": ["bees"]}\n'


def send(client, name, content, **more):
    return client.post("/files/upload", files={"file": (name, content)}, **more)


def test_a_file_is_looked_at_and_imported(client, desk):
    seen = send(client, "new.jsonl", NEW)
    assert seen.url.path.startswith("/files/waiting/")
    assert "&lt;b&gt;Bold&lt;/b&gt;" in seen.text
    assert "<b>Bold</b>" not in seen.text
    assert "new.jsonl" in client.get("/files").text
    client.post(seen.url.path, data={"act": "import"})
    desk.jobs.wait(60)
    page = client.get("/files")
    assert "new.jsonl: 1 documents, 1 judgments" in page.text
    assert "n1" in desk.project.store.ids()
    assert "Done." in client.get("/files/jobs").text


def test_another_way_to_read_it_and_throwing_it_away(client, desk):
    seen = send(client, "tree.csv", b"id,parent,label\nkilns,,Kilns\n")
    path = seen.url.path
    again = client.get(path, params={"kind": "taxonomy"})
    assert "Kilns" in again.text
    assert client.get(path, params={"kind": "people"}).status_code == 400
    assert "cannot be read so" in client.get(path, params={"format": "annif"}).text
    gone = client.post(path, data={"act": "throw"})
    assert "tree.csv" not in gone.text
    assert client.get(path).status_code == 400
    assert not list((desk.folder / "uploads").iterdir())


@pytest.mark.parametrize("name", ["slip.zip", "symlink.zip", "claim.zip", "harm.sh"])
def test_hostile_files_are_refused(client, desk, tmp_path, name):
    made = tmp_path / "made"
    HOSTILE[name](made)
    answer = send(client, name, made.read_bytes())
    assert answer.status_code == 400
    assert name in answer.text
    assert str(tmp_path) not in answer.text
    room = desk.folder / "uploads"
    assert not room.exists() or not list(room.iterdir())
    assert not list(tmp_path.rglob("escaped*"))


def test_ten_gigabytes_are_refused_before_they_come(client):
    answer = client.post(
        "/files/upload",
        content=b"",
        headers={
            "Content-Length": str(10 << 30),
            "Content-Type": "multipart/form-data; boundary=x",
        },
    )
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "multipart/form-data; boundary=x"),
        (b"--x\r\n\r\n\r\n--x--", "multipart/form-data; boundary=x"),
        (b"rubbish", "multipart/form-data; boundary=x"),
        (b"a=1", "application/x-www-form-urlencoded"),
        (b"", "multipart/form-data"),
        (b"{}", "application/json"),
        (
            (
                b'--x\r\nContent-Disposition: form-data; name="file"; '
                b'filename="a.jsonl"\r\n\r\n{"id"'
            ),
            "multipart/form-data; boundary=x",
        ),
        (
            (
                b'--x\r\nContent-Disposition: form-data; name="file"; filename=""'
                b"\r\n\r\n\r\n--x--\r\n"
            ),
            "multipart/form-data; boundary=x",
        ),
    ],
)
def test_broken_forms_are_told_and_leave_nothing(client, desk, body, kind):
    answer = client.post("/files/upload", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 400
    room = desk.folder / "uploads"
    assert not room.exists() or not list(room.iterdir())


def test_a_form_in_tiny_pieces_comes_whole(client):
    form = (
        b'--x\r\nContent-Disposition: form-data; name="other"\r\n\r\nnothing\r\n'
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n'
        b"Content-Type: text/plain\r\n\r\n" + NEW * 1 + b"\r\n--x--\r\n"
    )
    pieces = (form[at : at + 7] for at in range(0, len(form), 7))
    answer = client.post(
        "/files/upload",
        content=pieces,
        headers={"Content-Type": "multipart/form-data; boundary=x"},
    )
    assert answer.status_code == 200
    assert f"{len(NEW)} bytes" in answer.text


def test_downloads(client, desk):
    jsonl = client.get("/files/get/documents.jsonl")
    assert jsonl.headers["content-disposition"].startswith("attachment")
    assert jsonl.text.count("\n") == 48
    assert client.get("/files/get/backup.jsonl").status_code == 200
    assert client.get("/files/get/store.sqlite").status_code == 400
    assert client.get("/files/get/..%2Fclassmark.toml").status_code in (400, 404)
    assert not list((desk.folder / "exports").iterdir())


@pytest.mark.needs("rdflib")
def test_the_taxonomy_is_downloaded_as_skos(client):
    assert "bees" in client.get("/files/get/taxonomy.ttl").text


def test_the_index_is_brought_up_to_date_from_here(client, desk):
    assert client.post("/files/index").status_code == 200
    desk.jobs.wait(60)
    assert "documents are indexed" in client.get("/files").text


MEASURED = """
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from starlette.testclient import TestClient
from classmark.web.app import create_app
from classmark.workbench.desk.desk import Desk

folder, made = map(Path, sys.argv[1:])
with Desk(folder) as desk:
    app = create_app(desk)
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        client.post("/enter", data={"code": app.state.doors.code})
        session = app.state.sessions.find(client.cookies[app.state.doors.cookie])
        client.headers["X-CSRF"] = session.csrf

        def send(name, path):
            head = b'--x\\r\\nContent-Disposition: form-data; name="file"; filename="'
            def body():
                yield head + name.encode() + b'"\\r\\n\\r\\n'
                with path.open("rb") as file:
                    while piece := file.read(1 << 16):
                        yield piece
                yield b"\\r\\n--x--\\r\\n"
            kind = {"Content-Type": "multipart/form-data; boundary=x"}
            return client.post("/files/upload", content=body(), headers=kind)

        small = made / "small"
        small.write_bytes(b'{"id": "s", "text": "honey"}')
        assert send("small.jsonl", small).status_code == 200
        before = getrusage(RUSAGE_SELF).ru_maxrss
        for path in sorted(made.iterdir()):
            if path != small:
                status = send(path.name, path).status_code
                grown = (getrusage(RUSAGE_SELF).ru_maxrss - before) // 1024
                print(path.name, status, grown)
"""


def test_hostile_files_take_no_memory(prepared, project_folder, tmp_path):
    """Promise 13: whatever is sent, the process grows by less than 100 MB."""
    assert prepared
    made = tmp_path / "made"
    made.mkdir()
    for name, make in HOSTILE.items():
        make(made / name)
    told = subprocess.run(  # noqa: S603 - this very interpreter
        [sys.executable, "-c", MEASURED, str(project_folder), str(made)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout
    rows = [line.split() for line in told.splitlines()]
    assert {row[0] for row in rows} == set(HOSTILE)
    assert {row[1] for row in rows} == {"400"}
    assert max(int(row[2]) for row in rows) < 100, told
