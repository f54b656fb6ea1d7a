"""Are thousands of words found as they are one by one?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.arrays import rows_from
from classmark.corpus.documents import join_terms
from classmark.index import kernels_postings as fast
from classmark.index.postings import Words, field_of
from classmark.index.search import Searcher
from classmark.problems import Mistake
from oracles import lookup as slow

plain = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=5)
wild = st.text(st.sampled_from("ab\nété東\ud800"), max_size=4)


def joined_words(terms):
    return np.frombuffer(join_terms(terms), np.uint8)


def words_of(terms):
    ordered = sorted(terms, key=lambda term: term.encode(errors="surrogatepass"))
    return ordered, Words(joined_words(ordered))


@given(st.lists(plain, max_size=30))
def test_hashes_and_bounds(terms):
    joined, answers = joined_words(terms), []
    for room in (len(terms), len(terms) // 2):
        for hash_words in (fast.hash_words, slow.hash_words):
            hashes, bounds = np.zeros(room, np.uint64), np.zeros(room + 1, np.uint64)
            assert hash_words(joined, hashes, bounds) == len(terms)
            answers.append((hashes.tolist(), bounds.tolist()))
    assert answers[0] == answers[1]
    assert answers[2] == answers[3]


@given(st.lists(st.integers(0, 2**32 - 1), max_size=40))
def test_slots(hashes):
    ours, theirs = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    fast.enter_words(np.array(hashes, np.uint64), ours)
    slow.enter_words(hashes, theirs)
    assert ours.tolist() == theirs.tolist()


@given(st.sets(plain, max_size=30), st.lists(plain, max_size=20))
def test_words_are_found(terms, asked):
    ordered, words = words_of(terms)
    asked += ordered[::2]
    joined = joined_words(asked)
    hashes, bounds = np.empty(len(asked), np.uint64), np.empty(len(asked) + 1, "u8")
    fast.hash_words(joined, hashes, bounds)
    ours, theirs = np.zeros(len(asked), np.int64), np.zeros(len(asked), np.int64)
    for find_words, out in ((fast.find_words, ours), (slow.find_words, theirs)):
        find_words(hashes, joined, bounds, words.table, out)
    assert ours.tolist() == theirs.tolist() == words.numbers(asked).tolist()


@given(st.sets(wild.filter(lambda t: "\n" not in t)), st.lists(wild))
def test_many_are_found_as_one_by_one(terms, asked):
    _, words = words_of(terms)
    found = [words.find(word.encode(errors="surrogatepass")) for word in asked]
    assert words.numbers(asked).tolist() == [-1 if n is None else n for n in found]


def test_words_whose_hashes_meet():
    letters = [chr(97 + i) + chr(97 + j) for i in range(26) for j in range(26)]
    _, words = words_of(letters)
    assert words.numbers(letters).tolist() == list(range(26 * 26))
    assert (words.numbers([letter + "a" for letter in letters]) == -1).all()


@given(st.sets(plain, max_size=30), st.randoms(use_true_random=False))
def test_words_in_another_order(terms, random):
    ordered, words = words_of(terms)
    order = random.sample(range(len(ordered)), len(ordered))
    moved, out = words.reordered(np.array(order, np.int64)), []
    assert moved.numbers([ordered[i] for i in order]).tolist() == list(
        range(len(order))
    )
    for room in (fast, slow):
        copy = np.zeros(len(words.table[1]), np.uint8)
        room.copy_words(*words.table[1:], np.array(order, np.int64), copy)
        out.append(copy.tobytes())
    assert out[0] == out[1]


def test_terms_in_no_order():
    field = field_of(rows_from(np.eye(3)), ["wasp", "ant", "bee"])
    asked = ["bee", "x\ny", "ant", "wasp", "none"]
    assert field.words.numbers(asked).tolist() == [2, -1, 1, 0, -1]
    with pytest.raises(Mistake, match="newline"):
        assert field_of(rows_from(np.eye(1)), ["a\nb"]).words


def test_a_term_that_is_no_string():
    searcher = Searcher(field_of(rows_from(np.eye(1)), ["ant"]))
    with pytest.raises(Mistake, match="term 7 is int"):
        searcher.search_vector({"ant": 1.0, 7: 2.0})
