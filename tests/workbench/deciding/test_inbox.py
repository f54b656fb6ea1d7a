"""The inbox: which documents wait, in which order, and many accepted at once."""

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import Mistake
from classmark.taxonomy.category import Category
from classmark.workbench.deciding import inbox as accepting
from classmark.workbench.deciding import inbox as inboxes
from classmark.workbench.deciding.decide import Decision, decide_on, next_for
from classmark.workbench.deciding.inbox import (
    Filters,
    Guessed,
    accept,
    documents_in,
    inbox,
    likely,
    offer,
    start_in,
)
from classmark.workbench.deciding.queue import Guess
from classmark.workbench.files.importing import (
    import_records,
)
from projects import new_desk

TREE = [
    Category("life", "Life"),
    Category("bees", "Bees", parents=("life",)),
    Category("birds", "Birds", parents=("life",)),
    Category("bread", "Bread"),
]
WORDS = {
    "bees": "hive honey queen swarm comb smoke nectar drone keeper pollen",
    "birds": "nest song feather finch egg flight migration wren perch moult",
    "bread": "dough yeast rye oven loaf crust knead flour baker salt",
}
NEW = [f"new-{at}" for at in range(6)]


def rows():
    for name, words in WORDS.items():
        for at in range(18):
            text = " ".join((words + " " + words).split()[at % 10 : at % 10 + 6])
            yield {"id": f"{name}-{at}", "title": name, "text": text, "primary": name}
    for at, name in enumerate([*WORDS, *WORDS]):
        words = WORDS[name].split()
        one, two = words[at // 3], words[at // 3 + 1]
        text = f"Old {one} and {two}, 100% {'rare' if at else 'Rare'}"
        yield {"id": f"new-{at}", "title": f"New {at}", "text": text}


@pytest.fixture
def desk(tmp_path):
    with new_desk(tmp_path / "shelf", list(rows()), TREE, trained=True) as desk:
        assert desk.background.ordered(60)
        desk.background.stop()
        yield desk


@pytest.fixture
def empty(tmp_path):
    with new_desk(tmp_path / "empty", []) as desk:
        yield desk


def shown(desk, order="uncertain", **filters):
    return [row.id for row in inbox(desk, order, Filters(**filters)).rows]


def say(desk, document, who="ada", **acts):
    return decide_on(desk, document, Decision(**acts), {}, who)


def test_what_waits_is_shown_with_the_best_guess(desk):
    found = inbox(desk)
    assert sorted(row.id for row in found.rows) == NEW
    row = next(row for row in found.rows if row.id == "new-0")
    assert (row.title, row.state) == ("New 0", "undecided")
    assert row.first_line.startswith("Old hive and honey")
    assert row.guess == ("Life", "Bees")
    assert row.category == "bees"
    assert row.likely.endswith(("% likely", row.likely))
    assert (found.total, found.pages, found.page) == (6, 1, 1)


def test_what_was_not_looked_at_yet_is_guessed_for_the_page(desk):
    desk.guesses.look([], lambda _: True)
    assert len(desk.guesses.best) == 0
    found = inbox(desk, "random")
    assert {row.guess[-1] for row in found.rows} == {"Bees", "Birds", "Bread"}
    assert found.looked_at == 0


def test_orders(desk):
    leads = {id_: desk.guesses.best.get(id_) for id_ in NEW}
    assert shown(desk) == sorted(NEW, key=lambda id_: leads[id_].lead)
    assert shown(desk, "likely") == sorted(NEW, key=lambda id_: -leads[id_].height)
    assert sorted(shown(desk, "random")) == NEW
    assert shown(desk, "random") == shown(desk, "random")
    say(desk, "new-0", assign=("bees",))
    assert shown(desk, "similar")[0] == "new-3", "the other one about bees"
    with pytest.raises(Mistake, match="use uncertain"):
        inbox(desk, "backwards")


def test_filters_show_the_others(desk):
    say(desk, "new-0", assign=("bees",))
    say(desk, "new-1", aside=True)
    assert shown(desk, show="aside") == ["new-1"]
    assert "new-0" in shown(desk, show="decided")
    assert inbox(desk, filters=Filters("all")).total == 60
    assert set(shown(desk)) == set(NEW[2:])
    decided = inbox(desk, filters=Filters("decided", words="Old hive")).rows
    assert [(row.id, row.labels, row.state) for row in decided] == [
        ("new-0", ("Bees",), "decided")
    ]
    with pytest.raises(Mistake, match="use undecided"):
        inbox(desk, filters=Filters("burnt"))


def test_by_branch_by_label_or_by_guess(desk):
    assert set(shown(desk, branch="life")) == {"new-0", "new-1", "new-3", "new-4"}
    assert set(shown(desk, branch="bread")) == {"new-2", "new-5"}
    assert inbox(desk, filters=Filters("decided", "life")).total == 36
    with pytest.raises(Mistake, match="no category 'ghosts'"):
        inbox(desk, filters=Filters(branch="ghosts"))


def test_by_words_as_they_stand(desk):
    assert shown(desk, words="HIVE AND honey") == ["new-0"]
    assert set(shown(desk, words="100% rare")) == set(NEW)
    assert shown(desk, words="100_ rare") == []
    assert shown(desk, words="hive%honey") == []


def test_by_words_that_are_written_otherwise_on_disk(desk):
    text = 'Émile said "no"\nand left; ‘stra\\ße’'
    with desk.writing() as project:
        import_records(project, [Record(Document("odd", {"text": text}))], "more")
    desk.look_again()
    for words in ("émile SAID", 'said "no" and', "stra\\ße", "’"):
        assert shown(desk, words=words) == ["odd"], words
    assert shown(desk, words="text") == []  # the name of a field is no word of it


def test_by_person(desk):
    say(desk, "new-0", who="bo", assign=("bees",))
    assert shown(desk, show="decided", who="bo") == ["new-0"]
    assert shown(desk, show="all", who="nobody") == []


def test_disagreement(desk):
    say(desk, "new-0", who="ada", assign=("bees",))
    say(desk, "new-0", who="bo", assign=("bread",))
    assert shown(desk, show="disagreed") == ["new-0"]


def test_pages(desk, monkeypatch):
    monkeypatch.setattr(inboxes, "SHOWN", 4)
    first, second, beyond = (inbox(desk, page=number) for number in (1, 2, 99))
    assert (len(first.rows), len(second.rows), first.pages) == (4, 2, 2)
    assert not {r.id for r in first.rows} & {r.id for r in second.rows}
    assert (beyond.page, beyond.rows) == (2, second.rows)


def test_who_has_it(desk):
    desk.claims.take("new-2", "bo")
    (row,) = [row for row in inbox(desk).rows if row.id == "new-2"]
    assert row.holder == "bo"


def test_deciding_goes_on_as_the_inbox_was(desk):
    filters = Filters(branch="bread")
    start_in(desk, "ada", "likely", filters)
    assert desk.queues.of("ada").filters == {"branch": "bread"}
    assert next_for(desk, "ada") == documents_in(desk, "likely", filters)[0]
    start_in(desk, "ada", "random", Filters())
    assert desk.queues.of("ada").among is None
    with pytest.raises(Mistake, match="are not waiting"):
        start_in(desk, "ada", "random", Filters("decided"))


def test_an_empty_project_has_an_empty_inbox(empty):
    assert inbox(empty).rows == ()
    assert inbox(empty, filters=Filters("all")).total == 0
    with pytest.raises(Mistake, match="probabilities are known"):
        offer(empty, "ada", Filters(), 0.9)


def test_likeliness_in_words():
    assert likely(Guess("d", "c", -1.5, None, 0.1, 0.1)) == "score −1.50"
    assert likely(Guess("d", "c", 2.0, 0.9999, 0.1, 0.1)) == "over 99 % likely"


@pytest.fixture
def sure(desk):
    """The desk, its guesses as if some were sure."""
    assert desk.model().calibrator is not None
    found = {id_: desk.guesses.best.get(id_) for id_ in NEW}
    for at, (id_, guess) in enumerate(found.items()):
        chance = 0.99 - at / 20
        desk.guesses.best[id_] = Guess(id_, guess.category, 1.5, chance, 0.5, 0.5)
    desk.guesses._orders.clear()  # noqa: SLF001
    return desk


def test_sure_guesses_are_offered_and_accepted_at_once(sure):
    sure.claims.take("new-1", "bo")
    found = offer(sure, "ada", Filters(), 0.88)
    assert [row.id for row, _ in found.rows] == ["new-0", "new-2"]
    assert found.total == 2
    assert found.wrong == pytest.approx(0.01 + 0.11)
    say(sure, "new-2", who="bo", assign=("birds",))
    done = accept(sure, "ada", [guess for _, guess in found.rows], 0.88)
    assert done.left == ("new-2",)
    assert len(done.numbers) == 1
    labels = sure.store.labels()
    assert labels["new-0"] == {"bees": 1.0}
    assert labels["new-2"] == {"birds": 1.0}, "what bo said meanwhile stands"
    ((rank, score, note),) = sure.store.run(
        "SELECT rank, score, note FROM judgments WHERE seq = ?", done.numbers
    )
    assert (rank, score) == (1, 1.5)
    assert "88 % likely or more" in note


def test_only_what_is_sure_enough_and_shown(sure, monkeypatch):
    monkeypatch.setattr(accepting, "ACCEPTED_AT_ONCE", 2)
    found = offer(sure, "ada", Filters(), 0.5)
    assert (len(found.rows), found.total) == (2, 6)
    assert offer(sure, "ada", Filters(branch="bread"), 0.5).total == 2
    assert offer(sure, "ada", Filters(), 1.0).rows == ()
    with pytest.raises(Mistake, match="above 0"):
        offer(sure, "ada", Filters(), 0.0)
    with pytest.raises(Mistake, match="only undecided"):
        offer(sure, "ada", Filters("decided"), 0.9)
    with pytest.raises(Mistake, match="no document is selected"):
        accept(sure, "ada", [], 0.9)
    with pytest.raises(Mistake, match="at most 2"):
        accept(sure, "ada", [Guessed("new-0", "bees", 1.0, 0)] * 3, 0.9)
