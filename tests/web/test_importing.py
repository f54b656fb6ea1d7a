"""A file is looked at column by column, by page and by call; mistakes are worded."""

import re

import pytest

import own_files
from classmark.workbench.files.previews import words_of_formats
from classmark.workbench.files.uploads import KINDS


@pytest.fixture
def sent(client):
    """Send a file, and return its preview."""

    def send(name, content):
        return client.post("/files/upload", files={"file": (name, content)})

    return send


def roles_on(page):
    """Column → the role that is chosen for it."""
    chosen = re.findall(r'<option value="([\w-]*)=([^"]*)" selected>', page.text)
    return {column: role for role, column in chosen}


def test_what_each_column_holds_is_shown_and_may_be_changed(sent, client, desk):
    seen = sent("own.csv", own_files.SEMICOLONS)
    assert roles_on(seen) == {
        "doc_id": "id", "title": "title", "abstract": "text", "category": "label",
    }  # fmt: skip
    asked = {"column": ["fact=category", "id=doc_id"], "label_separator": "|"}
    again = client.get(seen.url.path, params=asked)
    assert roles_on(again)["category"] == "fact"
    assert "category: nature|bees" in again.text
    client.post(seen.url.path, data={"act": "import", **asked})
    desk.jobs.wait(60)
    assert desk.store.record("7").meta == {"category": "nature|bees"}


BAD = {
    "wrong encoding": (
        "id,text\na,Łódź\n".encode("cp1250"),
        {"encoding": "utf-8"},
        ["own.csv, line 2: not utf-8", "choose another encoding, as in latin-1"],
    ),
    "ragged rows": (
        b"id,text\na,b,c\nd,e\n",
        {},
        ["line 2: 3 cells under 2 columns", "1 row cannot be read"],
    ),
    "an id twice": (
        b"id,text\na,b\na,c\n",
        {},
        ["line 3: id &#39;a&#39; is used twice in the column &#39;id&#39;",
         "choose no column as the id"],
    ),
    "no row": (b"id,text\n", {}, ["there is no document in it"]),
    "no text": (
        b"id,year\na,1934\n", {}, ["no column is a title or text (id, year)",
        "choose text for one of them"],
    ),
    "an open quote": (b'id,text\na,"b\n', {}, ["line 2: not a row"]),
    "a column nobody explains": (
        own_files.SUBJECTS.encode(), {},
        ["the column &#39;subject&#39; may hold labels or text: choose what it"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_told_in_the_words_of_the_page(sent, client, desk, name):
    content, chosen, told = BAD[name]
    before = desk.store.counts()
    seen = client.get(sent("own.csv", content).url.path, params=chosen)
    for words in told:
        assert words in seen.text
    main = re.sub(r"<[^>]+>", " ", seen.text[seen.text.index("<main") :])
    assert not re.search(r"--[a-z]|classmark [a-z]+ ", main)
    assert 'value="import"' not in seen.text
    assert desk.store.counts() == before


def test_an_empty_file_and_bytes_that_are_no_spreadsheet(sent):
    assert sent("own.csv", b"").status_code == 400
    pytest.importorskip("openpyxl")
    seen = sent("own.xlsx", b"no spreadsheet")
    assert "own.xlsx: not a readable .xlsx file" in seen.text


def test_rows_are_left_out_only_if_somebody_says_so(sent, client, desk):
    seen = sent("own.csv", b"id,text\nx1,wax\nx1,again\nx2\nx3,tar\n")
    assert "2 rows cannot be read" in seen.text
    client.post(seen.url.path, data={"act": "import"})
    desk.jobs.wait(60)
    assert "x1" not in desk.store.ids()
    client.post(seen.url.path, data={"act": "import", "skip": "true"})
    desk.jobs.wait(60)
    assert {"x1", "x3"} <= desk.store.ids()
    assert "rows left out: 2 (line 3: id" in client.get("/files").text


def test_rows_without_text_are_told_and_left_out_if_asked(sent, client, desk):
    seen = sent("own.csv", b"id,title,text\nx1,wax,\nx2,,\nx3,,\n")
    assert "<b>2 rows have no text</b> (line 3, line 4)" in seen.text
    client.post(seen.url.path, data={"act": "import", "skip": "true"})
    desk.jobs.wait(60)
    assert {"x1"} == {id_ for id_ in desk.store.ids() if id_.startswith("x")}


def test_rows_above_the_columns_and_formats_are_chosen_in_words(sent, client):
    seen = sent("own.csv", b"Loans\n\nid,text\nx1,wax\n")
    assert '<option value="3" selected>in row 3</option>' in seen.text
    assert '<option value="csv" selected>table: CSV or TSV</option>' in seen.text
    page = client.get(seen.url.path, params={"header": "yes"})
    assert "cannot be read this way" in page.text
    assert "Label separator" not in sent("own.txt", b"wax").text


def test_a_taxonomy_is_compared_before_it_is_imported(sent, desk):
    first, second = list(desk.categories.values())[:2]
    same = f"{first.id},,{first.name},{first.note}"
    rows = ["id,parent,label,scope_note", same, f"{second.id},,Other,", "new.one,,,"]
    seen = sent("own.csv", "\n".join(rows).encode())
    assert "In total: 1 new, 1 to be changed, 1 unchanged." in seen.text


def test_every_format_has_words():
    for kind, formats in ((k, v.formats) for k, v in KINDS.items()):
        assert set(formats) <= words_of_formats(kind).keys()


def test_several_files_are_one_upload_and_one_import(client, desk):
    files = [
        ("file", ("a.csv", b"id,text\nx1,wax\n")),
        ("file", ("a.csv", b"id,text\nx2,tar\n")),
    ]
    seen = client.post("/files/upload", files=files)
    assert "2 files" in seen.text
    assert "2 new" in seen.text
    client.post(seen.url.path, data={"act": "import"})
    desk.jobs.wait(60)
    assert {"x1", "x2"} <= desk.store.ids()
    more = client.post(
        "/files/upload", files=[files[0], ("file", ("t.zip", b"PK\x03\x04"))]
    )
    assert more.status_code == 400
    assert "archives and taxonomies alone" in more.text


def test_a_program_says_the_same_of_columns(admin, desk):
    sent = admin.http.post(
        "/api/v1/uploads", params={"name": "own.csv"}, content=own_files.SUBJECTS
    )
    token = sent.json()["token"]
    seen = admin.get(f"/uploads/{token}").json()
    assert seen["mistake"].endswith("say what it holds, as in column=label=subject")
    assert [c["role"] for c in seen["columns"]] == ["id", "", "text"]
    seen = admin.get(f"/uploads/{token}", column="title=subject").json()
    assert (seen["mistake"], seen["counts"]["new"]) == ("", 2)
    assert seen["layout"]["encoding"] == "utf-8"
    job = admin.post(f"/uploads/{token}/import", column="title=subject").json()
    assert job["state"] == "done"
    assert desk.store.document("m1").title == "Re: the mill"
    wrong = admin.get(f"/uploads/{token}", column="novel=subject")
    assert wrong.status_code in (400, 404)


def test_imports_are_undone_by_a_program(admin, desk):
    admin.http.post(
        "/api/v1/import", params={"name": "own.csv"}, content=own_files.SEMICOLONS
    )
    (one, *_) = admin.get("/imports").json()["imports"]
    assert (one["source"], one["new"], one["undone"]) == ("own.csv", 2, False)
    assert admin.post(f"/imports/{one['act']}/undo").json()["state"] == "done"
    assert "7" not in desk.store.ids()
    assert admin.post("/imports/999999/undo").status_code == 404
    assert admin.post(f"/imports/{one['act']}/undo").json()["state"] == "done"
    assert "7" in desk.store.ids()


def test_documents_are_deleted_and_restored_by_a_program(admin, ada, desk):
    id_ = next(iter(desk.store.labels()))
    before = admin.get(f"/documents/{id_}").json()
    assert ada.http.delete(f"/api/v1/documents/{id_}").status_code == 403
    assert admin.http.delete(f"/api/v1/documents/{id_}").status_code == 200
    assert admin.get(f"/documents/{id_}").status_code == 404
    assert id_ in {each["document"] for each in admin.get("/deleted").json()["deleted"]}
    assert admin.post(f"/deleted/{id_}/restore").json() == before
    assert admin.post(f"/deleted/{id_}/restore").status_code == 404
    assert admin.http.delete("/api/v1/documents/none").status_code == 404


def test_a_document_is_added_and_the_queue_has_it(client, desk):
    client.post("/files/add", data={"title": "The mill", "text": "Wind.", "id": "mill"})
    assert "mill" in desk.state.waiting
    client.post("/files/delete", data={"id": "mill"})
    assert "mill" not in desk.state.waiting
    assert "Restore The mill" in client.get("/files").text
    assert client.post("/files/delete", data={"id": "mill"}).status_code == 400
    client.post("/files/restore", data={"id": "mill"})
    assert "mill" in desk.state.waiting
    assert (
        client.post("/files/add", data={"id": "mill", "text": "x"}).status_code == 400
    )
    assert client.get("/history").status_code == 200


def test_all_pages_are_there_while_a_document_is_deleted(client, desk):
    for id_ in list(desk.store.ids())[::2]:
        client.post("/files/delete", data={"id": id_})
    for path in ("/decide", "/inbox", "/history", "/progress", "/taxonomy", "/files"):
        assert client.get(path).status_code == 200, path
    assert client.get("/search", params={"q": "hive dough wick"}).status_code == 200
