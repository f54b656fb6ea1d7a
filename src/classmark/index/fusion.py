"""Words and meaning in one ranking: reciprocal ranks, or one score with a weight.

Candidates are the first ``DEPTH`` documents by each, words by any model of the index
and meaning by cosine. Only documents that the query does not rule out are among them:
words that may be there rule out none.

Reciprocal ranks add 1/(60 + rank) over the two lists [CormackClarkeBuettcher09]; beyond
a list's first ``DEPTH`` a document has no rank in it. The weighted score is

    s(d) = (words(d) − low)/(high − low) + w · cosine(d),

where high is the query's best score by words and low is 0, the lowest that a sum of
parts can be [BruchGaiIngber23]; a model whose scores may be negative has its lowest
among the first ``DEPTH`` as low. It is exact over all documents: as long as one that is
no candidate could still be among the first k, more are taken [FaginLotemNaor03].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.index.asking import filter_of
from classmark.index.dense import DenseIndex
from classmark.index.index import Index, context_of
from classmark.index.query_language import (
    Belief,
    MalformedQuery,
    parse,
    positive_texts,
)
from classmark.index.search import Explanation, Question, Searcher, require_size
from classmark.meaning.sources import TextEncoder
from classmark.problems import Mistake
from classmark.ranking import order

DEPTH = 1000
CONSTANT = 60.0
WEIGHT = 2.0  # chosen on Cranfield and CACM: docs/benchmarks.md


def fuse(rankings: Sequence[Ints], constant: float = CONSTANT) -> tuple[Ints, Floats]:
    """Fuse rankings by reciprocal ranks: RRF(d) = Σ 1/(60 + rank of d), ties by number.

    rankings : items, best first, each;  returns items, best first, and their sums.

    >>> items, scores = fuse([np.array([4, 7, 1]), np.array([7, 9])])
    >>> items.tolist(), scores.round(4).tolist()
    ([7, 4, 9, 1], [0.0325, 0.0164, 0.0161, 0.0159])
    """
    if not constant >= 0.0:
        raise Mistake(f"constant is {constant!r}: give 0 or more, such as 60")
    items = np.unique(np.concatenate([np.empty(0, np.int64), *rankings]))
    sums = np.zeros(len(items))
    for ranking in rankings:
        parts = 1.0 / (constant + np.arange(1, len(ranking) + 1))
        sums[np.searchsorted(items, ranking)] += parts
    best = order(sums)
    return items[best], sums[best]


def dense_index(
    index: Index, documents: Iterable[tuple[str, str]], meaning: TextEncoder
) -> DenseIndex:
    """The vectors of an index's documents, by their numbers there.

    documents : id and text of each, in any order; those that the index does not have
    are left out, those that are missing are never near.  meaning : makes the vectors;
    those of a ``VectorFile`` are used where they lie, and it must have computed them.
    """
    numbers, texts = list[int](), list[str]()
    for name, text in documents:
        number = index.number(name)
        if number is not None:
            numbers.append(number)
            texts.append(text)
    some = DenseIndex.of(texts, meaning)
    rows = np.full(index.searcher.n_items, -1, np.int64)
    rows[numbers] = np.arange(len(texts)) if some.rows is None else some.rows
    return DenseIndex(some.table, rows, source=some.source)


def alive_of(index: Index) -> Bools:
    """Which documents of an index have not been deleted, shape (documents,)."""
    alive = index.searcher.alive
    return alive if len(alive) else np.ones(index.searcher.n_items, np.bool_)


class HybridHit(NamedTuple):
    """A document of a hybrid answer; ``words`` and ``meaning`` add up to its score.

    cosine : of the vectors of query and document;  word_rank, meaning_rank : its place
    by each alone, None beyond the candidates.
    """

    id: str
    score: float
    number: int
    words: float
    meaning: float
    cosine: float
    word_rank: int | None
    meaning_rank: int | None

    @property
    def share(self) -> float:
        """The part of meaning in the score: 0 where none of it is."""
        total = abs(self.words) + abs(self.meaning)
        return abs(self.meaning) / total if total else 0.0


class _Candidates(NamedTuple):
    """Documents in order of number; what words and meaning say of each.

    items : int64;  word_scores : normalised, 0 without any;  ranks : shape (2, items),
    0 for none;  bound : the (words, cosine) that no other document exceeds, None where
    there is no other.
    """

    items: Ints
    word_scores: Floats
    cosines: Floats
    ranks: Ints
    bound: tuple[float, float] | None


@dataclass(frozen=True)
class HybridQuestion:
    """A question answered by words and meaning together.

    words : as ``Index.question`` makes it, with its filters;  dense : the documents'
    vectors, by the numbers of the index;  vector : of the query, shape (dimension,); of
    length 0, words alone answer;  weight : w of the weighted score; None: by
    reciprocal ranks;  members : the documents that may be answers by meaning, shape
    (documents,); None: all that are alive, which machines do not tell.

    >>> from classmark.index.postings import field_of
    >>> words = Searcher(field_of([[1, 0], [0, 1], [0, 0]], ["ant", "bee"]))
    >>> question = words.question(["ant"], (("bm25", {}), None, None))
    >>> dense = DenseIndex([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]])
    >>> hybrid = HybridQuestion(question, dense, np.array([1.0, 0.0]), weight=1.0)
    >>> [(hit.number, round(hit.score, 3)) for hit in hybrid.answer(2)]
    [(0, 2.0), (2, 0.8)]
    """

    words: Question
    dense: DenseIndex
    vector: Array
    weight: float | None = WEIGHT
    members: Bools | None = None
    depth: int = DEPTH
    _cache: dict[int, Any] = field(default_factory=dict, repr=False)  # by depth

    def __post_init__(self) -> None:
        n, weight = self.words.searcher.n_items, self.weight
        if self.members is None and not isinstance(self.words.searcher, Searcher):
            raise Mistake(
                "members is None, and machines search the words: say which documents "
                "may be answers, or leave the machines out"
            )
        if len(self.dense) != n:
            raise Mistake(
                f"vectors of {len(self.dense)} documents, an index of {n}: give one of "
                "each, by the numbers of the index"
            )
        if weight is not None and not 0.0 <= weight < np.inf:
            raise Mistake(f"weight of meaning is {weight!r}: give 0 or more")
        if self.depth < 1:
            raise Mistake(f"depth is {self.depth}: give 1 or more")

    @classmethod
    def of(
        cls,
        index: Index,
        query: str,
        dense: DenseIndex,
        weight: float | None = WEIGHT,
        asked: Callable[..., Question] | None = None,
        **options: Any,
    ) -> Self:
        """Make a query as people type it ready; what it must not say has no meaning.

        dense : by the numbers of ``index``, with the source of the query's vector;
        asked : ``question`` of the same generation on machines, which then search the
        words;
        options : model, parameters and more, as ``Index.question`` takes them.
        """
        tree = parse(query)
        if isinstance(tree, Belief):
            raise MalformedQuery(
                query,
                tree.at,
                "an #operator ranks by beliefs: ask for words alone, or leave it out",
            )
        words = (asked or index.question)(query, **options)
        text = " ".join(positive_texts(tree))
        vector = dense.encode([text])[0] if text else np.zeros(dense.dimension)
        members = filter_of(context_of(index, query))
        if asked is not None and members is None:
            members = alive_of(index)
        return cls(words, dense, vector, weight, members)

    def with_weight(self, weight: float | None) -> HybridQuestion:
        """The same question with another weight; what was looked up serves again."""
        return replace(self, weight=weight)

    def answer(self, k: int = 10) -> list[HybridHit]:
        """Return the best ``k`` documents, best first; ties by document number."""
        require_size(k)
        depth = max(self.depth, k)
        while True:
            candidates = self._candidates(depth)
            words, meaning = self._parts(candidates)
            total = words + meaning
            best = order(total)[:k]
            if self._is_certain(candidates, total[best], k):
                return self._hits(candidates, words, meaning, best)
            depth *= 4

    def explain(self, hit: HybridHit) -> Explanation:
        """Take the words' part of a hit's score apart, term by term.

        Terms have the shares that they have in the model's score.
        """
        whole = self.words.explain(hit.number)
        if not whole.found or not whole.score:
            return whole._replace(score=hit.words, parts=(), own=hit.words)
        scale = hit.words / whole.score
        parts = tuple(each._replace(part=each.part * scale) for each in whole.parts)
        return whole._replace(score=hit.words, parts=parts, own=whole.own * scale)

    def _parts(self, candidates: _Candidates) -> tuple[Floats, Floats]:
        if self.weight is not None:
            return candidates.word_scores, self.weight * candidates.cosines
        words, meaning = np.where(
            candidates.ranks > 0, 1.0 / (CONSTANT + candidates.ranks), 0.0
        )
        return words, meaning

    def _is_certain(self, candidates: _Candidates, best: Floats, k: int) -> bool:
        """Whether no document but the candidates can be among the best ``k``."""
        if self.weight is None or candidates.bound is None or k == 0:
            return True
        words, cosine = candidates.bound
        return len(best) == k and best[-1] > words + self.weight * cosine

    def _hits(
        self, candidates: _Candidates, words: Floats, meaning: Floats, best: Ints
    ) -> list[HybridHit]:
        names, (by_words, by_meaning) = self.words.searcher.names, candidates.ranks
        return [
            HybridHit(
                names(number := int(candidates.items[at])),
                float(words[at] + meaning[at]),
                number,
                float(words[at]),
                float(meaning[at]),
                float(candidates.cosines[at]),
                int(by_words[at]) or None,
                int(by_meaning[at]) or None,
            )
            for at in best.tolist()
        ]

    def _candidates(self, depth: int) -> _Candidates:
        if depth not in self._cache:
            self._cache[depth] = self._looked_up(depth)
        candidates: _Candidates = self._cache[depth]
        return candidates

    def _looked_up(self, depth: int) -> _Candidates:
        words, searcher = self.words, self.words.searcher
        listed, scores = searcher.answer(words, depth)
        near, cosines = self.dense.find(self.vector, depth, self._members)
        items = np.union1d(listed, near)
        ranks = np.zeros((2, len(items)), np.int64)
        for row, ranking in zip(ranks, (listed, near), strict=True):
            row[np.searchsorted(items, ranking)] = np.arange(1, len(ranking) + 1)
        low, high = self._range(scores)
        numbers, own = listed, scores
        if len(listed) == depth:  # of the others some may have words, too
            chosen = np.zeros(searcher.n_items, np.bool_)
            chosen[items] = True
            if words.members is not None:
                chosen &= words.members
            one = replace(words, members=chosen)
            numbers, own = searcher.answer(one, len(items))
        word_scores = np.zeros(len(items))
        scaled = np.maximum(own - low, 0.0) / (high - low)
        word_scores[np.searchsorted(items, numbers)] = scaled
        every = self.dense.cosines(self.vector, items)
        bound = self._bound(((scores - low) / (high - low), cosines), depth)
        return _Candidates(items, word_scores, every, ranks, bound)

    def _bound(
        self, scores: tuple[Floats, Floats], depth: int
    ) -> tuple[float, float] | None:
        """What others than the first ``depth`` of two lists can score by each, at most.

        A document that has no words of the query, or no vector, scores 0.
        """
        full = [len(each) == depth < self.words.searcher.n_items for each in scores]
        if not any(full) or not len(scores[1]):
            return None
        words, cosine = (
            max(float(each[-1]), 0.0) if more else 0.0
            for each, more in zip(scores, full, strict=True)
        )
        return words, cosine

    def _range(self, scores: Floats) -> tuple[float, float]:
        """The lowest and the highest score by words, of the first ``depth``."""
        if not len(scores):
            return 0.0, 1.0
        high = float(scores[0])
        low = min(float(scores[: self.depth].min()), 0.0)
        return (low, high) if high > low else (high - 1.0, high)

    @property
    def _members(self) -> Bools | None:
        """The documents that may be answers; None: all."""
        if self.members is not None:
            return self.members
        searcher = self.words.searcher
        alive = searcher.alive if isinstance(searcher, Searcher) else None
        return alive if alive is not None and len(alive) else None
