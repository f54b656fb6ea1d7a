"""Do a few examples and a collection make a query? The tables of [ZhangLee09].

Every method's C can be told as C_P, what an example that scores 0 costs once w is
scaled so that examples are to score 1:

    SVM_1c  C = C_P l;   SVM_2c  C = C_P n;   SVM_ba  C = C_P;
    SVM_pr, weighted  C = C_P;   SVM_ba, literal  C = C_P n/4l;
    SVM_pr, SVM_p@k and SVM_r@k  C = C_P n/2l.

The paper's C for the weighted form of SVM_ba is read as ½‖w‖² + C (1/2l Σ_P ξ +
1/2u Σ_U ξ), which is C_P = C/2l.

A topic's relevant training documents are the examples P, all test documents the
collection U; each method learns a query and ranks U by it. Precision–recall break-even
point, average precision, processor seconds and non-zero weights, means over the topics,
with the paper's C and with C chosen without a label of U (``qbme_methods``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints, Rows, take
from classmark.examples.auto import FEWEST
from classmark.examples.query import ExampleQuery
from classmark.figures import HUES, LINE
from classmark.measures import bootstrap_interval, paired_t_test
from classmark.progress import track
from classmark.validation import Seed, generator
from reproductions.qbme_tasks import Task, measure, news20, reuters, siam
from reproductions.report import (
    ROUNDS,
    STYLE,
    Reproduction,
    chance,
    difference,
    holds,
    resampled,
    save,
)

SURE, ALIKE = 0.005, 0.05
NAMES = {"prbep": "PRBEP", "map": "MAP"}
DEARER = 3.0  # times SVM_ba that SVM_pr may cost
PAPER_COST, TUNED, ONE = ", C = 100", ", tuned", ", C_P = 1"
MEANS = ("Centroid", "Rocchio")  # without a C


@dataclass(frozen=True, slots=True)
class Claims:
    """What was measured: method → measure → a value for each topic."""

    found: Mapping[str, Mapping[str, Sequence[float]]]

    def all(self) -> list[str]:
        """Say it of each claim, with the paper's C and with C chosen from P and U."""
        said = [self.above("Rocchio", "Centroid")]
        for cost in (PAPER_COST, TUNED):
            said += [
                self.above(f"SVM_ba{cost}", f"SVM_1c{cost}"),
                self.above(f"SVM_ba{cost}", "Rocchio"),
                self.above(f"SVM_pr{cost}", "Rocchio"),
                self.alike(f"SVM_ba{cost}", f"SVM_pr{cost}"),
                self.alike(f"SVM_1c{cost}", "Centroid"),
                self.sparser(f"SVM_1c{cost}", "Centroid"),
                self.sparser(f"SVM_ba{cost}", "Rocchio"),
            ]
        said += [
            self.cheap(f"SVM_pr{PAPER_COST}", f"SVM_ba, literal{PAPER_COST}"),
            self.cheap(f"SVM_pr, weighted{ONE}", f"SVM_ba{ONE}"),
            self.cheap(f"SVM_pr, weighted{TUNED}", f"SVM_ba{TUNED}"),
            self.above(f"SVM_pr, weighted{TUNED}", "Rocchio"),
            self.alike(f"SVM_ba{TUNED}", f"SVM_pr, weighted{TUNED}"),
            self.best("auto"),
            self.varied(),
        ]
        return said

    def above(self, own: str, other: str) -> str:
        """Whether one is surely better than another, one-sided."""
        parts, good = [], True
        for key in NAMES:
            p = paired_t_test(*self._pair(own, other, key), "greater").p_value
            good = good and p < SURE
            parts.append(f"{self._means(own, other, key)} ({chance(p)})")
        return f"{own} ≫ {other}: {holds(good)}; {'; '.join(parts)}"

    def alike(self, own: str, other: str) -> str:
        """Whether no difference is seen: two-sided, which is no proof of equality."""
        parts, good = [], True
        for key in NAMES:
            p = paired_t_test(*self._pair(own, other, key)).p_value
            good = good and p >= ALIKE
            parts.append(f"{self._means(own, other, key)} ({chance(p)})")
        return f"{own} ≈ {other}: {holds(good)}; {'; '.join(parts)}"

    def sparser(self, own: str, other: str) -> str:
        """Whether one has surely fewer weights than another, one-sided."""
        few, many = (self._mean(name, "nonzeros") for name in (own, other))
        pair = self._pair(own, other, "nonzeros")
        p = paired_t_test(*pair, "less").p_value
        return (
            f"{own} is sparser than {other}: {holds(p < SURE)}; {few:,.0f} and "
            f"{many:,.0f} weights, {difference(*pair, '+,.0f')} ({chance(p)})"
        )

    def varied(self) -> str:
        """Whether topics differ more than methods do, those of the paper's C."""
        names = [name for name in self.found if name.endswith(PAPER_COST)]
        values = np.array([self.found[n]["map"] for n in (*MEANS, *names)])
        topics, methods = (float(values.std(axis=at).mean()) for at in (1, 0))
        low, high = resampled(partial(_more_varied, values), values.shape[1])
        return (
            "a method varies more over topics than a topic over methods: "
            f"{holds(topics > methods)}; standard deviation of AP {topics:.3f} and "
            f"{methods:.3f}, {topics - methods:+.3f}, 95 % {low:+.3f} … {high:+.3f}"
        )

    def cheap(self, own: str, other: str) -> str:
        """Whether one costs at most three times another, in all and topic by topic."""
        a, b = self._pair(own, other, "seconds")
        ratio = float(a.sum() / b.sum())
        each = a / np.maximum(b, 1e-6)
        low, high = resampled(lambda at: float(a[at].sum() / b[at].sum()), len(a))
        return (
            f"{own} costs at most {DEARER:g} × {other}: {holds(ratio <= DEARER)}; "
            f"{ratio:.2f} × in all, 95 % {low:.2f} … {high:.2f}, median topic "
            f"{np.median(each):.2f}, worst {each.max():.2f}"
        )

    def best(self, own: str) -> str:
        """Whether one is at least as good as every other by MAP, and against whom."""
        others = [name for name in self.found if name != own]
        best = max(others, key=lambda name: self._mean(name, "map"))
        p = paired_t_test(*self._pair(own, best, "map")).p_value
        good = self._mean(own, "map") >= self._mean(best, "map")
        means = self._means(own, best, "map")
        return f"{own} is best: {holds(good)}; next is {best}, {means} ({chance(p)})"

    def _pair(self, own: str, other: str, key: str) -> tuple[Floats, Floats]:
        return np.array(self.found[own][key]), np.array(self.found[other][key])

    def _mean(self, name: str, key: str) -> float:
        return float(np.mean(self.found[name][key]))

    def _means(self, own: str, other: str, key: str) -> str:
        a, b = self._mean(own, key), self._mean(other, key)
        low, high = bootstrap_interval(*self._pair(own, other, key), rounds=ROUNDS)
        apart = f"{a - b:+.4f}, 95 % {low:+.4f} … {high:+.4f}"
        return f"{NAMES[key]} {a:.4f} and {b:.4f}, {apart}"


def _more_varied(values: Floats, topics: Ints) -> float:
    """How much more methods vary over some topics than topics over the methods."""
    over_topics, over_methods = (values[:, topics].std(axis=at).mean() for at in (1, 0))
    return float(over_topics - over_methods)


def hardness_curves(
    curves: Mapping[str, Sequence[float]], path: Path, title: str
) -> None:
    """Draw a measure of every topic, a line per method, the hardest topics first.

    Topics stand in the order of their mean over the methods, as in the figures of
    [ZhangLee09].
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    order = np.argsort(np.mean(list(curves.values()), axis=0), kind="stable")
    places = np.arange(1, len(order) + 1)
    with rc_context(STYLE):
        figure = Figure()
        axes = figure.subplots()
        for hue, (name, values) in zip(
            HUES * len(curves), curves.items(), strict=False
        ):
            axes.plot(
                places,
                np.asarray(values)[order],
                color=hue,
                label=name,
                marker=".",
                linewidth=1.2,
            )
        axes.set(title=title, xlabel="topics, the hardest first", ylabel="PRBEP")
        axes.set_ylim(0, 1.03)
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        axes.legend(
            frameon=False,
            labelcolor="linecolor",
            loc="upper center",
            bbox_to_anchor=(0.5, -0.14),
            ncols=3,
        )
        save(figure, path)


COST = 100.0  # the paper's C, for every method and collection
FIXED = {"one": 1.0, "tenth": 0.1}  # C_P
GRID = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # of C_P


@dataclass(frozen=True, slots=True)
class Method:
    """A row: a method of ``ExampleQuery`` and where its C comes from.

    cost : "none" where there is no C to give, "paper", "one" for C_P = 1, "tenth" for
    C_P = 0.1, or "tuned".
    """

    name: str
    method: str
    cost: str = "none"


METHODS = (
    Method("Centroid", "centroid"),
    Method("Rocchio", "rocchio"),
    Method("SVM_1c", "one-class", "paper"),
    Method("SVM_2c", "two-class", "paper"),
    Method("SVM_ba", "balanced", "paper"),
    Method("SVM_ba, literal", "balanced-literal", "paper"),
    Method("SVM_pr", "precision-recall", "paper"),
    Method("SVM_ba", "balanced", "one"),
    Method("SVM_pr", "precision-recall", "one"),
    Method("SVM_pr, weighted", "precision-recall-balanced", "one"),
    Method("SVM_p@k, SVM_r@k", "precision@k", "tenth"),
    Method("SVM_1c", "one-class", "tuned"),
    Method("SVM_2c", "two-class", "tuned"),
    Method("SVM_ba", "balanced", "tuned"),
    Method("SVM_ba, literal", "balanced-literal", "tuned"),
    Method("SVM_pr", "precision-recall", "tuned"),
    Method("SVM_pr, weighted", "precision-recall-balanced", "tuned"),
    Method("Biased-SVM", "biased"),
    Method("auto", "auto"),
)


class Asked(NamedTuple):
    """A learned query, its C_P where there is one, and processor seconds it took."""

    query: ExampleQuery
    cost: float | None
    seconds: float


def ask(method: Method, P: Rows, U: Rows, seed: Seed = 0) -> Asked:
    """Learn a query; choosing C is part of the seconds.

    Biased-SVM keeps examples back: where there are too few of them for it, its query is
    Rocchio's.
    """
    begin = process_time()
    cost = _cost(method, P, U, seed)
    if method.method == "biased" and len(P) < FEWEST:
        query = ExampleQuery("rocchio").fit(P, U)
    else:
        query = _query(method.method, cost, P, U)
    return Asked(query, cost, process_time() - begin)


def in_units(method: str, cost: float, examples: int, others: int) -> float:
    """C as a method has it, an example costing C_P.

    >>> in_units("balanced", 1.0, 50, 1000), in_units("precision-recall", 1.0, 50, 950)
    (1.0, 10.0)
    """
    n = examples + others
    scale = {
        "one-class": float(examples),
        "two-class": float(n),
        "balanced": 1.0,
        "precision-recall-balanced": 1.0,
        "balanced-literal": n / (4 * examples),
    }
    return cost * scale.get(method, n / (2 * examples))


def chosen_cost(method: str, P: Rows, U: Rows, seed: Seed = 0) -> float:
    """C_P by documents held out: learn from half of P and U, judge by the others.

    The held examples are ranked among the held part of U, of which no label is used:
    its relevant documents, unknown, lower the average precision for every C_P alike. U
    has to be halved too: documents that were learned as others have sunk below those
    that were not. With one example, 1.
    """
    if len(P) == 1:
        return 1.0
    random = generator(seed)
    halves = [_halves(random.permutation(len(rows))) for rows in (P, U)]
    turns = [(take(P, p), take(U, u)) for p, u in zip(*halves, strict=True)]
    return max(GRID, key=lambda cost: held_out(method, cost, turns))


def held_out(method: str, cost: float, halves: Sequence[tuple[Rows, Rows]]) -> float:
    """Mean average precision of held examples among held others, half by half.

    halves : two pairs of examples and others; each is learned from, and judged by the
    other.
    """
    found = []
    for (P, U), (held, among) in (halves, halves[::-1]):
        query = _query(method, cost, P, U)
        scores = [query.decision_function(rows) for rows in (among, held)]
        relevant = [np.zeros(len(among)), np.ones(len(held))]
        found.append(measure(np.concatenate(scores), np.concatenate(relevant)).ap)
    return float(np.mean(found))


def _halves(order: Ints) -> list[Ints]:
    return [np.sort(order[at::2]) for at in range(2)]


def _cost(method: Method, P: Rows, U: Rows, seed: Seed) -> float | None:
    if method.cost == "none":
        return None
    if method.cost == "tuned":
        return chosen_cost(method.method, P, U, seed)
    if method.cost in FIXED:
        return FIXED[method.cost]
    if method.method == "balanced":
        return COST / (2 * len(P))
    return COST / in_units(method.method, 1.0, len(P), len(U))


def _query(method: str, cost: float | None, P: Rows, U: Rows) -> ExampleQuery:
    C = None if cost is None else in_units(method, cost, len(P), len(U))
    return ExampleQuery(method, C=C).fit(P, U)


MORE_THAN = 5  # examples: the paper's topics of Reuters
FORMS = {"prbep": ".4f", "map": ".4f", "seconds": ".3f", "nonzeros": ",.0f"}
MEASURES = tuple(FORMS)
DRAWN = (
    "Centroid",
    "SVM_1c, C = 100",
    "Rocchio",
    "SVM_ba, tuned",
    "SVM_pr, tuned",
    "auto",
)
PAPER: dict[str, dict[str, tuple[float, ...]]] = {
    "news20": {
        "Centroid": (0.4299, 0.4011, 11533),
        "SVM_1c": (0.3874, 0.3436, 5179),
        "Rocchio": (0.6628, 0.6867, 41023),
        "SVM_ba": (0.7969, 0.8200, 22919),
        "SVM_pr": (0.7976, 0.8236, 22943),
    },
    "siam": {
        "Centroid": (0.2453, 0.2115, 9627),
        "SVM_1c": (0.2618, 0.2239, 3597),
        "Rocchio": (0.4754, 0.4627, 19146),
        "SVM_ba": (0.5685, 0.5635, 12258),
        "SVM_pr": (0.5613, 0.5565, 12348),
    },
    "reuters": {
        "Centroid": (0.6278, 0.6833, 1306),
        "SVM_1c": (0.6531, 0.6974, 1048),
        "Rocchio": (0.6474, 0.7138, 7241),
        "SVM_ba": (0.6621, 0.7194, 4786),
        "SVM_pr": (0.6711, 0.7289, 4391),
    },
}
TASKS: dict[str, Callable[[Path | None], Task]] = {
    "news20": news20,
    "reuters": reuters,
    "siam": siam,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One method: a value for each topic, and their means.

    cost : where C comes from;  topics : measure → values;  means : of these;  paper :
    PRBEP, MAP and non-zeros as published, beside the paper's C alone.
    """

    method: str
    cost: str
    topics: dict[str, list[float]]
    means: dict[str, float]
    paper: dict[str, float]

    @property
    def label(self) -> str:
        """The method and where its C comes from."""
        return f"{self.method}{NOTES[self.cost]}"


@dataclass(frozen=True, slots=True)
class Table:
    """The rows over some topics of a collection.

    examples : how many each topic has;  documents : of U.
    """

    name: str
    topics: list[str]
    examples: list[int]
    documents: int
    features: int
    rows: list[Row]
    claims: list[str]


NOTES = {
    "none": "",
    "paper": ", C = 100",
    "one": ", C_P = 1",
    "tenth": ", C_P = 0.1",
    "tuned": ", tuned",
}


def qbme(name: str, data: Path | None = None) -> list[Table]:
    """Compute the table of a collection; of Reuters also that of all 90 topics.

    name : "news20", "reuters" or "siam";  data : the folder of the data sets, or None
    for that of ``CLASSMARK_DATA``.
    """
    task = TASKS[name](data)
    found = compare(task, METHODS)
    if name != "reuters":
        return [tabled(name, task, found)]
    large = [
        at for at, topic in enumerate(task.topics) if len(topic.examples) > MORE_THAN
    ]
    return [
        tabled("reuters", task, found, large),
        tabled("reuters, 90 topics", task, found),
    ]


def compare(task: Task, methods: Sequence[Method]) -> dict[Method, dict[str, Floats]]:
    """Measure each method on each topic: method → measure → (topics,)."""
    size = len(task.topics)
    found = {method: {key: np.empty(size) for key in MEASURES} for method in methods}
    _load_kernels(task, methods)
    for at, topic in enumerate(track(task.topics, f"topics of {task.name}", size)):
        P = task.examples(topic)
        for method in methods:
            asked = ask(method, P, task.collection)
            scores = asked.query.decision_function(task.collection)
            good = task.measure(topic, scores)
            values = (*good, asked.seconds, float(asked.query.nonzero_))
            for key, value in zip(MEASURES, values, strict=True):
                found[method][key][at] = value
    return found


def _load_kernels(task: Task, methods: Sequence[Method]) -> None:
    """Ask each once for little, so that no topic's seconds hold what is done once."""
    P, U = (take(rows, range(5)) for rows in (task.train, task.collection))
    for method in methods:
        ask(method, P, U)


def tabled(
    name: str,
    task: Task,
    found: Mapping[Method, Mapping[str, Floats]],
    which: Sequence[int] | None = None,
) -> Table:
    """Make a table of some of the topics, or of all."""
    chosen = list(range(len(task.topics)) if which is None else which)
    published = PAPER.get(name, {})
    rows = [
        _row(method, {key: each[chosen] for key, each in values.items()}, published)
        for method, values in found.items()
    ]
    return Table(
        name,
        [task.topics[at].name for at in chosen],
        [len(task.topics[at].examples) for at in chosen],
        *task.collection.shape,
        rows,
        Claims({row.label: row.topics for row in rows}).all(),
    )


def _row(
    method: Method,
    values: Mapping[str, Floats],
    published: Mapping[str, tuple[float, ...]],
) -> Row:
    theirs = published.get(method.name, ()) if method.cost in {"none", "paper"} else ()
    return Row(
        method.name,
        method.cost,
        {key: each.tolist() for key, each in values.items()},
        {key: float(each.mean()) for key, each in values.items()},
        dict(zip(("prbep", "map", "nonzeros"), theirs, strict=False)),
    )


def reproduce(data: Path | None, name: str) -> Reproduction:
    """Query by multiple examples: a table of [ZhangLee09]."""
    return examples_report(qbme(name, data))


def examples_report(tables: Sequence[Table]) -> Reproduction:
    """Put the means beside the paper's; draw the first table's topics by hardness."""
    first = tables[0]
    rows: list[dict[str, str | float | None]] = []
    for own in zip(*(table.rows for table in tables), strict=True):
        cells: dict[str, str | float | None] = {"method": own[0].label}
        for table, row in zip(tables, own, strict=True):
            where = "" if len(tables) == 1 else f", {len(table.topics)} topics"
            cells |= {f"{key}{where}": cell for key, cell in _cells(row).items()}
        rows.append(cells)
    claims = [
        claim if len(tables) == 1 else f"{len(table.topics)} topics: {claim}"
        for table in tables
        for claim in table.claims
    ]
    drawn = {row.label: row.topics["prbep"] for row in first.rows if row.label in DRAWN}
    title = f"Query by examples: {first.name}, PRBEP of each topic"
    return Reproduction(
        f"Query by multiple examples: {first.name}",
        rows,
        claims,
        partial(hardness_curves, drawn, title=title),
        f"measured (published); {len(first.topics)} topics, {first.documents:,} "
        f"documents, {first.features:,} features; processor seconds a topic",
        {"tables": [asdict(table) for table in tables]},
    )


def _cells(row: Row) -> dict[str, str]:
    cells = {}
    for key, form in FORMS.items():
        published = row.paper.get(key)
        beside = "" if published is None else f" ({published:{form}})"
        cells[key] = f"{row.means[key]:{form}}{beside}"
    return cells
