"""Judged queries over an index: run them under a model, measure, tune parameters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from classmark.arrays import Bools, Floats
from classmark.corpus.documents import train_test
from classmark.index.feedback import Feedback
from classmark.index.models import Choice, resolve
from classmark.index.search import top_documents
from classmark.measures import (
    paired_t_test,
    parse,
    randomisation_test,
    retrieval_per_query,
    sign_test,
)
from classmark.problems import Mistake
from classmark.progress import track
from classmark.validation import Seed

if TYPE_CHECKING:
    from classmark.datasets.dataset import Dataset
    from classmark.index.dense import DenseIndex
    from classmark.index.fusion import HybridQuestion
    from classmark.index.index import Index
    from classmark.index.search import BaseSearcher, Hit, How, Question, Searcher


DEPTH = 1000
BATCH = 256  # queries answered in one call
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)  # of meaning
Run = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """Queries as analysed terms, and the grades of documents for them.

    queries : query → terms, repeats counting;  qrels : query → document → grade;
    texts : query → as it was written.
    """

    name: str
    searcher: Searcher
    queries: Mapping[str, Sequence[str]]
    qrels: Mapping[str, Mapping[str, float]]
    texts: Mapping[str, str]

    def only(self, ids: Sequence[str]) -> JudgedQueries:
        """Keep some of the queries."""
        return replace(
            self,
            queries={id_: self.queries[id_] for id_ in ids},
            qrels={id_: self.qrels[id_] for id_ in ids},
            texts={id_: self.texts[id_] for id_ in ids},
        )

    def halves(self, seed: Seed = 0) -> tuple[JudgedQueries, JudgedQueries]:
        """Part the queries in two by chance: one half to tune on, one to report."""
        ids = np.array(list(self.queries))
        share = (len(ids) // 2) / len(ids)
        reported, tuned = train_test(len(ids), share, seed)
        return self.only(ids[tuned].tolist()), self.only(ids[reported].tolist())


def judged_queries(
    index: Index,
    queries: Mapping[str, str],
    qrels: Mapping[str, Mapping[str, float]],
    name: str = "queries",
) -> JudgedQueries:
    """Analyse queries as the index's documents were; those without judgments go.

    Judgments of which nothing can be measured are refused: of other documents than the
    index has, or without any that is relevant.
    """
    terms = {id_: index.terms(text) for id_, text in queries.items() if qrels.get(id_)}
    if not terms:
        raise Mistake(
            f"{name}: none of {len(queries)} queries has a judgment (those of "
            f"{len(qrels)} queries are there): give queries and judgments with the "
            "same ids"
        )
    grades = {id_: qrels[id_] for id_ in terms}
    require_relevant(grades, name)
    relevant = (d for row in grades.values() for d, grade in row.items() if grade > 0)
    if not any(document in index for document in relevant):
        judged = next(d for row in grades.values() for d in row)
        raise Mistake(
            f"{name}: no relevant document of the judgments, such as {judged!r}, is in "
            f"the index, which has such as {next(index.ids(), 'none')!r}: give "
            "judgments of its documents, under the same ids"
        )
    texts = {id_: queries[id_] for id_ in terms}
    return JudgedQueries(name, index.searcher, terms, grades, texts)


def require_relevant(qrels: Mapping[str, Mapping[str, float]], name: str) -> None:
    """Refuse judgments that call no document relevant."""
    if not any(grade > 0 for row in qrels.values() for grade in row.values()):
        raise Mistake(
            f"{name}: no document has a grade above 0: judge some as relevant, or say "
            "which format the judgments have"
        )


@contextmanager
def indexed(
    dataset: Dataset, opening: Callable[[Path], Index] | None = None
) -> Iterator[JudgedQueries]:
    """Index a collection, each document as one text, for as long as it is needed.

    opening : what opens the index that was made, if not ``Index.open``.
    """
    from classmark.index.index import Index

    if not dataset.queries or not dataset.qrels:
        raise Mistake(f"{dataset.name} has no judged queries: choose another data set")
    with TemporaryDirectory() as folder:
        documents = ((document.id, document.text) for document in dataset.documents)
        path = Path(folder) / "index"
        Index.build(path, documents).close()
        with (opening or Index.open)(path) as index:
            yield judged_queries(index, dataset.queries, dataset.qrels, dataset.name)


def run_queries(
    judged: JudgedQueries,
    choice: Choice,
    k: int = DEPTH,
    *,
    feedback: Feedback | None = None,
) -> Run:
    """Answer every query: query → document → score, best first."""
    how: How = (choice, None, None)
    return answer_queries(judged.searcher, judged.queries, how, k, feedback=feedback)


def answer_queries(
    searcher: BaseSearcher,
    queries: Mapping[str, Sequence[str]],
    how: How,
    k: int = DEPTH,
    *,
    feedback: Feedback | None = None,
) -> Run:
    """Answer queries of analysed terms: query → document → score, best first.

    how : model and parameters, weights of fields, prior, as ``Searcher.find`` takes it.
    """
    model = how[0][0]
    terms: list[Sequence[str] | Mapping[str, float]] = list(queries.values())
    if feedback is not None:
        hits = _answers(searcher, terms, how, feedback.documents)
        first = [
            (tally(each), top_documents(best, model))
            for each, best in zip(queries.values(), hits, strict=True)
        ]
        terms = list(searcher.lengthen(first, feedback))
    answers = _answers(searcher, terms, how, k)
    return {
        id_: {hit.id: hit.score for hit in best}
        for id_, best in zip(queries, answers, strict=True)
    }


def hybrid_questions(
    judged: JudgedQueries, dense: DenseIndex, choice: Choice = ("bm25", {})
) -> dict[str, HybridQuestion]:
    """Make every query ready to be answered by words and meaning.

    dense : the documents' vectors, by the numbers of the searcher.
    """
    queries, how = judged.queries, (choice, None, None)
    questions = word_questions(judged.searcher, queries, how)
    return fused_questions(questions, judged.texts, dense)


def word_questions(
    searcher: BaseSearcher,
    queries: Mapping[str, Sequence[str]],
    how: How,
    feedback: Feedback | None = None,
) -> dict[str, Question]:
    """Make queries of analysed terms ready for words; as ``answer_queries`` does."""
    questions = {id_: searcher.question(each, how) for id_, each in queries.items()}
    if feedback is None:
        return questions
    return {id_: each.with_feedback(feedback) for id_, each in questions.items()}


def fused_questions(
    questions: Mapping[str, Question],
    texts: Mapping[str, str],
    dense: DenseIndex,
    members: Bools | None = None,
) -> dict[str, HybridQuestion]:
    """Make questions of words, and their texts, ready for words and meaning.

    members : the documents that may be answers, None where the searcher knows them.
    """
    from classmark.index.fusion import HybridQuestion

    vectors = dense.encode([texts[id_] for id_ in questions])
    return {
        id_: HybridQuestion(question, dense, vector, members=members)
        for (id_, question), vector in zip(questions.items(), vectors, strict=True)
    }


def run_hybrid(
    questions: Mapping[str, HybridQuestion], weight: float | None, k: int = DEPTH
) -> Run:
    """Answer by words and ``weight`` times meaning; None: by reciprocal ranks."""
    return {
        id_: {hit.id: hit.score for hit in each.with_weight(weight).answer(k)}
        for id_, each in questions.items()
    }


def learn_weight(
    judged: JudgedQueries,
    questions: Mapping[str, HybridQuestion],
    weights: Sequence[float] = WEIGHTS,
    name: str = "ndcg@10",
) -> list[Trial]:
    """Try weights of meaning on judged queries; ``best_of`` is what they teach.

    The score is linear and has one parameter, so the measure itself is maximised, not
    a bound of it. Lists are looked up once. Only the first ten documents are ordered
    where the measure sees no more.
    """
    k = parse(name).cutoff or DEPTH
    trials = []
    for weight in track(weights, "weight of meaning", len(weights)):
        values = measure(judged, run_hybrid(questions, weight, k), [name])[name]
        trials.append(Trial({"weight": weight}, float(values.mean())))
    return trials


def measure(judged: JudgedQueries, run: Run, names: Sequence[str]) -> dict[str, Floats]:
    """Return each measure's value for each query, in the queries' order."""
    values = retrieval_per_query(run, judged.qrels, names)
    return {
        name: np.array([values[name][id_] for id_ in judged.queries]) for name in names
    }


def _answers(
    searcher: BaseSearcher,
    queries: Sequence[Sequence[str] | Mapping[str, float]],
    how: How,
    k: int,
) -> list[list[Hit]]:
    """Answer queries, many in one call where one field is searched as it is."""
    (model, parameters), fields, prior = how
    if len(searcher.fields) > 1 or fields is not None or prior is not None:
        each = track(queries, "answering", len(queries))
        return [searcher.hits(*searcher.find(terms, k, how)) for terms in each]
    answers: list[list[Hit]] = []
    batches = range(0, len(queries), BATCH)
    for low in track(batches, "answering", len(batches)):
        batch = queries[low : low + BATCH]
        answers += searcher.search_many(batch, k, model, **parameters)
    return answers


@dataclass(frozen=True, slots=True)
class Compared:
    """A second run against a first, query by query, on one measure.

    difference : of the means, second − first;  better, worse, equal : queries;
    chances : two-sided p-values of the paired t-test (None with fewer than two
    queries), the sign test and the randomisation test.
    """

    difference: float
    better: int
    worse: int
    equal: int
    chances: tuple[float | None, float, float]


def compare(first: Floats, second: Floats) -> Compared:
    """Compare the values of two runs on the same queries, shape (queries,).

    >>> compare(np.array([0.2, 0.4, 0.5]), np.array([0.3, 0.4, 0.9])).better
    2
    """
    gain = second - first
    return Compared(
        float(gain.mean()),
        int((gain > 0).sum()),
        int((gain < 0).sum()),
        int((gain == 0).sum()),
        (
            paired_t_test(second, first).p_value if len(gain) > 1 else None,
            sign_test(second, first).p_value,
            randomisation_test(second, first).p_value,
        ),
    )


def tally(terms: Sequence[str]) -> dict[str, float]:
    """Count the terms of a query, in order of appearance.

    >>> tally(["bee", "hive", "bee"])
    {'bee': 2.0, 'hive': 1.0}
    """
    return {term: float(count) for term, count in Counter(terms).items()}


MOST = 2000
_NAMED = re.compile(r"(\w+)=(.+)")

Grid = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting of the parameters, and the mean of the measure under it."""

    parameters: dict[str, float]
    value: float


def grid_of(parameters: Sequence[str]) -> dict[str, list[float]]:
    """Read ``name=first:last:step`` or ``name=value,value,…``, one each.

    >>> grid_of(["b=0:1:0.25", "k1=0.9,1.2"])
    {'b': [0.0, 0.25, 0.5, 0.75, 1.0], 'k1': [0.9, 1.2]}
    """
    grid: dict[str, list[float]] = {}
    for text in parameters:
        match = _NAMED.fullmatch(text.strip())
        if match is None or match[1] in grid:
            raise Mistake(
                f"parameter {text!r}: give each once, as name=first:last:step or "
                "name=value,value"
            )
        grid[match[1]] = _values(text, match[2])
    return grid


def _values(text: str, values: str) -> list[float]:
    cells = values.split(":") if ":" in values else values.split(",")
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError as problem:
        raise Mistake(f"parameter {text!r}: {problem}: give numbers") from problem
    if ":" not in values:
        return numbers
    if len(numbers) != 3 or not numbers[2] > 0 or not numbers[1] >= numbers[0]:
        raise Mistake(f"parameter {text!r}: give first:last:step, with a step above 0")
    first, last, step = numbers
    steps = int((last - first) / step + 1e-9)
    if steps > MOST:
        raise Mistake(f"parameter {text!r} has over {MOST} values: give a larger step")
    return [round(first + step * at, 12) for at in range(steps + 1)]


def settings_of(grid: Grid) -> list[dict[str, float]]:
    """Return every setting of a grid."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def defined(
    model: str, grid: Grid, fixed: Mapping[str, float | str] | None = None
) -> tuple[dict[str, list[float]], list[str]]:
    """Leave out the ends of ranges at which the model is not defined, and say which.

    A sweep of λ from 0 to 1 includes 1 and not 0, where Jelinek–Mercer's formula
    divides by λ.

    >>> grid, notes = defined("jm", {"lambda": [0.0, 0.5, 1.0]})
    >>> grid, notes[0][:22]
    ({'lambda': [0.5, 1.0]}, 'lambda = 0 is left out')
    """
    parameters = resolve(model, fixed or {})[0].parameters
    inside: dict[str, list[float]] = {}
    notes = []
    for name, values in grid.items():
        limits = parameters.get(name.rstrip("_"))
        ends: set[float] = set()
        if limits is not None:
            ends |= {limits.low} if limits.open_low else set()
            ends |= {limits.high} if limits.open_high else set()
        inside[name] = [value for value in values if value not in ends]
        if not inside[name]:
            inside[name] = list(values)  # the model refuses them
            continue
        notes += [
            f"{name} = {value:g} is left out: {model} takes one {limits}"
            for value in values
            if value in ends
        ]
    return inside, notes


def sweep(
    judged: JudgedQueries,
    model: str,
    settings: Sequence[dict[str, float]],
    name: str = "map",
    *,
    fixed: Mapping[str, float | str] | None = None,
    feedback: Feedback | None = None,
) -> list[Trial]:
    """Answer all queries under every setting of the model's parameters.

    settings : which are tried;  name : the measure;  fixed : parameters that stay.
    """
    parse(name)
    stay = dict(fixed or {})
    for setting in settings:
        resolve(model, stay | setting)
    trials = []
    for setting in track(settings, f"tuning {model}", len(settings)):
        run = run_queries(judged, (model, stay | setting), feedback=feedback)
        trials.append(Trial(setting, float(measure(judged, run, [name])[name].mean())))
    return trials


def best_of(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the largest value, the first of equals."""
    return max(trials, key=lambda trial: trial.value)
