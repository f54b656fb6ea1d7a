"""Queries are read and refused as they should be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.index.query_language import (
    DEEPEST,
    OPERATORS,
    And,
    Belief,
    Clause,
    Group,
    MalformedQuery,
    Not,
    Or,
    Phrase,
    Word,
    parse,
)
from classmark.problems import Mistake
from oracles.queries import printed

NAMES = st.sampled_from(["", "title", "dc.creator", "été", "x-1"])
TEXTS = st.sampled_from(
    ["bee", "bees'", "c#", "free-flight", "東京", "a:", "?", "and", "½", "x+y", "3"]
)
words = st.builds(Word, TEXTS, NAMES)
phrases = st.builds(
    Phrase, st.text(st.characters(exclude_characters='"'), max_size=8), NAMES
)


def beliefs(parts):
    plain = st.sampled_from([name for name in OPERATORS if name not in ("not", "wsum")])
    weight = st.floats(0, 1e300, exclude_min=True)
    return st.one_of(
        st.builds(Belief, plain, st.lists(parts, min_size=1, max_size=3).map(tuple)),
        st.builds(lambda part: Belief("not", (part,)), parts),
        st.lists(st.tuples(weight, parts), min_size=1, max_size=3).map(
            lambda rows: Belief(
                "wsum", tuple(part for _, part in rows), tuple(w for w, _ in rows)
            )
        ),
    )


def nodes(parts):
    two = st.lists(parts, min_size=2, max_size=4).map(tuple)
    clauses = st.lists(
        st.builds(Clause, parts, st.sampled_from(["", "+", "-"])),
        min_size=2,
        max_size=4,
    )
    return st.one_of(
        parts.map(Not), two.map(And), two.map(Or), clauses.map(tuple).map(Group)
    )


operators = st.recursive(words, beliefs, max_leaves=6).filter(
    lambda node: isinstance(node, Belief)
)
trees = st.recursive(st.one_of(words, phrases, operators), nodes, max_leaves=12)


def read(query):
    """Return the tree, or why there is none."""
    try:
        return parse(query), None
    except MalformedQuery as problem:
        return None, problem


@given(trees)
def test_what_is_printed_is_read_back(tree):
    assert parse(printed(tree)) == tree


@given(st.one_of(st.text(), st.text('ab"()+-#: ANDORT\n')))
def test_any_string_is_read_or_refused_with_a_caret(query):
    tree, problem = read(query)
    if problem is None:
        assert tree is None or parse(printed(tree)) == tree
        return
    first, shown, caret = str(problem).split("\n")
    assert first == problem.line
    assert first.startswith(f"query, character {problem.at + 1}: ")
    assert 0 <= problem.at <= len(query)
    assert caret.strip() == "^"
    assert shown.startswith("  ")


def test_precedence_and_signs():
    a, b, c, d = map(Word, "abcd")
    assert parse("a b OR c AND d") == Group((Clause(a), Clause(Or((b, And((c, d)))))))
    assert parse("a NOT b") == parse("a -b") == Group((Clause(a), Clause(b, "-")))
    assert parse("a (NOT b)") == Group((Clause(a), Clause(Not(b))))
    assert parse("-a AND b") == parse("NOT a AND b") == And((Not(a), b))
    assert parse("-a") == parse("NOT a") == Not(a)
    assert parse("+a") == parse("((a))") == parse(" a ") == a
    assert parse("a AND -b AND NOT NOT c") == And((a, Not(b), Not(Not(c))))
    assert parse("+(a OR b) -c") == Group((Clause(Or((a, b)), "+"), Clause(c, "-")))


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("a - b", "a b"),
        ("--a", "a"),
        ("#1 a", "1 a"),
        ("Re: hello", "Re: hello"),
        ("title:a:b", "title:a:b"),
        ('title:"a b"c', 'title:"a b" c'),
        ("+#and(a)", "#and(a)"),
        ("+#a b", "a b"),
        ("#wsum (2 a 1e-3 #not( b ))", "#wsum(2 a 0.001 #not(b))"),
        ("free-flight", "free-flight"),
        ("a and b", "a and b"),
    ],
)
def test_how_it_may_be_typed(typed, read):
    assert printed(parse(typed)) == read


@pytest.mark.parametrize("query", ["", "  ", "- + #", ":", "::"])
def test_nothing_is_asked(query):
    assert parse(query) is None


@pytest.mark.parametrize(
    ("query", "at", "said"),
    [
        ("bees AND", 8, "expected after AND"),
        ("bees AND (", 10, "expected after (: write one, or leave ( out"),
        ("OR bees", 0, "expected before OR: write one, or leave OR out"),
        ("bees OR )", 8, "expected after OR"),
        (") bees", 0, "there is no ( for this )"),
        ("(bees", 0, "the ) of this ( is missing"),
        ("bees) x", 4, "there is no ( for this )"),
        ("bees ()", 6, "between ( and )"),
        ('say "bees', 4, "closing"),
        ("title:(a b)", 6, "right after title:"),
        ("+NOT a", 1, "expected after +"),
        ("+a AND b", 3, "side by side"),
        ("#near(a b)", 0, "#near is not known: use one of #and"),
        ("#and(a", 0, "the ) of this #and( is missing"),
        ("#and(a (b))", 7, "within #and"),
        ('#sum("a b")', 5, "within #sum"),
        ("#and()", 0, "needs at least one part"),
        ("#not(a b)", 0, "needs one part"),
        ("#wsum(a 1)", 6, "a weight"),
        ("#wsum(1 a 2)", 11, "within #wsum"),
        ("#wsum(0 a)", 0, "not all 0"),
        ("#wsum(1e999 a)", 0, "not all 0"),
        ("(" * 60 + "a" + ")" * 60, DEEPEST + 1, "levels"),
        ("NOT " * 60 + "a", 4 * DEEPEST + 4, "levels"),
    ],
)
def test_a_malformed_query_is_shown_with_the_place(query, at, said):
    with pytest.raises(MalformedQuery) as refused:
        parse(query)
    assert said in refused.value.line
    assert refused.value.at == at


def test_the_caret_stands_below_the_place():
    with pytest.raises(MalformedQuery) as refused:
        parse("東京 e\u0301\tAND )")
    assert str(refused.value).split("\n")[1:] == [
        "  東京 e\u0301 AND )",
        "  " + " " * 11 + "^",
    ]
    with pytest.raises(MalformedQuery) as refused:
        parse("x " * 200 + ")" + " y" * 200)
    _, shown, caret = str(refused.value).split("\n")
    assert shown[caret.index("^")] == ")"
    assert len(shown) < 80


def test_a_query_is_a_string():
    with pytest.raises(Mistake, match="query is int: give a string"):
        parse(3)


def test_a_reserved_word_may_be_looked_up_in_a_field():
    assert parse("title:AND") == Word("AND", "title")
