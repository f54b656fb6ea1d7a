"""Measures of ranked documents for judged queries, and the names they go by."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, NamedTuple

import numpy as np

from classmark.arrays import Array, Bools, Floats, Ints
from classmark.problems import Mistake
from classmark.ranking import Ranking, rank

AVERAGES = ("micro", "macro")
_FORM = re.compile(r"([a-z_]\w*)(?:\((\w+)\))?(?:@(\d+))?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A measure: its name, where it is defined, how it is written and computed.

    cutoff : whether ``@10`` may, must or must not follow;  averaged : whether
    ``(micro)`` or ``(macro)`` must;  empty : what a query without relevant documents
    counts; None where there are no queries (for documents without labels see
    ``categories.py``);  compute : of measures of a run, from the run and the cutoff to
    the value of each query;  pairs : whether it is of preference pairs, not of grades.
    """

    name: str
    cites: str
    aliases: tuple[str, ...] = ()
    cutoff: Literal["no", "may", "must"] = "no"
    averaged: bool = False
    larger_is_better: bool = True
    empty: float | None = None
    compute: Callable[[JudgedRun, int | None], Floats] | None = None
    pairs: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure with its parameters.

    >>> str(Measure("nDCG", cutoff=10))
    'nDCG@10'
    """

    name: str
    cutoff: int | None = None
    average: str | None = None

    def __post_init__(self) -> None:
        declared = self.declaration
        if declared.averaged != (self.average in AVERAGES):
            forms = " or ".join(f"{self.name}({a})" for a in AVERAGES)
            form = forms if declared.averaged else self.name
            raise Mistake(f"measure {self.name!r}: write {form}")
        lacking = declared.cutoff == "must" and self.cutoff is None
        needless = declared.cutoff == "no" and self.cutoff is not None
        if lacking or needless or self.cutoff == 0:
            form = self.name if declared.cutoff == "no" else f"{self.name}@10"
            raise Mistake(f"measure {self.name!r}: write {form}, cut from 1 up")

    def __str__(self) -> str:
        average = "" if self.average is None else f"({self.average})"
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.name}{average}{cutoff}"

    @property
    def declaration(self) -> Declaration:
        """The declaration of this measure."""
        if self.name not in MEASURES:
            raise _unknown(self.name)
        return MEASURES[self.name]

    @property
    def larger_is_better(self) -> bool:
        """Whether more is better."""
        return self.declaration.larger_is_better


def parse(name: str | Measure) -> Measure:
    """Read a measure's name, in capitals or not: ``str`` and ``parse`` undo each other.

    >>> parse("ndcg@10"), str(parse("map"))
    (Measure(name='nDCG', cutoff=10, average=None), 'AP')
    """
    if isinstance(name, Measure):
        return name
    form = _FORM.fullmatch(name.strip())
    canonical = _spellings().get(form[1].lower()) if form else None
    if form is None or canonical is None:
        raise _unknown(name)
    average = form[2].lower() if form[2] else None
    return Measure(canonical, int(form[3]) if form[3] else None, average)


def parse_for(
    names: Sequence[str | Measure], computed: Iterable[str]
) -> dict[str, Measure]:
    """Read names, all of which must be among those that ``computed`` lists."""
    parsed = {str(name): parse(name) for name in names}
    for measure in parsed.values():
        if measure.name not in computed:
            raise Mistake(
                f"measure {measure} is not defined for this kind of answer: choose "
                f"among {', '.join(computed)}"
            )
    return parsed


def _unknown(name: str) -> Mistake:
    typed = re.split(r"[@(]", name.strip().lower())[0]
    spellings = _spellings()
    near = get_close_matches(typed, spellings, n=1)
    guess = f"did you mean {spellings[near[0]]}? " if near else ""
    return Mistake(
        f"measure {name!r} is not known: {guess}the known ones are "
        f"{', '.join(MEASURES)}"
    )


Table = Mapping[str, Mapping[str, float]]
Pairs = Mapping[str, Sequence[tuple[str, str]]]


class RankedPairs(NamedTuple):
    """The ranks of judged pairs, infinite where a document was not retrieved.

    queries : int64;  winners, losers : float64, all of shape (pairs,).
    """

    queries: Ints
    winners: Floats
    losers: Floats

    @property
    def best(self) -> Floats:
        """The rank of the document of each pair that stands above the other."""
        return np.minimum(self.winners, self.losers)


class RelevantPlaces(NamedTuple):
    """Where relevant items stand: all that a graph of precision and recall needs.

    queries : (m,), increasing;  ranks : (m,), increasing in each query;  sizes : (q,),
    how many are relevant, retrieved or not;  depth : the last rank that is looked at.
    """

    queries: Ints
    ranks: Ints
    sizes: Ints
    depth: int


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """Grades of the retrieved documents in their order, and of the best order possible.

    ``retrieved`` and ``ideal`` are rankings of the judged queries 0..q−1, whose names
    are ``queries``; ``retrieved_grades`` and ``ideal_grades`` go along with them. A
    grade above 0 is relevant; what is below counts as 0. Where preference pairs were
    judged, ``pairs`` has their ranks, and there are no grades.
    """

    queries: tuple[str, ...]
    retrieved: Ranking
    retrieved_grades: Floats
    ideal: Ranking
    ideal_grades: Floats
    pairs: RankedPairs | None = None

    def total(self, values: Floats) -> Floats:
        """Sum per query of values that go along with ``retrieved``."""
        queries = self.retrieved.queries
        return np.bincount(queries, values, minlength=len(self.queries)).astype(float)

    @property
    def relevant(self) -> Ints:
        """How many relevant documents each query has."""
        good = self.ideal.queries[self.ideal_grades > 0]
        return np.bincount(good, minlength=len(self.queries))

    def hits(self, cutoff: int | None = None) -> Bools:
        """Which retrieved documents are relevant and within the cutoff."""
        hit = self.retrieved_grades > 0
        return hit if cutoff is None else hit & (self.retrieved.ranks() <= cutoff)

    @property
    def places(self) -> RelevantPlaces:
        """Where the relevant documents stand."""
        hits, ranks = self.hits(), self.retrieved.ranks()
        depth = int(ranks.max(initial=0))
        queries = self.retrieved.queries[hits]
        return RelevantPlaces(queries, ranks[hits], self.relevant, depth)


def judge(run: Table, qrels: Table | Pairs) -> JudgedRun:
    """Put a run's documents in order and look up their grades, or ranks of pairs.

    Equal scores keep the order of the run: the first given stands first (trec_eval goes
    by document id, the last first: give the run in that order to compare). A query of
    the run without judgments is left out; one without a run has found nothing.

    qrels : {query: {document: grade}}, or {query: [(winner, loser), …]}.

    >>> judge({"q": {"a": 1.0, "b": 2.0}}, {"q": {"a": 3}}).retrieved_grades.tolist()
    [0.0, 3.0]
    >>> judge({"q": {"a": 1.0, "b": 2.0}}, {"q": [("a", "c")]}).pairs.best.tolist()
    [2.0]
    """
    if not qrels:
        raise Mistake("qrels is empty: give judgments {query: {document: grade}}")
    runs = {query: run.get(query, {}) for query in qrels}
    numbers, scores = _flat(runs, "run")
    retrieved = rank(numbers, np.arange(len(scores)), scores)
    graded = {q: judged for q, judged in qrels.items() if isinstance(judged, Mapping)}
    pairs = {q: each for q, each in qrels.items() if not isinstance(each, Mapping)}
    if pairs and graded:
        raise Mistake("qrels has grades and pairs: give one kind of judgments")
    if pairs:
        return _judged_pairs(runs, retrieved, pairs)
    looked_up = {
        query: {document: graded[query].get(document, 0) for document in answered}
        for query, answered in runs.items()
    }
    numbers, grades = _flat(graded, "qrels")
    ideal = rank(numbers, np.arange(len(grades)), grades)
    seen = np.maximum(_flat(looked_up, "qrels")[1], 0.0)[retrieved.items]
    best = np.maximum(grades, 0.0)[ideal.items]
    return JudgedRun(tuple(qrels), retrieved, seen, ideal, best)


def _judged_pairs(runs: Table, retrieved: Ranking, pairs: Pairs) -> JudgedRun:
    """Look up the ranks of judged pairs."""
    rank_of = np.empty(len(retrieved))
    rank_of[retrieved.items] = retrieved.ranks()
    ranked, numbers = iter(rank_of.tolist()), []
    places: list[tuple[float, float]] = []
    for number, (query, answered) in enumerate(runs.items()):
        place = dict(zip(answered, ranked, strict=False))
        for winner, loser in pairs[query]:
            if winner == loser:
                raise Mistake(
                    f"qrels, query {query!r}: {winner!r} over itself: leave it out"
                )
            numbers.append(number)
            places.append((place.get(winner, np.inf), place.get(loser, np.inf)))
    winners, losers = np.array(places, np.float64).reshape(-1, 2).T
    ranked_pairs = RankedPairs(np.array(numbers, np.int64), winners, losers)
    none, zeros = np.empty(0), np.zeros(len(retrieved))
    ideal = rank(none, none, none)
    return JudgedRun(tuple(runs), retrieved, zeros, ideal, none, ranked_pairs)


def preference_pairs(qrels: Table) -> dict[str, list[tuple[str, str]]]:
    """List the pairs that grades imply: each judged document over those graded lower.

    >>> preference_pairs({"q": {"a": 2, "b": 1, "c": 1}})
    {'q': [('a', 'b'), ('a', 'c')]}
    """
    return {
        query: [(a, b) for a in judged for b in judged if judged[a] > judged[b]]
        for query, judged in qrels.items()
    }


def retrieval(
    run: Table, qrels: Table | Pairs, measures: Sequence[str | Measure]
) -> dict[str, float]:
    """Judge a run: the mean over the judged queries, under the names as given.

    As trec_eval -c counts: a judged query that the run lacks, or that has no relevant
    document, counts 0. A grade above 0 is relevant. Ties: see ``judge``.

    run : {query: {document: score}};  qrels : {query: {document: grade}};
    measures : ``AP`` or ``map``, ``RR`` or ``mrr``, ``WTA``, ``P@10``, ``R@10``,
    ``PRBEP``, ``nDCG@10`` …; with qrels {query: [(winner, loser), …]}, ``PPref``,
    ``RPref`` and ``WPref``, also cut (``PPref@10``).

    >>> run, qrels = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"b": 1, "c": 2}}
    >>> retrieval(run, qrels, ["map", "mrr", "P@2"])
    {'map': 0.5833333333333333, 'mrr': 0.5, 'P@2': 0.5}
    >>> retrieval(run, {"q": [("b", "c"), ("c", "a")]}, ["ppref"])
    {'ppref': 0.5}
    """
    values = measured(judge(run, qrels), measures)
    return {name: float(each.mean()) for name, each in values.items()}


def retrieval_per_query(
    run: Table, qrels: Table | Pairs, measures: Sequence[str | Measure]
) -> dict[str, dict[str, float]]:
    """Return {measure: {query: value}}: what a significance test takes.

    >>> retrieval_per_query({"q": {"a": 3.0}}, {"q": {"a": 1}, "r": {"a": 1}}, ["map"])
    {'map': {'q': 1.0, 'r': 0.0}}
    """
    judged = judge(run, qrels)
    return {
        name: dict(zip(judged.queries, each.tolist(), strict=True))
        for name, each in measured(judged, measures).items()
    }


def average_precision(judged: JudgedRun, cutoff: int | None = None) -> Floats:
    """Mean precision at the relevant documents [ManningRaghavanSchutze08].

    AP = (1/R) Σ over the relevant documents found of the precision at their rank.
    """
    ranks, hits = judged.retrieved.ranks(), judged.hits()
    counted = np.cumsum(hits)
    before = np.concatenate([[0], counted])[np.arange(len(ranks)) - ranks + 1]
    precision = np.where(judged.hits(cutoff), (counted - before) / ranks, 0.0)
    return share(judged.total(precision), judged.relevant)


def reciprocal_rank(judged: JudgedRun, cutoff: int | None = None) -> Floats:
    """1 / rank of the first relevant document, 0 if none is found [Voorhees99]."""
    best = np.zeros(len(judged.queries))
    gain = np.where(judged.hits(cutoff), 1 / judged.retrieved.ranks(), 0.0)
    np.maximum.at(best, judged.retrieved.queries, gain)
    return best


def precision(judged: JudgedRun, cutoff: int | None) -> Floats:
    """Relevant documents among the first k, divided by k [ManningRaghavanSchutze08]."""
    return judged.total(judged.hits(cutoff).astype(np.float64)) / (cutoff or 1)


def recall(judged: JudgedRun, cutoff: int | None) -> Floats:
    """Share of the relevant found among the first k [ManningRaghavanSchutze08]."""
    return share(judged.total(judged.hits(cutoff).astype(np.float64)), judged.relevant)


def break_even(judged: JudgedRun, _: int | None = None) -> Floats:
    """Precision where it equals recall, at rank R = number relevant [Joachims05]."""
    within = judged.retrieved.ranks() <= judged.relevant[judged.retrieved.queries]
    return share(
        judged.total((judged.hits() & within).astype(np.float64)), judged.relevant
    )


def ndcg(judged: JudgedRun, cutoff: int | None = None) -> Floats:
    """DCG divided by that of the ideal order [JarvelinKekalainen02].

    DCG@k = Σ over ranks r ≤ k of (2^grade − 1) / log2(1 + r), gains as in [Burges05].
    """
    size = len(judged.queries)
    dcg = _dcg(judged.retrieved, judged.retrieved_grades, cutoff, size)
    return share(dcg, _dcg(judged.ideal, judged.ideal_grades, cutoff, size))


def preference_precision(judged: JudgedRun, cutoff: int | None = None) -> Floats:
    """Share of the ordered pairs that are in the right order [Carterette08].

    A judged pair is ordered where one of its documents is among the first k; a document
    that was not retrieved stands below all that were. Pairs of which neither is among
    the first k do not count.
    """
    pairs, ordered, right = _ordered(judged, cutoff)
    return share(*_pair_sums(judged, pairs, right, ordered))


def preference_recall(judged: JudgedRun, cutoff: int | None = None) -> Floats:
    """Share of all judged pairs that are ordered, and rightly so [Carterette08].

    As PPref, but pairs of which neither document is among the first k count as wrong.
    """
    pairs, _, right = _ordered(judged, cutoff)
    return share(*_pair_sums(judged, pairs, right, np.ones(len(right))))


def weighted_preference(judged: JudgedRun, cutoff: int | None = None) -> Floats:
    """PPref with pairs near the top counting more, after [Carterette08].

    Σ over rightly ordered pairs of w / Σ over ordered pairs of w, with w = 1/log2(1 +
    r) and r the rank of the document of the pair that stands above the other.
    """
    pairs, ordered, right = _ordered(judged, cutoff)
    weights = 1 / np.log2(1.0 + pairs.best)
    return share(*_pair_sums(judged, pairs, right * weights, ordered * weights))


def _ordered(judged: JudgedRun, cutoff: int | None) -> tuple[RankedPairs, Bools, Bools]:
    """Which pairs have a document among the first k, and which of them are right."""
    if judged.pairs is None:
        raise Mistake(
            "PPref, RPref and WPref are of preference pairs: give qrels as {query: "
            "[(winner, loser), …]}, or what preference_pairs(qrels) makes of grades"
        )
    pairs = judged.pairs
    ordered = np.isfinite(pairs.best) if cutoff is None else pairs.best <= cutoff
    return pairs, ordered, ordered & (pairs.winners < pairs.losers)


def _pair_sums(judged: JudgedRun, pairs: RankedPairs, *values: Array) -> list[Floats]:
    size = len(judged.queries)
    sums = (np.bincount(pairs.queries, each, minlength=size) for each in values)
    return [np.asarray(each, np.float64) for each in sums]


MANNING = "ManningRaghavanSchutze08"
_DECLARED = (
    Declaration(
        "AP",
        MANNING,
        ("map", "average_precision", "avgp"),
        cutoff="may",
        empty=0.0,
        compute=average_precision,
    ),
    Declaration(
        "RR", "Voorhees99", ("mrr",), cutoff="may", empty=0.0, compute=reciprocal_rank
    ),
    Declaration(  # is the first one relevant?
        "WTA", MANNING, empty=0.0, compute=lambda judged, _: precision(judged, 1)
    ),
    Declaration("P", MANNING, cutoff="must", empty=0.0, compute=precision),
    Declaration("R", MANNING, cutoff="must", empty=0.0, compute=recall),
    Declaration("PRBEP", "Joachims05", ("rprec",), empty=0.0, compute=break_even),
    Declaration("nDCG", "JarvelinKekalainen02", cutoff="may", empty=0.0, compute=ndcg),
    *(
        Declaration(
            name, "Carterette08", cutoff="may", empty=0.0, compute=compute, pairs=True
        )
        for name, compute in (
            ("PPref", preference_precision),
            ("RPref", preference_recall),
            ("WPref", weighted_preference),
        )
    ),
    Declaration("Loss1", "CrammerSinger03", larger_is_better=False),
    Declaration("Loss2", "CrammerSinger03", larger_is_better=False),
    Declaration("Loss3", "CrammerSinger03", ("disagreement",), larger_is_better=False),
    Declaration("Domination", "DekelManningSinger03", larger_is_better=False),
    Declaration("Dominated", "DekelManningSinger03", larger_is_better=False),
    Declaration("OneError", "SchapireSinger00", ("one_error",), larger_is_better=False),
    Declaration("Coverage", "SchapireSinger00", larger_is_better=False),
    Declaration("MaxF1", "CrammerSinger03", ("max_f1",)),
    Declaration("CurveMaxF1", "CrammerSinger03", ("curve_max_f1",)),
    Declaration("nP", "AiolliSebastianiSperduti08", cutoff="must"),
    Declaration("F1", "VanRijsbergen79", averaged=True),
    Declaration("Precision", "VanRijsbergen79", averaged=True),
    Declaration("Recall", "VanRijsbergen79", averaged=True),
    Declaration("Accuracy", MANNING),
    Declaration("Detected", "Babbar14"),
    Declaration("BAcc", "Babbar14", ("accuracy_bound",)),
    Declaration("TreeError", "DekelKeshetSinger04", larger_is_better=False),
    Declaration("hF", "Kiritchenko05", ("hierarchical_f",)),
    Declaration("Kappa", "Cohen60"),
    Declaration("Alpha", "Krippendorff04"),
    Declaration("ECE", "Guo17", larger_is_better=False),
    Declaration("WSS", "CohenHersh06", cutoff="must"),
)
#: All measures by name. A new one is a new entry (docs/extending.md).
MEASURES: dict[str, Declaration] = {declared.name: declared for declared in _DECLARED}


def measured(judged: JudgedRun, measures: Sequence[str | Measure]) -> dict[str, Floats]:
    """The value of each measure for each query, under the names as given."""
    computed = {name: each.compute for name, each in MEASURES.items() if each.compute}
    parsed = parse_for(measures, computed)
    for measure in parsed.values():
        if judged.pairs is not None and not measure.declaration.pairs:
            raise Mistake(
                f"measure {measure} is of grades, and the judgments are preference "
                "pairs: use ppref, rpref or wpref"
            )
    return {
        name: computed[measure.name](judged, measure.cutoff)
        for name, measure in parsed.items()
    }


def _spellings() -> dict[str, str]:
    return {
        spelling.lower(): declared.name
        for declared in MEASURES.values()
        for spelling in (declared.name, *declared.aliases)
    }


def _dcg(ranking: Ranking, grades: Floats, cutoff: int | None, size: int) -> Floats:
    ranks = ranking.ranks()
    gains = (np.exp2(grades) - 1) / np.log2(1.0 + ranks)
    if cutoff is not None:
        gains = np.where(ranks <= cutoff, gains, 0.0)
    return np.bincount(ranking.queries, gains, minlength=size).astype(np.float64)


def share(part: Array, whole: Array) -> Floats:
    """Divide, 0 where the whole is 0."""
    shares: Floats = np.zeros(np.shape(part))
    np.divide(part, whole, out=shares, where=np.asarray(whole) > 0)
    return shares


def _flat(tables: Table, name: str) -> tuple[Ints, Floats]:
    """The values of all queries in a row, after the number of each one's query."""
    numbers = np.repeat(np.arange(len(tables)), [len(t) for t in tables.values()])
    listed = [value for table in tables.values() for value in table.values()]
    values = np.array(listed, dtype=np.float64)
    if np.isnan(values).any():
        query = [*tables][numbers[np.argmax(np.isnan(values))]]
        raise Mistake(
            f"{name}, query {query!r}: a value is not a number: replace NaN or leave "
            "the document out"
        )
    return numbers, values
