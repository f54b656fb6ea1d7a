"""Commands for deciding: suggest, decide, undo, look back, see what is next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from classmark.cli.options import (
    ALL,
    FOLDER,
    HERE,
    JSON,
    argument,
    command,
    deferred,
    flag,
    kernels_for,
    option,
    options,
)
from classmark.cli.output import BELOW, JOINED, Text, View, parts_of
from classmark.language import percent
from classmark.problems import Mistake
from classmark.workbench.results import (
    Explained,
    Logged,
    Place,
    Table,
    belonging,
    in_percent,
    plain,
)

with deferred():
    from classmark.workbench.deciding import decide as deciding
    from classmark.workbench.deciding import history as looking
    from classmark.workbench.deciding import opinions, similar
    from classmark.workbench.deciding import queue as queueing
    from classmark.workbench.deciding import suggest as suggesting
    from classmark.workbench.deciding import why as explaining
    from classmark.workbench.learning import rebuild as rebuilding
    from classmark.workbench.project import Project
    from classmark.workbench.store import undo as undoing
    from classmark.workbench.team import agreement as agreeing
    from classmark.workbench.team import plots
    from classmark.workbench.team import progress as progressing

DIR = argument("The project.", "[DIR]", HERE)
ALIKE = option("With --group: the least mean cosine within a group.", 0.8)


@command(JSON)
def suggest(
    *,
    project: Project = FOLDER,
    paths: tuple[Path, ...] = argument(
        "A text, - for stdin; or several, and folders of texts.", "[FILE]...", ()
    ),
    text: str | None = option("The text itself."),
    document: str | None = option("A document's id."),
    k: int = option("How many categories.", 5, "-k"),
    min_probability: float | None = option(
        "Leave less likely categories to the expert (0 to 1)."
    ),
    why: bool = flag("The sentences and documents that mean most alike.", "--why"),
    as_json: bool,
) -> View:
    """Suggest categories for a text, with the terms for and against each."""
    if len(paths) > 1 or (paths and paths[0].is_dir()):
        if why or text is not None or document is not None:
            raise Mistake("--why, --text and --document are of one text: name that one")
        return _of_several(project, paths, k, min_probability)
    path = next(iter(paths), None)
    content = suggesting.wanted_text(project, path, text, document)
    with kernels_for(project, text=content):
        suggestions = suggesting.suggest(
            project, content, k, min_probability=min_probability
        )
        put = None if as_json else suggesting.place_if_any(project, content)
        reasons = []
        if why:
            ids = [suggestion.category for suggestion in suggestions]
            reasons = explaining.meaning_reasons(project, content, ids, document or "")
    facts = [_suggestion_facts(suggestion) for suggestion in suggestions]
    for fact, each in zip(facts, reasons, strict=False):
        fact["reasons"] = plain(asdict(each))
    return View(facts, _suggestion_lines(suggestions, put, reasons))


def _of_several(
    project: Project, paths: Sequence[Path], k: int, least: float | None
) -> View:
    """Suggestions for each of several texts, under its name."""
    facts: list[dict[str, object]] = []
    shown: list[Text | str] = []
    for name, content in suggesting.several_texts(project, paths):
        lines: Iterable[Text | str] = ["the text is empty"]
        suggestions: Sequence[Explained] = ()
        if content.strip():
            suggestions = suggesting.suggest(project, content, k, min_probability=least)
            lines = _suggestion_lines(suggestions, None, [])
        listed = [_suggestion_facts(suggestion) for suggestion in suggestions]
        facts.append({"text": name, "suggestions": listed})
        shown += [Text(name), *lines]
    return View(facts, shown)


def _suggestion_facts(suggestion: Explained) -> dict[str, object]:
    """A suggestion for programs; with the part of meaning where there is one."""
    facts = asdict(suggestion)
    if suggestion.meaning is None:
        del facts["words"], facts["meaning"]
    if suggestion.name is None:
        del facts["name"]
    return facts


def _suggestion_lines(
    suggestions: Sequence[Explained],
    put: Place | None,
    reasons: Sequence[explaining.MeaningReasons],
) -> Iterator[Text | str]:
    """Suggested categories with the terms for and against each, and a sure place."""
    if not suggestions:
        yield "left to the expert: no category is as likely as was asked for"
    for at, suggestion in enumerate(suggestions):
        likely = "not calibrated: too few decisions"
        if suggestion.probability is not None:
            basis = f"calibrated on {suggestion.calibrated_on:,} decisions"
            likely = f"{in_percent(suggestion.probability)} likely ({basis})"
        path = " › ".join(suggestion.path)
        yield Text(f"{path}  ({suggestion.category})", f"{suggestion.rank:3}. ", BELOW)
        known = (likely, f"score {suggestion.score:.3f}", belonging(suggestion.belongs))
        yield Text(", ".join(filter(None, known)), BELOW)
        yield Text(parts_of(suggestion.favour), f"{BELOW}for:     ")
        yield Text(parts_of(suggestion.against), f"{BELOW}against: ")
        if suggestion.meaning is not None and suggestion.words is not None:
            lead = suggestion.words + suggestion.meaning
            yield f"{BELOW}meaning: {suggestion.meaning:+.3f} (of {lead:+.3f})"
        if suggestion.name is not None:
            name, part = suggestion.name
            yield Text(f"“{name}”{JOINED}{part:+.3f}", f"{BELOW}name:    ")
        yield from _reason_lines(reasons[at]) if reasons else ()
    if put is not None:
        yield place_line(put)


def _reason_lines(reasons: explaining.MeaningReasons) -> Iterator[Text]:
    """The sentences and the documents that speak for a category."""
    for sentence, part in reasons.sentences:
        yield Text(f"“{sentence}”{JOINED}{part:+.3f}", f"{BELOW}says:    ")
    for each in reasons.documents:
        alike = f"{each.title}  ({each.document}), {in_percent(each.cosine)} similar"
        yield Text(alike, f"{BELOW}as in:   ")
    if reasons.note:
        yield Text(reasons.note, f"{BELOW}note:    ")


def place_line(put: Place) -> Text:
    """Where a document can be put, in a sentence.

    >>> place_line(Place("leaf", "c", ("C",), 0.9999)).text
    'place: C  (c), over 99 % likely'
    """
    chance = in_percent(put.probability or 0.0)
    if put.category is None:
        return Text(f"place: left to the expert (the likeliest branch: {chance})")
    where = f"{' › '.join(put.path)}  ({put.category})"
    kind = "" if put.kind == "leaf" else ", and none below it for sure"
    return Text(f"place: {where}, {chance} likely{kind}", then=BELOW)


@command(ALL | JSON)
def place(
    project: Project = FOLDER,
    documents: tuple[str, ...] = argument("Their ids.", "[DOCUMENT]...", ()),
    precision: float = option(
        "How many of all that are placed are to be right (0 to 1).", 0.95
    ),
    top: int = option("Of those waiting so many; 0 for all.", 20, "-n"),
) -> View:
    """Put documents where they belong, higher up, or leave them to the expert."""
    with kernels_for(project, len(documents) or top or project.store.waiting()):
        table = suggesting.place(project, documents, precision, top)
    rows = [
        row
        if row["probability"] is None
        else {**row, "probability": in_percent(float(row["probability"]))}
        for row in table.rows
    ]
    return View(list(table.rows), [replace(table, rows=rows)])


@options
class DecisionOptions:
    """What an expert says of one document; over : A:B each."""

    assign: tuple[str, ...] = option("It belongs here; repeatable.", ())
    primary: tuple[str, ...] = option("It belongs here above all; repeatable.", ())
    reject: tuple[str, ...] = option("Not this one; repeatable.", ())
    unsure: tuple[str, ...] = option("Perhaps this one, perhaps not; repeatable.", ())
    remove: tuple[str, ...] = option("Withdraw this category; repeatable.", ())
    over: tuple[str, ...] = option("A:B, A should stand above B here; repeatable.", ())
    aside: bool = flag("Unsure of all: set it aside.", "--aside")
    note: str = option("A word on why.", "")


@command(JSON, documents=2)
def decide(
    *,
    document: str = argument("The document's id."),
    options: DecisionOptions,
    group: bool = flag("And of those like it in the queue.", "--group"),
    alike: float = ALIKE,
    project: Project = FOLDER,
) -> Logged:
    """Say where a document belongs; all of it is logged, or nothing."""
    pairs = (deciding.pair_of(text, project.categories) for text in options.over)
    decision = deciding.Decision(**{**vars(options), "over": tuple(pairs)})
    if group:
        return similar.decide_group(project, document, decision, alike)
    return deciding.decide(project, document, decision)


@command(JSON, documents=2)
def undo(
    project: Project = FOLDER,
    number: int | None = argument("Of an act; see history.", "[NUMBER]", None),
) -> Logged:
    """Undo an act, by default your last; undo an undo to redo it."""
    return undoing.undo(project, number)


@command(ALL | JSON)
def history(
    document: str | None = option("Only of this document."),
    top: int = option("How many lines.", 20, "-n"),
    project: Project = FOLDER,
) -> Table:
    """List what was decided, newest first, with the numbers that undo takes."""
    return looking.history(project, document, top)


@command(ALL | JSON)
def queue(
    order: str = option("uncertain, likely, random or similar", "uncertain"),
    k: int = option("How many documents.", 20, "-k"),
    to: str | None = option("Similar to this document, not the last decided."),
    group: bool = flag("One line for documents nearly the same.", "--group"),
    alike: float = ALIKE,
    project: Project = FOLDER,
) -> Table | View:
    """List the documents to decide next."""
    if group:
        table = similar.grouped_queue(project, order, k, to, alike)
        return View(list(table.rows), [similar.shortened(table)])
    with kernels_for(project, project.store.waiting()):
        return queueing.queue(project, order, k, to)


@command(JSON)
def rebuild(project: Project = FOLDER) -> Table:
    """Learn the whole log again, and say whether that gives the same ranker."""
    return rebuilding.rebuild(project)


@command(ALL | JSON)
def progress(project: Project = DIR) -> View:
    """Say how far the work is, whether suggestions get better, and whether to stop."""
    state = progressing.progress(project)
    facts = asdict(state) | {"waiting": state.waiting, "saved": state.saved}
    return View(facts, _progress_parts(state))


def _progress_parts(state: progressing.Progress) -> Iterator[Table | Text | str]:
    """The state of the work in sentences, and how it came about."""
    number, share = plots.number, percent
    left = f"{state.waiting:,} wait, {state.aside:,} postponed"
    yield Text(f"{state.decided:,} of {state.documents:,} documents decided; {left}")
    if state.whole is None or state.recent is None or state.hint is None:
        few = f"{state.measured} decided with suggestions in view"
        yield Text(f"nothing is measured yet: {few}, ten are needed")
    else:
        yield Text(
            f"{number(state.recent.effort)} categories looked at per document over the "
            f"last {state.recent.documents}, {number(state.whole.effort)} over all "
            f"{state.measured:,}; the first suggestion was right in "
            f"{share(state.recent.first)}"
        )
        if state.saved is not None:
            yield Text(
                f"{share(state.saved)} of looking saved against a list with the most "
                f"used first ({number(state.popular)})"
            )
        yield Text(
            f"{'you may stop' if state.hint.stop else 'go on'}: with 95 % confidence "
            f"the first suggestion is wrong in at most {share(state.hint.most)} of the "
            f"documents, {state.hint.wrong_at_most:,} of those that wait"
        )
    if state.steps:
        note = "on documents decided before they were learned; upto: decisions measured"
        yield from (
            "",
            Table("Over time", [asdict(step) for step in state.steps], note),
        )


@command(ALL | JSON)
def agreement(
    project: Project = DIR, top: int = option("Disagreements shown.", 20, "-n", min=0)
) -> View:
    """Say how far people agree, and on which documents they differ."""
    agreed, differing = agreeing.agreement(project), opinions.disagreements(project)
    documents = [each.document for each in differing]
    facts = asdict(agreed) | {"disagreements": documents}
    return View(facts, _agreement_parts(agreed, differing, top))


def _agreement_parts(
    agreed: agreeing.Agreed, differing: Sequence[opinions.Disagreement], top: int
) -> Iterator[Table | Text]:
    """How far people agree, and the last ``top`` documents on which they differ."""
    if not agreed.documents:
        remedy = "decide on one that another has"
        yield Text(f"no document was read by two people yet: {remedy}")
        return
    values = {"MASI": agreed.masi, "Jaccard": agreed.jaccard, "main": agreed.nominal}
    alphas = ", ".join(f"{name} {value:.3f}" for name, value in values.items())
    yield Text(
        f"{agreed.documents:,} documents read by two or more of "
        f"{', '.join(agreed.people)}\nKrippendorff's α: {alphas}"
    )
    note = (
        "same: documents with the same labels; alike: mean share in common; kappa: "
        "label by label; kappa_main: over the main category of so many documents"
    )
    yield Table("Cohen's κ", [asdict(pair) for pair in agreed.pairs], note)
    if not differing or not top:
        return
    rows = [
        {
            "document": each.document,
            "people": ", ".join(each.people),
            "over": ", ".join(each.over),
        }
        for each in differing[-top:]
    ]
    note = "settle them in the workbench: Progress, Agreement"
    yield Table(f"Not settled: {len(differing):,}", rows, note)
