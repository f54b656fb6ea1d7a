"""The taxonomy page: find, open, read, change, take back."""

import re

import pytest

from classmark.problems import Mistake


def at(answer):
    """The page that a change leads to."""
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def change(client, **form):
    return client.post("/taxonomy/change", data=form, follow_redirects=False)


def test_finding_gives_options(client):
    found = client.get("/taxonomy/find", params={"q": "hone"})
    assert 'role="option"' in found.text
    assert 'data-category="bees" data-name="Bees"' in found.text
    assert '<mark class="hit">hone</mark>y' in found.text
    nothing = client.get("/taxonomy/find", params={"q": "<b>xylophone"})
    assert "No category matches “&lt;b&gt;xylophone”" in nothing.text
    assert client.get("/taxonomy/find").text.strip() == ""


def test_finding_gives_json_where_asked(client):
    found = client.get(
        "/taxonomy/find", params={"q": "bees"}, headers={"Accept": "application/json"}
    ).json()
    assert found[0]["category"] == "bees"
    assert found[0]["path"] == ["Nature", "Bees"]


@pytest.mark.parametrize("asked", [{"top": 0}, {"top": 101}, {"q": "x" * 201}])
def test_finding_has_limits(client, asked):
    assert client.get("/taxonomy/find", params=asked).status_code == 400


def test_the_tree_opens_branch_by_branch(client):
    page = client.get("/taxonomy")
    assert 'href="/taxonomy?at=crafts"' in page.text
    assert 'href="/taxonomy?at=bread"' not in page.text
    assert 'data-fold="/taxonomy/branch?of=crafts"' in page.text
    branch = client.get("/taxonomy/branch", params={"of": "crafts"})
    assert 'href="/taxonomy?at=bread"' in branch.text
    assert "<html" not in branch.text
    page = client.get("/taxonomy", params={"at": "bread"})
    assert 'href="/taxonomy?at=bread" aria-current="true"' in page.text
    assert "loaves and ovens" in page.text
    assert page.text.count('href="/decide/bread-') >= 8
    assert client.get("/taxonomy/branch", params={"of": "ghosts"}).status_code == 400
    assert client.get("/taxonomy", params={"at": "ghosts"}).status_code == 400


def test_a_path_leads_to_the_category(client):
    answer = client.get("/taxonomy/bread", follow_redirects=False)
    assert at(answer) == "/taxonomy?at=bread"


def test_what_is_said_is_saved_and_taken_back(client, desk):
    form = {"category": "bread", "guideline": "Is it baked?\n<b>Yes</b>", "note": "x"}
    where = at(client.post("/taxonomy/describe", data=form, follow_redirects=False))
    assert desk.categories["bread"].guideline == "Is it baked?\n<b>Yes</b>"
    assert desk.categories["bread"].note == "x"
    page = client.get(where).text
    assert "&lt;b&gt;Yes&lt;/b&gt;" in page
    number = re.search(r'name="number" value="(\d+)"', page)[1]
    undone = {"number": number, "at": "bread"}
    at(client.post("/taxonomy/undo", data=undone, follow_redirects=False))
    assert desk.categories["bread"].guideline == ""
    assert desk.categories["bread"].note == "loaves and ovens"


def test_a_merge_is_previewed_then_done(client, desk):
    asked = {"act": "merge", "category": "bread", "to": "candles"}
    page = client.get("/taxonomy/preview", params=asked)
    assert "Documents that move there: 10." in page.text
    assert "bread" in desk.categories
    assert at(change(client, **asked)).startswith("/taxonomy?at=candles&saved=merged")
    assert "bread" not in desk.categories
    labels = desk.store.labels()
    assert list(labels["bread-0"]) == ["candles"]


def test_every_other_change(client, desk):
    where = at(change(client, act="add", category="crafts", new="wood", label="Wood"))
    assert where.startswith("/taxonomy?at=wood")
    assert desk.tree.path("wood") == ["crafts", "wood"]
    where = at(change(client, act="rename", category="wood", new="timber"))
    assert where.startswith("/taxonomy?at=timber")
    at(change(client, act="move", category="timber", to="nature"))
    assert desk.tree.path("timber") == ["nature", "timber"]
    where = at(
        change(client, act="split", category="bees", new="wild", document=["bees-1"])
    )
    assert where.startswith("/taxonomy?at=wild")
    assert list(desk.store.labels()["bees-1"]) == ["wild"]
    at(change(client, act="retire", category="timber"))
    assert "retired" in client.get("/taxonomy", params={"at": "timber"}).text


@pytest.mark.parametrize(
    "asked",
    [
        {"act": "burn", "category": "bees"},
        {"act": "merge", "category": "bees", "to": "ghosts"},
        {"act": "move", "category": "nature", "to": "bees"},
        {"act": "add", "new": "bees"},
        {"act": "split", "category": "bees", "new": "x"},
        {},
    ],
)
def test_what_cannot_be_changes_nothing(client, desk, asked):
    before = desk.categories
    assert client.get("/taxonomy/preview", params=asked).status_code == 400
    assert change(client, **asked).status_code == 400
    assert desk.categories is before


@pytest.mark.parametrize(
    ("asked", "filled"),
    [
        (
            {"act": "merge", "category": "bees", "to": "ghosts"},
            ['name="to_name" value="ghosts"'],
        ),
        (
            {"act": "move", "category": "nature", "to": "bees"},
            ['name="to_name" value="Nature › Bees"'],
        ),
        (
            {"act": "add", "category": "nature", "new": "bees", "label": "Wild bees"},
            ['name="new" value="bees"', 'name="label" value="Wild bees"'],
        ),
        (
            {"act": "add", "new": "bees", "label": "Wild bees"},
            ['name="new" value="bees"', 'name="label" value="Wild bees"'],
        ),
        (
            {"act": "split", "category": "bees", "new": "birds", "document": "bees-3"},
            ['name="new" value="birds"', 'value="bees-3" checked'],
        ),
        ({"act": "rename", "category": "bees", "new": "birds"}, ['value="birds"']),
    ],
)
def test_a_refused_change_comes_back_filled_in_with_the_reason(client, asked, filled):
    for answer in (
        client.get("/taxonomy/preview", params=asked),
        change(client, **asked),
    ):
        assert answer.status_code == 400
        (reason,) = re.findall(r'role="alert"><b>Not saved.</b> ([^<]+)', answer.text)
        assert len(reason) > 20
        (opened,) = re.findall(
            r'<details class="altering" open>.*?</details>', answer.text, re.DOTALL
        )
        assert all(value in opened for value in filled)
        assert 'role="tree' in answer.text or "data-tree" in answer.text
    if "category" in asked:
        assert f'href="/taxonomy?at={asked["category"]}">Cancel' in opened


def test_a_refused_description_comes_back_filled_in(client, monkeypatch):
    def full(*_):
        raise Mistake("the note cannot be kept: shorten it")

    monkeypatch.setattr("classmark.web.taxonomy.carry_out", full)
    form = {"category": "bread", "guideline": "Is it baked?", "note": "all loaves"}
    answer = client.post("/taxonomy/describe", data=form)
    assert answer.status_code == 400
    assert "The note cannot be kept: shorten it" in answer.text
    assert ">all loaves</textarea>" in answer.text
    assert ">Is it baked?</textarea>" in answer.text


def test_names_are_text(client, desk):
    bad = "<img src=x onerror=alert(1)>'\""
    at(change(client, act="add", category="", new="a/b?c&d", label=bad))
    for page in ("/taxonomy", "/taxonomy?at=a%2Fb%3Fc%26d", "/taxonomy/find?q=img"):
        shown = client.get(page)
        assert shown.status_code == 200
        assert "<img" not in shown.text
    assert client.get("/taxonomy/a%2Fb%3Fc%26d").status_code == 200
    assert "a/b?c&d" in desk.categories


def test_a_long_level_is_shown_in_parts(client, desk):
    from classmark.taxonomy.category import Category

    with desk.writing() as project:
        project.store.put_categories(
            Category(f"n{at:03d}", parents=("nature",)) for at in range(450)
        )
    first = client.get("/taxonomy/branch", params={"of": "nature"}).text
    assert first.count('class="twig') == 200
    assert "252 more" in first
    assert "previous" not in first
    last = client.get("/taxonomy/branch", params={"of": "nature", "after": 400}).text
    assert last.count('class="twig') == 52
    opened = client.get("/taxonomy", params={"at": "n300"}).text
    assert "200 previous" in opened
    assert "52 more" in opened
    back = client.get(
        "/taxonomy/branch", params={"of": "nature", "after": 0, "back": True}
    ).text
    assert 'class="more"' not in back
    assert back.count('class="twig') == 200
    middle = client.get(
        "/taxonomy/branch", params={"of": "nature", "after": 200, "back": True}
    ).text
    assert "200 previous" in middle
    assert middle.count('class="more"') == 1


def test_every_form_that_writes_carries_the_token(client):
    page = client.get("/taxonomy", params={"at": "bread"}).text
    forms = re.findall(r"<form[^>]*post.*?</form>", page, re.DOTALL)
    assert forms
    assert all(f'value="{client.csrf}"' in form for form in forms)
