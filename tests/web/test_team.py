"""Work given to people, comments that name them, their session, and webhooks."""

import json
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from classmark.problems import Mistake
from classmark.workbench.deciding.decide import (
    Decision,
    decide_on,
    next_for,
    note_on,
    skip_for,
    undo_for,
)
from classmark.workbench.deciding.history import values_of
from classmark.workbench.team import webhooks as hooks
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.jobs import start_work
from classmark.workbench.team.mentions import mentions, names, unseen
from classmark.workbench.team.work import begin, give, withdraw, work_items


def test_documents_are_given_and_their_progress_is_seen(desk):
    give(desk, "bo", "ada", documents=["new-1", "new-2"], note="by Friday")
    (item,) = work_items(desk, "bo")
    assert (item.done, item.total, item.is_done) == (0, 2, False)
    assert work_items(desk, "ada") == []
    begin(desk, item.number, "bo")
    assert {next_for(desk, "bo"), next_for(desk, "bo")} <= {"new-1", "new-2"}
    for document in item.documents:
        decide_on(desk, document, Decision(("bees",)), {}, "bo")
    assert next_for(desk, "bo") is None
    assert work_items(desk)[0].is_done
    withdraw(desk, item.number, "ada")
    assert work_items(desk) == []
    with pytest.raises(Mistake, match="no longer exists"):
        withdraw(desk, item.number, "ada")


def test_a_branch_is_given_with_what_waits_there(desk):
    assert desk.background.ordered(60)
    give(desk, "bo", "ada", branch="nature")
    (before,) = work_items(desk, "bo")
    assert before.total > 0
    assert before.done == 0
    begin(desk, before.number, "bo")
    document = next_for(desk, "bo")
    decide_on(desk, document, Decision(("bees",)), {}, "bo")
    (after,) = work_items(desk, "bo")
    assert (after.done, after.total) == (1, before.total)


@pytest.mark.parametrize(
    "given",
    [
        {"to": " "},
        {"to": "bo"},
        {"to": "bo", "branch": "nature", "documents": ["new-1"]},
        {"to": "bo", "branch": "ghosts"},
        {"to": "bo", "documents": ["nowhere"]},
    ],
)
def test_work_that_is_unclear_is_refused(desk, given):
    with pytest.raises(Mistake):
        give(desk, by="ada", **given)


def test_work_by_the_pages(client, desk):
    form = {"to": "bo", "count": "3", "order": "random"}
    page = client.post("/work", data=form)
    assert "3 documents" in page.text
    (item,) = work_items(desk, "bo")
    assert len(item.documents) == 3
    assert "assigned" in client.get("/inbox").text.lower()
    client.post("/work/withdraw", data={"number": item.number})
    assert work_items(desk) == []


def test_work_by_calls(admin, ada, reader, desk):
    body = {"to": "ada", "documents": ["new-1"]}
    assert admin.post("/work", body).status_code == 204
    assert reader.post("/work", body).status_code == 403
    (row,) = ada.get("/work").json()["work"]
    assert (row["to"], row["done"], row["total"]) == ("ada", 0, 1)
    address = f"/api/v1/work/{row['number']}"
    assert admin.http.delete(address).status_code == 204
    assert admin.http.delete(address).status_code == 404
    del desk


def test_a_comment_reaches_whom_it_names(desk, ada):
    note_on(desk, "new-1", "what says @Ada? not bob@ada.example", "bo")
    note_on(desk, "new-2", "@adam, look", "bo")
    note_on(desk, "new-3", "@ada @bo", "ada")
    (mention,) = mentions(desk, "ada")
    assert (mention.document, mention.who, mention.is_new) == ("new-1", "bo", True)
    assert [each.document for each in mentions(desk, "bo")] == ["new-3"]
    assert ada.get("/mentions").json()["mentions"][0]["document"] == "new-1"
    undo_for(desk, "bo", mention.number)
    assert mentions(desk, "ada") == []


def test_a_mention_is_new_until_it_is_looked_at(client, desk):
    from classmark.workbench.store.log import whoami

    assert "new comments" not in client.get("/inbox").text
    note_on(desk, "new-1", f"@{whoami()} please", "bo")
    assert "1 new comment for you" in client.get("/inbox").text
    assert "please" in client.get("/mentions").text
    assert "new comments" not in client.get("/inbox").text
    assert unseen(desk, whoami()) == 0


def test_names_with_odd_letters_are_names():
    assert names("ask @o'brien-2.", "o'brien-2")
    assert not names("ask @o'brien-22", "o'brien-2")


def test_a_session_is_summed_up(client, desk):
    from classmark.workbench.store.log import whoami

    me = whoami()
    decide_on(desk, "new-1", Decision(("bees",)), None, me)
    decide_on(desk, "new-2", Decision(("bread",), reject=("bees",)), None, me)
    decide_on(desk, "new-3", Decision(("bread",)), None, me)
    undo_for(desk, me)
    decide_on(desk, "new-4", Decision(aside=True), None, me)
    skip_for(desk, "new-5", me)
    decide_on(desk, "new-6", Decision(("bees",)), None, "bo")
    page = client.get("/session").text
    assert "<strong>2</strong> documents" in page
    assert "<strong>1</strong>, <strong>1</strong>" in page
    assert "Log out" in page


def test_the_name_and_the_way_out_are_on_every_page(client):
    for path in ("/inbox", "/taxonomy", "/settings", "/history"):
        page = client.get(path).text
        assert 'action="/leave"' in page
        assert 'href="/session"' in page


@contextmanager
def listening(answers):
    """A server on this machine that answers with these numbers, one after the other."""
    heard = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append((dict(self.headers), body))
            self.send_response(answers.pop(0) if answers else 200)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/hook", heard
    server.shutdown()
    server.server_close()


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


def test_a_decision_is_told_and_signed(desk):
    with listening([]) as (address, heard):
        hook = desk.webhooks.add(address, ["decided"], "ada")
        time.sleep(2 * hooks.LOOK)
        decide_on(desk, "new-1", Decision(("bees",)), {}, "ada")
        until(lambda: heard)
    headers, body = heard[0]
    assert headers["X-Classmark-Signature"] == hooks.signature(hook.secret, body)
    told = json.loads(body)
    assert (told["event"], told["document"], told["who"]) == ("decided", "new-1", "ada")
    until(lambda: desk.webhooks.state_of(hook.id).sent == 1)


def test_training_is_told(desk):
    with listening([]) as (address, heard):
        desk.webhooks.add(address, ["trained"], "ada")
        time.sleep(2 * hooks.LOOK)
        start_work(desk, "train", "ada").wait(60)
        until(lambda: heard)
    assert json.loads(heard[0][1])["event"] == "trained"


def test_what_is_not_taken_is_told_again_and_shown(desk, client, monkeypatch):
    monkeypatch.setattr(hooks, "WAITS", (0.1, 0.1))
    with listening([500, 302, 200]) as (address, heard):
        hook = desk.webhooks.add(address, ["decided"], "ada")
        desk.webhooks.test(hook.id)
        until(lambda: len(heard) == 3)
    assert len({headers["X-Classmark-Delivery"] for headers, _ in heard}) == 1
    until(lambda: desk.webhooks.state_of(hook.id).sent == 1)
    reasons = [trouble.reason for trouble in desk.webhooks.troubles]
    assert reasons == ["it answered 302", "it answered 500"]
    page = client.get("/settings/webhooks").text
    assert "it answered 500" in page
    assert "will be tried again" in page


def test_what_nobody_takes_is_given_up(desk, monkeypatch):
    monkeypatch.setattr(hooks, "WAITS", (0.05,))
    hook = desk.webhooks.add("http://127.0.0.1:9/hook", ["decided"], "ada")
    desk.webhooks.test(hook.id)
    until(lambda: desk.webhooks.state_of(hook.id).failed == 1)
    assert desk.webhooks.troubles[0].again is False


def test_a_decision_does_not_wait_for_a_slow_address(desk, monkeypatch):
    monkeypatch.setattr(hooks.Webhooks, "_send", lambda *_: time.sleep(1.0))
    desk.webhooks.add("http://127.0.0.1:9/hook", ["decided"], "ada")
    time.sleep(2 * hooks.LOOK)
    began = time.monotonic()
    for document in ("new-1", "new-2", "new-3"):
        decide_on(desk, document, Decision(("bees",)), {}, "ada")
    assert time.monotonic() - began < 1.0


@pytest.mark.parametrize(
    "address",
    ["ftp://a", "example.org", "http://example.org/", "https://a:b@c/", "https://a:x/"],
)
def test_addresses_that_cannot_be_told_are_refused(desk, address):
    with pytest.raises(Mistake):
        desk.webhooks.add(address, ["decided"], "ada")
    assert desk.webhooks.hooks == []


def test_webhooks_outlive_the_desk_and_their_secrets_are_private(project_folder):
    with Desk(project_folder) as desk:
        hook = desk.webhooks.add("https://example.org/h", ["trained"], "ada")
    path = project_folder / hooks.FILE
    assert path.stat().st_mode & 0o077 == 0
    with Desk(project_folder) as desk:
        assert desk.webhooks.hooks == [hook]
        desk.webhooks.remove(hook.id)
        assert hooks.read_webhooks(project_folder) == []


def test_webhooks_by_calls_and_page(admin, ada, client):
    body = {"address": "https://example.org/h", "kinds": ["decided"]}
    assert ada.post("/webhooks", body).status_code == 403
    made = admin.post("/webhooks", body).json()
    (row,) = admin.get("/webhooks").json()["webhooks"]
    assert row["id"] == made["id"]
    assert "secret" not in row
    page = client.get("/settings/webhooks").text
    assert "https://example.org/h" in page
    assert made["secret"] not in page
    assert admin.http.delete(f"/api/v1/webhooks/{made['id']}").status_code == 204
    form = {"address": "https://example.org/2", "kind": ["decided", "trained"]}
    assert "shown only once" in client.post("/settings/webhooks", data=form).text


def test_nobody_is_given_the_same_documents_twice(client, desk):
    form = {"to": "bo", "count": "3", "order": "likely"}
    client.post("/work", data=form)
    page = client.post("/work", data=form | {"count": "4"})
    assert "3 documents were theirs already" in page.text
    assert [item.total for item in work_items(desk, "bo")] == [3, 1]
    with pytest.raises(Mistake, match="already"):
        give(desk, "bo", "ada", documents=work_items(desk, "bo")[0].documents)
    give(desk, "bo", "ada", branch="nature")
    with pytest.raises(Mistake, match="already"):
        give(desk, "bo", "ada", branch="nature")


def test_files_are_nobody_who_decides(client, desk):
    assert any("import" in name for name in values_of(desk, "who"))
    for name in ("import", "root (import)"):
        assert f"<option>{name}</option>" not in client.get("/inbox").text


def test_the_session_counts_the_documents_that_wait(client, desk):
    give(desk, "root", "ada", documents=["new-1", "new-2"])
    give(desk, "root", "ada", documents=["new-3"])
    assert "Assigned to you: 3 documents wait" in client.get("/session").text
