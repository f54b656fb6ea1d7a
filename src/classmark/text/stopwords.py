"""Which words of a language say nothing about the subject of a text?

The lists are function words (articles, pronouns, prepositions, conjunctions, auxiliary
verbs), in lower case; where an apostrophe cuts a word, its pieces are listed.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


@cache
def _lists() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    source = files("classmark.text").joinpath("stopwords.csv")
    for row in csv.DictReader(source.read_text(encoding="utf-8").splitlines()):
        listed = found.get(row["language"], frozenset())
        found[row["language"]] = listed | set(row["words"].split())
    return found


def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language.

    >>> "the" in stop_words("english"), "library" in stop_words("english")
    (True, False)
    """
    return _lists().get(language, frozenset())
