"""Finding more like some examples on the command line."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from classmark.cli.options import (
    HERE,
    AsJson,
    On,
    Where,
    Workers,
    machines_for,
    open_project,
)
from classmark.problems import Mistake

if TYPE_CHECKING:
    from classmark.machines.cluster import Machines
    from classmark.workbench.examples import like as liking
    from classmark.workbench.examples.like import Likes, Liking, Reasons
    from classmark.workbench.project import Project

Ids = list[str] | None
FORM = "+.2g"  # of what a term adds to a score


def like(
    examples: Annotated[
        Ids, typer.Option("--examples", "-e", metavar="ID,ID", help="Documents' ids.")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(help="An example of your own: a text, JSONL, CSV; repeatable."),
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Its documents; not those rejected from it."),
    ] = None,
    yes: Annotated[Ids, typer.Option(metavar="ID,ID", help="More like these.")] = None,
    no: Annotated[Ids, typer.Option(metavar="ID,ID", help="Not like these.")] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back what you said last.")
    ] = False,
    redo: Annotated[
        bool, typer.Option("--redo", help="Bring back what you undid last.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="The search; else the one used last.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="auto, centroid, rocchio, balanced, precision-recall, …"),
    ] = None,
    C: Annotated[
        float | None, typer.Option("--C", help="What a mistake costs.")
    ] = None,
    terms: Annotated[
        int | None, typer.Option(help="Keep only so many of the heaviest terms.")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="How many documents.")] = 10,
    everything: Annotated[
        bool, typer.Option("--all", help="All documents, the examples and marked too.")
    ] = False,
    explain: Annotated[
        str | None, typer.Option(metavar="ID", help="Every term's part of its score.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write them: .csv .jsonl .run .ris .bib"),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the learned query: .tsv or .json"),
    ] = None,
    query: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rank by weights that were learned before."),
    ] = None,
    online: Annotated[
        bool,
        typer.Option("--online", help="At once by the index: only examples are read."),
    ] = False,
    index: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The same with an index of its own."),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the searches instead.")
    ] = False,
    project: Where = HERE,
    workers: Workers = None,
    on: On = None,
    as_json: AsJson = False,
) -> None:
    """Find more documents like some examples; say yes or no, and it learns again."""
    from classmark.cli.output import show_table
    from classmark.workbench.examples import like as liking
    from classmark.workbench.small_work import kernels_to_learn

    request = liking.Given(
        tuple(examples or ()), tuple(file or ()), category,
        tuple(yes or ()), tuple(no or ()), undo, redo,
        method, C, terms,
    )  # fmt: skip
    output = OutputOptions(k, everything, explain, to, weights, as_json)
    output.require_possible()
    if list_ and (request != liking.Given() or workers is not None or on is not None):
        raise Mistake("--list only lists: say the rest in another command")
    if index is not None or online:
        if name is not None or query is not None or list_:
            raise Mistake("an online search is not kept: leave --name, --query, --list")
        if index is None and (workers or on):
            raise Mistake("--online reads the examples alone: leave --workers and --on")
        with machines_for(workers, on) as machines:
            _show_online(request, output, project, (index, machines))
        return
    if query is not None and (request != liking.Given() or explain or weights):
        raise Mistake("--query ranks by a file: it goes with -k, --all and --to")
    with open_project(project) as opened:
        if list_:
            table = liking.list_likes(opened)
            show_table(table, as_json=as_json, everything=everything)
            return
        with machines_for(workers, on) as machines:
            if query is not None:
                likes = liking.rank_by_file(
                    opened, query, k, everything=everything, machines=machines
                )
                _show(likes, output)
                return
            _require_document(opened, explain)
            with kernels_to_learn(opened, method):
                search = liking.open_liking(opened, request, name, machines=machines)
                _answer(search, output)


def _require_document(project: Project, id_: str | None) -> None:
    from classmark.workbench.examples.searches import require_documents

    if id_ is not None:
        require_documents(project.store, [id_])


def _show_online(
    request: liking.Given,
    output: OutputOptions,
    project: Path,
    by: tuple[Path | None, Machines | None],
) -> None:
    """Answer by an index: a project's, or one in a folder of its own."""
    from classmark.workbench.examples import like as liking_online

    index, machines = by

    if output.explain or output.weights or output.everything:
        raise Mistake("an online search goes with -k, --terms, --to and --json")
    if index is not None:
        likes = liking_online.like_in_index(index, request, output.k, machines=machines)
        _show(likes, output)
        return
    with open_project(project) as opened:
        _show(liking_online.like_online(opened, request, output.k), output)


class OutputOptions(NamedTuple):
    """What to print, and which files to write."""

    k: int
    everything: bool
    explain: str | None
    to: Path | None
    weights: Path | None
    as_json: bool

    def require_possible(self) -> None:
        """Refuse what cannot be shown or written, before anything is stored."""
        from classmark.workbench.examples.example_search import require_count
        from classmark.workbench.examples.like import OF_WEIGHTS, require_target

        require_count(self.k)
        if self.to is not None:
            require_target(self.to)
        if self.weights is not None:
            require_target(self.weights, OF_WEIGHTS)


def _answer(search: Liking, output: OutputOptions) -> None:
    """Write the query, then show the reasons for one document, or the ranking."""
    from classmark.cli.output import say
    from classmark.workbench.examples.like import export_weights

    if output.weights is not None:
        count = export_weights(search, output.weights)
        if not output.as_json:
            say(f"the query's {count:,} weights are in {output.weights}")
    if output.explain is not None:
        show_reasons(search.explain(output.explain), as_json=output.as_json)
    else:
        _show(search.rank(output.k, everything=output.everything), output)


def _show(likes: Likes, output: OutputOptions) -> None:
    """Write the documents to a file, or print them."""
    from classmark.cli.output import say
    from classmark.workbench.examples.like import export_likes

    if output.to is None:
        show_likes(likes, as_json=output.as_json)
    else:
        say(f"wrote {export_likes(likes, output.to):,} documents to {output.to}")


def show_likes(likes: Likes, *, as_json: bool = False) -> None:
    """Print the ranked documents, and the query."""
    from classmark.cli.output import BELOW, parts_of, say, show_json, tell

    if as_json:
        show_json(asdict(likes))
        return
    cost = "" if likes.C is None else f", C = {likes.C:g}"
    learned = f"{likes.method}{cost}"
    if likes.examples or likes.yes:
        counts = f"{likes.examples} examples, {likes.yes} yes, {likes.no} no"
        learned += f", from {counts}"
    tell(f"{likes.search}: {likes.documents:,} documents ranked by {learned}")
    query = parts_of(likes.query, FORM)
    tell(f"query: {query} ({likes.nonzero:,} terms)\n", "  ")
    for each in likes.found:
        mark = f"  [{each.mark}]" if each.mark else ""
        answer = f"{each.title}  ({each.id})  {each.score:.4g}{mark}"
        tell(answer, f"{each.rank:3}. ", BELOW)
        tell(parts_of(each.why, FORM), BELOW)
    for note in likes.notes:
        say()
        tell(note, "  ")


def show_reasons(reasons: Reasons, *, as_json: bool = False) -> None:
    """Print every term's part of a score."""
    from classmark.cli.output import show_json, show_table
    from classmark.workbench.results import Table

    if as_json:
        show_json(
            {**asdict(reasons), "parts": [part._asdict() for part in reasons.parts]}
        )
        return
    title = f"{reasons.title}  ({reasons.id})  {reasons.score:.4g}"
    rows = [part._asdict() for part in reasons.parts]
    show_table(Table(title, rows, "the score is the sum of the parts"))
