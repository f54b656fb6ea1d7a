"""Filters leave what they say, totals and facets count it, slips are corrected."""

import itertools

import numpy as np
import pytest

from classmark.problems import Mistake
from classmark.text import Analyzer
from classmark.workbench.deciding.decide import Decision, decide_on, undo_for
from classmark.workbench.deciding.together import category_named, label_all
from classmark.workbench.search.desk_search import all_answers, search_desk
from classmark.workbench.search.filters import SearchFilters
from classmark.workbench.search.search import QueryOptions
from classmark.workbench.search.spelling import Vocabulary, distance
from projects import TREE, new_desk, parish, records_of


@pytest.fixture
def desk(tmp_path):
    dated = [
        {"id": f"old-{year}", "text": "honey of the year", "date": f"{year}-06-01"}
        for year in (2019, 2021, 2023)
    ]
    records = [*parish(decided=True), *parish(10, 12), *records_of(dated)]
    with new_desk(tmp_path / "shelf", records, TREE, indexed=True) as opened:
        yield opened


def ids(found):
    return [hit.id for hit in found.hits]


def answered(desk, query, k=100, page=1, **filters):
    wish = QueryOptions(k=k, filters=SearchFilters(**filters), page=page)
    return search_desk(desk, query, wish)


def test_the_total_and_the_facets_are_of_all_answers_not_of_the_page(desk):
    found = answered(desk, "note", k=3)
    assert len(found.hits) == 3
    assert found.total == 48
    counts = {facet.category: facet.count for facet in found.facets}
    assert counts == dict.fromkeys(("bread", "candles", "bees", "birds"), 10)
    assert {facet.name for facet in found.facets} == {
        "Bread",
        "Candles",
        "Bees",
        "Birds",
    }


@pytest.mark.parametrize("model", [None, "dirichlet", "boolean"])
def test_pages_together_are_the_whole_ranking(desk, model):
    whole = search_desk(desk, "honey swarm", QueryOptions(model, k=20))
    pages = [
        search_desk(desk, "honey swarm", QueryOptions(model, k=4, page=page))
        for page in range(1, 6)
    ]
    assert list(itertools.chain(*map(ids, pages))) == ids(whole)
    ranks = [hit.rank for page in pages for hit in page.hits]
    assert ranks == list(range(1, len(ranks) + 1))


def test_pages_end_where_nobody_would_read_on(desk):
    with pytest.raises(Mistake, match="the first 1,000 documents"):
        answered(desk, "honey", k=100, page=11)


@pytest.mark.parametrize("query", ["note", "+note -wasp", "#sum(note honey)"])
def test_a_category_leaves_its_branch(desk, query):
    found = answered(desk, query, category="nature")
    assert {id_.split("-")[0] for id_ in ids(found)} == {"bees", "birds"}
    assert found.total == len(found.hits) == 20
    assert [hit.labels for hit in found.hits if hit.id == "bees-1"] == [
        (("bees", "Bees"),)
    ]


def test_decided_undecided_and_set_aside_part_the_answers(desk):
    desk.write(lambda project: project.store.document("bees-10"))
    decide_on(desk, "bees-10", Decision(aside=True), {}, "ada")
    shown = {show: set(ids(answered(desk, "note", show=show)))
             for show in ("decided", "undecided", "aside")}  # fmt: skip
    assert shown["aside"] == {"bees-10"}
    assert shown["undecided"] == {
        f"{name}-{at}" for name in ("bread", "candles", "bees", "birds")
        for at in (10, 11)
    } - {"bees-10"}  # fmt: skip
    assert set().union(*shown.values()) == set(ids(answered(desk, "note")))
    assert sum(map(len, shown.values())) == 48


@pytest.mark.parametrize(
    ("since", "until", "years"),
    [
        ("2020", "", {2021, 2023}),
        ("", "2021", {2019, 2021}),
        ("2021-06-01", "2021-06-01", {2021}),
        ("2021-06-02", "2022", set()),
    ],
)
def test_dates_that_were_imported_are_compared(desk, since, until, years):
    found = answered(desk, "year", since=since, until=until)
    assert set(ids(found)) == {f"old-{year}" for year in years}
    assert found.total == len(years)


def test_words_of_one_field(desk):
    title = answered(desk, "honey", field="title")
    assert title.hits
    assert all("honey" in hit.title.lower() for hit in title.hits)
    assert title.total == len(title.hits) < answered(desk, "honey").total
    with pytest.raises(Mistake, match="no field 'shelf'"):
        answered(desk, "honey", field="shelf")


def test_filtered_lists_and_later_pages_are_not_logged(desk):
    desk.change_settings({"search.log": "named"}, "ada")
    assert answered(desk, "honey", k=2).impression is not None
    assert answered(desk, "honey", k=2, page=2).impression is None
    assert answered(desk, "honey", show="decided").impression is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"category": "wasps"}, "no category 'wasps'"),
        ({"show": "some"}, "show is 'some'"),
        ({"since": "May"}, "since is 'May'"),
    ],
)
def test_filters_that_cannot_be_are_refused(desk, wrong, words):
    with pytest.raises(Mistake, match=words):
        answered(desk, "honey", **wrong)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("hony", "honey"),
        ("honye swarm", "honey swarm"),
        ("title:feathr +nest", "title:feather +nest"),
        ("migratoin", "migration"),
        ("pollllen", "pollen"),
        ("honey", ""),
        ("zzzzzz", ""),
        ("bes", ""),
    ],
)
def test_a_slip_is_corrected_by_the_words_of_the_documents(desk, typed, meant):
    assert search_desk(desk, typed, QueryOptions()).meant == meant


def test_the_distance_is_that_of_all_edits():
    """Against a search over all single edits, two deep."""
    letters = "abc"

    def edits(word):
        for at in range(len(word) + 1):
            head, tail = word[:at], word[at:]
            yield from (head + letter + tail for letter in letters)
            if tail:
                yield head + tail[1:]
                yield from (head + letter + tail[1:] for letter in letters)
            if len(tail) > 1:
                yield head + tail[1] + tail[0] + tail[2:]

    words = [
        "".join(w) for n in (1, 2, 3, 4) for w in itertools.product(letters, repeat=n)
    ]
    for word in ("abc", "aabb", "ca"):
        one = {word, *edits(word)}
        for other in words:
            slow = 0 if other == word else 1 if other in one else 2
            assert min(distance(word, other), 2) == slow


def test_a_word_that_many_documents_have_is_not_corrected():
    class Field:
        blob, df = b"hike\nhive\n", np.array([500, 9])

    vocabulary = Vocabulary([Field], Analyzer.parse("words|lower"))
    assert vocabulary.nearest("hive") is None
    assert vocabulary.nearest("hivve") == "hive"
    assert vocabulary.nearest("hikke") == "hike"


def test_many_documents_are_labelled_as_one_group_that_one_undo_takes_back(desk):
    before = dict(desk.state.labels)
    found = all_answers(desk, "honey", SearchFilters(show="undecided"), 100)
    done = label_all(desk, [*found, "bees-1"], "bees", "ada")
    assert (done.labelled, done.had, done.name) == (len(found), 1, "Bees")
    assert all(desk.state.labels[id_] == ("bees",) for id_ in found)
    undo_for(desk, "ada")
    assert desk.state.labels == before
    with pytest.raises(Mistake, match="already"):
        label_all(desk, ["bees-1"], "bees", "ada")
    with pytest.raises(Mistake, match="no document is selected"):
        label_all(desk, [], "bees", "ada")
    with pytest.raises(Mistake, match="at most 3 can be used"):
        all_answers(desk, "note", SearchFilters(), 3)


def test_a_category_is_typed_as_its_id_or_its_name(desk):
    assert category_named(desk, " candles ") == "candles"
    assert category_named(desk, "CANDLES") == "candles"
    with pytest.raises(Mistake, match="did you mean Candles"):
        category_named(desk, "candels")
    with pytest.raises(Mistake, match="choose one from the taxonomy"):
        category_named(desk, "xylophone")
