"""The first steps of an empty project, by its forms and calls."""

import pytest

from classmark.problems import Mistake
from classmark.workbench.categories.outline import (
    id_of_name,
    parents_of_new,
    read_outline,
    with_ids,
)
from classmark.workbench.deciding.due import TrainingDue, training_due
from classmark.workbench.deciding.sheet import lay_out
from classmark.workbench.files.pasting import cut, paste_documents
from projects import new_desk


@pytest.fixture
def project_folder(tmp_path):
    from projects import new_project

    return new_project(tmp_path / "empty", [], [])


def test_an_empty_project_is_greeted(client):
    page = client.get("/")
    assert page.url.path == "/start"
    assert "Three steps" in page.text


def test_pasted_texts_are_numbered_on(client, desk):
    for between, count in (("blank", 1), ("line", 2)):
        form = {"text": "Salt road\r\nA walk inland.", "between": between}
        assert client.post("/start/documents", data=form).url.path == "/start"
        assert len(desk.state.ids) == count if count == 1 else 3
    assert desk.store.record("note-1").document.title == "Salt road"
    assert "Paste" in client.get("/start").text


def test_text_that_is_empty_is_refused(client):
    answer = client.post("/start/documents", data={"text": " \n "})
    assert answer.status_code == 400
    assert "paste some documents" in answer.text


def test_a_list_of_categories_is_previewed_and_added(client, desk):
    outline = "Nature\n\tBees\n\t\tWasps\nCrafts"
    preview = client.post("/start/categories", data={"outline": outline})
    assert 'value="nature.bees.wasps"' in preview.text
    assert not desk.categories
    ids = ["nature", "bees", "nature.bees.wasps", "crafts"]
    client.post("/start/categories/add", data={"outline": outline, "id": ids})
    assert desk.tree.path("nature.bees.wasps") == [
        "nature",
        "bees",
        "nature.bees.wasps",
    ]
    assert desk.categories["bees"].name == "Bees"


def test_a_list_by_a_call(admin, desk, reader):
    body = {"outline": "1. Bees & wax\n2. Bees & wax"}
    answer = admin.post("/categories/outline", body)
    assert answer.json() == {"ids": ["bees-wax", "bees-wax-2"]}
    assert set(desk.categories) == {"bees-wax", "bees-wax-2"}
    assert reader.post("/categories/outline", body).status_code == 403


def test_a_level_is_wherever_the_indent_grows():
    lines = read_outline("a\n   b\n      c\n   d\ne")
    assert [(line.name, line.level, line.parent) for line in lines] == [
        ("a", 0, None), ("b", 1, "a"), ("c", 2, "a.b"), ("d", 1, "a"), ("e", 0, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ids", "reason"),
    [(["a"], "changed"), (["a", ""], "no id"), (["a", "a"], "two categories")],
)
def test_ids_that_do_not_fit_are_refused(ids, reason):
    with pytest.raises(Mistake, match=reason):
        with_ids(read_outline("Ants\nBees"), ids)


def test_a_name_without_letters_has_an_id_too():
    assert id_of_name("…", None, ["category"]) == "category-2"


def test_a_category_is_made_by_its_name(client, desk):
    answer = client.post("/taxonomy/new", data={"label": "Bees"})
    assert 'data-category="bees"' in answer.text
    answer = client.post("/taxonomy/new", data={"label": "Wasps", "parent": "bees"})
    assert 'data-category="bees.wasps"' in answer.text
    assert parents_of_new(desk) == [("bees", "Bees")]
    assert client.post("/taxonomy/new", data={"label": " "}).status_code == 400


def test_windows_line_ends_are_read():
    assert [each["text"] for each in cut("one\r\n\r\ntwo")] == ["one", "two"]


def test_few_categories_are_all_listed_in_order_before_anything_is_learned(
    desk, client
):
    client.post("/start/categories/add", data={"outline": "Bees\nAnts\nBread"})
    paste_documents(desk, "dough in the oven", "ada")
    sheet = lay_out(desk, "note-1", "ada")
    assert [choice.category for choice in sheet.choices] == ["bees", "ants", "bread"]
    assert sheet.ranked == 0
    assert sheet.more == ""


def test_more_than_ten_are_not_listed_before_anything_is_learned(desk, client):
    names = "\n".join(f"c{number}" for number in range(11))
    client.post("/start/categories/add", data={"outline": names})
    paste_documents(desk, "dough in the oven", "ada")
    assert lay_out(desk, "note-1", "ada").choices == ()


def test_training_is_due_when_decisions_have_doubled(tmp_path):
    rows = [
        {"id": f"d{n}", "text": f"{word} {n}", "labels": [label]}
        for n, (word, label) in enumerate([("hive", "bees"), ("dough", "bread")] * 15)
    ]
    with new_desk(tmp_path / "few", rows, ["bees", "bread"]) as desk:
        due = training_due(desk)
        assert (due.decided, due.learned, due.is_due) == (30, None, False)
    with new_desk(tmp_path / "t", rows, ["bees", "bread"], trained=True) as desk:
        assert training_due(desk) == TrainingDue(30, 30)
    assert TrainingDue(60, 30).is_due
    assert "30 when the model was trained" in TrainingDue(60, 30).words
    assert TrainingDue(59, 30).words == ""
