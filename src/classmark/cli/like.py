"""Commands that search by example, and screen to a recall target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from classmark.cli.options import (
    ALL,
    FOLDER,
    JSON,
    WorkerOptions,
    command,
    open_project,
    options,
)
from classmark.cli.output import BELOW, Text, View, parts_of
from classmark.problems import Mistake
from classmark.workbench.results import Evaluated, Table

if TYPE_CHECKING:
    from classmark.machines.cluster import Machines
    from classmark.workbench.examples.like import Given, Likes, Reasons
    from classmark.workbench.examples.screening import Status
    from classmark.workbench.project import Project

FORM = "+.2g"  # of what a term adds to a score
CATEGORY = Option(None, metavar="ID", help="Its documents; not those rejected from it.")


@options
class MarkOptions:
    """Examples, and what is said of documents."""

    examples: tuple[str, ...] = Option(
        (), "--examples", "-e", metavar="ID,ID", help="Documents' ids."
    )
    files: tuple[Path, ...] = Option(
        (), "--file", help="An example of your own: a text, JSONL, CSV; repeatable."
    )
    category: str | None = CATEGORY
    yes: tuple[str, ...] = Option((), metavar="ID,ID", help="More like these.")
    no: tuple[str, ...] = Option((), metavar="ID,ID", help="Not like these.")
    undo: bool = Option(False, "--undo", help="Take back what you said last.")
    redo: bool = Option(False, "--redo", help="Bring back what you undid last.")


@options
class MethodOptions:
    """How a search by example learns."""

    method: str | None = Option(
        None, help="auto, centroid, rocchio, balanced, precision-recall, …"
    )
    C: float | None = Option(None, "--C", help="What a mistake costs.")
    terms: int | None = Option(None, help="Keep only so many of the heaviest terms.")


@options
class ResultOptions:
    """Which documents are shown, and which files are written."""

    k: int = Option(10, "-k", help="How many documents.")
    everything: bool = Option(
        False, "--all", help="All documents, the examples and marked too."
    )
    explain: str | None = Option(
        None, metavar="ID", help="Every term's part of its score."
    )
    to: Path | None = Option(
        None, metavar="FILE", help="Write them: .csv .jsonl .run .ris .bib"
    )
    weights: Path | None = Option(
        None, metavar="FILE", help="Write the learned query: .tsv or .json"
    )

    def require_possible(self) -> None:
        """Refuse what cannot be shown or written, before anything is stored."""
        from classmark.workbench.examples.example_search import require_count
        from classmark.workbench.examples.like import OF_WEIGHTS, require_target

        require_count(self.k)
        if self.to is not None:
            require_target(self.to)
        if self.weights is not None:
            require_target(self.weights, OF_WEIGHTS)


@options
class SourceOptions:
    """What answers: stored weights, the index of the project, or another index."""

    query: Path | None = Option(
        None, metavar="FILE", help="Rank by weights that were learned before."
    )
    online: bool = Option(
        False, "--online", help="At once by the index: only examples are read."
    )
    index: Path | None = Option(
        None, metavar="DIR", help="The same with an index of its own."
    )
    list_: bool = Option(False, "--list", help="List the searches instead.")


@command(JSON)
def like(
    *,
    marks: MarkOptions,
    name: str | None = Option(None, help="The search; else the one used last."),
    method: MethodOptions,
    output: ResultOptions,
    source: SourceOptions,
    where: Path = FOLDER,
    machines: WorkerOptions,
) -> Table | View | str:
    """Find more documents like some examples; say yes or no, and it learns again."""
    from classmark.workbench.examples import like as liking

    given = liking.Given(**vars(marks), **vars(method))
    begins = given != liking.Given()
    output.require_possible()
    if source.list_ and (begins or machines != WorkerOptions()):
        raise Mistake("--list only lists: say the rest in another command")
    if source.index is not None or source.online:
        if name is not None or source.query is not None or source.list_:
            raise Mistake("an online search is not kept: leave --name, --query, --list")
        return _like_online(given, output, source.index, where, machines)
    if source.query is not None and (begins or output.explain or output.weights):
        raise Mistake("--query ranks by a file: it goes with -k, --all and --to")
    with open_project(where) as project:
        if source.list_:
            return liking.list_likes(project)
        with machines.started() as workers:
            if source.query is None:
                return _like(project, given, name, output, workers)
            likes = liking.rank_by_file(
                project, source.query, output.k, everything=output.everything,
                machines=workers,
            )  # fmt: skip
            return _written(likes, output)


def _like(
    project: Project,
    given: Given,
    name: str | None,
    output: ResultOptions,
    machines: Machines | None,
) -> View | str:
    """Learn; write the query, then the reasons for one document, or the ranking."""
    from classmark.cli.small_work import kernels_to_learn
    from classmark.workbench.examples.like import export_weights, open_liking
    from classmark.workbench.examples.searches import require_documents

    if output.explain is not None:
        require_documents(project.store, [output.explain])
    with kernels_to_learn(project, given.method):
        search = open_liking(project, given, name, machines=machines)
        lines = []
        if output.weights is not None:
            count = export_weights(search, output.weights)
            lines = [f"the query's {count:,} weights are in {output.weights}"]
        if output.explain is not None:
            return _reasons(search.explain(output.explain), lines)
        likes = search.rank(output.k, everything=output.everything)
    return _written(likes, output, lines)


def _like_online(
    given: Given,
    output: ResultOptions,
    index: Path | None,
    where: Path,
    machines: WorkerOptions,
) -> View | str:
    """Answer by an index: a project's, or one in a folder of its own."""
    from classmark.workbench.examples.like import like_in_index, like_online

    if index is None and (machines.workers or machines.on):
        raise Mistake("--online reads the examples alone: leave --workers and --on")
    if output.explain or output.weights or output.everything:
        raise Mistake("an online search goes with -k, --terms, --to and --json")
    if index is not None:
        with machines.started() as workers:
            likes = like_in_index(index, given, output.k, machines=workers)
    else:
        with open_project(where) as project:
            likes = like_online(project, given, output.k)
    return _written(likes, output)


def _written(
    likes: Likes, output: ResultOptions, lines: Iterable[str] = ()
) -> View | str:
    """The ranking, after some lines; written to a file where one is named."""
    from classmark.workbench.examples.like import export_likes

    if output.to is None:
        return View(asdict(likes), chain(lines, _like_lines(likes)))
    wrote = f"wrote {export_likes(likes, output.to):,} documents to {output.to}"
    return "\n".join((*lines, wrote))


def _like_lines(likes: Likes) -> Iterator[Text | str]:
    """The ranked documents, and the query."""
    cost = "" if likes.C is None else f", C = {likes.C:g}"
    learned = f"{likes.method}{cost}"
    if likes.examples or likes.yes:
        counts = f"{likes.examples} examples, {likes.yes} yes, {likes.no} no"
        learned += f", from {counts}"
    yield Text(f"{likes.search}: {likes.documents:,} documents ranked by {learned}")
    query = parts_of(likes.query, FORM)
    yield Text(f"query: {query} ({likes.nonzero:,} terms)\n", "  ")
    for hit in likes.found:
        mark = f"  [{hit.mark}]" if hit.mark else ""
        answer = f"{hit.title}  ({hit.id})  {hit.score:.4g}{mark}"
        yield Text(answer, f"{hit.rank:3}. ", BELOW)
        yield Text(parts_of(hit.why, FORM), BELOW)
    for note in likes.notes:
        yield from ("", Text(note, "  "))


def _reasons(reasons: Reasons, lines: Iterable[str]) -> View:
    """Every term's part of a score."""
    rows = [part._asdict() for part in reasons.parts]
    title = f"{reasons.title}  ({reasons.id})  {reasons.score:.4g}"
    table = Table(title, rows, "the score is the sum of the parts")
    return View({**asdict(reasons), "parts": rows}, [*lines, table])


NAME = Option(None, help="The screening; else the one used last.")


@options
class RelevantOptions:
    """What a screening begins with."""

    examples: tuple[str, ...] = Option(
        (), "--examples", "-e", metavar="ID,ID", help="Relevant ones."
    )
    files: tuple[Path, ...] = Option(
        (), "--file", help="A relevant text of your own, not counted; repeatable."
    )
    category: str | None = CATEGORY


@options
class StoppingOptions:
    """When a screening stops, as ``StoppingRule``."""

    target: float = Option(0.95, help="The recall wanted.")
    error: float = Option(
        0.05, help="How often, at most, to stop before it is reached."
    )
    batch: int = Option(50, help="Documents read between two lessons.")
    share: float = Option(
        0.1, help="Of random draws while likely ones are still found."
    )
    patience: float = Option(
        1.0, help="How long to search on without a find; 1 is usual."
    )


@command(JSON)
def screen_start(
    *,
    relevant: RelevantOptions,
    project: Project,
    name: str | None = Option(None, help="A name for it."),
    stopping: StoppingOptions,
) -> View:
    """Begin to screen all documents for the relevant ones."""
    from classmark.workbench.examples import screening

    rule = screening.StoppingRule(**vars(stopping))
    begun = screening.Begun(**vars(relevant))
    return _status_view(screening.start(project, begun, rule, name))


@command(JSON)
def screen_next(
    project: Project,
    name: str | None = NAME,
    count: int | None = Option(None, "-k", help="How many documents; else a batch."),
) -> View:
    """Show the documents to read next: the likely ones, then random draws."""
    from classmark.workbench.examples import screening

    documents = screening.read_next(project, name, count)
    lines: list[Text | str] = [] if documents else ["every document is read"]
    for each in documents:
        score = "" if each.score is None else f"  {each.score:.3f}"
        shown = f"{each.title}  ({each.id})  {each.origin}{score}"
        lines.append(Text(shown, f"{each.rank:3}. ", BELOW))
    return View([asdict(each) for each in documents], lines)


@command(JSON)
def screen_mark(
    *,
    yes: tuple[str, ...] = Option((), metavar="ID,ID", help="Relevant."),
    no: tuple[str, ...] = Option((), metavar="ID,ID", help="Not relevant."),
    skip: tuple[str, ...] = Option((), metavar="ID,ID", help="Cannot be said."),
    undo: bool = Option(False, "--undo", help="Take back what you marked last."),
    project: Project,
    name: str | None = NAME,
) -> View:
    """Say which documents are relevant; the last word on a document holds."""
    from classmark.workbench.examples import screening

    if undo and (yes or no or skip):
        raise Mistake("--undo stands alone: mark in another command")
    if undo:
        marks, status = screening.undo(project, name)
        undone = ", ".join(f"{mark.act} {mark.document}" for mark in marks)
        return _status_view(status, [Text(f"taken back: {undone}")])
    status = screening.mark(project, name, {"yes": yes, "no": no, "skip": skip})
    return _status_view(status)


@command(JSON)
def screen_status(
    project: Project,
    name: str | None = NAME,
    plot: bool = Option(False, "--plot", help="Draw the recall curve in reports/."),
    everything: bool = Option(False, "--all", help="List all screenings."),
) -> Table | View:
    """Say what is found, what may be left, and whether to stop."""
    from classmark.workbench.examples import screening

    if everything:
        return screening.list_screenings(project)
    status = screening.status(project, name)
    view = _status_view(status)
    if not plot:
        return view
    path = screening.draw_status(status, project.folder)
    return replace(view, parts=[*view.parts, f"  plot: {path}"])


@command()
def screen_export(
    project: Project,
    path: Path = Argument(..., metavar="FILE", help=".csv, .jsonl, .run, .ris or .bib"),
    name: str | None = NAME,
    everything: bool = Option(
        False, "--all", help="All that were read, not only relevant ones."
    ),
) -> str:
    """Write the relevant documents, in the order they were found."""
    from classmark.workbench.examples import screening
    from classmark.workbench.examples.like import export_likes

    documents = screening.answered(project, name, everything=everything)
    return f"wrote {export_likes(documents, path):,} documents to {path}"


@command(ALL | JSON)
def screen_simulate(
    *,
    project: Project,
    category: str = Argument(
        ..., metavar="CATEGORY", help="Its documents are relevant."
    ),
    runs: int = Option(5, help="How often, each from one example."),
    random_state: int = Option(0, help="Of the examples and draws."),
    stopping: StoppingOptions,
) -> Evaluated:
    """Try a screening out on a category whose documents are known."""
    from classmark.workbench.examples import screening

    rule = screening.StoppingRule(**vars(stopping))
    return screening.try_out(project, category, rule, runs, random_state)


def _status_view(status: Status, first: Iterable[Text] = ()) -> View:
    """Where a screening is, after some lines."""
    from classmark.workbench.examples.screening import words

    progress = asdict(status.progress)
    left = status.progress.remaining
    progress["remaining"] = None if left is None else left._asdict()
    facts = {"screening": status.search, "later": status.later} | progress
    lines = [Text(line, "  ") for line in words(status)]
    return View(facts, [*first, Text(status.search), *lines])
