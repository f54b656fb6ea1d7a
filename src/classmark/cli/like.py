"""Commands that search by example, and screen to a recall target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from classmark.cli.options import (
    ALL,
    FOLDER,
    JSON,
    WorkerOptions,
    argument,
    command,
    deferred,
    flag,
    kernels_for,
    option,
    options,
)
from classmark.cli.output import BELOW, Text, View, parts_of
from classmark.language import several
from classmark.problems import Mistake
from classmark.workbench.results import Evaluated, Table

with deferred():
    from classmark import validation
    from classmark.examples import screening as rules
    from classmark.machines.cluster import Machines
    from classmark.workbench import project as projects
    from classmark.workbench.examples import export, screening, searches, vectors
    from classmark.workbench.examples import like as liking
    from classmark.workbench.examples.example_search import ExampleRanking
    from classmark.workbench.examples.like import Answers, SearchStart
    from classmark.workbench.examples.screening import ScreeningStatus
    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store

QUICK = {
    None, "auto", "centroid", "rocchio", "one-class", "balanced", "precision@k",
    "recall@k",
}  # fmt: skip  # methods that learn from a few examples in 0.3 s; None: the search's
PARAMS = ("sample", "kernel", "gamma", "degree", "coef0")  # of a query
FORM = "+.2g"  # of what a term adds to a score
CATEGORY = option("Its documents; not those rejected from it.", metavar="ID")


@options
class MarkOptions:
    """Examples, and what is said of documents."""

    examples: tuple[str, ...] = option(
        "Documents' ids.", (), "--examples", "-e", metavar="ID,ID"
    )
    files: tuple[Path, ...] = option(
        "An example of your own: a text, JSONL, CSV; repeatable.", (), "--file"
    )
    category: str | None = CATEGORY
    yes: tuple[str, ...] = option("More like these.", (), metavar="ID,ID")
    no: tuple[str, ...] = option("Not like these.", (), metavar="ID,ID")
    undo: bool = flag("Undo your last answer.", "--undo")
    redo: bool = flag("Redo what you undid last.", "--redo")


@options
class MethodOptions:
    """How a search by example learns."""

    method: str | None = option(
        "auto, centroid, rocchio, balanced, precision-recall, …"
    )
    C: float | None = option("What a mistake costs.", None, "--C")
    terms: int | None = option("Keep only so many of the heaviest terms.")
    at_k: int | None = option("The k of precision@k and recall@k.", None, "--k")
    sample: int | None = option("Learn from so many of the other documents.")
    kernel: str | None = option("linear, polynomial or rbf.")
    gamma: float | None = option("Of rbf and polynomial; else 1.")
    degree: int | None = option("Of polynomial; else 2.")
    coef0: float | None = option("Of polynomial; else 1.")

    @property
    def params(self) -> dict[str, Any]:
        """What was typed of the learned query's parameters, besides method and C."""
        names = {"at_k": "k"} | {name: name for name in PARAMS}
        typed = {shown: getattr(self, name) for name, shown in names.items()}
        return {name: value for name, value in typed.items() if value is not None}


@options
class ResultOptions:
    """Which documents are shown, and which files are written."""

    k: int = option("How many documents.", 10, "-k")
    everything: bool = flag("All documents, the examples and marked too.", "--all")
    explain: str | None = option("Every term's part of its score.", metavar="ID")
    to: Path | None = option("Write them: .csv .jsonl .run .ris .bib", metavar="FILE")
    weights: Path | None = option(
        "Write the learned query: .tsv or .json", metavar="FILE"
    )

    def require_possible(self) -> None:
        """Refuse what cannot be shown or written, before anything is stored."""
        validation.require_k(self.k, "document")
        if self.to is not None:
            export.require_target(self.to)
        if self.weights is not None:
            export.require_target(self.weights, export.OF_WEIGHTS)


@options
class SourceOptions:
    """What answers: stored weights, the index of the project, or another index."""

    query: Path | None = option(
        "Rank by weights that were learned before.", metavar="FILE"
    )
    online: bool = flag("At once by the index: only examples are read.", "--online")
    index: Path | None = option("The same with an index of its own.", metavar="DIR")
    list_: bool = flag("List the searches instead.", "--list")


@command(JSON)
def like(
    *,
    marks: MarkOptions,
    name: str | None = option("The search; else the one used last."),
    method: MethodOptions,
    output: ResultOptions,
    source: SourceOptions,
    where: Path = FOLDER,
    machines: WorkerOptions,
) -> Table | View | str:
    """Find more documents like some examples; say yes or no, and it learns again."""
    begins = (marks, method) != (MarkOptions(), MethodOptions())
    output.require_possible()
    if source.list_ and (begins or machines != WorkerOptions()):
        raise Mistake("--list only lists: say the rest in another command")
    if source.index is not None or source.online:
        if name is not None or source.query is not None or source.list_:
            raise Mistake("an online search is not kept: leave --name, --query, --list")
        return _like_online((marks, method), output, source.index, where, machines)
    if source.query is not None and (begins or output.explain or output.weights):
        raise Mistake("--query ranks by a file: it goes with -k, --all and --to")
    with projects.Project(where) as project:
        if source.list_:
            return liking.list_likes(project)
        with machines.started() as workers:
            if source.query is None:
                parsed = _parsed(marks, method, project, name)
                return _like(project, parsed, method.terms, output, workers)
            ranking = liking.rank_by_file(
                project, source.query, output.k, everything=output.everything,
                machines=workers,
            )  # fmt: skip
            return _written(ranking, output)


def _parsed(
    marks: MarkOptions,
    method: MethodOptions,
    project: Project | None,
    name: str | None = None,
) -> tuple[SearchStart, Answers]:
    """Read ids and files as they were typed; project : None for a lone index."""
    store, texts = None, dict.fromkeys(map(str, marks.files), "")
    if project is not None:
        store, texts = project.store, liking.texts_of(project, marks.files)
    examples, yes, no = (
        liking.ids_of(getattr(marks, option), f"--{option}", store)
        for option in ("examples", "yes", "no")
    )
    start = liking.SearchStart(
        examples, (), texts, marks.category, name, method.method, method.C,
        params=method.params,
    )  # fmt: skip
    return start, liking.Answers(yes, no, marks.undo, marks.redo)


def _like(
    project: Project,
    parsed: tuple[SearchStart, Answers],
    terms: int | None,
    output: ResultOptions,
    workers: Machines | None,
) -> View | str:
    """Learn; write the query, then the reasons for one document, or the ranking."""
    if output.explain is not None:
        searches.require_documents(project.store, [output.explain])
    quick = parsed[0].method in QUICK and "kernel" not in parsed[0].params
    quick = quick and not project.settings.meaning.remembered
    quick = quick and vectors.are_saved(project)
    with kernels_for(project, 0) if quick else nullcontext():
        search = liking.open_example_search(
            project, *parsed, terms=terms, machines=workers
        )
        lines = []
        if output.weights is not None:
            count = export.export_weights(search, output.weights)
            lines = [f"the query's {count:,} weights are in {output.weights}"]
            if share := search.meaning_share(search.weights):
                lines += [f"its meaning, {share:.0%} of it, has no words and is not"]
        if output.explain is not None:
            reasons = search.explain(output.explain)
            rows = [part._asdict() for part in reasons.parts]
            title = f"{reasons.title}  ({reasons.id})  {reasons.score:.4g}"
            table = Table(title, rows, "the score is the sum of the parts")
            return View({**asdict(reasons), "parts": rows}, [*lines, table])
        if output.to is not None and not output.everything:
            ranking = search.found(output.k)
        else:
            ranking = search.rank(output.k, everything=output.everything)
    return _written(ranking, output, lines, project.store)


def _like_online(
    typed: tuple[MarkOptions, MethodOptions],
    output: ResultOptions,
    index: Path | None,
    where: Path,
    machines: WorkerOptions,
) -> View | str:
    """Answer by an index: a project's, or one in a folder of its own."""
    if index is None and (machines.workers or machines.on):
        raise Mistake("--online reads the examples alone: leave --workers and --on")
    if output.explain or output.weights or output.everything:
        raise Mistake("an online search goes with -k, --terms, --to and --json")
    opened = projects.Project(where) if index is None else nullcontext(index)
    with opened as place, machines.started() as workers:
        parsed = _parsed(*typed, None if isinstance(place, Path) else place)
        ranking = liking.rank_in_index(
            place, *parsed, output.k, terms=typed[1].terms, machines=workers
        )
    return _written(ranking, output)


def _written(
    ranking: ExampleRanking,
    output: ResultOptions,
    lines: Iterable[str] = (),
    store: Store | None = None,
) -> View | str:
    """The ranking, after some lines; written to a file where one is named."""
    if output.to is None:
        return View(ranking.as_json(), chain(lines, _like_lines(ranking)))
    count = export.export_ranking(ranking, output.to, store)
    return "\n".join((*lines, f"wrote {several(count, 'document')} to {output.to}"))


def _like_lines(ranking: ExampleRanking) -> Iterator[Text | str]:
    """The ranked documents, and the query."""
    learned = ranking.learned
    if ranking.examples or ranking.yes:
        examples = several(ranking.examples, "example")
        learned += f", from {examples}, {ranking.yes} yes, {ranking.no} no"
    ranked = several(ranking.documents, "document")
    yield Text(f"{ranking.search}: {ranked} ranked by {learned}")
    query = parts_of(ranking.query, FORM)
    curved = ranking.params.get("kernel", "linear") != "linear"
    size = f"{ranking.nonzero:,} {'documents' if curved else 'terms'}"
    if ranking.meaning:
        size += f", and meaning: {ranking.meaning:.0%} of it"
    yield Text(f"query: {query} ({size})\n", "  ")
    for hit in ranking.hits:
        mark = f"  [{hit.mark}]" if hit.mark else ""
        answer = f"{hit.title}  ({hit.id})  {hit.score:.4g}{mark}"
        yield Text(answer, f"{hit.rank:3}. ", BELOW)
        yield Text(parts_of(hit.parts, FORM), BELOW)
    for note in ranking.notes:
        yield from ("", Text(note, "  "))


NAME = option("The screening; else the one used last.")


@options
class RelevantOptions:
    """What a screening begins with."""

    examples: tuple[str, ...] = option(
        "Relevant ones.", (), "--examples", "-e", metavar="ID,ID"
    )
    files: tuple[Path, ...] = option(
        "A relevant text of your own, not counted; repeatable.", (), "--file"
    )
    category: str | None = CATEGORY


@options
class StoppingOptions:
    """When a screening stops, and how documents are chosen for reading."""

    target: float = option("The recall wanted.", 0.95)
    error: float = option("How often, at most, to stop before it is reached.", 0.05)
    batch: int = option("Documents read between two lessons.", 50)
    share: float = option("Of random draws while likely ones are still found.", 0.05)
    patience: float = option("How long to search on without a find; .5 is usual.", 0.5)


@command(JSON)
def screen_start(
    *,
    relevant: RelevantOptions,
    project: Project = FOLDER,
    name: str | None = option("A name for it."),
    stopping: StoppingOptions,
    duplicates: bool = flag("Show duplicates, too.", "--duplicates"),
) -> View:
    """Begin to screen all documents for the relevant ones."""
    if relevant.category is not None:
        _require_category(project.store, relevant.category)
    start = liking.SearchStart(
        liking.ids_of(relevant.examples, "--examples", project.store),
        texts=liking.texts_of(project, relevant.files),
        category=relevant.category,
        name=name,
        rule=rules.StoppingRule(**vars(stopping)),
        hide=not duplicates,
    )
    return _status_view(screening.start_screening(project, start))


def _require_category(store: Store, category: str) -> None:
    """Refuse a category that is not there; a screening can do without any."""
    try:
        store.number_of(category)
    except Mistake as problem:
        raise Mistake(
            f"{problem}; or begin from relevant documents and texts: --examples ID,ID "
            "and --file FILE"
        ) from problem


@command(JSON)
def screen_next(
    project: Project = FOLDER,
    name: str | None = NAME,
    count: int | None = option("How many documents; else a batch.", None, "-k"),
    titles: bool = flag("Titles alone, without abstracts.", "--titles"),
) -> View:
    """Show the documents to read next: the likely ones, then random draws."""
    documents = screening.read_next(project, name, count)
    lines: list[Text | str] = [] if documents else ["every document is read"]
    for each in documents:
        score = "" if each.score is None else f"  {each.score:.3f}"
        shown = f"{each.title}  ({each.id})  {each.origin}{score}"
        lines.append(Text(shown, f"{each.rank:3}. ", BELOW))
    names = ("rank", "id", "title", "origin", "score")
    facts = [{name: getattr(each, name) for name in names} for each in documents]
    if titles:
        return View(facts, lines)
    below = []
    for each, fact, line in zip(documents, facts, lines, strict=False):
        meta = project.store.record(each.id).meta
        text = "".join(piece.text for piece in each.text)
        fact |= {"text": text, "facts": dict(meta)}
        source = screening.source_of(meta)
        below += [line, *(Text(part, BELOW) for part in (source, text) if part), ""]
    return View(facts, below or lines)


@command(JSON)
def screen_mark(
    yes: tuple[str, ...] = option("Relevant.", (), metavar="ID,ID"),
    no: tuple[str, ...] = option("Not relevant.", (), metavar="ID,ID"),
    skip: tuple[str, ...] = option("Cannot be said.", (), metavar="ID,ID"),
    undo: bool = flag("Undo your last answer.", "--undo"),
    project: Project = FOLDER,
    name: str | None = NAME,
) -> View:
    """Say which documents are relevant; the last word on a document holds."""
    if undo and (yes or no or skip):
        raise Mistake("--undo stands alone: mark in another command")
    if undo:
        marks, status = screening.undo(project, name)
        undone = ", ".join(f"{mark.act} {mark.document}" for mark in marks)
        return _status_view(status, [Text(f"undone: {undone}")])
    status = screening.mark(project, name, {"yes": yes, "no": no, "skip": skip})
    return _status_view(status)


@command(JSON)
def screen_status(
    project: Project = FOLDER,
    name: str | None = NAME,
    plot: bool = flag("Draw the recall curve in reports/.", "--plot"),
    everything: bool = flag("List all screenings.", "--all"),
) -> Table | View:
    """Say what is found, what may be left, and whether to stop."""
    if everything:
        return screening.list_screenings(project)
    status = screening.status(project, name)
    view = _status_view(status)
    if not plot:
        return view
    path = screening.draw_status(status, project.folder)
    return replace(view, parts=[*view.parts, f"  plot: {path}"])


@command(JSON)
def screen_duplicates(project: Project = FOLDER, name: str | None = NAME) -> Table:
    """List the records that are hidden, each beside the one that is shown."""
    return screening.duplicates(project, name)


@command(JSON)
def screen_target(
    project: Project = FOLDER,
    target: float = argument("The recall wanted from now on, such as 0.8.", "TARGET"),
    name: str | None = NAME,
) -> View:
    """Aim at another share of the relevant documents; what was proved stays so."""
    return _status_view(screening.set_target(project, target, name))


@command()
def screen_export(
    project: Project = FOLDER,
    path: Path = argument(".csv, .jsonl, .run, .ris or .bib", "FILE"),
    name: str | None = NAME,
    everything: bool = flag("All that were read, not only relevant ones.", "--all"),
    unread: bool = flag(
        "Those not read and hidden copies, too, without a decision.", "--everything"
    ),
) -> str:
    """Write the relevant documents, in the order they were found."""
    documents = screening.screened(project, name, everything=everything or unread)
    left = len(project.store.ids()) - len(documents.hits)
    if unread:
        documents = export.with_the_rest(documents, project.store)
    count = export.export_ranking(documents, path, project.store)
    wrote = f"wrote {several(count, 'document')} to {path}"
    if unread or not left:
        return wrote
    rest = "not read, or hidden as copies" if everything else "not found relevant"
    more = "" if everything else "--all writes those that were read, "
    return f"{wrote}; left out, as {rest}: {left:,} ({more}--everything all of them)"


@command(ALL | JSON)
def screen_simulate(
    *,
    project: Project = FOLDER,
    category: str = argument("Its documents are relevant.", "CATEGORY"),
    runs: int = option("How often, each from one example.", 5),
    random_state: int = option("Of the examples and draws.", 0),
    stopping: StoppingOptions,
) -> Evaluated:
    """Try a screening out on a category whose documents are known."""
    rule = rules.StoppingRule(**vars(stopping))
    return screening.try_out(project, category, rule, runs, random_state)


def _status_view(status: ScreeningStatus, first: Iterable[Text] = ()) -> View:
    """Where a screening is, after some lines."""
    progress = asdict(status.progress)
    left = status.progress.remaining
    progress["remaining"] = None if left is None else left._asdict()
    progress["stops"] = [stop._asdict() for stop in status.progress.stops]
    facts = {"screening": status.search, "later": status.later}
    facts |= {"duplicates": status.duplicates, **progress}
    lines = [Text(line, "  ") for line in screening.words(status)]
    return View(facts, [*first, Text(status.search), *lines])
