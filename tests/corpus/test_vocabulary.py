"""Vocabularies, their order and their storage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import zeros
from classmark.corpus.counting import count, count_blocks
from classmark.corpus.documents import (
    GrowingVocabulary,
    TokenNumbers,
    Vocabulary,
    join_terms,
    order_terms,
)
from classmark.corpus.runs import CharacterRuns
from classmark.problems import Mistake
from classmark.text import Analyzer

TERMS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40)
SHARED = st.sampled_from(["abcdefgh" * 2, "abcdefgh" * 3, "ab", "é" * 9, "é" * 8])


@given(st.lists(TERMS | st.builds(str.__add__, SHARED, TERMS)), st.integers(1, 5))
def test_order_terms_sorts_as_python_does(terms, size):
    parts = [terms[low : low + size] for low in range(0, len(terms), size)]
    vocabulary, numbers = order_terms([join_terms(part) for part in parts])
    listed = sorted(set(terms) - {""})
    assert vocabulary.terms == listed
    assert numbers.tolist() == [listed.index(t) if t else -1 for t in terms]


@given(st.sets(TERMS.filter(bool)))
def test_arrays_give_the_vocabulary_back(terms):
    vocabulary = Vocabulary.of(terms)
    assert len(vocabulary) == len(terms)
    again = Vocabulary.from_arrays(**vocabulary.to_arrays())
    assert again == vocabulary
    assert again.terms == sorted(terms)
    assert vocabulary.numbers(sorted(terms)).tolist() == list(range(len(terms)))


def test_unsorted_arrays_are_refused():
    blob = np.frombuffer(b"hivebee", np.uint8)
    with pytest.raises(Mistake, match="not sorted"):
        Vocabulary.from_arrays(blob, np.array([4, 7]))


@given(st.lists(TERMS))
def test_a_growing_vocabulary_keeps_its_order_and_goes_on_growing(terms):
    growing = GrowingVocabulary()
    numbers = growing.numbers(terms)
    listed = list(dict.fromkeys(term for term in terms if term))
    assert numbers.tolist() == [listed.index(t) if t else -1 for t in terms]
    again = GrowingVocabulary.from_arrays(**growing.to_arrays())
    assert list(again.number.items()) == list(growing.number.items())
    new = again.numbers(["brand new", "newer"])
    assert new.tolist() == growing.numbers(["brand new", "newer"]).tolist()


def test_a_closed_view_adds_nothing_and_sees_what_comes():
    growing = GrowingVocabulary(["hive", "bee", "hive"])
    closed = growing.closed()
    assert closed.numbers(["wax", "bee", ""]).tolist() == [-1, 1, -1]
    assert len(growing) == len(closed) == 2
    growing.numbers(["wax"])
    assert closed.numbers(["wax"]).tolist() == [2]


@pytest.mark.parametrize(
    ("blob", "ends"), [(b"beebee", [3, 6]), (b"bee", [3, 3]), (b"bee", [0, 3])]
)
def test_double_or_empty_terms_are_refused(blob, ends):
    with pytest.raises(Mistake, match="double or empty"):
        GrowingVocabulary.from_arrays(np.frombuffer(blob, np.uint8), np.array(ends))


def test_take_and_contains():
    vocabulary = Vocabulary.of(["bee", "hive", "wax"])
    assert vocabulary.take([0, 2]).terms == ["bee", "wax"]
    assert "hive" in vocabulary
    assert "honey" not in vocabulary
    assert repr(vocabulary) == "Vocabulary(3 terms)"
    assert vocabulary != Vocabulary.of(["bee"])


READERS = (
    Analyzer(), CharacterRuns(Analyzer(), 4), CharacterRuns(Analyzer(), 3, words=2),
)  # fmt: skip
WORDS = ["a", "The", "bees", "Bee", "hive", "été", "東京", "queen", "''"]
TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS)).map(" ".join) | st.text(max_size=20), max_size=5
)


@given(st.lists(st.tuples(TEXTS, st.booleans()), max_size=4), st.sampled_from(READERS))
def test_tokens_met_before_count_as_texts_do(batches, analysis):
    growing, reference = GrowingVocabulary(), GrowingVocabulary()
    tokens = TokenNumbers(analysis, growing)
    for texts, learn in batches:
        rows = tokens.rows(texts, learn=learn)
        vocabulary = reference if learn else reference.closed()
        (expected,) = count_blocks(texts, analysis, vocabulary)
        assert list(growing.number) == list(reference.number)
        for name in ("starts", "columns", "values"):
            mine, other = getattr(rows, name), getattr(expected, name)
            assert mine.dtype == other.dtype
            assert mine.tolist() == other.tolist()
    fixed = Vocabulary.of(growing.number)
    tokens = TokenNumbers(analysis, fixed)
    for texts, _ in batches * 2:
        expected = count(texts, analysis, fixed).rows
        assert tokens.rows(texts).columns.tolist() == expected.columns.tolist()
        assert tokens.rows(texts).values.tolist() == expected.values.tolist()


def test_pages_are_zero_and_writable():
    held = zeros((3, 5), np.float32)
    held += 1
    assert held.sum() == 15
    assert zeros(0, np.uint8).shape == (0,)
    large = zeros(1 << 22, np.uint8)
    assert not large.any()
