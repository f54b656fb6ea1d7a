"""Documents, files, categories and searches, as a program has them."""

import asyncio
import json

import pytest

from classmark.web.events import event_lines
from classmark.web.guard.gate import Doors
from classmark.web.serve import create_app

ROOT = "/api/v1"


def send(program, path, body, **query):
    """Bytes, as they are."""
    return program.http.post(ROOT + path, content=body, params=query)


def lines(*rows):
    return "\n".join(map(json.dumps, rows)).encode()


def test_documents_are_read_page_by_page(reader):
    ids, after = [], None
    while True:
        query = {} if after is None else {"after": after}
        found = reader.get("/documents", top=20, **query).json()
        ids += [each["id"] for each in found["documents"]]
        after = found["next"]
        if after is None:
            break
    assert len(ids) == len(set(ids)) == 48
    assert ids[:2] == ["bread-0", "bread-1"]


def test_a_document_is_put_and_read(ada, desk):
    said = {
        "fields": {"title": "Hives", "text": "Bees in a hive."},
        "meta": {"year": "1902"},
        "links": [{"id": "bees-1", "anchor": "see also"}],
    }
    made = ada.put("/documents/a/b%20c", said)
    assert made.status_code == 200
    found = ada.get("/documents/a/b%20c").json()
    assert found == made.json()
    assert found["id"] == "a/b c"
    assert found["fields"] == said["fields"]
    assert found["links"] == [{"id": "bees-1", "anchor": "see also"}]
    ada.post("/decide", {"document": "a/b c", "assign": ["bees"]})
    ada.put("/documents/a/b%20c", {"fields": {"text": "Other words."}})
    again = ada.get("/documents/a/b%20c").json()
    assert again["labels"] == {"bees": 1.0}
    assert again["fields"] == {"text": "Other words."}
    assert desk.store.document("a/b c").text == "Other words."


def test_a_new_document_waits_for_everybody(ada):
    ada.put("/documents/fresh", {"fields": {"text": "a hive of bees"}})
    ada.post("/learn")
    assert ada.get("/inbox", words="a hive of bees").json()["total"] == 1


def test_a_document_without_text_is_refused(ada):
    assert ada.put("/documents/x", {"fields": {}}).status_code == 400
    assert ada.get("/documents/x").status_code == 404


def test_lines_are_taken_in_as_they_come(admin, desk):
    rows = [
        {"id": "s1", "text": "swarm", "labels": ["bees"]},
        {"id": "s2", "text": "yeast"},
    ]
    job = send(admin, "/import", lines(*rows)).json()
    assert job["state"] == "done"
    assert "2 documents" in job["said"]
    assert desk.store.labels()["s1"] == {"bees": 1.0}
    assert not list((desk.folder / "uploads").iterdir())


def test_a_line_that_is_wrong_is_named_and_nothing_is_taken_in(admin, desk):
    body = lines({"id": "s1", "text": "swarm"}) + b"\n{not json\n"
    refused = send(admin, "/import", body)
    assert refused.status_code == 400
    assert "line 2" in refused.json()["error"]["message"]
    assert "s1" not in desk.store.ids()
    assert not list((desk.folder / "uploads").iterdir())


def test_documents_are_replaced_only_if_the_call_says_so(admin, desk):
    id_ = next(iter(desk.store.ids()))
    body = lines({"id": id_, "text": "swarm"})
    refused = send(admin, "/import", body)
    assert refused.status_code == 400
    assert "1 of 1 documents" in refused.json()["error"]["message"]
    assert "replace=true" in refused.json()["error"]["remedy"]
    token = send(admin, "/uploads", body, name="a.jsonl").json()["token"]
    counts = admin.get(f"/uploads/{token}").json()["counts"]
    assert counts == {"new": 0, "replaced": 1, "unchanged": 0}
    assert admin.post(f"/uploads/{token}/import").status_code == 400
    done = admin.post(f"/uploads/{token}/import", replace=True)
    assert "1 replaced" in done.json()["said"]
    assert "1 unchanged" in send(admin, "/import", body).json()["said"]


def test_other_formats_and_taxonomies_are_taken_in(admin, desk):
    csv = b"id,text,labels\nc1,a wick,candles\n"
    assert send(admin, "/import", csv, name="more.csv").status_code == 202
    assert desk.store.labels()["c1"] == {"candles": 1.0}
    tree = b"id,parent,label\nnature,,Nature\nwasps,nature,Wasps\n"
    job = send(admin, "/import", tree, name="tree.csv", kind="taxonomy")
    assert job.status_code == 202, job.text
    assert admin.get("/categories/one/wasps").json()["path"] == ["Nature", "Wasps"]
    assert send(admin, "/import", b"x", name="a.exe").status_code == 400


def test_what_goes_out_comes_in_again(admin, desk):
    out = admin.get("/export")
    assert out.headers["content-type"] == "application/x-ndjson"
    rows = [json.loads(line) for line in out.text.splitlines()]
    assert len(rows) == 48
    assert rows[0]["labels"] == {"bread": 2.0}
    before = desk.store.labels()
    assert send(admin, "/import", out.content).json()["state"] == "done"
    assert desk.store.labels() == before


@pytest.mark.parametrize("name", ["documents.csv", "taxonomy.csv", "documents.jsonl"])
def test_files_of_the_project(reader, desk, name):
    found = reader.get(f"/export/{name}")
    assert found.status_code == 200
    assert name in found.headers["content-disposition"]
    assert len(found.content.splitlines()) > 5
    assert not list((desk.folder / "exports").iterdir())


def test_other_files_are_not_there(reader):
    assert reader.get("/export/classmark.toml").status_code == 404


@pytest.mark.parametrize("kind", ["zip", "jsonl"])
def test_a_backup_restores_to_the_same(admin, desk, tmp_path, kind):
    from classmark.workbench.files.backup import restore
    from classmark.workbench.project import Project

    path = tmp_path / f"b.{kind}"
    path.write_bytes(admin.get("/backup", kind=kind).content)
    restore(path, tmp_path / "again")
    with Project(tmp_path / "again") as project:
        assert project.store.labels() == desk.store.labels()


def test_categories_are_listed_found_and_read(reader):
    top = reader.get("/categories").json()
    assert [each["id"] for each in top["categories"]] == ["crafts", "nature"]
    below = reader.get("/categories", below="nature", top=1).json()
    assert [each["id"] for each in below["categories"]] == ["bees"]
    assert below["total"] == 2
    found = reader.get("/categories/find", words="hone").json()["categories"]
    assert [each["id"] for each in found] == ["bees"]
    one = reader.get("/categories/one/bees").json()
    assert one["documents"] == one["below"] == 10
    assert len(one["examples"]) > 0
    assert reader.get("/categories/one/none").status_code == 404
    assert reader.get("/categories", below="none").status_code == 404


def test_categories_are_changed_and_every_change_is_undone(admin):
    def tree():
        names = reversed(["crafts", "nature", None])
        below = [{} if name is None else {"below": name} for name in names]
        return [
            (each["id"], each["label"], each["guideline"], each["retired"])
            for where in below
            for each in admin.get("/categories", **where).json()["categories"]
        ]

    before = tree()
    new = {"id": "wasps", "label": "Wasps", "parent": "nature"}
    assert admin.post("/categories", new).status_code == 201
    said = {"label": "All wasps", "guideline": "not hornets", "id": "vespids"}
    changed = admin.patch("/categories/one/wasps", said)
    assert len(changed.json()["numbers"]) == 2
    assert ("vespids", "All wasps", "not hornets", False) in tree()
    moved = {"category": "vespids", "under": "crafts"}
    assert admin.post("/categories/move", moved).status_code == 200
    split = {"category": "bees", "new": {"id": "drones"}, "documents": ["bees-1"]}
    assert admin.post("/categories/split", split).status_code == 201
    assert admin.post("/categories/retire", {"category": "birds"}).status_code == 200
    merged = {"category": "drones", "into": "bees"}
    assert admin.post("/categories/merge", merged).status_code == 200
    for _ in range(7):
        assert admin.post("/undo", {}).status_code == 200
    assert tree() == before


def test_a_change_is_looked_at_before(admin):
    wanted = {"act": "merge", "category": "bees", "to": "birds"}
    says = admin.post("/categories/preview", wanted).json()["says"]
    assert any("10" in sentence for sentence in says)
    assert admin.get("/categories/one/bees").status_code == 200
    nothing = admin.patch("/categories/one/bees", {})
    assert nothing.status_code == 400


def test_find_by_example(ada):
    made = ada.post("/like", {"examples": ["bees-0", "bees-1"], "name": "hives"})
    assert made.status_code == 201
    basket = made.json()
    best = basket["found"][0]
    assert best["id"].startswith(("bees", "new"))
    assert basket["words"]
    number = basket["number"]
    after = ada.post(f"/like/{number}/mark", {"marks": {best["id"]: "yes"}}).json()
    assert best["id"] not in {each["id"] for each in after["found"]}
    back = ada.post(f"/like/{number}/undo").json()
    assert best["id"] in {each["id"] for each in back["found"]}
    ada.post(f"/like/{number}/redo")
    why = ada.get(f"/like/{number}/why/bees-3").json()
    assert sum(part["part"] for part in why["parts"]) == pytest.approx(why["score"])
    (listed,) = ada.get("/like").json()["searches"]
    assert (listed["name"], listed["yes"]) == ("hives", 1)
    assert ada.get("/like/99").status_code == 404
    assert ada.post("/like/99/mark", {"marks": {"bees-1": "no"}}).status_code == 404


def test_a_text_of_ones_own_goes_in_and_out(ada):
    number = ada.post("/like", {"texts": {"mine": "hive and honey"}}).json()["number"]
    assert ada.http.delete(f"{ROOT}/like/{number}/texts/mine").status_code == 400
    added = ada.post(f"/like/{number}/texts", {"text": "comb and queen"}).json()
    assert len(added["examples"]) == 2
    left = ada.http.delete(f"{ROOT}/like/{number}/texts/mine").json()
    assert len(left["examples"]) == 1


def test_users_are_added_and_changed(admin, desk, calling):
    new = {"name": "cat", "password": "a lamp in the attic", "role": "admin"}
    assert admin.post("/users", new).status_code == 201
    assert admin.post("/users", new).status_code == 400
    changed = admin.patch("/users/cat", {"role": "reader", "disabled": True}).json()
    assert (changed["role"], changed["disabled"]) == ("reader", True)
    assert "password" not in admin.get("/users").json()["users"][0]
    assert admin.patch("/users/none", {"role": "reader"}).status_code == 404
    away = calling(create_app(desk, Doors(code="")), admin.secret)
    admin.patch("/users/cat", {"role": "admin", "disabled": False})
    refused = away.patch("/users/cat", {"role": "reader"})
    assert refused.status_code == 400, "the last admin stays one"
    assert admin.get("/users").json()["users"][0]["role"] == "admin"


def test_search_and_click(reader, admin):
    found = reader.post("/search", {"query": "hive honey", "top": 3}).json()
    assert len(found["hits"]) == 3
    assert found["hits"][0]["id"].startswith(("bees", "new"))
    assert found["impression"] is None
    assert any(piece["hit"] for piece in found["hits"][0]["text"])
    admin.patch("/settings", {"settings": {"search.log": "named"}})
    kept = reader.post("/search", {"query": "hive", "parameters": {"k1": 0.5}}).json()
    first = kept["hits"][0]["id"]
    opened = {"impression": kept["impression"], "document": first}
    assert reader.post("/click", opened).status_code == 204
    assert reader.get("/search").json()["log"] == "named"
    assert reader.post("/search", {"query": "AND ("}).status_code == 400


def test_long_work_is_a_job(admin, desk):
    begun = admin.post("/train")
    assert begun.status_code == 202
    number = begun.json()["id"]
    desk.jobs.wait(60)
    done = admin.get(f"/jobs/{number}").json()
    assert (done["state"], done["name"], done["who"]) == ("done", "train", "ada")
    assert admin.get("/jobs").json()["jobs"][0]["id"] == number
    assert admin.get("/jobs/99").status_code == 404


def test_settings_are_read_and_changed(admin, desk):
    found = {each["name"]: each for each in admin.get("/settings").json()["settings"]}
    assert found["search.log"]["choices"] == ["no", "anonymous", "named"]
    changed = admin.patch("/settings", {"settings": {"name": "Parish"}})
    assert changed.json() == {"changed": ["name"]}
    assert desk.settings.name == "Parish"
    assert admin.patch("/settings", {"settings": {"nam": "x"}}).status_code == 400


def test_tokens_open_and_are_withdrawn(admin, app, calling):
    made = admin.post("/tokens", {"user": "cat", "role": "reader", "days": 1}).json()
    cat = calling(app, made["secret"])
    assert cat.get("/project").json()["me"] == "cat"
    listed = admin.get("/tokens").json()["tokens"]
    assert made["id"] in {each["id"] for each in listed}
    assert made["secret"] not in json.dumps(listed)
    assert admin.http.delete(f"{ROOT}/tokens/{made['id']}").status_code == 204
    assert cat.get("/project").status_code == 401
    assert admin.http.delete(f"{ROOT}/tokens/none").status_code == 404


def test_what_happens_is_told(reader, desk):
    async def listened():
        found = event_lines(desk, 30, lambda: True)
        yield await anext(found)
        desk.events.tell("decided", 7, document="new-0", who="ada")
        yield await anext(found)
        await found.aclose()

    async def heard():
        return [line async for line in listened()]

    here, decided = asyncio.run(heard())
    assert here.startswith(":")
    assert decided.startswith("event: decided\n")
    assert json.loads(decided.split("data: ")[1])["document"] == "new-0"
    answer = reader.get("/events", seconds=0)
    assert answer.headers["content-type"].startswith("text/event-stream")
