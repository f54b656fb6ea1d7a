"""Find by example on a desk: every answer is kept, learned, and can be taken back."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from classmark.examples.screening import StoppingRule
from classmark.problems import Mistake
from classmark.workbench.examples import open_searches
from classmark.workbench.examples.like import (
    Answers,
    SearchStart,
    open_example_search,
)
from classmark.workbench.examples.open_searches import BeingRead
from classmark.workbench.examples.searches import (
    Mark,
    add_marks,
    search_by_number,
    summaries,
)
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project
from classmark.workbench.store.store import Store, titles
from classmark.workbench.team.desk import Desk
from projects import WORDS, new_desk, parish, subject


@pytest.fixture
def desk(tmp_path):
    with new_desk(tmp_path / "shelf", parish(), WORDS) as opened:
        yield opened


def found(desk, number, k=5):
    return [each.id for each in open_searches.show(desk, number, k).hits]


def marks(desk, number):
    search = search_by_number(desk.store, number)
    sql = "SELECT document, act, who FROM marked WHERE search = ? ORDER BY seq"
    rows = desk.store.run(sql, (search.number,))
    return {document: (act, who) for document, act, who in rows}


def test_examples_find_their_like_with_words_and_reasons(desk):
    number = open_searches.begin_for(
        desk, "ada", SearchStart(examples=("bees-0", "bees-4"))
    )
    name = titles(desk.store, ["bees-0"])["bees-0"][:60].strip()
    basket = open_searches.show(desk, number, 6)
    assert {subject(each.id) for each in basket.hits} == {"bees"}
    assert [each.rank for each in basket.hits] == [1, 2, 3, 4, 5, 6]
    assert [each.id for each in basket.examples] == ["bees-4", "bees-0"]
    assert (basket.documents, basket.name, basket.screening) == (38, name, False)
    first = basket.hits[0]
    told = {piece.text for piece in first.text if piece.hit}
    assert told <= set(first.parts)
    assert told
    assert all(part > 0 for part in first.parts.values())
    assert {word for word, weight in basket.words if weight > 0} & {"hive", "honey"}
    assert marks(desk, number) == {
        "bees-0": ("example", "ada"),
        "bees-4": ("example", "ada"),
    }


def test_the_order_is_that_of_the_command_line(desk):
    number = open_searches.begin_for(
        desk, "ada", SearchStart(examples=("bees-0", "candles-3"))
    )
    open_searches.mark(desk, "ada", number, {"bees-1": "yes", "bread-2": "no"})
    with Desk(desk.folder) as other:
        afresh = found(other, number, 10)
        name = open_searches.show(other, number).name
    again = open_example_search(desk, SearchStart(name=name)).rank()
    assert afresh == [each.id for each in again.hits]
    start = SearchStart(("bees-0", "candles-3"), name="again")
    answers = Answers(("bees-1",), ("bread-2",))
    again = open_example_search(desk, start, answers).rank()
    assert afresh == [each.id for each in again.hits]


def test_answers_are_learned_kept_by_name_and_taken_back(desk):
    number = open_searches.begin_for(
        desk, "ada", SearchStart(texts={"mine": "a wick and a hive"})
    )
    before = found(desk, number)
    open_searches.mark(desk, "bob", number, {"candles-2": "yes", "bees-3": "no"})
    after = found(desk, number)
    assert {subject(id_) for id_ in after} == {"candles"}
    assert marks(desk, number) == {"candles-2": ("yes", "bob"), "bees-3": ("no", "bob")}
    with pytest.raises(Mistake, match="ada has nothing to undo"):
        open_searches.undo(desk, "ada", number)
    assert {mark.document for mark in open_searches.undo(desk, "bob", number)} == {
        "candles-2",
        "bees-3",
    }
    assert (found(desk, number), marks(desk, number)) == (before, {})
    open_searches.undo(desk, "bob", number, redo=True)
    assert found(desk, number) == after
    with pytest.raises(Mistake, match="nothing to bring back"):
        open_searches.undo(desk, "bob", number, redo=True)


def test_the_last_word_holds_and_skipped_ones_are_not_shown(desk):
    number = open_searches.begin_for(desk, "ada", SearchStart(examples=("bees-0",)))
    open_searches.mark(desk, "ada", number, {"bees-1": "no"})
    open_searches.mark(desk, "ada", number, {"bees-1": "yes", "bees-2": "skip"})
    assert not {"bees-0", "bees-1", "bees-2"} & set(found(desk, number, 40))
    basket = open_searches.show(desk, number)
    assert [each.id for each in basket.examples] == ["bees-1", "bees-0"]
    assert basket.against == ()


@pytest.mark.parametrize("act", ["skip", "no"])
def test_the_last_example_stays(desk, act):
    number = open_searches.begin_for(desk, "ada", SearchStart(examples=("bees-0",)))
    with pytest.raises(Mistake, match="without an example"):
        open_searches.mark(desk, "ada", number, {"bees-0": act})
    with pytest.raises(Mistake, match="without an example"):
        open_searches.undo(desk, "ada", number)
    assert marks(desk, number) == {"bees-0": ("example", "ada")}
    assert len(found(desk, number)) == 5


def test_texts_of_ones_own_come_and_go(desk):
    number = open_searches.begin_for(desk, "ada", SearchStart(examples=("bees-0",)))
    open_searches.add_text(desk, number, "tallow and flame, wax and wick")
    assert open_searches.show(desk, number).examples[-1].act == "own"
    assert {"bees", "candles"} == {subject(id_) for id_ in found(desk, number, 10)}
    open_searches.drop_text(desk, number, "text 1")
    assert subject(found(desk, number, 1)[0]) == "bees"
    with pytest.raises(Mistake, match="no text 'text 1'"):
        open_searches.drop_text(desk, number, "text 1")
    with pytest.raises(Mistake, match="none of its words"):
        open_searches.add_text(desk, number, "zzyzx")
    with pytest.raises(Mistake, match="the text is empty"):
        open_searches.add_text(desk, number, " ")
    with pytest.raises(Mistake, match="at most"):
        open_searches.add_text(desk, number, "hive " * 50_000)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (SearchStart(), "no example"),
        (SearchStart(examples=("bees-00",)), "did you mean bees-0"),
        (SearchStart(texts={"t": "zzyzx"}), "none of its words"),
        (SearchStart(category="bees"), "no document is in category"),
        (SearchStart(examples=("bees-0",), method="magic"), "choose one of"),
        (SearchStart(examples=("bees-0",), name="a\nb"), "cannot be shown"),
    ],
)
def test_a_search_that_cannot_begin_leaves_nothing(desk, wanted, said):
    with pytest.raises(Mistake, match=said):
        open_searches.begin_for(desk, "ada", wanted)
    assert summaries(desk.store) == []


def test_what_cannot_be_said_is_refused(desk):
    number = open_searches.begin_for(desk, "ada", SearchStart(examples=("bees-0",)))
    for said in ({}, {"bees-1": "perhaps"}, {"nobody": "yes"}):
        with pytest.raises(Mistake):
            open_searches.mark(desk, "ada", number, said)
    with pytest.raises(Mistake, match="there is no search 99"):
        open_searches.show(desk, 99)


def test_what_others_mark_and_import_is_noticed(desk):
    number = open_searches.begin_for(desk, "ada", SearchStart(examples=("bees-0",)))
    assert "bees-1" in found(desk, number, 40)
    with Project(desk.folder) as other:
        search = search_by_number(other.store, number)
        add_marks(other.store, search, [Mark("bees-1", "yes")], "cli")
    assert "bees-1" not in found(desk, number, 40)
    with Project(desk.folder) as other:
        import_records(other, parish(10, 12), "more")
    assert "bees-11" in found(desk, number, 50)


def test_many_documents_are_read_by_a_job(desk, monkeypatch):
    monkeypatch.setattr(open_searches, "AT_ONCE", 0)
    with pytest.raises(BeingRead):
        open_searches.begin_for(desk, "ada", SearchStart(examples=("bees-0",)))
    desk.jobs.wait()
    number = open_searches.begin_for(desk, "ada", SearchStart(examples=("bees-0",)))
    with Project(desk.folder) as other:
        import_records(other, parish(10, 12), "more")
    before = open_searches.show(desk, number, 50)  # the older vectors meanwhile
    assert "bees-11" not in {each.id for each in before.hits}
    assert before.notes == (open_searches.BEHIND,)
    desk.jobs.wait()
    assert "bees-11" in found(desk, number, 50)
    assert not desk.search_cache.is_behind(desk)
    assert open_searches.show(desk, number).notes == ()


def test_threads_share_a_search_and_lose_nothing(desk):
    number = open_searches.begin_for(desk, "ada", SearchStart(examples=("bees-0",)))
    others = [f"{name}-{at}" for name in ("bread", "birds") for at in range(8)]

    def answer(id_):
        open_searches.mark(desk, f"user of {id_}", number, {id_: "no"})
        return found(desk, number)

    with ThreadPoolExecutor(8) as pool:
        lists = list(pool.map(answer, others))
    assert marks(desk, number) == {
        "bees-0": ("example", "ada"),
        **{id_: ("no", f"user of {id_}") for id_ in others},
    }
    assert all(id_ not in shown for id_, shown in zip(others, lists, strict=True))
    with Desk(desk.folder) as fresh:
        assert set(found(fresh, number, 9)) == set(found(desk, number, 9))


def test_few_searches_stay_in_memory(desk, monkeypatch):
    monkeypatch.setattr(open_searches, "WARM", 2)
    numbers = [
        open_searches.begin_for(desk, "ada", SearchStart(examples=(f"{name}-0",)))
        for name in ("bees", "bread", "candles")
    ]
    for number, name in zip(numbers, ("bees", "bread", "candles"), strict=True):
        assert subject(found(desk, number, 1)[0]) == name
    assert len(desk.search_cache._slots) == 2  # noqa: SLF001 - the memory itself is meant
    assert subject(found(desk, numbers[0], 1)[0]) == "bees"


def test_a_screening_is_read_batch_by_batch_to_its_stop(desk):
    rule = StoppingRule(target=0.8, error=0.2, share=0.1)
    number = open_searches.begin_for(
        desk, "ada", SearchStart(examples=("bees-0",), rule=rule)
    )
    basket = open_searches.show(desk, number)
    shown = [each.id for each in basket.hits]
    assert (len(shown), basket.screening, basket.stop) == (10, True, False)
    assert any(each.origin == "random" for each in basket.hits)
    open_searches.mark(desk, "ada", number, {shown[0]: "yes"})
    again = open_searches.show(desk, number)
    assert [each.id for each in again.hits] == shown  # nothing moves under the hand
    assert again.hits[0].mark == "yes"
    while not basket.stop:
        said = {
            each.id: "yes" if subject(each.id) == "bees" else "no"
            for each in basket.hits
            if not each.mark
        }
        open_searches.mark(desk, "ada", number, said)
        basket = open_searches.show(desk, number)
    assert len(basket.examples) >= 8
    assert basket.advice.startswith("stop")
    assert any("more to find (90 % interval" in line for line in basket.status)


def test_a_screening_taken_back_shows_the_documents_again(desk):
    number = open_searches.begin_for(
        desk, "ada", SearchStart(examples=("bees-0",), rule=StoppingRule())
    )
    first = [each.id for each in open_searches.show(desk, number).hits]
    open_searches.mark(desk, "ada", number, dict.fromkeys(first, "no"))
    assert not set(first) & {each.id for each in open_searches.show(desk, number).hits}
    open_searches.undo(desk, "ada", number)
    shown = open_searches.show(desk, number).hits
    assert [each.id for each in shown[:10]] == first
    assert not any(each.mark for each in shown)
    open_searches.undo(desk, "ada", number, redo=True)
    assert {each.id: each.mark for each in open_searches.show(desk, number).hits}.keys()
    assert len(marks(desk, number)) == 11
    open_searches.mark(desk, "ada", number, {first[0]: "yes"})  # the last word holds
    assert marks(desk, number)[first[0]] == ("yes", "ada")
    with Project(desk.folder) as other:
        import_records(other, parish(10, 11), "more")
    with pytest.raises(Mistake, match="added after the screening began"):
        open_searches.mark(desk, "ada", number, {"bees-10": "yes"})


def test_a_search_becomes_a_screening_with_all_it_knows(desk):
    wanted = SearchStart(
        examples=("bees-0",), texts={"mine": "honey"}, no=("candles-1",)
    )
    number = open_searches.begin_for(desk, "ada", wanted)
    assert (
        open_searches.show(desk, open_searches.begin_for(desk, "ada", wanted)).name
        == "honey (2)"
    )
    open_searches.mark(desk, "ada", number, {"bees-1": "yes"})
    screening = open_searches.screen(desk, "bob", number)
    assert marks(desk, screening) == {
        "bees-0": ("example", "bob"),
        "bees-1": ("example", "bob"),
        "candles-1": ("no", "bob"),
    }
    assert open_searches.screen(desk, "bob", number) > screening
    kept = {each.name: each for each in summaries(desk.store)}
    assert set(kept) == {"honey", "honey (2)", "honey, all", "honey, all'"}
    assert kept["honey, all"].screening
    first = kept["honey"]
    assert (first.examples, first.yes, first.no, first.who) == (2, 1, 1, "ada")


def test_reasons_add_up_and_files_are_written(desk, tmp_path):
    number = open_searches.begin_for(desk, "ada", SearchStart(examples=("bees-0",)))
    screening = open_searches.screen(desk, "ada", number)
    told = open_searches.explain(desk, number, "bees-1")
    shown = {each.id: each.score for each in open_searches.show(desk, number, 40).hits}
    assert told.score == pytest.approx(shown["bees-1"], abs=1e-6)
    assert open_searches.explain(desk, screening, "bees-1").parts
    for at, ending in enumerate((".csv", ".jsonl", ".run", ".ris", ".bib")):
        for which in (number, screening):
            path = tmp_path / f"{at}-{which}{ending}"
            open_searches.write_hits(desk, which, path)
            assert path.stat().st_size
    open_searches.write_hits(desk, number, tmp_path / "words.tsv")
    assert "hive" in (tmp_path / "words.tsv").read_text()


def reads(monkeypatch):
    ids, document = [], Store.document
    monkeypatch.setattr(
        Store, "document", lambda *args: ids.append(args[1]) or document(*args)
    )
    return ids


@pytest.mark.parametrize("screening", [False, True])
def test_each_document_of_a_list_is_read_once(desk, monkeypatch, screening):
    rule = StoppingRule() if screening else None
    wanted = SearchStart(examples=("bees-0",), rule=rule)
    number = open_searches.begin_for(desk, "ada", wanted)
    open_searches.show(desk, number)
    ids = reads(monkeypatch)
    shown = [each.id for each in open_searches.show(desk, number, 10).hits]
    assert sorted(ids) == sorted([*shown, "bees-0"])
    del ids[:]
    open_searches.mark(desk, "ada", number, dict.fromkeys(shown, "no"))
    assert set(ids) <= {"bees-0"}, "what is shown next is not read to be written down"
