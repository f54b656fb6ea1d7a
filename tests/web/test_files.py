"""The page Import and export: a file is sent, looked at, taken in; or refused."""

import pytest

from workbench.files.hostile_files import HOSTILE

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
    assert "new.jsonl: 1 documents, 1 new" in page.text
    assert "n1" in desk.store.ids()
    assert "Done." in client.get("/files/jobs").text


def test_documents_are_replaced_only_by_the_button_that_says_so(client, desk):
    id_ = next(iter(desk.store.ids()))
    before = desk.store.document(id_)
    content = f'{{"id": "{id_}", "text": "other"}}\n{{"id": "n2", "text": "wax"}}\n'
    seen = send(client, "new.jsonl", content.encode())
    assert "1 new, 1 to be replaced, 0 unchanged" in seen.text
    assert 'value="replace"' in seen.text
    assert 'value="import"' not in seen.text
    client.post(seen.url.path, data={"act": "import"})
    desk.jobs.wait(60)
    assert "1 of 2 documents are here under the same id" in client.get("/files").text
    assert desk.store.document(id_) == before
    client.post(seen.url.path, data={"act": "replace"})
    desk.jobs.wait(60)
    assert desk.store.document(id_).text == "other"


def test_another_way_to_read_it_and_throwing_it_away(client, desk):
    seen = send(client, "tree.csv", b"id,parent,label\nkilns,,Kilns\n")
    path = seen.url.path
    again = client.get(path, params={"kind": "taxonomy"})
    assert "Kilns" in again.text
    assert client.get(path, params={"kind": "people"}).status_code == 400
    assert (
        "cannot be read this way" in client.get(path, params={"format": "annif"}).text
    )
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
@pytest.mark.filterwarnings(  # starlette leaves a file that breaks off to the collector
    "ignore::pytest.PytestUnraisableExceptionWarning"
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
