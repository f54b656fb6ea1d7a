"""The plots of the Progress page: what is drawn, and the table behind it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from classmark.figures import Scale, linear_ticks, log_ticks, spread
from classmark.figures import number as tick
from classmark.language import N_, _, clock, decimal, percent, whole

if TYPE_CHECKING:
    from classmark.examples.screening import RecallPoint, StopForecast
    from classmark.workbench.team.decisions import Step
    from classmark.workbench.team.progress import Progress, Promises


WIDTH, HEIGHT = 480, 240
LEFT, RIGHT, TOP, BOTTOM = 44, 376, 24, 204
GAP = 15  # between the names of two curves
WIDEST = 28  # bar
DAYS = 30  # shown, the last ones
MANY = 50  # categories in the table of the tail
MEASURED = N_("decisions measured")


def number(value: float) -> str:
    """A mean with one decimal from ten on, two below; a dash where it is unknown.

    >>> number(1.666), number(38.21), number(float("nan"))
    ('1.67', '38.2', '–')
    """
    if math.isnan(value):
        return "–"
    return decimal(value, 1 if value >= 10 else 2)


@dataclass(frozen=True, slots=True)
class PlotAxis:
    """An axis; count : about how many ticks it has;  says : what they say."""

    name: str
    high: float
    low: float = 0.0
    log: bool = False
    count: int = 4
    says: Callable[[float], str] = tick

    def scale(self, first: float, last: float) -> Scale:
        """From values to places between two ends."""
        return Scale(self.low, self.high, first, last, log=self.log)

    def ticks(self, first: float, last: float) -> list[tuple[float, str]]:
        """Places of round values, and what they say."""
        scale, values = self.scale(first, last), []
        if self.log:
            values = log_ticks(scale.low, scale.high)
        elif self.count:
            values = linear_ticks(scale.low, scale.high, self.count)
        return [(scale.at(value), self.says(value)) for value in values]


def share_axis(name: str = "") -> PlotAxis:
    """An axis of shares."""
    return PlotAxis(name or _("share"), 1, count=2, says=percent)


@dataclass(frozen=True, slots=True)
class Plot:
    """What to draw, in a frame of WIDTH × HEIGHT, and the table behind it.

    name : for links;  says : the plot in a sentence;  curves : points, and the words at
    their end;  bars : a name and a height;  dots : a point, how many it stands for, and
    words; beside a diagonal.
    """

    name: str
    title: str
    says: str
    across: PlotAxis
    up: PlotAxis
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    curves: Sequence[tuple[Sequence[tuple[float, float]], str]] = ()
    bars: Sequence[tuple[str, float]] = ()
    dots: Sequence[tuple[float, float, int, str]] = ()

    @property
    def frame(self) -> tuple[int, int, int, int, int, int]:
        """Width, height, and the inner frame: left, right, top, bottom."""
        return WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM

    def polylines(self) -> list[tuple[list[tuple[float, float]], str, float]]:
        """Places on the page, words, and their height, so that none are upon others."""
        x, y = self.across.scale(LEFT, RIGHT), self.up.scale(BOTTOM, TOP)
        drawn = [
            ([(x.at(a), y.at(b)) for a, b in points], words)
            for points, words in self.curves
            if points
        ]
        heights = spread([places[-1][1] for places, _ in drawn], GAP)
        return [(*curve, at) for curve, at in zip(drawn, heights, strict=True)]

    def rectangles(self) -> list[tuple[float, float, float, float, str]]:
        """Left, top, width, height and words of the bars, over the whole width."""
        y = self.up.scale(BOTTOM, TOP)
        room = (RIGHT - LEFT) / max(1, len(self.bars))
        width = round(min(WIDEST, max(1.0, room * 0.7)), 1)
        return [
            (
                round(LEFT + room * (place + 0.5) - width / 2, 1),
                y.at(value),
                width,
                round(BOTTOM - y.at(value), 1),
                f"{name}: {whole(value)}",
            )
            for place, (name, value) in enumerate(self.bars)
        ]

    def circles(self) -> list[tuple[float, float, float, str]]:
        """Middle, radius and words of the dots, the larger the more they stand for."""
        x, y = self.across.scale(LEFT, RIGHT), self.up.scale(BOTTOM, TOP)
        most = max((count for _, _, count, _ in self.dots), default=1)
        return [
            (x.at(a), y.at(b), round(3 + 7 * math.sqrt(count / most), 1), words)
            for a, b, count, words in self.dots
        ]


def panels(progress: Progress, names: Mapping[str, str] | None = None) -> list[Plot]:
    """The plots that can be drawn of what is known; names : category → its label."""
    drawn = []
    if progress.steps and progress.whole is not None and progress.recent is not None:
        drawn.append(_effort(progress.steps))
        drawn += [_shares(progress.steps, *each) for each in SHARES]
    if progress.tail:
        drawn.append(tail(progress.tail, progress.unused, names or {}))
    if len(progress.days) > 1:
        drawn.append(days(progress.days))
    return drawn


def _effort(steps: Sequence[Step]) -> Plot:
    measured = [s for s in steps if not math.isnan(s.effort)]
    words = _("rank %(rank)s", rank=number(measured[-1].effort)) if measured else ""
    return Plot(
        "effort",
        _("Average rank of the last correct category"),
        _(
            "How far down the list the last correct category is, on average; lower is "
            "better."
        ),
        PlotAxis(_(MEASURED), max(s.upto for s in steps)),
        PlotAxis(_("categories"), max((s.effort for s in measured), default=1.0) * 1.1),
        (
            _(MEASURED),
            _("documents"),
            _("average rank of the last correct category"),
        ),
        [(whole(s.upto), whole(s.documents), number(s.effort)) for s in measured],
        [([(s.upto, s.effort) for s in measured], words)],
    )


# Plots of shares: name, title, what it says, and field of a step → its name.
SHARES = (
    (
        "precision",
        N_("Correct at rank 1 and in the first five"),
        N_(
            "P@1: how often the first suggestion is correct. P@5: the share of the "
            "first five that is correct. In first 5: the share of the correct labels "
            "that is among the first five."
        ),
        {"first": "P@1", "five": "P@5", "found": N_("in first 5")},
    ),
    (
        "errors",
        N_("One-error and average precision"),
        N_(
            "One-error: how often the first suggestion is wrong. AvgP: the mean "
            "precision down to each correct label; 1 when all correct ones come first."
        ),
        {"one_error": N_("one-error"), "average_precision": "AvgP"},
    ),
)


def _shares(
    steps: Sequence[Step], name: str, title: str, says: str, fields: Mapping[str, str]
) -> Plot:
    def cell(step: Step, field: str) -> str:
        value = getattr(step, field)
        return decimal(value, 3) if field == "average_precision" else percent(value)

    curves = [
        (
            [(s.upto, getattr(s, field)) for s in steps],
            f"{_(label)} {percent(getattr(steps[-1], field))}",
        )
        for field, label in fields.items()
    ]
    return Plot(
        name,
        _(title),
        _(says),
        PlotAxis(_(MEASURED), max(s.upto for s in steps)),
        share_axis(),
        (_(MEASURED), *map(_, fields.values())),
        [(whole(s.upto), *(cell(s, field) for field in fields)) for s in steps],
        curves[-1:] + curves[:-1],
    )


def recall(
    points: Sequence[RecallPoint], stops: Sequence[StopForecast], documents: int
) -> Plot:
    """The recall of a screening so far, and where reading may stop; documents : all."""
    last = points[-1]
    ahead = [(last.read + stop.more, stop.target) for stop in stops if stop.more]
    curves = [
        (
            [(p.read, p.estimated) for p in points],
            _("estimated %(share)s", share=percent(last.estimated)),
        ),
        (
            [(p.read, p.proved) for p in points],
            _("proved %(share)s", share=percent(last.proved)),
        ),
    ]
    if ahead:
        forecast = [(last.read, last.proved), *ahead]
        words = _("forecast %(share)s", share=percent(ahead[-1][1]))
        curves.append((forecast, words))
    rows = [
        (whole(p.read), percent(p.estimated), percent(p.proved)) for p in points[::6]
    ]
    rows += [
        (whole(read), "–", _("forecast %(share)s", share=percent(target)))
        for read, target in ahead
    ]
    return Plot(
        "recall",
        _("Recall"),
        _(
            "The share of the relevant documents that was found: as estimated, as "
            "proved with the chosen confidence, and when the next shares are likely to "
            "be proved."
        ),
        PlotAxis(_("documents read"), documents),
        share_axis(_("recall")),
        (_("documents read"), _("estimated"), _("proved")),
        rows,
        curves,
    )


def precision(curves: Mapping[str, Sequence[float]]) -> Plot:
    """Normalised precision along the ranking; curves : learner → value by rank."""
    longest = max(len(values) for values in curves.values())
    return Plot(
        "precision-by-rank",
        _("Precision along the ranking"),
        _(
            "The share of correct categories down to each rank, divided by the best "
            "possible share."
        ),
        PlotAxis(_("rank"), longest, low=1, log=longest > 10),
        share_axis(_("precision")),
        (_("rank"), *curves),
        [
            (
                whole(at + 1),
                *(decimal(v[at], 3) if at < len(v) else "–" for v in curves.values()),
            )
            for at in range(min(longest, 20))
        ],
        [
            ([(at + 1, value) for at, value in enumerate(values)], name)
            for name, values in curves.items()
        ],
    )


def calibration(promises: Promises) -> Plot:
    """What was promised against what came true."""
    bins = [(b, percent(b.promised), percent(b.kept)) for b in promises.bins]
    return Plot(
        "calibration",
        _("Are the probabilities right?"),
        _(
            "The predicted probability of suggestions against the share of them that "
            "was correct, on %(documents)s documents the model had not learned; larger "
            "dots stand for more suggestions. The average error is %(error)s.",
            documents=whole(promises.documents),
            error=percent(promises.error),
        ),
        share_axis(_("predicted")),
        share_axis(_("share correct")),
        (_("predicted"), _("share correct"), _("suggestions")),
        [(promised, kept, whole(b.count)) for b, promised, kept in bins],
        dots=[
            (
                b.promised,
                b.kept,
                b.count,
                _(
                    "predicted %(predicted)s, correct %(correct)s (%(n)s suggestions)",
                    predicted=promised,
                    correct=kept,
                    n=whole(b.count),
                ),
            )
            for b, promised, kept in bins
        ],
    )


def tail(
    counts: Sequence[tuple[str, int]], unused: int, names: Mapping[str, str]
) -> Plot:
    """How many documents categories have, the most used first; both axes by powers."""
    sums = list(accumulate(count for _, count in counts))
    heads = bisect_left(sums, sums[-1] / 2) + 1
    powers = {round(1.12**n) for n in range(200)}
    ranks = [*sorted(powers & {*range(1, len(counts) + 1)}), len(counts)]
    return Plot(
        "tail",
        _("The long tail of categories"),
        _(
            "Documents per category, the most used first. %(heads)s of the %(used)s in "
            "use have half of the labels; %(unused)s have none.",
            heads=whole(heads),
            used=whole(len(counts)),
            unused=whole(unused),
        ),
        PlotAxis(
            _("categories, the most used first"), max(2, len(counts)), 1, log=True
        ),
        PlotAxis(_("documents"), max(2, counts[0][1]), 1, log=True),
        (_("category"), _("documents")),
        [(names.get(id_, id_), whole(count)) for id_, count in counts[:MANY]],
        [([(rank, counts[rank - 1][1]) for rank in ranks], "")],
    )


def days(counts: Sequence[tuple[str, int]]) -> Plot:
    """Decisions of each day."""
    shown = [(clock(day, "day"), n) for day, n in counts[-DAYS:]]
    span = _("%(first)s to %(last)s", first=shown[0][0], last=shown[-1][0])
    return Plot(
        "days",
        _("Decisions per day"),
        _(
            "How many documents people decided; %(all)s in total, on %(days)s days.",
            all=whole(sum(n for _day, n in counts)),
            days=whole(len(counts)),
        ),
        PlotAxis(span, 1, count=0),
        PlotAxis(_("decisions"), max(count for _, count in shown) * 1.1),
        (_("day"), _("decisions")),
        [(day, whole(count)) for day, count in reversed(shown)],
        bars=shown,
    )
