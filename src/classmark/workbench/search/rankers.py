"""Learned rankers of answers: stored, used, reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Floats
from classmark.figures import HUES, INK, LINE, PAPER, SOFT
from classmark.index.asking import has_wildcard
from classmark.index.query_language import Belief, leaves_of, parse, positive_texts
from classmark.language import N_, _, ngettext, restored
from classmark.ltr.features import Reranker, open_reranker
from classmark.problems import refusal, worded
from classmark.workbench.results import Cell, Table
from classmark.workbench.store.log import whoami

if TYPE_CHECKING:
    from classmark.index.dense import DenseIndex
    from classmark.index.index import Index
    from classmark.index.search import Hit
    from classmark.ltr.features import PairFeatures
    from classmark.workbench.project import Project
    from classmark.workbench.search.filters import Narrowing
    from classmark.workbench.search.search import ProjectIndex, QueryOptions


Facts = Mapping[str, Any]
NONE = "none"
LEARNED, SERVED = N_("learned"), N_("in service")
COLOURS = {"ink": INK, "line": LINE, "paper": PAPER, "soft": SOFT}


def write_page(project: Project, number: int, facts: Facts) -> Path:
    """Write the report of a training as an HTML file; return where it is."""
    path = project.folder / "reports" / f"ranker-{number}.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page({**facts, "number": number}), encoding="utf-8")
    return path


def page(facts: Facts) -> str:
    """The report of a training: measures, wins and losses, features."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader(__package__ or "", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    means, chances = facts["means"], facts["chances"]
    names = list(means[LEARNED])
    measured = [
        [
            order,
            *chain(*((values[n], chances.get(order, {}).get(n, "")) for n in names)),
        ]
        for order, values in means.items()
    ]
    facts = {**facts, "notes": list(map(restored, facts["notes"]))}
    gains = [(row[LEARNED] - row[SERVED], row["text"]) for row in facts["queries"]]
    return templates.get_template("ranker_report.html").render(
        title=f"Ranker {facts['number']}: {facts['learner']}",
        facts=facts,
        learned=LEARNED,
        names=names,
        orders=list(zip(HUES, means, strict=False)),
        measures=(["order", *chain(*((name, "p") for name in names))], measured),
        queries=[
            [row["query"], row["text"], *(row[order] for order in means)]
            for row in facts["queries"]
        ],
        gains=sorted(gains, reverse=True),
        numeric=_numeric,
        hues=HUES,
        colours=COLOURS,
    )


def _numeric(rows: Sequence[Sequence[str | float]], column: int) -> str:
    """The class of a column of numbers."""
    cells = (str(row[column]) for row in rows)
    numbers = all(cell.replace(".", "").isdigit() or not cell for cell in cells)
    return " class=n" if numbers else ""


def open_ranker(project: Project, number: int) -> Reranker:
    """Open a ranker by its number."""
    return open_reranker(_place(project, number))


def use_ranker(project: Project, name: str, who: str = "") -> str:
    """Put a ranker into service, or take it out (``none``); say what holds now."""
    rankers, who = project.rankers, who or whoami()
    if name == NONE:
        if (rankers.folder / "CURRENT").exists():
            rankers.take_out_of_service()
            project.store.note_event("ranker", who, number=None)
        return _("no ranker is in service: searches are ordered by the model alone")
    number = ranker_number(name)
    place = _place(project, number)
    open_reranker(place)
    rankers.put_in_service(place)
    project.store.note_event("ranker", who, number=number)
    return _("ranker %(n)s is in service: searches are ordered by it", n=number)


def ranker_number(name: str) -> int:
    """Read a ranker's number."""
    if not name.isdecimal():
        raise refusal(
            "ranker %(name)r: give its number, or %(none)s", name=name, none=NONE
        )
    return int(name)


@dataclass(frozen=True, slots=True)
class StoredRanker:
    """A ranker, and how it compares on queries that it has not seen.

    C : the price it was trained with;  source : judgments or clicks;  taught, held_out
    : how many queries it learned from, and was compared on;  measure : what decided;
    means : order → measure → mean;  chances : of each difference from the learned
    order, if there were none;  queries : the measure of each, by order;  importance :
    the share of each feature.
    """

    number: int
    in_service: bool
    learner: str
    C: float
    source: str
    measure: str
    taught: int
    held_out: int
    means: Mapping[str, Mapping[str, float]]
    chances: Mapping[str, Mapping[str, float]]
    queries: Sequence[Mapping[str, Cell]]
    importance: Sequence[tuple[str, float]]
    notes: tuple[str, ...]


def stored_ranker(project: Project, number: int) -> StoredRanker:
    """A ranker by its number, with what is remembered of its training."""
    place = _place(project, number)
    facts = open_reranker(place).facts
    return StoredRanker(
        number, place == project.rankers.current(), facts["learner"], facts["C"],
        facts["from"], facts["measure"], facts["taught"], facts["held"],
        facts["means"], facts["chances"], facts["queries"],
        tuple((name, share) for name, share in facts["importance"]),
        tuple(map(restored, facts["notes"])),
    )  # fmt: skip


def stored_rankers(project: Project) -> list[StoredRanker]:
    """All rankers, the oldest first."""
    return [stored_ranker(project, number) for number in project.rankers.numbers()]


def list_rankers(project: Project) -> Table:
    """List all rankers, with what they reached on held-out queries."""
    from classmark.ltr.training import MEASURES, WITHOUT_PRICE

    rows: list[dict[str, Cell]] = [
        {
            "ranker": ranker.number,
            "in service": "yes" if ranker.in_service else "",
            "learner": ranker.learner,
            "C": None if ranker.learner in WITHOUT_PRICE else ranker.C,
            "trained on": ranker.taught,
            "held out": ranker.held_out,
            **{name: ranker.means[LEARNED][name] for name in MEASURES},
        }
        for ranker in stored_rankers(project)
    ]
    note = "" if rows else "none yet: classmark rank train"
    return Table(f"Rankers of {project.settings.name}", rows, note)


def report_ranker(project: Project, number: int) -> tuple[Table, Path]:
    """Show how a ranker did for every held-out query, and write its page."""
    facts = open_ranker(project, number).facts
    page = write_page(project, number, facts)
    rows = [{**row, "gain": row[LEARNED] - row[SERVED]} for row in facts["queries"]]
    rows.sort(key=lambda row: -row["gain"])
    wins, losses = (sum(sign * row["gain"] > 0 for row in rows) for sign in (1, -1))
    note = f"{wins} wins, {losses} losses, {len(rows) - wins - losses} equal"
    return Table(f"Ranker {number}, {facts['measure']} of each query", rows, note), page


def _place(project: Project, number: int) -> Path:
    rankers = project.rankers
    if number not in rankers.numbers():
        numbers = ", ".join(map(str, rankers.numbers())) or _("none yet")
        raise refusal(
            "there is no ranker %(number)s: there is %(numbers)s",
            number=number,
            numbers=numbers,
        )
    return rankers.folder / f"{number:06d}"


def ranker_for(project: Project, query: str, options: QueryOptions) -> int | None:
    """The number of the ranker that is to order the hits; None: the model alone does.

    One in service orders what is asked without a model, weights, feedback, prior or
    meaning of its own; a query of #operators ranks by beliefs, and a word with * or ?
    has no features.
    """
    if options.ranker == NONE:
        return None
    tree = parse(query)
    others = {
        worded("--model"): options.model,
        worded("--set"): options.parameters,
        worded("--weight"): options.weights,
        worded("--feedback"): options.feedback,
        worded("--prior"): options.prior,
        worded("--hybrid"): options.hybrid,
        "an #operator": isinstance(tree, Belief),
        "a word with * or ?": any(map(has_wildcard, leaves_of(tree))),
    }
    other = next((name for name, value in others.items() if value), None)
    if options.ranker is not None:
        if other is not None:
            raise refusal(
                "%(remedy)s and %(other)s would both determine the order: "
                "leave one out",
                remedy=worded("--ranker"),
                other=other,
            )
        return ranker_number(options.ranker)
    current = project.rankers.current()
    return None if other is not None or current is None else int(current.name)


def ranker_features(
    ranker: Reranker,
    index: Index,
    name: str,
    links: Floats | None,
    dense: DenseIndex | None,
) -> PairFeatures:
    """A ranker's features over an index; refused where they are not as it learned them.

    name : as it is called;  links : the documents' PageRank, dense : their vectors, of
    today.
    """
    ranker.require_fit_for(index, name)
    again = worded("train one again with classmark rank train")
    if ranker.recipe.pagerank and links is None:
        raise refusal(
            "%(name)s was trained with links, and no document links to another "
            "any more: %(again)s",
            name=name,
            again=again,
        )
    vectors = ranker.recipe.meaning
    if vectors is not None and (dense is None or dense.facts != vectors):
        others = (
            _("none") if dense is None else _("those of %(facts)s", facts=dense.facts)
        )
        raise refusal(
            "%(name)s was trained with the vectors of %(vectors)s, and the "
            "project has %(others)s: choose them %(remedy)s, %(remedy2)s, "
            "%(again)s, or %(remedy3)s",
            name=name,
            vectors=vectors,
            others=others,
            remedy=worded("(classmark meaning set SOURCE)"),
            remedy2=worded("take it out with classmark rank use none"),
            again=again,
            remedy3=worded("search with --ranker none"),
        )
    return ranker.features(index, links, dense)


def rerank(
    project: Project,
    opened: ProjectIndex,
    query: str,
    number: int,
    options: QueryOptions,
    narrow: Narrowing,
) -> tuple[list[Hit], dict[str, dict[str, float]], str]:
    """Find the candidates, put them in the ranker's order; equals as they were found.

    Candidates are as many as the ranker was trained with, or as are asked for if more.
    Returns the hits, what each feature adds to each, and a note about the ranker.
    """
    index = opened.index
    ranker: Reranker = opened.cached(number, lambda: open_ranker(project, number))
    recipe, facts = ranker.recipe, ranker.facts
    vectors = None if recipe.meaning is None else opened.vectors(project)
    note = ngettext(
        "ordered by ranker %(number)s (%(learner)s, learned from %(n)s query)",
        "ordered by ranker %(number)s (%(learner)s, learned from %(n)s queries)",
        facts["taught"],
        number=number,
        learner=facts["learner"],
    )
    if vectors is not None and vectors.note:
        note = f"{note}; {vectors.note}"
    links = opened.chances(project) if recipe.pagerank else None
    features = ranker_features(
        ranker, index, f"ranker {number}", links, vectors and vectors.dense
    )
    model, parameters = ranker.first
    asking = index.question(query, model, **dict[str, Any](parameters))
    asking = narrow.apply(asking)
    candidates = asking.answer(max(ranker.depth, options.depth))
    if not candidates:
        return [], {}, note
    weights = {
        term: max(each.get(term, 0.0) for each in asking.term_weights.values())
        for term in asking.terms()
    }
    numbers = np.array([hit.number for hit in candidates], np.int64)
    raw = features.of(weights, numbers, " ".join(positive_texts(parse(query))))
    scores = ranker.scores(raw)
    best = np.argsort(-scores, kind="stable")[: options.depth].tolist()
    hits = [candidates[at]._replace(score=float(scores[at])) for at in best]
    explain = ranker.is_sum if options.explain is None else options.explain
    if not explain:
        return hits, {}, note
    parts = ranker.parts(raw)
    return hits, {candidates[at].id: parts[at] for at in best}, note
