"""Train and evaluate rankers of answers, from judged queries, clicks or LETOR files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Floats
from classmark.evaluation import retrieval
from classmark.formats.svmlight import read_letor, write_letor
from classmark.ltr import normalise_per_query, training
from classmark.ltr.features import Reranker, open_reranker, save_reranker
from classmark.ltr.judged import order_measured, select_over_queries
from classmark.measures import parse
from classmark.problems import Mistake, worded
from classmark.workbench.results import Cell, Table, WorkResult, as_result
from classmark.workbench.search import clicks, rankers
from classmark.workbench.search.index import open_project_index
from classmark.workbench.search.links import chances
from classmark.workbench.search.rankers import LEARNED, SERVED
from classmark.workbench.search.search import fused_for
from classmark.workbench.search.tune import Judgments, read_judged

if TYPE_CHECKING:
    from classmark.index.index import Index
    from classmark.workbench.project import Project
    from classmark.workbench.search.hybrid import IndexVectors
    from classmark.workbench.team.desk import Desk
    from classmark.workbench.team.jobs import Job


TRAINING, COMPARING = "rank train", "rank evaluate"  # jobs
Grades = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, eq=False)
class JudgedTraining:
    """Judged queries, their texts, what clicks prefer (or None), and notes."""

    judged: retrieval.JudgedQueries
    texts: Mapping[str, str]
    preferences: Mapping[str, list[training.DocumentPreference]] | None = None
    notes: tuple[str, ...] = ()


def judged_by_people(index: Index, judgments: Judgments) -> JudgedTraining:
    """Read judgments; those of unknown queries and documents are left out, and said."""
    queries, qrels, name = read_judged(judgments)
    unknown = [query for query in qrels if query not in queries]
    grades, missing = _within(index, {q: qrels[q] for q in qrels if q in queries})
    notes = [
        f"judgments of {len(ids)} {what} are left out ({_some(ids)})"
        for what, ids in (
            ("queries that are not there", unknown),
            ("documents that are not in the index", missing),
        )
        if ids
    ]
    if missing and not any(grades.values()):
        raise Mistake(
            f"{name}: no judged document is in the index ({_some(missing)} are not): "
            "give judgments of this project's documents"
        )
    judged = retrieval.judged_queries(index, queries, grades, name)
    if not any(grade > 0 for row in judged.qrels.values() for grade in row.values()):
        raise Mistake(
            f"{name}: no document has a grade above 0: judge some as relevant"
        )
    return JudgedTraining(judged, queries, None, tuple(notes))


def judged_by_clicks(
    project: Project, index: Index, strategy: str, weighed: bool
) -> JudgedTraining:
    """Read the click log: a query is its text, and what was clicked is relevant.

    weighed : a preference counts the more, the less its winner's position is looked at.

    That a document was never clicked may only say that nobody was shown it: measures
    on clicks favour what was shown.
    """
    clicked: dict[str, dict[str, float]] = {}
    for seen in clicks.read_impressions(project.store):
        for document in seen.clicked:
            clicked.setdefault(seen.query, {})[document] = 1.0
    if not clicked:
        remedy = worded(
            "log searches with classmark search --log, and what is opened with "
            "classmark click"
        )
        raise Mistake(f"nothing was clicked yet: {remedy}")
    grades, missing = _within(index, clicked)
    looks = clicks.estimated_propensities(project.store) if weighed else None
    preferences = clicks.logged_preferences(project.store, strategy, looks)
    notes = ["held-out queries are judged by clicks, which favour what was shown"]
    if missing:
        notes.append(f"clicks on {len(missing)} documents that are gone are left out")
    texts = {query: query for query in clicked}
    judged = retrieval.judged_queries(index, texts, grades, "the click log")
    return JudgedTraining(judged, texts, preferences, tuple(notes))


def _within(
    index: Index, qrels: Grades
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Keep the judgments of documents that are in the index; name the others."""
    judged = dict.fromkeys(id_ for grades in qrels.values() for id_ in grades)
    missing = {id_: None for id_ in judged if id_ not in index}
    within = {
        query: {id_: grade for id_, grade in grades.items() if id_ not in missing}
        for query, grades in qrels.items()
    }
    return within, list(missing)


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")


@dataclass(frozen=True, slots=True)
class RankerTraining:
    """How to train: the learner, the measure that decides, how queries are parted.

    prices : the Cs to choose among; the learner's own, if none;  clicks : a strategy,
    to learn from the click log;  weighed : clicks count by the chance of a look at
    their position;  force : into service whatever the guard says.
    """

    learner: str = "ranking-svm"
    measure: str = training.MEASURES[0]
    share: float = 0.5
    seed: int = 0
    prices: tuple[float, ...] = ()
    clicks: str | None = None
    weighed: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class RankerTrained:
    """A ranker that was stored: its number, how it compares, whether it is in service.

    verdict : why it is, or is not, in words.
    """

    number: int
    table: Table
    used: bool
    verdict: str
    page: Path


def train_ranker(
    project: Project, judgments: Judgments, options: RankerTraining, who: str = ""
) -> RankerTrained:
    """Learn from judged queries or clicks; into service only if surely better."""
    learner, index = _learner(options), open_project_index(project)
    if options.clicks is None:
        judged = judged_by_people(index, judgments)
    else:
        judged = judged_by_clicks(project, index, options.clicks, options.weighed)
    parting = training.part_queries(
        list(judged.judged.queries), options.share, options.seed
    )
    links, vectors = chances(project, index), _vectors(project, index)
    prepared = training.prepare(
        judged.judged, parting, options.measure, links, vectors and vectors.usable
    )
    learned = training.learn(
        judged.judged,
        parting,
        prepared,
        learner,
        served_by(project, index),
        name=options.measure,
        preferences=judged.preferences,
    )
    if vectors is not None and vectors.note:
        judged = replace(judged, notes=(*judged.notes, vectors.note))
    facts = _facts(judged, learned, parting, options)
    place = project.rankers.next()
    save_reranker(_reranker(index, learned, options.learner, facts), place)
    number = int(place.name)
    page = rankers.write_page(project, number, facts)
    better = learned.compared.is_better(SERVED, options.measure)
    used = better or options.force
    if used:
        rankers.use_ranker(project, str(number), who)
    table = compared_table(f"Ranker {number}", learned.compared, facts["notes"])
    return RankerTrained(number, table, used, _verdict(number, better, used), page)


def start_training(
    desk: Desk, judgments: Judgments, options: RankerTraining, who: str
) -> Job:
    """Train a ranker as a job; an unknown learner or measure is refused at once."""
    _learner(options)

    def work(project: Project) -> WorkResult:
        trained = train_ranker(project, judgments, options, who)
        facts = {"number": trained.number, "used": trained.used}
        return as_result(trained.table, facts | {"said": trained.verdict})

    return desk.jobs.start(TRAINING, work, who)


def start_comparing(
    desk: Desk, judgments: Judgments, numbers: Sequence[int], who: str
) -> Job:
    """Measure rankers on judged queries as a job."""
    for number in numbers:
        rankers.open_ranker(desk, number)

    def work(project: Project) -> WorkResult:
        return as_result(evaluate_ranker(project, judgments, numbers))

    return desk.jobs.start(COMPARING, work, who)


def _learner(options: RankerTraining) -> training.RankerRecipe:
    """The learner with the prices to choose among; the measure is checked, too."""
    parse(options.measure)
    learner = training.learner_of(options.learner)
    return learner._replace(prices=options.prices or learner.prices)


def evaluate_ranker(
    project: Project, judgments: Judgments, numbers: Sequence[int]
) -> Table:
    """Measure stored rankers on judged queries none of them learned from."""
    index = open_project_index(project)
    judged = judged_by_people(index, judgments)
    opened = {number: rankers.open_ranker(project, number) for number in numbers}
    taught = {t for ranker in opened.values() for t in ranker.facts["queries taught"]}
    fresh = [q for q in judged.judged.queries if judged.texts[q] not in taught]
    if not fresh:
        raise Mistake("every query was learned from: give other judged queries")
    held_out = judged.judged.only(fresh)
    runs = {
        f"ranker {number}": _run(project, index, held_out, ranker, f"ranker {number}")
        for number, ranker in opened.items()
    }
    runs |= served_by(project, index)(held_out)
    notes = list(judged.notes)
    if left := len(judged.judged.queries) - len(fresh):
        notes.append(f"{left} queries were learned from and are left out")
    return compared_table("Rankers", training.compare(held_out, runs), notes)


def write_features(project: Project, judgments: Judgments, path: Path) -> Table:
    """Write the features of the candidates of judged queries as a LETOR file."""
    index = open_project_index(project)
    judged = judged_by_people(index, judgments)
    tuned = training.tune_models(judged.judged)
    vectors = _vectors(project, index)
    candidates = training.gather(
        judged.judged,
        tuned,
        pagerank=chances(project, index),
        dense=vectors and vectors.usable,
    )
    rows = candidates.judged_rows()
    write_letor(rows, path)
    numbered: list[dict[str, Cell]] = [
        {"number": at, "feature": name} for at, name in enumerate(candidates.names, 1)
    ]
    notes = [
        f"{len(rows):,} rows of {len(candidates.blocks)} queries in {path}",
        "not scaled: scale each feature within its query before learning",
        *([vectors.note] if vectors and vectors.note else []),
        *judged.notes,
    ]
    return Table("Features", numbered, "; ".join(notes))


def served_by(project: Project, index: Index) -> training.Rivals:
    """Return the order that is in service now: a ranker's, or that of bm25.

    With meaning beside its words where searches have it.
    """

    def runs(judged: retrieval.JudgedQueries) -> dict[str, retrieval.Run]:
        current = project.rankers.current()
        if current is not None:
            ranker = open_reranker(current)
            name = f"ranker {int(current.name)}, which is in service,"
            return {SERVED: _run(project, index, judged, ranker, name)}
        fused, _ = fused_for(project, None, lambda: _vectors(project, index))
        if fused is None:
            return {SERVED: retrieval.run_queries(judged, ("bm25", {}))}
        questions = retrieval.hybrid_questions(judged, fused.dense)
        return {SERVED: retrieval.run_hybrid(questions, fused.weight)}

    return runs


def _vectors(project: Project, index: Index) -> IndexVectors | None:
    """The documents' vectors; None where the project has no source of them.

    Vectors of one's own are no help, since queries have none.
    """
    if project.settings.meaning.source in {"none", "own"}:
        return None
    from classmark.workbench.search.hybrid import index_vectors

    return index_vectors(project, index)


def _run(
    project: Project,
    index: Index,
    judged: retrieval.JudgedQueries,
    ranker: Reranker,
    name: str,
) -> retrieval.Run:
    recipe = ranker.recipe
    vectors = None if recipe.meaning is None else _vectors(project, index)
    links = chances(project, index) if recipe.pagerank else None
    dense = vectors and vectors.dense
    features = rankers.ranker_features(ranker, index, name, links, dense)
    candidates = training.candidates_of(judged, features, ranker.first, ranker.depth)
    return candidates.run(list(judged.queries), ranker)


def _reranker(
    index: Index,
    learned: training.LearnedRanker,
    learner: str,
    facts: Mapping[str, Any],
) -> Reranker:
    ranker, candidates = learned.ranker, learned.candidates
    trees = getattr(ranker, "booster_", None)
    weights = np.empty(0) if trees else getattr(ranker, "weights_", None)
    return Reranker(
        learner,
        candidates.names,
        np.asarray(ranker.coef_ if weights is None else weights, np.float64),
        candidates.recipe,
        learned.tuned.choice,
        training.CANDIDATES,
        tuple(index.fields),
        str(index.analyzer),
        trees.model_to_string() if trees else "",
        facts,
    )


def _facts(
    judged: JudgedTraining,
    learned: training.LearnedRanker,
    parting: training.Parting,
    options: RankerTraining,
) -> dict[str, Any]:
    """All that is to be remembered of a training, ready for JSON."""
    compared = learned.compared
    name, (model, parameters) = options.measure, learned.tuned.choice
    setting = ", ".join(f"{key} {value:g}" for key, value in parameters.items())
    best = f"{training.BEST}: {model}" + (f" ({setting})" if setting else "")
    return {
        "learner": options.learner,
        "from": "clicks" if options.clicks else "judgments",
        "C": learned.price,
        "prices": [[price, mean] for price, mean in learned.means.items()],
        "measure": name,
        "seed": parting.seed,
        "taught": len(parting.taught),
        "held": len(parting.held_out),
        "queries taught": [judged.texts[query] for query in parting.taught],
        "means": {
            order: {key: float(each.mean()) for key, each in values.items()}
            for order, values in compared.values.items()
        },
        "chances": {rival: dict(each) for rival, each in compared.chances.items()},
        "queries": [
            {"query": query, "text": judged.texts[query]}
            | {
                order: float(compared.values[order][name][at])
                for order in compared.values
            }
            for at, query in enumerate(compared.queries)
        ],
        "importance": list(learned.importance(parting.taught).items()),
        "notes": [best, *judged.notes],
    }


def compared_table(
    title: str, compared: training.RankerComparison, notes: Sequence[str]
) -> Table:
    """Show the means of each order, and the tests of the first against the others."""
    rows: list[dict[str, Cell]] = []
    first = next(iter(compared.values))
    for order, values in compared.values.items():
        row: dict[str, Cell] = {"order": order}
        for name, each in values.items():
            row[name] = float(each.mean())
            row[f"p, {name}"] = compared.chances.get(order, {}).get(name)
        rows.append(row)
    many = f"{len(compared.queries)} held-out queries"
    tested = f"p: two-sided randomisation test against {first}"
    return Table(f"{title} on {many}", rows, "; ".join([tested, *notes]))


def _verdict(number: int, better: bool, used: bool) -> str:
    sure = f"surely better than what was in service (p < {training.SURE:g})"
    if better:
        return f"ranker {number} is in service: it is {sure}"
    if used:
        return f"ranker {number} is in service, by force: it is not {sure}"
    remedy = worded(
        "classmark rank use {number} puts it there all the same", number=number
    )
    return f"ranker {number} is stored, not in service: it is not {sure}; {remedy}"


BEST_FEATURE = "best single feature"


def learn_file(path: Path, options: RankerTraining) -> Table:
    """Learn from some queries of a LETOR file, and compare on the others.

    Features are scaled to 0 … 1 within each query; the best single feature, rising or
    falling, is that of the queries learned from.
    """
    learner, judged = _learner(options), read_letor(path)
    qids = np.array(judged.qids)
    parting = training.part_queries(
        list(dict.fromkeys(judged.qids)), options.share, options.seed
    )
    X = normalise_per_query(judged.rows, judged.qids)
    in_training = np.isin(qids, parting.taught)
    taught, held_out = (
        (X[rows], judged.grades[rows], qids[rows])
        for rows in (in_training, ~in_training)
    )
    prices, folds = learner.prices, min(5, len(parting.taught))
    price = prices[0]
    if len(prices) > 1:
        chosen = select_over_queries(
            learner.make(price), *taught, prices, folds=folds, measure=options.measure
        )
        price = float(chosen.parameters["C"])
    ranker = learner.make(price).fit(*taught)
    column, sign = _best_feature(*taught, options.measure)
    names = tuple(dict.fromkeys((*training.MEASURES, options.measure)))
    X, grades, queries = held_out
    scores = {LEARNED: ranker.decision_function(X), BEST_FEATURE: sign * X[:, column]}
    values = {
        order: order_measured(each, grades, queries, names)
        for order, each in scores.items()
    }
    compared = training.RankerComparison(
        parting.held_out, values, training.tested(values)
    )
    notes = [
        f"{BEST_FEATURE}: {column + 1}, {'rising' if sign > 0 else 'falling'}",
        f"{options.learner}, C {price:g}, learned from {len(parting.taught)} queries",
    ]
    return compared_table(path.name, compared, notes)


def _best_feature(X: Floats, grades: Floats, qids: Any, name: str) -> tuple[int, float]:
    """Return the feature that orders best by itself, and whether it rises or falls."""
    tried = {
        (column, sign): float(
            order_measured(sign * X[:, column], grades, qids, [name])[name].mean()
        )
        for column in range(X.shape[1])
        for sign in (1.0, -1.0)
    }
    return max(tried, key=tried.__getitem__)
