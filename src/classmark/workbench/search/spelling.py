"""Did you mean: words that the documents have, a letter or two from what was typed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from classmark.index.index import context_of
from classmark.index.query_language import Group, Leaf, Node, Not, Parts, Word, parse
from classmark.workbench.search.hits import snippet

if TYPE_CHECKING:
    from classmark.index.index import Index
    from classmark.index.postings import Field
    from classmark.text import Analyzer
    from classmark.workbench.project import Project
    from classmark.workbench.search.search import ProjectIndex

SHORTEST = 4  # letters of a word that is corrected
RARE = 2  # documents, up to which a word may be a slip
TIMES = 20  # as many documents, at least, have what it may stand for
LETTERS = 40  # the most frequent ones, of any script
CLOSE = 4000  # terms that are compared letter by letter, the most frequent first


def distance(a: str, b: str, most: int = 2) -> int:
    """The Damerau–Levenshtein distance of neighbours [Damerau64], at most ``most`` + 1.

    >>> distance("beekeping", "beekeeping"), distance("hvie", "hive")
    (1, 1)
    """
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            cost = min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return min(last[-1], most + 1)


class Vocabulary:
    """The terms of an index with the documents that have them, for corrections."""

    def __init__(self, fields: Iterable[Field], analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.df: dict[str, int] = {}
        for field in fields:
            text = bytes(field.blob).decode(errors="surrogatepass")
            words = text.split("\n")[:-1]
            for term, count in zip(words, field.df.tolist(), strict=True):
                self.df[term] = max(self.df.get(term, 0), count)
        self.df.pop("", None)
        letters = Counter(letter for term in self.df for letter in term)
        common = [letter for letter, _ in letters.most_common() if letter.isalpha()]
        self.letters = common[:LETTERS]
        self._by_start: dict[str, list[str]] = {}

    def nearest(self, word: str) -> str | None:
        """The most frequent term one letter away from a word, else two; None: none is.

        One letter is of the word as it is typed, two are of what it becomes.
        """
        word = word.lower()
        (term,) = self.analyzer.terms([word])
        count = self.df.get(term, 0)
        if len(word) < SHORTEST or count > RARE or not word.isalpha():
            return None
        one = self.analyzer.terms(list(self._edits(word)))
        near = {each for each in one if self.df.get(each, 0) > TIMES * count}
        if not near and not count and len(word) >= SHORTEST + 2:
            near = {each for each in self._alike(term) if distance(term, each) <= 2}
        return max(near, key=lambda each: (self.df[each], each), default=None)

    def _edits(self, word: str) -> Iterator[str]:
        for at in range(len(word) + 1):
            head, tail = word[:at], word[at:]
            for letter in self.letters:
                yield head + letter + tail
                if tail:
                    yield head + letter + tail[1:]
            if tail:
                yield head + tail[1:]
            if len(tail) > 1:
                yield head + tail[1] + tail[0] + tail[2:]

    def _alike(self, term: str) -> list[str]:
        """Terms that begin alike and are about as long, the most frequent first."""
        if not self._by_start:
            for near in sorted(self.df, key=lambda near: -self.df[near]):
                self._by_start.setdefault(near[:1], []).append(near)
        same = self._by_start.get(term[:1], [])
        return [near for near in same if abs(len(near) - len(term)) <= 2][:CLOSE]


def did_you_mean(project: Project, opened: ProjectIndex, query: str) -> str:
    """The query with words that the documents have; nothing where all words are there.

    Operators, fields and phrases stay as they are.
    """
    index = opened.index
    fields = context_of(index, query).fields.values()
    leaves = list(_words(parse(query)))
    if not any(_is_rare(index, leaf, fields) for leaf in leaves):
        return ""
    vocabulary: Vocabulary = opened.cached(
        "vocabulary", lambda: Vocabulary(fields, index.analyzer)
    )
    changed: list[tuple[int, int, str]] = []
    for leaf in leaves:
        near = vocabulary.nearest(leaf.text) if leaf.text.isalpha() else None
        if near is not None:
            start = query.index(leaf.text, leaf.at)
            word = _as_written(project, index, near)
            changed.append((start, start + len(leaf.text), word))
    if not changed:
        return ""
    edges = [
        0,
        *(edge for start, end, _ in changed for edge in (start, end)),
        len(query),
    ]
    kept = [query[a:b] for a, b in list(pairwise(edges))[::2]]
    words = [word for *_, word in changed] + [""]
    return "".join(text + word for text, word in zip(kept, words, strict=True))


def _words(node: Node | None) -> Iterator[Word]:
    if isinstance(node, Word):
        yield node
    elif isinstance(node, Not):
        yield from _words(node.part)
    elif isinstance(node, Parts):
        for part in node.parts:
            yield from _words(part)
    elif isinstance(node, Group):
        for clause in node.clauses:
            yield from _words(clause.part)


def _is_rare(index: Index, leaf: Leaf, fields: Iterable[Field]) -> bool:
    for term in index.analyzer(leaf.text):
        numbers = [(field, field.number(term)) for field in fields]
        if all(n is None or int(field.df[n]) <= RARE for field, n in numbers):
            return True
    return False


def _as_written(project: Project, index: Index, term: str) -> str:
    """A word that became the term, as a document has it."""
    for field in context_of(index, "").fields.values():
        number = field.number(term)
        if number is not None:
            lists = field.lists(np.array([number], np.int64))
            item = int(lists.items[int(lists.begins[0])])
            document = project.store.document(index.id(item))
            pieces = snippet(document.text, {term}, index.analyzer)
            return next((piece.text.lower() for piece in pieces if piece.hit), term)
    return term
