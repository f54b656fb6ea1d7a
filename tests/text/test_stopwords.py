"""The stop lists we wrote."""

import csv
from collections import Counter
from importlib.resources import files

import pytest

from classmark.text import languages, stop_words, words


@pytest.mark.parametrize("language", languages())
def test_each_language_has_a_list_of_single_tokens(language):
    listed = stop_words(language)
    assert len(listed) >= 80
    assert all(words(word) == [word] for word in listed)


def test_no_word_is_listed_twice():
    source = files("classmark").joinpath("stopwords.csv").read_text("utf-8")
    listed = Counter(
        (row["language"], word)
        for row in csv.DictReader(source.splitlines())
        for word in row["words"].split()
    )
    assert max(listed.values()) == 1


def test_the_pieces_of_contractions_are_english_stop_words():
    text = "don't you'll isn't he's we've I'm they'd couldn't you're"
    assert not [word for word in words(text) if word not in stop_words("english")]


def test_an_unknown_language_has_no_list():
    assert stop_words("klingon") == frozenset()
