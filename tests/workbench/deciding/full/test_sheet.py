"""What is laid out, and that it stays as it is."""

import pytest

from classmark.corpus.documents import Document
from classmark.taxonomy.category import Category
from classmark.workbench.categories import edit
from classmark.workbench.deciding import sheet as sheets
from classmark.workbench.deciding.decide import (
    Decision,
    Seen,
    decide_on,
    note_on,
    undo_for,
)
from classmark.workbench.deciding.inbox import rows_of
from classmark.workbench.deciding.sheet import choice_of, in_parts, lay_out
from classmark.workbench.files.documents import put_document
from classmark.workbench.project import Project
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.jobs import start_work
from classmark.workbench.team.progress import pace
from projects import new_desk, new_library
from workbench.acts import say_all, say_at


@pytest.fixture(autouse=True)
def later(monkeypatch):
    """As it is after the first decisions: even few categories are ranked."""
    monkeypatch.setattr(sheets, "FIRST", 0)


@pytest.fixture
def desk(tmp_path):
    with new_desk(tmp_path / "shelf") as desk:
        say_all(desk)
        yield desk


def test_a_sheet_says_what_is_known(desk):
    with desk.writing() as project:
        edit.describe(
            project,
            "bees",
            {"note": "Insects that make honey.", "guideline": "Not wasps."},
        )
    assert desk.learned(30)
    sheet = lay_out(desk, "b3", "ada")
    first = sheet.choices[0]
    assert (first.category, first.rank, first.path[-1]) == ("bees", 1, "bees")
    assert (first.note, first.guideline) == ("Insects that make honey.", "Not wasps.")
    assert [word for word, _ in first.favour][:1]
    assert {id_ for id_, _ in first.examples} == {"b1", "b2"}
    assert (sheet.ranked, sheet.more, sheet.model) == (3, "", "live")
    assert (first.likely, sheet.version) == ("", 0)
    assert "bees" in {word.text for word in sheet.words if word.side}


def test_the_example_most_alike_comes_first(desk):
    say_at(desk, "b3", "bees")
    assert desk.learned(30)
    desk.examples.forget()
    first = lay_out(desk, "b1", "ada").choices[0]
    assert first.examples[0][0] == "b3"


def test_what_was_said_before_is_on_it(desk):
    with desk.writing() as project:
        for n in range(12):
            edit.add(project, Category(f"other {n}"))
        edit.retire(project, "candles")
    say_at(desk, "b3", "bees", primary=("bread",), reject=("other 11",), version=0)
    say_at(desk, "b3", over=(("bees", "other 1"),))
    note_on(desk, "b3", "two copies", "bo")
    assert desk.learned(30)
    sheet = lay_out(desk, "b3", "bo")
    said = {c.category: c.stands for c in (*sheet.choices, *sheet.others)}
    assert said["bees"] == "assign"
    assert said["bread"] == "primary"
    assert said["other 11"] == "reject"
    assert sheet.preferred == (("bees", "other 1"),)
    assert [(s.who, s.act) for s in sheet.past][:1] == [("ada", "assign")]
    assert [s.note for s in sheet.notes] == ["two copies"]
    blind = lay_out(desk, "b3", "bo", blind=True)
    assert {c.stands for c in blind.choices} == {""}
    assert (blind.others, blind.past, blind.notes, blind.preferred) == ((), (), (), ())
    assert blind.version == sheet.version


def test_a_sheet_stays_as_it_is_while_others_decide(desk):
    before = lay_out(desk, "b3", "ada")
    other = lay_out(desk, "b3", "bo")
    for id_ in ("b1", "b2"):
        say_at(desk, id_, "bread", who="bo", remove=("bees",))
    assert desk.learned(30)
    assert lay_out(desk, "b3", "ada") is before
    first = lay_out(desk, "b3", "cy").choices[0]
    assert (other.choices[0].category, first.category) == ("bees", "bread")
    assert first.examples[0][0] == "b1"
    say_at(desk, "b3", "candles", who="bo")
    again = lay_out(desk, "b3", "ada")
    assert again.version > before.version
    assert again is not before


def test_a_sheet_is_made_anew_when_categories_change(desk):
    before = lay_out(desk, "b3", "ada")
    with desk.writing() as project:
        edit.rename(project, "bees", label="Bees and wasps")
    after = lay_out(desk, "b3", "ada")
    assert after is not before
    assert after.choices[0].path == ("Bees and wasps",)


def test_it_is_laid_out_before_it_is_asked_for(desk):
    assert desk.learned(30)
    kept = desk.prefetch("ada", "b3").result(30)
    assert lay_out(desk, "b3", "ada") is kept
    say_at(desk, "c3", "bees", who="bo")
    assert desk.learned(30)
    assert lay_out(desk, "b3", "ada") is kept


def test_what_nobody_has_seen_yet_shows_what_was_learned_since(desk):
    kept = desk.prefetch("ada", "b3").result(30)
    for id_ in ("b1", "b2"):
        say_at(desk, id_, "bread", who="ada", remove=("bees",))
    assert desk.learned(30)
    shown = lay_out(desk, "b3", "ada")
    assert (kept.choices[0].category, shown.choices[0].category) == ("bees", "bread")
    assert shown.learned > kept.learned
    assert lay_out(desk, "b3", "ada") is shown
    assert desk.prefetch("ada", "b3").result(30) is shown


def test_a_sheet_is_laid_out_anew_after_half_an_hour(desk, monkeypatch):
    before = lay_out(desk, "b3", "ada")
    monkeypatch.setattr("classmark.workbench.deciding.sheet.MINUTES", 0)
    after = lay_out(desk, "b3", "ada")
    assert after is not before
    monkeypatch.undo()
    assert lay_out(desk, "b3", "ada") is after


def test_facts_stand_beside_the_title_and_addresses_never_in_the_text():
    long = "https://example.org/" + "a" * 90
    fields = {"title": "Bees", "url": long, "text": f"{long} is where it is"}
    title, about, body = in_parts(Document("d", fields), {"year": "1901", "part": ""})
    assert (title, about) == ("Bees", (("url", long), ("year", "1901")))
    assert body == fields["text"]


def test_parts_too_small_to_be_told_are_not(desk):
    for choice in lay_out(desk, "b3", "ada").choices:
        assert all(abs(part) >= 0.005 for _, part in choice.favour + choice.against)


def test_how_many_were_looked_at(desk):
    assert pace(desk.store) == ""
    for id_, ranks in (("b3", (1, 4)), ("d3", (1,)), ("c3", (2,))):
        names = ("bees", "bread")[: len(ranks)]
        shown = zip(names, ranks, strict=True)
        seen = {name: Seen("live", rank, 0.5) for name, rank in shown}
        decide_on(desk, id_, Decision(tuple(seen)), seen, "ada")
    assert pace(desk.store) == "average rank 2.3"
    undo_for(desk, "ada")
    assert pace(desk.store) == "average rank 2.5"


def test_a_category_that_was_searched_for(desk):
    choice = choice_of(desk, desk.store.record("b3"), "candles")
    assert (choice.category, choice.rank, choice.stands) == ("candles", None, "")
    assert {id_ for id_, _ in choice.examples} == {"c1", "c2"}


def test_probabilities_say_what_they_rest_on(tmp_path):
    with Desk(new_library(tmp_path / "library", 300, trained=True)) as desk:
        id_ = next(iter(desk.state.ids))
        sheet = lay_out(desk, id_, "ada")
        assert sheet.calibrated.startswith("calibrated on ")
        assert sheet.choices[0].likely.endswith(" %")
        assert 0 <= sheet.choices[0].probability <= 1
        assert sheet.model == "000001"
        assert len(sheet.choices[0].path) > 1
        name = sheet.choices[0].category
        decide_on(desk, id_, Decision((name,)), None, "ada", sheet.version)
        row = desk.store.run(
            "SELECT model, rank, score FROM judgments ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        assert row == ("000001", 1, pytest.approx(sheet.choices[0].score))


def test_categories_of_an_undone_split_are_not_counted(desk):
    say_at(desk, "b3", "bees")
    assert desk.learned(30)
    before = lay_out(desk, "t1", "ada")
    with desk.writing() as project:
        split = edit.split(project, "bees", Category("wild bees"), ["b2"], "ada")
    assert desk.learned(30)
    assert lay_out(desk, "t1", "ada").ranked == before.ranked + 1
    undo_for(desk, "ada", split.numbers[0])
    assert desk.learned(30)
    after = lay_out(desk, "t1", "ada")
    assert "wild bees" not in desk.categories
    assert len(after.choices) == after.ranked == before.ranked == len(desk.categories)


def test_categories_that_are_retired_are_not_counted(desk):
    before = lay_out(desk, "t1", "ada").ranked
    with desk.writing() as project:
        edit.retire(project, "candles")
    assert desk.learned(30)
    assert lay_out(desk, "t1", "ada").ranked == before - 1


def test_probabilities_are_known_on_the_first_page_after_a_training(tmp_path):
    folder = new_library(tmp_path / "shelf", 80)
    with Project(folder) as project:
        for id_ in ("w1", "w2"):
            put_document(project, id_, {"text": "A hive of bees, and its honey"})
    with Desk(folder) as desk:
        assert desk.learned(60)
        ids = ["w1", "w2", *desk.state.ids]  # the first two are not decided
        assert lay_out(desk, ids[0], "ada").calibrated == ""
        assert rows_of(desk, ids[:1])[0].probability is None
        for _ in range(2):
            job = start_work(desk, "train", "ada").wait(60)
            assert (job.state, job.mistake) == ("done", "")
            for at, id_ in enumerate(ids[:4]):
                sheet = lay_out(desk, id_, "ada", blind=bool(at % 2))
                assert sheet.calibrated.startswith("calibrated on ")
                assert sheet.model == desk.models.current().name
                assert all(choice.likely for choice in sheet.choices)
            assert all(row.probability is not None for row in rows_of(desk, ids[:2]))
