"""A query as people type it, answered: first the set it describes, then the ranking.

With any model, a query of the language in ``classmark.index.query_language`` is
answered by exactly the exhaustive ranking of its words, restricted to the documents it
describes.

A word stands for the documents that have all its terms (most words have one) in one of
the fields searched; a phrase for those that have its words side by side, stop words
counting as any word. A list of parts: the documents in all that must be there, else in
any that may, less those that must not. Words that are no terms say nothing.

A term's belief in an item is 0.4 + 0.6 · tf/(tf + 0.5 + 1.5 length/average) · ln((N +
½)/df)/ln(N + 1), and 0.4 where it does not occur [TurtleCroft91]; a word's is the mean
over its terms and the fields searched. Operators join the beliefs p of their n
parts: #not 1 − p, #and Π p, #or 1 − Π (1 − p), #sum the mean, #wsum the weighted mean,
#max the largest, #combine (Π p)^(1/n). Exhaustive.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import chain, product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Bools, Floats, Ints, distinct
from classmark.index.feedback import Feedback, feedback_from
from classmark.index.kernels_search import accumulate
from classmark.index.kernels_topk import intersect, subtract, unite
from classmark.index.models import Prepared, Prior, frozen
from classmark.index.postings import Field
from classmark.index.query_language import (
    FIELD,
    OPERATORS,
    And,
    Belief,
    Clause,
    Group,
    Leaf,
    MalformedQuery,
    Node,
    Not,
    Parts,
    Phrase,
    Word,
    leaves_of,
    parse,
)
from classmark.index.search import (
    BaseSearcher,
    Hit,
    Question,
    Searcher,
    Weights,
    require_size,
)
from classmark.index.united import Pattern
from classmark.language import _
from classmark.problems import Mistake, refusal, worded
from classmark.text import Analyzer, fold_accents, words

_STAR = re.compile(r"\w\*|\*\w")
_INNER = re.compile(r"\w\?+\w")
_ASKED = re.compile(r"\w+(?:\?+\w+)+\??")  # a question mark at the end is one
_EDGES = re.compile(r"^[^\w*?]+|[^\w*?]+$")
_SIGNS = re.compile(r"[*?]+")

Documents = NDArray[np.uint32]
Kernel = Callable[[Array, Array, Array], int]


@dataclass(frozen=True)
class QueryContext:
    """A query, the fields it is evaluated on by name, and how words become terms.

    fields : None for each where they lie elsewhere.
    """

    query: str
    fields: Mapping[str, Field]
    analyzer: Analyzer
    has_positions: bool = False

    @cached_property
    def tree(self) -> Node | None:
        """What the query says; None where there is nothing in it."""
        return parse(self.query)

    def malformed(self, at: int, problem: str) -> MalformedQuery:
        """Return what is wrong at a place of the query, to be raised."""
        return MalformedQuery(self.query, at, problem)

    def within(self, node: Leaf) -> Mapping[str, Field]:
        """Return the fields in which a word or phrase is looked up."""
        name = node.text.removesuffix(":")
        if not node.field:
            if isinstance(node, Word) and name != node.text and name in self.fields:
                raise self.malformed(
                    node.at + len(node.text),
                    _(
                        'a word or a "phrase" is expected right after %(name)s: write '
                        "it without a blank, or leave the colon out",
                        name=name,
                    ),
                )
            return self.fields
        if node.field not in self.fields:
            names = ", ".join(self.fields)
            raise self.malformed(
                node.at,
                _(
                    "there is no field %(field)r: use %(names)s, or put the text in "
                    "quotation marks",
                    field=node.field,
                    names=names,
                ),
            )
        return {node.field: self.fields[node.field]}

    def terms(self, node: Leaf) -> list[tuple[str, int]]:
        """Return the terms of a word or phrase, each with its place in it."""
        if pattern := self._pattern(node):
            for field in self.within(node).values():
                self._looked_up(pattern, field, node)
            return [(pattern, 0)]
        terms = self.analyzer.terms(words(node.text))
        return [(term, place) for place, term in enumerate(terms) if term]

    def _pattern(self, node: Leaf) -> Pattern | None:
        """Read a word with * or ?; None where it has neither."""
        if not has_wildcard(node):
            return None
        if isinstance(node, Phrase):
            raise self.malformed(
                node.at, _("a phrase takes no * or ?: leave the quotation marks out")
            )
        text = _EDGES.sub("", node.text)
        pieces = [piece for piece in _SIGNS.split(text) if piece]
        parts = [words(piece) for piece in pieces]
        if any(len(part) != 1 for part in parts):
            raise self.malformed(
                node.at, _("* and ? stand for letters of one word: write it alone")
            )
        if text[0] in "*?":
            raise self.malformed(
                node.at,
                _("a word with * or ? begins with a letter: write one before it"),
            )
        texts = [part[0] for part in parts]
        if self.analyzer.accents == "fold":
            texts = [fold_accents(each) for each in texts]
        signs = [*_SIGNS.findall(text), ""]
        pattern = "".join(chain(*zip(texts, signs, strict=False)))
        is_prefix = len(texts) == 1 and set(signs[0]) == {"*"}
        return Pattern(pattern, self.analyzer.terms(texts)[0] if is_prefix else "")

    def _looked_up(self, pattern: Pattern, field: Field | None, node: Leaf) -> Ints:
        """Return the numbers of a pattern's terms; the field may lie elsewhere."""
        if field is None:
            return np.empty(0, np.int64)
        try:
            return pattern.numbers(field)
        except Mistake as problem:
            raise self.malformed(node.at, str(problem)) from problem

    def expansions(self) -> dict[str, list[str]]:
        """Return the terms of each word with * or ? that is not negated."""
        terms: dict[str, list[str]] = {}
        for leaf in leaves_of(self.tree):
            for term, _place in self.terms(leaf):
                if isinstance(term, Pattern):
                    terms[term] = sorted(
                        {
                            field.term(number)
                            for field in self.within(leaf).values()
                            for number in term.numbers(field).tolist()
                        }
                    )
        return terms

    def living(self) -> Documents:
        """Return all documents that are not deleted."""
        field = next(iter(self.fields.values()))
        if field.alive is None:
            return np.arange(field.n_items, dtype=np.uint32)
        return np.flatnonzero(field.alive).astype(np.uint32)


def has_wildcard(leaf: Leaf) -> bool:
    """Whether a word has a * beside a letter, or a ? between letters alone.

    >>> [has_wildcard(Word(text)) for text in ("wom?n", "bee*", "why?", "page?id=3")]
    [True, True, False, False]
    """
    if isinstance(leaf, Phrase):
        return bool(_STAR.search(leaf.text) or _INNER.search(leaf.text))
    text = _EDGES.sub("", leaf.text)
    return bool(_STAR.search(text) or _ASKED.fullmatch(text))


def documents_of(context: QueryContext) -> Documents:
    """Return the documents a query describes, in order; none where it says nothing."""
    documents = None if context.tree is None else _set(context, context.tree)
    return np.empty(0, np.uint32) if documents is None else documents


def _set(context: QueryContext, node: Node) -> Documents | None:
    """Return a node's documents; None where it says nothing."""
    if isinstance(node, Leaf):
        return _of_leaf(context, node)
    if isinstance(node, Not):
        inner = _set(context, node.part)
        return None if inner is None else _without(context.living(), inner)
    if isinstance(node, Group):
        return _of_group(context, node.clauses)
    if isinstance(node, Belief):
        raise context.malformed(
            node.at,
            _(
                "#%(name)s does not make a set: let one #operator hold the whole query",
                name=node.name,
            ),
        )
    return _joined(context, node.parts, _both if isinstance(node, And) else _either)


def _of_leaf(context: QueryContext, node: Leaf) -> Documents | None:
    fields, terms = context.within(node).values(), context.terms(node)
    is_phrase = isinstance(node, Phrase) and len(terms) > 1
    if not terms:
        return None
    if is_phrase and not context.has_positions:
        raise context.malformed(
            node.at,
            _(
                "a phrase needs the places of words, which this index was built "
                "without: build it with positions %(remedy)s, or leave the quotation "
                "marks out",
                remedy=worded("(classmark index --positions)"),
            ),
        )
    find = _side_by_side if is_phrase else _with_all
    if isinstance(terms[0][0], Pattern):
        find = _with_any
    return reduce(_either, [find(field, terms) for field in fields])


def _of_group(context: QueryContext, clauses: tuple[Clause, ...]) -> Documents | None:
    parts: dict[str, list[Node]] = {"+": [], "": [], "-": []}
    for clause in clauses:
        parts[clause.sign].append(clause.part)
    documents = _joined(context, parts["+"], _both)
    if documents is None:
        documents = _joined(context, parts[""], _either)
    gone = _joined(context, parts["-"], _either)
    if gone is None:
        return documents
    return _without(context.living() if documents is None else documents, gone)


def _joined(
    context: QueryContext,
    parts: Iterable[Node],
    join: Callable[[Documents, Documents], Documents],
) -> Documents | None:
    sets = [
        documents for part in parts if (documents := _set(context, part)) is not None
    ]
    if not sets:
        return None
    if join is _both:
        sets.sort(key=len)
    return reduce(join, sets)


def _with_all(field: Field, terms: list[tuple[str, int]]) -> Documents:
    """Return the living documents that have all the terms in a field."""
    numbers = [field.number(term) for term in dict(terms)]
    term_numbers = [number for number in numbers if number is not None]
    if len(term_numbers) < len(numbers):
        return np.empty(0, np.uint32)
    lists = field.lists(np.array(term_numbers, np.int64))
    bounds = zip(lists.begins.tolist(), lists.ends.tolist(), strict=True)
    sets = sorted((lists.items[low:high] for low, high in bounds), key=len)
    documents = reduce(_both, sets)
    return documents if field.alive is None else documents[field.alive[documents]]


def _with_any(field: Field, terms: list[tuple[str, int]]) -> Documents:
    """Return the living documents that have any of the terms of a pattern."""
    (pattern, _), *_ = terms
    lists = field.lists(cast("Pattern", pattern).numbers(field))
    bounds = zip(lists.begins.tolist(), lists.ends.tolist(), strict=True)
    none = np.empty(0, np.uint32)
    every = [none, *(lists.items[low:high] for low, high in bounds)]
    documents = distinct(np.concatenate(every))
    return documents if field.alive is None else documents[field.alive[documents]]


def _side_by_side(field: Field, terms: list[tuple[str, int]]) -> Documents:
    """Return the documents in which all terms stand at their offsets from one place."""
    candidates = _with_all(field, terms)
    if not len(candidates):
        return candidates
    furthest, starts = terms[-1][1], []
    for term, offset in terms:  # document · 2³² + the place that the last term has
        items, places, bounds = field.places(cast("int", field.number(term)))
        owners = np.repeat(items, np.diff(bounds)).astype(np.uint64)
        shift = np.uint64(furthest - offset)
        starts.append((owners << np.uint64(32)) + places + shift)
    return distinct(reduce(_both, starts) >> np.uint64(32)).astype(np.uint32)


def _joined_by(kernel: Kernel, a: Array, b: Array) -> Array:
    """Join two sorted lists of one type."""
    out = np.empty(len(a) + len(b), a.dtype)
    return out[: kernel(frozen(a, a.dtype), frozen(b, b.dtype), out)]


_both = partial(_joined_by, intersect)
_either = partial(_joined_by, unite)
_without = partial(_joined_by, subtract)

DEFAULT = 0.4


def _believe(
    searcher: Searcher, context: QueryContext, node: Node, matched: Bools
) -> Floats | None:
    """Return every item's belief, None without terms; mark the items that have them."""
    if isinstance(node, Word):
        names, terms, parts = context.within(node), context.terms(node), []
        for name, (term, _) in product(names, terms):
            field: Prepared = searcher.fields[name]
            if isinstance(term, Pattern):
                field = searcher.united({name: 1})
            gained = np.full(searcher.n_items, -0.0)
            accumulate(field.ask([term], ("inquery", {})).scoring, gained)
            matched |= ~np.signbit(gained)
            parts.append(gained + DEFAULT)
        return reduce(np.add, parts) / len(parts) if parts else None
    node = cast("Belief", node)
    weights = node.weights or (1.0,) * len(node.parts)
    beliefs = [_believe(searcher, context, part, matched) for part in node.parts]
    pairs = [(w, p) for w, p in zip(weights, beliefs, strict=True) if p is not None]
    part_weights = [w for w, _ in pairs]
    if not sum(part_weights):
        return None
    return _combined(node.name, [p for _, p in pairs], part_weights)


def _combined(name: str, parts: list[Floats], weights: list[float]) -> Floats:
    if name == "not":
        return 1.0 - parts[0]
    if name == "or":
        return 1.0 - reduce(np.multiply, [1.0 - part for part in parts])
    if name == "max":
        return reduce(np.maximum, parts)
    if name in ("and", "combine"):
        joint: Floats = reduce(np.multiply, parts)
        return joint if name == "and" else joint ** (1.0 / len(parts))
    total = reduce(np.add, [w * p for w, p in zip(weights, parts, strict=True)])
    return np.asarray(total / sum(weights))


_OPERATOR = re.compile(rf"\s*#(?:{'|'.join(OPERATORS)})\s*\(")


def warn_of_language(query: str, fields: Iterable[str]) -> None:
    """Warn that operators in a query are read as words where a text is expected."""
    meant = next((f"{name}:" for name in FIELD.findall(query) if name in fields), "")
    if not meant and (operator := _OPERATOR.match(query)):
        meant = operator[0].strip()
    if not meant and _STAR.search(query):
        meant = "*"
    if meant:
        warnings.warn(
            f"search takes a text as it is, so {meant} in the query is read as words: "
            "index.ask(query) reads fields, phrases, wildcards, + - AND OR NOT and "
            "#operators",
            stacklevel=3,
        )


BOOLEAN, INQUERY = "boolean", "inquery"


def ask(
    searcher: Searcher,
    context: QueryContext,
    k: int = 10,
    model: str | None = None,
    **options: Any,
) -> list[Hit]:
    """Return the best ``k`` documents for a query of the language.

    model : any of the models, or "boolean": every document described, in order, with
    score 1; None: "bm25", or "inquery" for a query that is an #operator.
    options : the model's parameters, and what ``question`` takes.
    """
    require_size(k)
    if model == BOOLEAN:
        if options:
            raise refusal(
                "boolean takes no %(options)s: it does not rank",
                options=", ".join(options),
            )
        first = documents_of(context)[:k].astype(np.int64)
        return searcher.hits(first, np.ones(len(first)))
    tree = context.tree
    if isinstance(tree, Belief):
        if model not in (None, INQUERY) or options:
            raise context.malformed(
                tree.at, _("an #operator ranks by beliefs: name no other model")
            )
        matched = np.zeros(searcher.n_items, np.bool_)
        beliefs = _believe(searcher, context, tree, matched)
        if beliefs is None:
            return []
        return searcher.hits(*searcher.select(np.where(matched, beliefs, -0.0), k))
    return question(searcher, context, model, **options).answer(k)


def question(
    searcher: BaseSearcher,
    context: QueryContext,
    model: str | None = None,
    *,
    fields: Weights = None,
    prior: Prior | None = None,
    feedback: str | Feedback | None = None,
    **parameters: float | str,
) -> Question:
    """Make a query ready in its context.

    fields : the weight of each field;  prior : what is added to each document's score;
    feedback : "rocchio", "rm3" or "information", or one with its parameters.
    """
    weights: dict[str, dict[str, float]] = {name: {} for name in context.fields}
    for leaf in () if context.tree is None else _positive(context, context.tree):
        for name in context.within(leaf):
            for term, _place in context.terms(leaf):
                weights[name][term] = weights[name].get(term, 0.0) + 1.0
    choice = (model or "bm25", parameters)
    how, members = (choice, fields, prior), members_of(context)
    original = Question(searcher, context.query, weights, *how, members)
    if feedback is None:
        return original
    return original.with_feedback(feedback_from(feedback))


def members_of(context: QueryContext) -> Bools | None:
    """Say which items a query describes; None: all that have its words.

    Also None where the fields lie elsewhere: whoever has them says it there.
    """
    field: Any = next(iter(context.fields.values()))
    if field is None or context.tree is None or _is_plain(context.tree):
        return None
    members = np.zeros(field.n_items, np.bool_)
    members[documents_of(context)] = True
    return members


def filter_of(context: QueryContext) -> Bools | None:
    """Say which items a query does not rule out; None: all that are alive.

    Those it describes, but where some words may be there and none must, documents that
    have none of them are not ruled out either.
    """
    tree = context.tree
    if not isinstance(tree, Group):
        return members_of(context)
    signs = {c.sign for c in tree.clauses}
    if "+" in signs or not any(
        not c.sign and isinstance(c.part, Word) for c in tree.clauses
    ):
        return members_of(context)
    rest = tuple(c for c in tree.clauses if c.sign)
    documents = _of_group(context, rest) if rest else None
    if documents is None:
        return None
    members = np.zeros(next(iter(context.fields.values())).n_items, np.bool_)
    members[documents] = True
    return members


def _is_plain(node: Node) -> bool:
    """Say whether a query's words alone tell which documents it describes."""
    if isinstance(node, Group):
        return all(not c.sign and _is_plain(c.part) for c in node.clauses)
    return isinstance(node, Word)


def _positive(
    context: QueryContext, node: Node, *, positive: bool = True
) -> Iterator[Leaf]:
    """Yield the words and phrases that are not negated, in order."""
    if isinstance(node, Leaf):
        if positive:
            yield node
    elif isinstance(node, Not):
        yield from _positive(context, node.part, positive=not positive)
    elif isinstance(node, Parts):
        for part in node.parts:
            yield from _positive(context, part, positive=positive)
    elif isinstance(node, Group):
        for clause in node.clauses:
            inside = positive != (clause.sign == "-")
            yield from _positive(context, clause.part, positive=inside)
    else:
        raise context.malformed(
            node.at,
            _(
                "#%(name)s stands among other parts: let one #operator hold them all",
                name=node.name,
            ),
        )
