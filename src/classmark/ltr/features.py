"""Features of (query, document) pairs, and the learned order of them in service.

Sides are the index's fields and, where there are several, "all": their texts as one.
Statistics are those of the items that are alive.

On each side there are the features of the list f1 … f6, with |C| its tokens, and for f2
and f5 also with the document's length in place of |C| [Cao06]; the score of every
retrieval model (f7 is ``cosine``, the language models are ``jm`` and ``dirichlet``),
the length, and how many terms match. Feedback scores are those of longer queries. Where
vectors are given, ``meaning`` is the cosine of query and document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import Array, Floats, Ints
from classmark.evaluation.retrieval import tally
from classmark.index.dense import DenseIndex
from classmark.index.feedback import expand, feedback_from, main_field
from classmark.index.index import Index
from classmark.index.kernels_models import constants, document_parts, score_items
from classmark.index.kernels_models import features as document_features
from classmark.index.models import MODELS, Choice, Prepared, frozen, resolve
from classmark.index.search import Searcher, top_documents
from classmark.ltr.nonlinear import SCORES, threshold_parts
from classmark.ltr.saved import StoredScores
from classmark.meaning.sources import MeaningFacts
from classmark.problems import DamagedFolder, Mistake, worded
from classmark.storage import open_folder, save

Parameters = Mapping[str, Mapping[str, float]]
Longer = tuple[str, str, Mapping[str, float]]

ALL, PAGERANK, MEANING = "all", "pagerank", "meaning"
COUNTED = ("f1", "f2", "f3", "f4", "f5", "f6", "f2 by length", "f5 by length")
PLAIN = (*COUNTED, "length", "matched")
FEEDBACK = (
    ("bm25", "rocchio"),
    ("bm25", "rm3"),
    ("dirichlet", "rm3"),
    ("lgd", "information"),
)
USUAL: tuple[Longer, ...] = tuple((model, kind, {}) for model, kind in FEEDBACK)
DEFAULTS: Parameters = {name: {} for name in MODELS}


class Recipe(NamedTuple):
    """Which features: the models with their parameters, feedback, links.

    models : name → parameters;  feedback : (model, kind, parameters) of each score of a
    longer query;  pagerank : whether the documents' PageRank is among them;  meaning :
    which vectors' cosine of query and document is, if any.
    """

    models: Parameters = DEFAULTS
    feedback: tuple[Longer, ...] = USUAL
    pagerank: bool = False
    meaning: MeaningFacts | None = None


class PairFeatures:
    """Computes the features of (query, document) pairs over one index.

    index : an Index, or a Searcher;  pagerank : of each item by its number, dense : its
    vector of meaning, where the recipe asks for them.
    """

    def __init__(
        self,
        index: Index | Searcher,
        recipe: Recipe | None = None,
        *,
        pagerank: Floats | None = None,
        dense: DenseIndex | None = None,
    ) -> None:
        self.recipe = Recipe() if recipe is None else recipe
        self.searcher = index if isinstance(index, Searcher) else index.searcher
        for model, parameters in self.recipe.models.items():
            resolve(model, parameters)
        fields = self.searcher.fields
        if ALL in fields and len(fields) > 1:
            raise Mistake(f"a field is called {ALL!r}: give it another name")
        self.sides = {name: Side([field]) for name, field in fields.items()}
        if len(fields) > 1:
            self.sides[ALL] = Side(list(fields.values()))
        if self.recipe.pagerank and pagerank is None:
            raise Mistake("pagerank is needed: give that of each item")
        self.pagerank = pagerank if self.recipe.pagerank else None
        self.dense = None
        if self.recipe.meaning is not None:
            self.dense = same_vectors(dense, self.recipe.meaning)
        self.names = (
            *(
                f"{name}.{each}"
                for name, side in self.sides.items()
                for each in (*PLAIN, *self._models(side))
            ),
            *(f"{model}+{kind}" for model, kind, _ in self.recipe.feedback),
            *([] if self.pagerank is None else [PAGERANK]),
            *([] if self.dense is None else [MEANING]),
        )

    def of(self, query: Mapping[str, float], items: Ints, text: str = "") -> Floats:
        """Return the features of some items, shape (items, names).

        query : analysed term → how often it is asked for;  text : the query as it was
        written, for its meaning.
        """
        columns: list[Floats] = []
        for side in self.sides.values():
            matches = side.matches(query, items)
            lengths = side.lengths(items).astype(np.float64)
            columns += counted(matches, lengths, (side.n_alive, side.tokens))
            columns += [lengths, (matches.tf > 0).sum(axis=0).astype(np.float64)]
            columns += [
                side.scores(matches, items, (model, self.recipe.models[model]))
                for model in self._models(side)
            ]
        side = self.sides.get(ALL) or next(iter(self.sides.values()))
        field = main_field(self.searcher.fields)
        for model, kind, setting in self.recipe.feedback:
            feedback = feedback_from(kind, setting)
            choice = (model, self.recipe.models.get(model, {}))
            hits = self.searcher.search(
                query, feedback.documents, model, fields=None, prior=None, **choice[1]
            )
            longer = expand(field, query, top_documents(hits, model), feedback)
            columns.append(side.scores(side.matches(longer, items), items, choice))
        if self.pagerank is not None:
            columns.append(np.log(self.pagerank[items]))
        if self.dense is not None:
            (vector,) = self.dense.encode([text])
            columns.append(self.dense.cosines(vector, items))
        return np.column_stack(columns)

    def _models(self, side: Side) -> list[str]:
        several = len(side.fields) > 1
        return [name for name in self.recipe.models if not (several and name == COSINE)]


def same_vectors(dense: DenseIndex | None, facts: MeaningFacts) -> DenseIndex:
    """Refuse vectors that are not those the features were made with, or missing."""
    if dense is None or dense.facts != facts:
        other = "" if dense is None else f", not {dense.facts or 'unnamed ones'}"
        raise Mistake(
            f"the vectors of {facts} are needed{other}: give them, or "
            f"{worded('train one again with classmark rank train')}"
        )
    return dense


def counted(
    matches: Matches, lengths: Floats, collection: tuple[int, int]
) -> list[Floats]:
    """Return f1 … f6 of some items, then f2 and f5 by length [Cao06].

    f1 = Σ ln tf, f3 = Σ ln idf, f4 = Σ ln(S/cf) over the terms that query and document
    share; f2 = Σ ln(1 + tf/S), f5 = Σ ln(1 + tf/S · idf), f6 = Σ ln(1 + tf/S · S/cf),
    with S the tokens of the collection, which the list calls |C|. Each term counts
    once. idf = ln(N/df); a term that is in every document, whose idf has no logarithm,
    adds nothing to f3.

    collection : documents N and tokens S.
    """
    n, tokens = collection
    tf, here = matches.tf, matches.tf > 0
    idf = np.log(n / matches.df)[:, np.newaxis]
    rare = (tokens / matches.cf)[:, np.newaxis]
    share = tf / max(tokens, 1)
    by_length = tf / np.maximum(lengths, 1.0)
    parts = (
        np.log(np.where(here, tf, 1.0)),
        np.log1p(share),
        np.where(here & (idf > 0), np.log(np.where(idf > 0, idf, 1.0)), 0.0),
        np.where(here, np.log(rare), 0.0),
        np.log1p(share * idf),
        np.log1p(share * rare),
        np.log1p(by_length),
        np.log1p(by_length * idf),
    )
    return [part.sum(axis=0) for part in parts]


def features_of(
    index: Index,
    query: str,
    documents: Sequence[str] | Ints,
    recipe: Recipe | None = None,
) -> tuple[tuple[str, ...], Floats]:
    """Return the features' names and, for some documents, their values.

    documents : ids, or numbers in the index.
    """
    features = PairFeatures(index, recipe)
    items = index.numbers(documents)
    return features.names, features.of(tally(index.terms(query)), items)


def minmax(X: Floats) -> Floats:
    """Scale each column to 0 … 1 over the rows, which are one query's; equal ones to 0.

    >>> minmax(np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]]
    """
    from classmark.ltr.judged import normalise_per_query

    return normalise_per_query(X, np.zeros(len(X), np.int64), "minmax")


COSINE = "cosine"


class Matches(NamedTuple):
    """The terms of a query that occur on a side, and how often in each item.

    terms : analysed, each once;  weights : those of the query;  df, cf : their
    statistics, each shape (terms,);  tf : shape (terms, items).
    """

    terms: tuple[str, ...]
    weights: Floats
    df: Floats
    cf: Floats
    tf: Floats


class Side:
    """One field, or the text that several make together.

    >>> from classmark.index.postings import field_of
    >>> field = field_of([[2, 0], [1, 1]], ["ant", "bee"])
    >>> side, items = Side([Prepared(field)]), np.array([1, 0])
    >>> matches = side.matches({"ant": 1.0, "cat": 1.0}, items)
    >>> matches.tf.tolist(), side.scores(matches, items, ("tf", {})).tolist()
    ([[1.0, 2.0]], [1.0, 2.0])
    """

    def __init__(self, fields: Sequence[Prepared]) -> None:
        if not fields:
            raise Mistake("fields is empty: give at least one")
        self.fields = list(fields)
        self.n_alive = fields[0].field.n_alive
        self.tokens = sum(each.field.total_length for each in fields)
        self._alive = fields[0].alive

    def lengths(self, items: Ints) -> NDArray[np.uint32]:
        """Tokens of some items, shape (items,)."""
        parts = [each.lengths[items] for each in self.fields]
        return np.asarray(np.sum(parts, axis=0, dtype=np.uint32), np.uint32)

    def matches(self, query: Mapping[str, float], items: Ints) -> Matches:
        """Look the terms of a query up, and count them in some items."""
        names: list[str] = []
        rows: list[tuple[float, int, int]] = []
        counted: list[Floats] = []
        for term, weight in query.items():
            df, cf, tf = self._looked_up(term, items)
            if df and weight:
                names.append(term)
                rows.append((weight, df, cf))
                counted.append(tf)
        table = np.array(rows, np.float64).reshape(-1, 3)
        tf = np.array(counted).reshape(len(names), len(items))
        return Matches(tuple(names), table[:, 0], table[:, 1], table[:, 2], tf)

    def scores(self, matches: Matches, items: Ints, choice: Choice) -> Floats:
        """Return the score of each item under a model, as ``Searcher`` gives it."""
        model, values = resolve(*choice)
        world = np.zeros(6)
        world[:3] = self.n_alive, self.tokens, self.tokens / self.n_alive or 1.0
        world[3 : 3 + len(values)] = values
        lengths, x = frozen(self.lengths(items), np.uint32), np.empty(len(items))
        if model.name == COSINE:
            if len(self.fields) > 1:
                raise Mistake("cosine needs the norms of one field: score each alone")
            x = self.fields[0].inverse_norms[items]
        else:
            document_features(model.code, lengths, world, x)
        a, b = np.empty(len(matches.terms)), np.empty(len(matches.terms))
        weights, df, cf = map(
            np.ascontiguousarray, (matches.weights, matches.df, matches.cf)
        )
        scale, offset = constants(model.code, weights, df, cf, world, a, b)
        out = np.empty(len(items))
        score_items(model.code, world, (a, b), matches.tf, x, out)
        if model.has_document_part:
            parts = np.empty(len(items))
            document_parts(model.code, lengths, world, parts)
            out += scale * parts
        return np.asarray(out + offset)

    def _looked_up(self, term: str, items: Ints) -> tuple[int, int, Floats]:
        """Return df, cf, and how often a term occurs in each item."""
        df, cf, tf, lists = 0, 0, np.zeros(len(items)), []
        for each in self.fields:
            number = each.numbers[term]
            if number < 0:
                continue
            listed, counts, (begin,), (end,) = each.field.lists(np.array([number]))
            holders, counts = listed[begin:end], counts[begin:end]
            at = np.searchsorted(holders, items)
            at[at == len(holders)] = 0
            tf += np.where(holders[at] == items, counts[at], 0)
            df, cf = df + int(each.df[number]), cf + int(each.cf[number])
            lists.append(holders)
        if len(lists) > 1:
            union = np.unique(np.concatenate(lists))
            df = int(self._alive[union].sum()) if len(self._alive) else len(union)
        return df, cf, tf


FORMAT, VERSION = "classmark-reranker", 1
AS_THEY_ARE = ("learner", "names", "depth", "fields", "analyzer")  # in the file


@dataclass(frozen=True, eq=False)
class Reranker(StoredScores):
    """A learned order of the first answers; an index of other fields is refused.

    names : the features;  weights : of each, shape (features,), for a linear ranker; a
    table for a network or for thresholds;  trees : LightGBM's own text, for one of
    trees;  first, depth : the model that finds the candidates, and how many;  fields,
    analyzer : of the index;  facts : how it was learned and how good it was.
    """

    learner: str
    names: tuple[str, ...]
    weights: Floats
    recipe: Recipe
    first: Choice
    depth: int
    fields: tuple[str, ...]
    analyzer: str
    trees: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def require_fit_for(self, index: Index, name: str = "the ranker") -> None:
        """Refuse an index whose fields or terms are not those it was taught with."""
        fields, terms = tuple(index.fields), str(index.analyzer)
        if (fields, terms) == (self.fields, self.analyzer):
            return
        why = f"terms of {self.analyzer}, the index has those of {terms}"
        if fields != self.fields:
            names = (", ".join(self.fields), ", ".join(fields) or "none")
            why = f"the fields {names[0]}, the index has {names[1]}"
        raise Mistake(
            f"{name} was trained over {why}: "
            f"{worded('take it out with classmark rank use none')}, "
            f"{worded('train one again with classmark rank train')}, or "
            f"{worded('search with --ranker none')}"
        )

    def features(
        self,
        index: Index,
        pagerank: Floats | None = None,
        dense: DenseIndex | None = None,
    ) -> PairFeatures:
        """Return the computation of this ranker's features over an index."""
        features = PairFeatures(index, self.recipe, pagerank=pagerank, dense=dense)
        if features.names != self.names:
            raise Mistake(
                "the features of this version are not those the ranker was taught with:"
                f" {worded('train one again with classmark rank train')}"
            )
        return features

    def scores(self, raw: Floats) -> Floats:
        """Return the scores of one query's candidates by their features."""
        return self.decision_function(minmax(raw))

    def parts(self, raw: Floats) -> list[dict[str, float]]:
        """Return what each feature adds to each score: weight times scaled value.

        Of thresholds, the sum of those of the feature that the value is above.
        """
        if not self.is_sum:
            raise Mistake(
                f"{self.learner} is no sum of features: {worded('--explain')} needs a "
                "linear ranker, as ranking-svm"
            )
        rows = minmax(raw)
        linear = self.weights.ndim == 1
        parts = rows * self.weights if linear else threshold_parts(self.weights, rows)
        return [
            {
                self.names[at]: float(row[at])
                for at in np.argsort(-np.abs(row), kind="stable").tolist()
                if row[at]
            }
            for row in parts
        ]


def save_reranker(ranker: Reranker, folder: Path) -> None:
    """Write a ranker as a folder of its own, checksummed."""
    model, parameters = ranker.first
    settings = {name: getattr(ranker, name) for name in AS_THEY_ARE} | {
        "models": [[name, dict(each)] for name, each in ranker.recipe.models.items()],
        "feedback": [[*names, dict(each)] for *names, each in ranker.recipe.feedback],
        "pagerank": ranker.recipe.pagerank,
        "meaning": ranker.recipe.meaning,
        "first": [model, dict(parameters)],
        "facts": json.dumps(ranker.facts),
    }
    arrays: dict[str, Array] = {
        "weights": np.asarray(ranker.weights, np.float64),
        "trees": np.frombuffer(ranker.trees.encode(), np.uint8),
    }
    save(folder, FORMAT, VERSION, arrays, settings)


def open_reranker(folder: Path) -> Reranker:
    """Open what ``save_reranker`` wrote; damage is refused."""
    saved = open_folder(folder, FORMAT, VERSION)
    settings = saved.settings
    weights = np.array(saved.arrays["weights"])
    trees = saved.arrays["trees"].tobytes().decode()
    facts = settings.get("meaning")
    flat = not trees and settings["learner"] not in SCORES
    if flat and len(weights) != len(settings["names"]):
        raise DamagedFolder(
            f"{folder} has {len(weights)} weights for {len(settings['names'])} "
            "features: restore it from a backup, or train one again"
        )
    return Reranker(
        settings["learner"],
        tuple(settings["names"]),
        weights,
        Recipe(
            dict(settings["models"]),
            tuple((model, kind, each) for model, kind, each in settings["feedback"]),
            settings["pagerank"],
            None if facts is None else MeaningFacts(*facts),
        ),
        (settings["first"][0], settings["first"][1]),
        settings["depth"],
        tuple(settings["fields"]),
        settings["analyzer"],
        trees,
        json.loads(settings["facts"]),
    )
