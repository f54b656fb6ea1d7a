"""A query's words become terms, as those of the documents did, but quickly."""

from __future__ import annotations

import re

from classmark.text.analysis import Analyzer
from classmark.text.tokens import words

_WORDS = re.compile("[a-z0-9]+")
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
