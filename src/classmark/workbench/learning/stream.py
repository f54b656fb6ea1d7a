"""Replay labelled texts as if they came one by one: rank, look at the labels, learn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from classmark.arrays import Rows, rows_from
from classmark.evaluation.figures import learning_curves, learning_panel
from classmark.evaluation.stream import Follower, Replay, RunningRocchio
from classmark.figures import require_svg
from classmark.formats import read_records
from classmark.language import several
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.progress import track
from classmark.rankers.auto import PAPER
from classmark.rankers.online import MMP, CategoryPerceptron
from classmark.rankers.preference import PreferenceRanker
from classmark.validation import generator
from classmark.weighting.live import LiveVectorizer
from classmark.workbench.results import Cell, Evaluated, Table

if TYPE_CHECKING:
    from classmark.evaluation.stream import StreamedRanker


LEARNERS = ("plm", "mmp", "perceptron", "rocchio")
ORDERS = ("file", "random")
PLOT = Path("reports") / "stream.svg"
PANELS = {
    "loss1": "loss 1",
    "loss2": "loss 2",
    "loss3": "loss 3",
    "one_error": "one-error",
    "average_precision": "average precision",
    "inspected": "categories inspected until done",
}
DECADES = ("loss2", "loss3", "inspected")
SHOWN = {**PANELS, "average_precision": "AvgP", "inspected": "inspected"}


class LabelledText(NamedTuple):
    """A text and the names of its categories."""

    text: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Which learners, and how they learn.

    loss, average : of mmp (average also of the perceptron);  C, revisits,
    max_documents : of plm, with ``time_budget`` seconds a document in place of a number
    of re-visits.
    """

    learners: tuple[str, ...] = ("plm",)
    loss: int = 3
    average: bool = False
    C: float = PAPER.C
    revisits: int = 100
    time_budget: float | None = None
    max_documents: int | None = None

    def make(self, learner: str) -> StreamedRanker:
        """A ranker that knows nothing yet."""
        if learner == "plm":
            return PreferenceRanker(
                C=self.C,
                revisits=self.revisits,
                time_budget=self.time_budget,
                max_documents=self.max_documents,
            )
        if learner == "mmp":
            return MMP(self.loss, average=self.average)
        if learner == "perceptron":
            return CategoryPerceptron(average=self.average)
        if learner == "rocchio":
            return RunningRocchio()
        raise Mistake(f"learner {learner!r} is not known: use {', '.join(LEARNERS)}")

    def taught(self, learner: str, rows: Rows, labels: Rows) -> StreamedRanker:
        """A ranker that has learned these documents, by re-visits, not by the clock."""
        ranker = replace(self, time_budget=None).make(learner)
        ranker.partial_fit(rows, labels, labels.width)
        if isinstance(ranker, PreferenceRanker):
            ranker.set_params(time_budget=self.time_budget)
        return ranker


def require(
    settings: StreamSettings, order: str, plot: Path | None, facts: Path | None
) -> None:
    """Refuse what cannot be done, before anything is read."""
    for name, least in (("revisits", 0), ("time_budget", 1e-6), ("max_documents", 1)):
        value = getattr(settings, name)
        if value is not None and value < least:
            raise Mistake(f"{name} is {value}: give {least} or more")
    for learner in settings.learners:
        _warm_up(settings.make(learner))
    if order not in ORDERS:
        raise Mistake(f"order {order!r} is not known: use {' or '.join(ORDERS)}")
    if plot is not None:
        require_svg(plot)
    if facts is not None and facts.suffix != ".json":
        raise Mistake(f"--json {facts}: give a file whose name ends in .json")


def read_stream(path: Path, format_: str | None = None) -> list[LabelledText]:
    """Read a file or folder of documents, in its order."""
    records = read_records(path, format_)
    return [
        LabelledText(record.document.text, tuple(record.labels)) for record in records
    ]


def known_stream(name: str, data: Path | None = None) -> list[LabelledText]:
    """Load a known collection, its parts together, in the order of the ids.

    Ids that are numbers are taken as numbers.
    """
    from classmark.datasets import load

    dataset = load(name, data)
    parts = (dataset.train, dataset.validation, dataset.test)
    rows = [
        (id_, LabelledText(text, tuple(labels)))
        for part in parts
        if part is not None
        for id_, text, labels in zip(part.ids, part.texts, part.labels, strict=False)
    ]
    if not rows:
        raise Mistake(f"{name} has no labelled texts: choose a collection that has")
    numbered = all(id_.isdecimal() for id_, _ in rows)
    rows.sort(key=lambda row: (int(row[0]) if numbered else 0, row[0]))
    return [document for _, document in rows]


def stream(
    source: str,
    texts: Sequence[LabelledText],
    settings: StreamSettings,
    order: str,
    plot: Path | None,
) -> Evaluated:
    """Replay labelled texts from nothing, for every learner, and draw the curves."""
    documents = [document for document in texts if document.labels]
    if not documents:
        raise Mistake(
            f"{source}: none of its {len(texts)} documents has a label: there is "
            "nothing to learn from"
        )
    if order == "random":
        shuffled = generator(0).permutation(len(documents))
        documents = [documents[int(i)] for i in shuffled]
    replays = replay_texts(documents, settings)
    target = PLOT if plot is None else plot
    draw(replays, target, f"{source}: {len(documents):,} documents, learned one by one")
    facts = {
        "source": source,
        "documents": len(documents),
        "order": order,
        "setting": asdict(settings),
        "learners": {name: _facts(replay) for name, replay in replays.items()},
    }
    table = _table(source, replays, len(texts) - len(documents))
    return Evaluated(table, target, facts=facts)


class Arrivals:
    """Texts that come one by one, with words and categories nobody knew before."""

    def __init__(self) -> None:
        self.vectorizer = LiveVectorizer(weighting="log-tfidf")
        self.number: dict[str, int] = {}
        self.past: list[LabelledText] = []

    def take(self, document: LabelledText) -> tuple[Rows, Rows]:
        """The document's row and labels, as wide as what is known by now."""
        for name in document.labels:
            self.number.setdefault(name, len(self.number))
        self.past.append(document)
        row = self.vectorizer.partial_fit([document.text])
        return row, self._labels([document])

    @property
    def doubled(self) -> bool:
        """Whether 2, 4, 8, 16, … documents have come."""
        seen = len(self.past)
        return seen > 1 and seen & (seen - 1) == 0

    def reweighted(self, keep: int | None) -> tuple[Rows, Rows]:
        """Weigh what has come by what is known now: the last ``keep``, or all."""
        self.vectorizer.reweight()
        last = self.past if keep is None else self.past[-keep:]
        rows = self.vectorizer.rows([document.text for document in last])
        return rows, self._labels(last)

    def _labels(self, documents: Sequence[LabelledText]) -> Rows:
        numbers = [[self.number[name] for name in labels] for _, labels in documents]
        return labels_from(numbers, None, len(self.number))


def replay_texts(
    documents: Sequence[LabelledText], settings: StreamSettings
) -> dict[str, Replay]:
    """Rank, measure and learn text by text.

    Whenever the documents have doubled, words are weighed anew by what is known then,
    and the learners learn the documents again (the last ``keep``) with these weights.
    """
    followers = {name: Follower(settings.make(name)) for name in settings.learners}
    arrivals = Arrivals()
    for document in track(documents, "replaying", len(documents)):
        if arrivals.doubled:
            again = arrivals.reweighted(settings.max_documents)
            for name, follower in followers.items():
                follower.go_on_with(settings.taught(name, *again), *again)
        row, labels = arrivals.take(document)
        for follower in followers.values():
            follower.see(row, labels)
    return {name: follower.result() for name, follower in followers.items()}


def _warm_up(ranker: StreamedRanker) -> None:
    """Load the compiled parts before anything is timed."""
    ranker.partial_fit(rows_from([[1.0, 0.0], [0.0, 1.0]]), [[0], [1]], 2)
    ranker.decision_function(rows_from([[1.0, 1.0]]))


def draw(replays: Mapping[str, Replay], plot: Path, title: str) -> None:
    """Draw the mean of each measure up to a document, a line a learner."""
    panels = [
        learning_panel(
            shown,
            {learner: replay.curve(name) for learner, replay in replays.items()},
            log=name in DECADES,
        )
        for name, shown in PANELS.items()
    ]
    learning_curves(panels, plot, title)


def write_facts(streamed: Evaluated, path: Path) -> None:
    """Write all values as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(streamed.facts, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def _facts(replay: Replay) -> dict[str, Any]:
    tenth = max(1, len(replay) // 10)
    curves = {}
    for name in replay.measures:
        rounds, values = replay.curve(name)
        curves[name] = {"rounds": rounds.tolist(), "values": values.tolist()}
    return {"categories": replay.n_labels, **replay.summary(tenth), "curves": curves}


def _table(source: str, replays: Mapping[str, Replay], unlabelled: int) -> Table:
    rows: list[dict[str, Cell]] = []
    for learner, replay in replays.items():
        n = len(replay)
        spans = {
            "first tenth": (0, max(1, n // 10)),
            "second half": (n // 2, None),
            "all": (0, None),
        }
        for span, ends in spans.items():
            row: dict[str, Cell] = {"learner": learner, "documents": span}
            row |= {SHOWN[name]: replay.mean(name, *ends) for name in PANELS}
            times = replay.update_times(*ends)
            row |= {"update ms": times["median"], "p99 ms": times["p99"]}
            rows.append(row)
    first = next(iter(replays.values()))
    note = f"{several(len(first), 'document')}, {several(first.n_labels, 'category')}"
    note += f"; {unlabelled:,} without labels were left out" if unlabelled else ""
    return Table(f"{source}: ranked first, then learned", rows, note)
