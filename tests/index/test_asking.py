"""Queries of the language are answered as their definition says."""

from bisect import bisect_left
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classmark.index import kernels_topk as fast
from classmark.index.asking import documents_of
from classmark.index.index import Index, context_of
from classmark.index.models import MODELS
from classmark.index.query_language import (
    And,
    Clause,
    Group,
    MalformedQuery,
    Not,
    Or,
    Phrase,
    Word,
    parse,
)
from classmark.index.search import log_prior
from classmark.problems import Mistake
from oracles import sets as slow
from oracles.described import described
from oracles.indexed import fielded
from oracles.queries import printed

TEXTS = ["bee", "bees", "hive", "the", "wasp", "東京", "free-flight", "queen", "of"]
numbers = st.lists(st.integers(0, 300), unique=True).map(sorted)
ROOMS = count()


def nodes(parts):
    two = st.lists(parts, min_size=2, max_size=3).map(tuple)
    clauses = st.lists(
        st.builds(Clause, parts, st.sampled_from(["", "+", "-"])),
        min_size=2,
        max_size=3,
    )
    return st.one_of(
        parts.map(Not), two.map(And), two.map(Or), clauses.map(tuple).map(Group)
    )


names = st.sampled_from(["", "", "title", "body"])
words = st.builds(Word, st.sampled_from(TEXTS), names)
phrases = st.builds(
    Phrase, st.lists(st.sampled_from(TEXTS), max_size=3).map(" ".join), names
)
trees = st.recursive(st.one_of(words, phrases), nodes, max_leaves=6)
BOTH = [{"id": "x", "title": "", "body": ""}]


@pytest.mark.parametrize("name", ["intersect", "unite", "subtract"])
@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
@given(a=numbers, b=numbers, thin=st.booleans())
def test_sets_are_joined(name, kind, a, b, thin):
    first, second = np.array(a[:2] if thin else a, kind), np.array(b, kind)
    for left, right in ((first, second), (second, first)):
        mine, plain = np.empty(800, kind), np.empty(800, kind)
        n = getattr(fast, name)(left, right, mine)
        assert n == getattr(slow, name)(left, right, plain)
        assert mine[:n].tolist() == plain[:n].tolist()


@given(numbers, st.integers(0, 310), st.integers(0, 20))
def test_seeking(values, target, low):
    found = np.array(values, np.uint32)
    low = min(low, len(values))
    assert fast.gallop(found, low, len(values), target) == bisect_left(
        values, target, lo=low
    )


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """Return a new folder each time it is called."""
    folder = tmp_path_factory.mktemp("indexes")
    return lambda: folder / str(next(ROOMS))


def index_of(room, documents, gone=()):
    index = Index.build(room(), [*BOTH, *documents], positions=True)
    if gone:
        index.delete(gone)
    return index.commit()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fielded, trees, st.data())
def test_a_query_describes_what_its_definition_says(room, documents, tree, data):
    ids = [document["id"] for document in documents]
    gone = data.draw(st.lists(st.sampled_from(ids), unique=True)) if ids else []
    index = index_of(room, documents, gone)
    texts = {
        d["id"]: {name: d.get(name, "") for name in ("title", "body")}
        for d in [*BOTH, *documents]
        if d["id"] not in gone
    }
    expected = described(index.analyzer, texts, tree)
    hits = index.ask(printed(tree), len(texts), model="boolean")
    assert [hit.id for hit in hits] == expected
    assert {hit.score for hit in hits} <= {1.0}
    assert index.ask(printed(tree), 1, model="boolean") == hits[:1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fielded, trees, st.sampled_from(sorted(MODELS)), st.integers(0, 5))
def test_ranking_is_the_exhaustive_one_within_the_set(room, documents, tree, model, k):
    index = index_of(room, documents)
    asked = index.question(printed(tree), model)
    inside = set(documents_of(context_of(index, printed(tree))).tolist())
    found = asked.answer(k)
    assert len(found) <= k
    everyone = []
    for number in range(len(index)):
        explained = asked.explain(number)
        if explained.found and number in inside:
            everyone.append((-explained.score, number))
    assert len(found) == min(k, len(everyone))
    best = sorted(everyone)[:k]
    assert [-hit.score for hit in found] == pytest.approx([s for s, _ in best])
    for hit in found:
        assert hit.number in inside


@pytest.fixture(scope="module")
def bees(room):
    return Index.build(
        room(),
        [
            {"id": "a", "title": "Bees", "body": "The queen of the bees and her hive"},
            {"id": "b", "title": "Wasps", "body": "A queen wasp kills the bees"},
            {"id": "c", "title": "Hives", "body": "Queen bees, honey, honey"},
            {"id": "d", "title": "Tea", "body": "honey in tea"},
        ],
        positions=True,
    )


def found(index, query, model=None, **options):
    return [hit.id for hit in index.ask(query, 10, model=model, **options)]


def test_filters_before_ranking(bees):
    assert found(bees, "bees honey") == [h.id for h in bees.search("bees honey")]
    full = {h.id: h.score for h in bees.search("bees honey")}
    kept = bees.ask("bees +honey")
    assert {hit.id for hit in kept} == {"c", "d"}
    assert all(full[hit.id] == hit.score for hit in kept)
    assert set(found(bees, "bees -wasp")) == {"a", "c"}
    assert found(bees, '"queen bees"') == ["c"]
    assert set(found(bees, '"queen of the bees"')) == {"a"}
    assert found(bees, "title:bees honey -tea") == ["a", "c"]
    assert found(bees, "-bees") == []
    assert found(bees, "-bees", "boolean") == ["d"]
    assert found(bees, "the", "boolean") == found(bees, "", "boolean") == []
    assert bees.search("NOT bees", model="boolean")[0].id == "d"
    assert found(bees, "") == found(bees, "the of") == []


def test_priors_and_field_weights_reach_the_ranking(bees):
    prior = log_prior([0.7, 0.1, 0.1, 0.1], 5.0)
    assert found(bees, "bees AND queen", prior=prior)[0] == "a"
    asked = bees.question("bees AND queen", fields={"title": 3.0, "body": 0.0})
    assert asked.answer(1)[0].id == "a"
    hit = bees.question("bees AND queen", prior=prior).answer(1)[0]
    told = bees.question("bees AND queen", prior=prior).explain(hit.number)
    assert told.score == pytest.approx(hit.score)
    assert told.own == pytest.approx(prior.parts[hit.number])


def test_operators_of_beliefs(bees):
    assert found(bees, "#and(bees hive)")[0] in "ac"
    assert found(bees, "#not(honey)")[-1] == "c"
    first, second = (bees.ask(f"#{name}(honey tea)") for name in ("and", "combine"))
    assert [h.id for h in first] == [h.id for h in second]
    assert second[0].score == pytest.approx(first[0].score ** 0.5)
    weighted, plain = bees.ask("#wsum(1 honey 1 tea)"), bees.ask("#sum(honey tea)")
    assert weighted == plain
    assert bees.ask("#max(title:tea)")[0].id == "d"
    assert bees.ask("#or(the of)") == []
    assert bees.ask("#sum(the honey)") == bees.ask("#sum(honey)")


def test_the_courses_boolean_query(room):
    """Programming and language and (C or Java), over its three documents."""
    texts = {"d1": (3, 2, 4, 0), "d2": (5, 1, 0, 0), "d0": (0, 0, 0, 3)}
    words = ("programming ", "language ", "c ", "java ")
    index = Index.build(
        room(),
        [(name, "".join(map(str.__mul__, words, n))) for name, n in texts.items()],
        analyzer="words|lower",
    )
    found = index.search("programming AND language AND (c OR java)", model="boolean")
    assert [hit.id for hit in found] == ["d1"]


def test_the_courses_two_dice(room):
    """The sequence 1 3 3 2 is likelier thrown by the die of odd numbers."""
    dice = {"D1": "1 3 5 " * 32 + "2 4 6 ", "D2": "1 3 5 " + "2 4 6 " * 32}
    index = Index.build(room(), list(dice.items()), analyzer="words|lower")
    first, second = index.search("1 3 3 2", model="jm", **{"lambda": 0.01})
    assert (first.id, second.id) == ("D1", "D2")
    chance = {"often": 0.99 * 32 / 99 + 0.01 / 6, "seldom": 0.99 / 99 + 0.01 / 6}
    apart = 2 * np.log(chance["often"] / chance["seldom"])  # 3 throws against 1
    assert first.score - second.score == pytest.approx(apart, rel=1e-5)


def test_beliefs_by_hand(room):
    index = Index.build(room(), [("a", "bee bee hive"), ("b", "wasp"), ("c", "bee")])
    mean = 5 / 3
    idf = np.log(3.5 / np.array([2, 1])) / np.log(4)
    bee = 0.4 + 0.6 * idf[0] * 2 / (2 + 0.5 + 1.5 * 3 / mean)
    hive = 0.4 + 0.6 * idf[1] * 1 / (1 + 0.5 + 1.5 * 3 / mean)
    for query, belief in {
        "#and(bee hive)": bee * hive,
        "#or(bee hive)": 1 - (1 - bee) * (1 - hive),
        "#wsum(3 bee 1 #not(hive))": (3 * bee + 1 - hive) / 4,
        "#combine(bee hive)": (bee * hive) ** 0.5,
        "#max(bee hive)": max(bee, hive),
    }.items():
        scores = {hit.id: hit.score for hit in index.ask(query)}
        assert scores["a"] == pytest.approx(belief)
        assert set(scores) == {"a", "c"}


@pytest.mark.parametrize(
    ("query", "options", "said"),
    [
        (
            "author:bees",
            {},
            "query, character 1: there is no field 'author': use title, body",
        ),
        ("bees -author:x", {}, "query, character 7: "),
        ("bees #and(a b)", {}, "stands among other parts"),
        ("#and(a b)", {"model": "boolean"}, "does not make a set"),
        ("#and(a b)", {"model": "bm25"}, "name no other model"),
        ("bees", {"model": "boolean", "k1": 1}, "boolean takes no k1"),
        ("bees", {"model": "bm26"}, "model is 'bm26'"),
        ("bees", {"feedback": "rm4"}, "feedback is 'rm4'"),
        ("bees", {"k": -1, "model": "boolean"}, "k is -1"),
        ("+bees", {"k": -1}, "k is -1"),
        ("+bees hive", {"k": -1}, "k is -1"),
        ("#and(a b)", {"k": -1}, "k is -1"),
        ("(bees", {}, "is missing"),
    ],
)
def test_mistakes_are_told(bees, query, options, said):
    with pytest.raises(Mistake) as refused:
        bees.ask(query, **options)
    assert said in str(refused.value)


def test_a_phrase_needs_positions(room):
    index = Index.build(room(), [("a", "queen bees"), ("b", "bees queen")])
    with pytest.raises(MalformedQuery, match="--positions"):
        index.ask('honey "queen bees"')
    assert found(index, '"bees"') == ["a", "b"]
    assert found(index, '"queen of"', "boolean") == ["a", "b"]
    assert parse('"queen bees"') == Phrase("queen bees")


@given(st.one_of(st.text(), st.text('bee"()+-#: ANDORTitlesum')), st.booleans())
def test_any_string_is_answered_or_refused(bees, query, ranked):
    try:
        hits = bees.ask(query, 3, model=None if ranked else "boolean")
    except MalformedQuery:
        return
    assert len(hits) <= 3


def test_an_empty_index_answers_nothing(room):
    index = Index.build(room(), [])
    for query in ("bees", "NOT bees", "#and(bees)", '+bees -"bees"'):
        assert index.ask(query) == []
    assert index.ask("NOT bees", model="boolean") == []
