"""Train and evaluate rankers of answers, from judged queries, clicks or LETOR files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classmark.evaluation import retrieval
from classmark.formats.svmlight import write_letor
from classmark.language import (
    N_,
    _,
    as_stored,
    decimal,
    general,
    joined,
    restored,
    several,
    whole,
)
from classmark.ltr import training
from classmark.ltr.features import Reranker, open_reranker, save_reranker
from classmark.ltr.saved import stored_of
from classmark.measures import parse
from classmark.problems import refusal, worded
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
    notes = []
    if unknown:
        wrong = N_("judgments of %(n)s unknown queries are left out (%(ids)s)")
        notes.append(_(wrong, n=whole(len(unknown)), ids=_some(unknown)))
    if missing:
        wrong = N_("judgments of %(n)s documents outside the index left out (%(ids)s)")
        notes.append(_(wrong, n=whole(len(missing)), ids=_some(missing)))
    if missing and not any(grades.values()):
        raise refusal(
            "%(name)s: no judged document is in the index (%(some)s are not): "
            "give judgments of this project's documents",
            name=name,
            some=_some(missing),
        )
    judged = retrieval.judged_queries(index, queries, grades, name)
    return JudgedTraining(judged, queries, None, tuple(notes))


def judged_by_clicks(
    project: Project, index: Index, strategy: str, weighed: bool
) -> JudgedTraining:
    """Read the click log: a query is its text, and what was clicked is relevant.

    weighed : a preference counts the more, the less its winner's position is looked at.
    Measures on clicks favour what was shown: others could not be clicked.
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
        raise refusal("nothing has been clicked yet: %(remedy)s", remedy=remedy)
    grades, missing = _within(index, clicked)
    looks = clicks.estimated_propensities(project.store) if weighed else None
    preferences = clicks.logged_preferences(project.store, strategy, looks)
    notes = [_("held-out queries are judged by clicks, which favour what was shown")]
    if missing:
        gone = N_("clicks on %(n)s deleted documents are left out")
        notes.append(_(gone, n=whole(len(missing))))
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
    learner, index = learner_from(options), open_project_index(project)
    judged, parting = _material(project, index, judgments, options)
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
    notes = [restored(note) for note in facts["notes"]]
    title = _("Ranker %(number)s", number=number)
    table = compared_table(title, learned.compared, notes)
    reason = guard_reason(learned.compared, options.measure)
    verdict = joined(_verdict(number, better=better, used=used), reason)
    return RankerTrained(number, table, used, verdict, page)


def _material(
    project: Project, index: Index, judgments: Judgments, options: RankerTraining
) -> tuple[JudgedTraining, training.Parting]:
    """What is learned from, and which queries teach and which judge.

    With clicks and judgments the clicks teach, and the judgments judge: of queries that
    are not among those clicked in.
    """
    if options.clicks is None:
        judged = judged_by_people(index, judgments)
    else:
        judged = judged_by_clicks(project, index, options.clicks, options.weighed)
    if options.clicks is None or judgments == Judgments():
        queries = list(judged.judged.queries)
        return judged, training.part_queries(queries, options.share, options.seed)
    people = judged_by_people(index, judgments)
    unseen, apart = people.judged, {" ".join(t) for t in people.judged.queries.values()}
    taught = [
        query
        for query, terms in judged.judged.queries.items()
        if " ".join(terms) not in apart and query not in unseen.queries
    ]
    if len(taught) < 2 or len(unseen.queries) < 2:
        raise refusal(
            "queries to learn from by clicks: %(clicked)s, others that are judged: "
            "%(judged)s; two of each are needed",
            clicked=whole(len(taught)),
            judged=whole(len(unseen.queries)),
        )
    clicked = judged.judged.only(taught)
    both = replace(
        clicked,
        queries={**clicked.queries, **unseen.queries},
        qrels={**clicked.qrels, **unseen.qrels},
        texts={**clicked.texts, **unseen.texts},
    )
    same = len(judged.judged.queries) - len(taught)
    notes = [
        _("learned from clicks; tested on judgments"),
        *people.notes,
    ]
    if same:
        only = N_("%(n)s queries with clicks are used for testing only")
        notes.insert(1, _(only, n=whole(same)))
    parting = training.Parting(tuple(taught), tuple(unseen.queries), options.seed)
    return JudgedTraining(both, both.texts, judged.preferences, tuple(notes)), parting


def start_training(
    desk: Desk, judgments: Judgments, options: RankerTraining, who: str
) -> Job:
    """Train a ranker as a job; an unknown learner or measure is refused at once."""
    learner_from(options)

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


def learner_from(options: RankerTraining) -> training.RankerRecipe:
    """The learner with the prices to choose among; the measure is checked, too."""
    parse(options.measure)
    learner = training.learner_of(options.learner)
    if options.prices and not learner.has_price:
        raise refusal("%(name)s has no C: leave C out", name=learner.name)
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
        raise refusal(
            "all these queries were used for training: give other judged queries"
        )
    held_out = judged.judged.only(fresh)
    runs = {
        _ranker_name(number): _run(
            project, index, held_out, ranker, _ranker_name(number)
        )
        for number, ranker in opened.items()
    }
    runs |= served_by(project, index)(held_out)
    notes = list(judged.notes)
    if left := len(judged.judged.queries) - len(fresh):
        learned = N_("%(n)s queries were used for training and are left out")
        notes.append(_(learned, n=whole(left)))
    return compared_table(_("Rankers"), training.compare(held_out, runs), notes)


def _ranker_name(number: int) -> str:
    return _("ranker %(number)s", number=number)


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
    queries = several(len(candidates.blocks), "query")
    notes = [
        f"{several(len(rows), 'row')} of {queries} in {path}",
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
            name = _(
                "ranker %(number)s, which is in service,", number=int(current.name)
            )
            return {SERVED: _run(project, index, judged, ranker, name)}
        fused, _note = fused_for(project, None, lambda: _vectors(project, index))
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
    weights, trees = stored_of(ranker)
    return Reranker(
        learner,
        candidates.names,
        weights,
        candidates.recipe,
        learned.tuned.choice,
        training.CANDIDATES,
        tuple(index.fields),
        str(index.analyzer),
        trees,
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
    best = _("best single model: %(name)s", name=model)
    if setting:
        best = joined(best, f"({setting})", by=" ")
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
        "notes": [as_stored(note) for note in (best, *judged.notes)],
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
    many = _(
        "%(title)s, tested on %(n)s held-out queries",
        title=title,
        n=whole(len(compared.queries)),
    )
    tested = _("p: two-sided randomisation test against “%(order)s”", order=first)
    return Table(many, rows, joined(tested, *notes))


def _verdict(number: int, *, better: bool, used: bool) -> str:
    values = {"number": number, "p": general(training.SURE)}
    if better:
        return _(
            "ranker %(number)s is now in service: it is significantly better than the "
            "previous order (p < %(p)s)",
            **values,
        )
    if used:
        return _(
            "ranker %(number)s is now in service, as requested, although it is not "
            "significantly better than the previous order (p ≥ %(p)s)",
            **values,
        )
    remedy = worded("classmark rank use {number} puts it in service", number=number)
    return _(
        "ranker %(number)s is stored but not in service: it is not significantly "
        "better than the previous order (p ≥ %(p)s); %(remedy)s",
        **values,
        remedy=remedy,
    )


def guard_reason(compared: training.RankerComparison, name: str) -> str:
    """The figures by which the guard decided, in words."""
    learned, served = compared.values[LEARNED][name], compared.values[SERVED][name]
    result = retrieval.compare(served, learned)
    p = compared.chances[SERVED][name]
    reason = _(
        "%(name)s %(mean)s against %(before)s on %(n)s held-out queries, %(better)s "
        "better, %(worse)s worse, p = %(p)s",
        name=name,
        mean=decimal(learned.mean(), 4),
        before=decimal(served.mean(), 4),
        n=whole(len(learned)),
        better=whole(result.better),
        worse=whole(result.worse),
        p=general(p, 2),
    )
    if p >= training.SURE and result.difference > 0:
        more = _("more judged queries may show a difference")
        return joined(reason, more, by=": ")
    return reason
