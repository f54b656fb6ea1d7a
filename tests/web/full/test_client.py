"""The client of one file, over a real connection."""

import subprocess
import sys

import pytest

from classmark.client import Client, Refused
from classmark.workbench.team.people import add_token

ALONE = """
import importlib.util, sys
from pathlib import Path
path = Path({path!r})
spec = importlib.util.spec_from_file_location("client", path)
module = importlib.util.module_from_spec(spec)
before = set(sys.modules)
spec.loader.exec_module(module)
foreign = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(sorted(foreign - set(sys.stdlib_module_names) - {{"client"}}))
"""


@pytest.fixture
def secret(desk):
    with desk.writing() as project:
        return add_token(project.store, "ada", "admin")[1]


@pytest.fixture
def caller(address, secret):
    with Client(address, secret) as found:
        yield found


def test_a_day_with_the_client(caller, desk):
    assert caller.project()["me"] == "ada"
    (best, *_) = caller.suggest("smoke over the hive", top=2, why=2)
    assert best["category"] == "bees"
    many = caller.suggest_many(["a hive", "an oven"], top=1)
    assert [each[0]["category"] for each in many] == ["bees", "bread"]
    document = caller.next()
    sheet = caller.sheet(document)
    saved = caller.decide(document, assign=["bees"], version=sheet["version"])
    assert desk.store.labels()[document] == {"bees": 1.0}
    assert caller.suggest(document=document)
    assert caller.history(document=document)["lines"][0]["number"] == saved["number"]
    caller.undo()
    caller.redo()
    caller.note(document, "sure")
    assert caller.skip(saved["next"])["next"]
    assert caller.next(saved["next"])
    assert caller.learn() is True
    assert caller.inbox(words="hive")["total"] >= 0
    assert caller.progress()["decided"] > 40
    assert caller.call("GET", "/agreement")["people"] == []


def test_documents_in_and_out(caller):
    caller.put("a/b?c#d", {"text": "wax"}, meta={"year": "1900"})
    assert caller.document("a/b?c#d")["meta"] == {"year": "1900"}
    rows = ({"id": f"r{at}", "text": "wax", "labels": ["candles"]} for at in range(500))
    job = caller.take_in(rows)
    assert job["state"] == "done"
    out = list(caller.take_out())
    assert len(out) == 48 + 1 + 500
    assert len(list(caller.documents(page=200))) == len(out)
    assert caller.project()["counts"]["documents"] == len(out)


def test_files_are_kept(caller, tmp_path):
    file = tmp_path / "out.csv"
    caller.save("/export/documents.csv", str(file))
    assert file.read_text().startswith("id,")
    with pytest.raises(FileExistsError):
        caller.save("/export/documents.csv", str(file))
    with pytest.raises(Refused, match="there is no file"):
        caller.save("/export/x", str(tmp_path / "x"))
    number = caller.like("bees-1")["number"]
    caller.save(f"/like/{number}/found", str(tmp_path / "x"), format="ris")
    assert (tmp_path / "x").read_text().startswith("TY  -")


def test_categories_searches_and_work(caller, desk):
    caller.add_category("wasps", label="Wasps", parent="nature")
    caller.change_category("wasps", guideline="not hornets")
    assert caller.category("wasps")["guideline"] == "not hornets"
    assert [each["id"] for each in caller.find_categories("wasp")] == ["wasps"]
    caller.change_tree("move", "wasps", under="crafts")
    assert caller.categories("crafts")["total"] == 3
    basket = caller.like("bees-1", "bees-2", top=3)
    best = basket["found"][0]["id"]
    marked = caller.mark(basket["number"], {best: "no"}, top=3)
    assert marked["against"][0]["id"] == best
    assert caller.liked(basket["number"])["number"] == basket["number"]
    assert caller.search("honey", top=2)["hits"]
    with pytest.raises(Refused):
        caller.click(99, "bees-1")
    job = caller.start("index")
    desk.jobs.wait(60)
    assert caller.job(job["id"])["state"] == "done"


def test_work_of_the_command_line_is_begun_and_waited_for(caller, desk):
    report = caller.wait(caller.start("categories/report"))
    assert report["result"]["leaves"] == 4
    caller.wait(caller.start("categories/propose", category="bees", clusters=2))
    first, _ = caller.proposals("bees")
    caller.accept_proposal("bees", 1, id="hives")
    labels = desk.store.labels()
    assert {next(iter(labels[id_])) for id_ in first["documents"]} == {"hives"}
    judged = {"queries": {"1": "honey"}, "qrels": {"1": {"bees-1": 1}}}
    tuned = caller.wait(caller.start("tune", **judged, parameters={"b": [0.1, 0.9]}))
    assert len(tuned["result"]["table"]["rows"]) == 2
    assert caller.rankers() == []
    assert caller.use_ranker(None)["number"] is None
    assert caller.pagerank(links=[["a", "b"]], top=1)["rows"][0]["id"] == "b"
    with pytest.raises(Refused, match="links to another"):
        caller.pagerank(damping=0.5)
    with pytest.raises(Refused, match="nothing has been clicked yet") as failed:
        caller.wait(caller.start("rankers", clicks=True))
    assert "search.log" in failed.value.remedy
    with pytest.raises(Refused, match="where to stop in a tree"):
        caller.place("bees-1", precision=0.9)


def test_a_refusal_is_raised_with_what_to_do(caller):
    with pytest.raises(Refused) as told:
        caller.decide("none", assign=["bees"])
    assert told.value.status == 404
    assert told.value.remedy == "correct its id"
    assert "none" in told.value.message
    assert isinstance(told.value, ValueError)
    with pytest.raises(Refused, match="meanwhile") as conflict:
        caller.decide("bees-1", assign=["birds"], version=0)
    assert conflict.value.answer["theirs"]


def test_a_connection_that_was_closed_is_opened_again(caller):
    caller.project()
    caller.close()
    assert caller.project()


def test_what_was_read_in_part_does_not_stand_in_the_way(caller):
    assert next(caller.take_out())["id"] == "bread-0"
    assert caller.project()["name"] == "Parish notes"


def test_without_a_token_nothing_is_answered(address):
    with Client(address) as nobody, pytest.raises(Refused) as told:
        nobody.project()
    assert told.value.status == 401


def test_the_address_is_taken_as_it_was_printed(address, secret):
    with Client(f"{address}/enter#a-code", secret) as found:
        assert found.project()["me"] == "ada"
        assert found.address == address


def test_nobody_there():
    with pytest.raises(Refused, match="did not answer") as told:
        Client("http://127.0.0.1:9", "x", timeout=2).project()
    assert told.value.status == 0


@pytest.mark.parametrize("address", ["ftp://x", "127.0.0.1:8000", "http://example.org"])
def test_an_address_that_is_no_good(address):
    with pytest.raises(Refused):
        Client(address, "secret")


def test_the_file_stands_alone():
    import classmark.client

    code = ALONE.format(path=classmark.client.__file__)
    found = subprocess.run(  # noqa: S603 (our own words)
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
