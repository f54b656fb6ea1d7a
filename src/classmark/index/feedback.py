"""Pseudo-relevance feedback: the best documents of a query lend it their words.

A query {term: weight} is answered, the first documents are taken to be relevant, and a
longer query {term: weight} is made of it, which the same model answers. Where an index
has several fields, the words are those of the field with most of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Floats, Ints
from classmark.index.kernels_postings import gather
from classmark.index.kernels_search import parts_of
from classmark.index.models import Prepared, frozen, strides
from classmark.index.postings import Field
from classmark.problems import Mistake


class DocumentTerms(NamedTuple):
    """Some documents' terms, by document, then by term.

    ``items[j]`` has the term of number ``terms[j]`` ``counts[j]`` times.
    """

    items: Ints
    terms: Ints
    counts: Ints


def terms_of(field: Field, items: Sequence[int] | NDArray[np.integer]) -> DocumentTerms:
    """Read the terms of some documents, all lists being gone through once.

    >>> from classmark.index.postings import field_of
    >>> field = field_of([[2, 0], [1, 1]], ["ant", "bee"])
    >>> terms_of(field, [1]).terms.tolist()
    [0, 1]
    """
    distinct = np.unique(np.asarray(items, np.int64))
    if len(distinct) and not 0 <= distinct[0] <= distinct[-1] < field.n_items:
        raise Mistake(f"items: give numbers from 0 to {field.n_items - 1}")
    slots = np.zeros(field.n_items, np.uint32)
    slots[distinct] = np.arange(1, len(distinct) + 1)
    room = int(np.asarray(field.lengths)[distinct].sum(dtype=np.int64))
    out, n = np.empty((room, 3), np.int64), 0
    sorted_items = frozen(distinct.astype(np.uint32), np.uint32)
    for first, lists in strides(field):
        n = gather(first, tuple(lists), sorted_items, frozen(slots, np.uint32), out, n)
    rows = out[:n]
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    slot, terms, counts = rows[order].T
    return DocumentTerms(distinct[slot], terms, counts)


Weights = dict[int, float]
LIKELIHOODS = ("jm", "dirichlet", "kl")  # models whose scores are logarithms


@dataclass(frozen=True, slots=True)
class TopDocuments:
    """The first documents of a query: their numbers and scores, best first."""

    items: Ints
    scores: Floats
    model: str


@dataclass(frozen=True, slots=True)
class Rocchio:
    """Move the query towards the documents' mean: α q + β (1/n) Σ d [Rocchio71].

    q and d are unit vectors of tf · idf; ``terms`` new ones are kept, those of largest
    weight. Weights are divided by the idf, which the model brings back.
    """

    alpha: float = 1.0
    beta: float = 0.75
    documents: int = 10
    terms: int = 20

    def __post_init__(self) -> None:
        _check(self)

    def expand(
        self, field: Prepared, query: Mapping[int, float], top: TopDocuments
    ) -> Weights:
        """Return the weights of the longer query, by term number."""
        postings = terms_of(field.field, top.items)
        idf = field.idf
        parts = postings.counts * idf[postings.terms]
        parts *= field.inverse_norms[postings.items]
        mean = _summed(postings.terms, parts / len(top.items))
        old = {term: weight * idf[term] for term, weight in query.items()}
        norm = np.sqrt(sum(weight * weight for weight in old.values()))
        longer = {term: self.alpha * old[term] / norm for term in old}
        for term, weight in _best(mean, self.terms, old):
            longer[term] = longer.get(term, 0.0) + self.beta * weight
        return {term: float(weight / idf[term]) for term, weight in longer.items()}


@dataclass(frozen=True, slots=True)
class RM3:
    """Mix the query with the relevance model: λ P(t|q) + (1 − λ) P(t|R).

    P(t|R) ∝ Σ_d P(t|d) P(q|d), cut to the likeliest ``terms`` [LavrenkoCroft01], and
    λ = ``original`` keeps the query itself [AbdulJaleel04]. P(t|d) = tf/length; P(q|d)
    is the likelihood where the model gives one, else the score.
    """

    original: float = 0.5
    documents: int = 10
    terms: int = 20

    def __post_init__(self) -> None:
        _check(self)
        if self.original > 1.0:
            raise Mistake(f"original of rm3 is {self.original}: give 0 to 1")

    def expand(
        self, field: Prepared, query: Mapping[int, float], top: TopDocuments
    ) -> Weights:
        """Return the weights of the longer query, by term number."""
        postings = terms_of(field.field, top.items)
        shares = postings.counts / field.lengths[postings.items]
        scores, likely = top.scores, np.ones(len(top.scores))  # P(q|d), up to a factor
        if top.model in LIKELIHOODS:
            steep = sum(query.values()) if top.model == "kl" else 1.0
            likely = np.exp(steep * (scores - scores.max()))
        elif scores.min() > 0.0:
            likely = scores / scores.sum()
        chance = dict(zip(top.items.tolist(), likely.tolist(), strict=True))
        shares = shares * np.array([chance[item] for item in postings.items.tolist()])
        best = _best(_summed(postings.terms, shares), self.terms, {})
        mass, total = sum(share for _, share in best), sum(query.values())
        longer = {t: self.original * weight / total for t, weight in query.items()}
        for term, share in best:
            longer[term] = longer.get(term, 0.0) + (1 - self.original) * share / mass
        return longer


@dataclass(frozen=True, slots=True)
class Information:
    """Add the words that inform most in the documents [ClinchantGaussier10].

    q_t/max q + β I_t/max I, with I_t = (1/n) Σ_d −ln P(T_t > tf | λ_t): the mean of the
    term's part in an information model (``model`` "lgd" or "spl", parameter ``c``).
    """

    beta: float = 1.0
    documents: int = 10
    terms: int = 20
    model: str = "lgd"
    c: float = 1.0

    def __post_init__(self) -> None:
        _check(self)
        if self.model not in ("lgd", "spl"):
            raise Mistake(f"model of information is {self.model!r}: give 'lgd', 'spl'")

    def expand(
        self, field: Prepared, query: Mapping[int, float], top: TopDocuments
    ) -> Weights:
        """Return the weights of the longer query, by term number."""
        items = np.unique(top.items).tolist()
        terms = np.unique(terms_of(field.field, top.items).terms).tolist()
        names = dict.fromkeys(map(field.field.term, terms), 1.0)
        field_query = field.ask(names, (self.model, {"c": self.c}))
        sums, parts = np.zeros(len(terms)), np.empty(len(terms))
        for item in items:
            parts_of(field_query.scoring, item, parts)
            sums += parts
        means = (sums / len(top.items)).tolist()
        mean = dict(zip(field_query.query.numbers.tolist(), means, strict=True))
        best = _best(mean, self.terms, query)
        most, highest = max(query.values()), max((v for _, v in best), default=1.0)
        longer = {term: weight / most for term, weight in query.items()}
        for term, weight in best:
            longer[term] = longer.get(term, 0.0) + self.beta * weight / highest
        return longer


Feedback = Rocchio | RM3 | Information
FEEDBACK: dict[str, Callable[..., Feedback]] = {
    "rocchio": Rocchio,
    "rm3": RM3,
    "information": Information,
}


def feedback_from(
    name: str | Feedback, parameters: Mapping[str, float | str] | None = None
) -> Feedback:
    """Return feedback by its name and parameters, defaults filled in.

    >>> feedback_from("rm3", {"terms": 5})
    RM3(original=0.5, documents=10, terms=5)
    """
    if not isinstance(name, str):
        return name
    if name not in FEEDBACK:
        names = ", ".join(map(repr, FEEDBACK))
        raise Mistake(f"feedback is {name!r}: choose one of {names}")
    method = FEEDBACK[name]
    options, allowed = dict(parameters or {}), [f.name for f in fields(method)]  # type: ignore[arg-type]
    for key in options:
        if key not in allowed:
            raise Mistake(
                f"feedback {name} has no parameter {key!r}: it takes "
                f"{', '.join(allowed)}"
            )
    return method(**options)


def expand(
    field: Prepared, query: Mapping[str, float], top: TopDocuments, feedback: Feedback
) -> dict[str, float]:
    """Return the expanded query; the same one where there are no documents.

    query : analysed terms with their weights;  top : the documents to learn from.
    """
    numbered = field.query(query)
    weights = dict(
        zip(numbered.numbers.tolist(), numbered.weights.tolist(), strict=True)
    )
    if not len(top.items) or not weights:
        return dict(query)
    longer = feedback.expand(field, weights, top)
    named = {field.field.term(number): float(w) for number, w in longer.items() if w}
    missing = {term: w for term, w in query.items() if field.numbers[term] < 0}
    return named | missing


def main_field(prepared: Mapping[str, Prepared]) -> Prepared:
    """Return the field with most tokens."""
    return max(prepared.values(), key=lambda field: field.field.total_length)


def _summed(terms: Ints, parts: Floats) -> dict[int, float]:
    """Sum parts by their terms, in the order of the terms."""
    numbers, places = np.unique(terms, return_inverse=True)
    sums = np.bincount(places.ravel(), parts, minlength=len(numbers))
    return dict(zip(numbers.tolist(), sums.tolist(), strict=True))


def _best(
    weights: Mapping[int, float], many: int, always: Mapping[int, float]
) -> list[tuple[int, float]]:
    """Return the ``many`` largest above 0, ties by number, besides those in always."""
    ordered = sorted(weights.items(), key=lambda entry: (-entry[1], entry[0]))
    fresh = [entry for entry in ordered if entry[0] not in always and entry[1] > 0]
    return [e for e in ordered if e[0] in always] + fresh[:many]


def _check(feedback: Any) -> None:
    """Refuse what makes no sense: counts below 1, weights below 0."""
    name = type(feedback).__name__.lower()
    for key, value in asdict(feedback).items():
        if key == "model":
            continue
        whole = key in ("documents", "terms")
        if whole and (not isinstance(value, int) or value < 1):
            raise Mistake(f"{key} of {name} is {value!r}: give a whole number from 1")
        if not isinstance(value, int | float) or not isfinite(value) or value < 0:
            raise Mistake(f"{key} of {name} is {value!r}: give a number, 0 or more")
