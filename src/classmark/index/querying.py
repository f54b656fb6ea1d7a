"""A query's words become terms, as those of the documents did, but quickly."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

from classmark.index.tree import FIELD, OPERATORS
from classmark.text.analysis import Analyzer
from classmark.text.tokens import words

_WORDS = re.compile("[a-z0-9]+")
_OPERATOR = re.compile(rf"\s*#(?:{'|'.join(OPERATORS)})\s*\(")
_MOST = 1 << 16


class QueryTerms(dict[str, str]):
    """The term of each word that was asked for, remembered; "" where there is none.

    >>> QueryTerms(Analyzer()).of("The hives of bees")
    ['hive', 'bee']
    """

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self._analyzer = analyzer

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST:
            self.clear()
        term = self[word] = self._analyzer.terms([word])[0]
        return term

    def of(self, query: str) -> list[str]:
        """Return what the analyzer returns for a text."""
        found = _WORDS.findall(query.lower()) if query.isascii() else words(query)
        return [term for word in found if (term := self[word])]


def warn_of_language(query: str, fields: Iterable[str]) -> None:
    """Warn whoever gives a query of the language where a text is taken as it is."""
    meant = next((f"{name}:" for name in FIELD.findall(query) if name in fields), "")
    if not meant and (operator := _OPERATOR.match(query)):
        meant = operator[0].strip()
    if meant:
        warnings.warn(
            f"search takes a text as it is, so {meant} in the query is read as words: "
            "index.ask(query) reads fields, phrases, + - AND OR NOT and #operators",
            stacklevel=3,
        )
