"""How far do people agree?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from classmark.measures.significance import (
    cohen_kappa,
    jaccard_distance,
    kappa_of,
    krippendorff_alpha,
)
from classmark.problems import Mistake
from classmark.workbench.deciding.opinions import Opinion, disagreements, readings
from classmark.workbench.deciding.queue import shuffled
from classmark.workbench.team.decisions import decision_log

if TYPE_CHECKING:
    from classmark.workbench.project import Project


Said = Mapping[str, Mapping[str, Opinion]]  # document → person → what they say


@dataclass(frozen=True, slots=True)
class Pair:
    """Two people and the documents that both have given labels.

    same : of how many their labels are the same;  alike : the mean share of labels in
    common (Jaccard);  kappa : Cohen's, over every category on every document, yes or
    no;  main, kappa_main : of how many both name one main category, and κ over these.
    NaN where it is not defined.
    """

    first: str
    second: str
    documents: int
    same: int
    alike: float
    kappa: float
    main: int
    kappa_main: float


@dataclass(frozen=True, slots=True)
class Parted:
    """A category on the documents that two or more have read.

    both : pairs of readings that give it together;  one : of which only one does.
    """

    category: str
    both: int
    one: int

    @property
    def share(self) -> float:
        """How often the second gives it too, once one does."""
        return 2 * self.both / (2 * self.both + self.one)


@dataclass(frozen=True, slots=True)
class Agreed:
    """How far the people of a project agree.

    documents : how many two or more have given labels;  masi, jaccard : Krippendorff's
    α over sets of labels;  nominal : over main categories;  open : disagreements that
    nobody has settled;  categories : those that part people most, first.
    """

    people: tuple[str, ...]
    documents: int
    open: int
    masi: float
    jaccard: float
    nominal: float
    pairs: tuple[Pair, ...]
    categories: tuple[Parted, ...]


def agreement(project: Project) -> Agreed:
    """How far people agree on the documents that two or more have given labels."""
    read = readings(project.store).items()
    labellings = {
        id_: {e.who: e for e in opinions if e.labels} for id_, opinions in read
    }
    shared = {id_: each for id_, each in labellings.items() if len(each) > 1}
    people = sorted({who for each in shared.values() for who in each})
    return Agreed(
        tuple(people),
        len(shared),
        len(project.once(disagreements)),
        _alpha(shared, people, "labels", "masi"),
        _alpha(shared, people, "labels", "jaccard"),
        _alpha(shared, people, "main", "nominal"),
        tuple(_pairs(shared, people)),
        _parted(shared),
    )


def to_read_again(project: Project, who: str, top: int = 20) -> list[str]:
    """Documents that others have decided and this person has not, drawn at random.

    A second reading of these, without seeing the first, is what agreement is about.
    """
    labels = project.state.labels
    with decision_log(project) as log:
        documents = sorted(
            document
            for document, people in log.readers.items()
            if who not in people and document in labels
        )
    return shuffled(documents, f"{project.settings.name} again")[:top]


def _alpha(shared: Said, people: Sequence[str], field: str, distance: str) -> float:
    """Krippendorff's α over a field of opinions; NaN where nothing can be compared."""
    decisions = [
        [getattr(each.get(who), field, None) for each in shared.values()]
        for who in people
    ]
    try:
        return krippendorff_alpha(decisions, distance)
    except Mistake:
        return math.nan


def _pairs(shared: Said, people: Sequence[str]) -> Iterator[Pair]:
    for first, other in combinations(people, 2):
        both = [
            (e[first], e[other]) for e in shared.values() if first in e and other in e
        ]
        sets = [(a.labels, b.labels) for a, b in both]
        mains = [(a.main, b.main) for a, b in both if a.main and b.main]
        if both:
            yield Pair(
                first,
                other,
                len(both),
                sum(a == b for a, b in sets),
                1 - sum(jaccard_distance(a, b) for a, b in sets) / len(sets),
                _label_by_label(sets),
                len(mains),
                cohen_kappa(*zip(*mains, strict=True)) if mains else math.nan,
            )


def _label_by_label(sets: Sequence[tuple[frozenset[str], frozenset[str]]]) -> float:
    """κ over every document and every category that either gave to any of them."""
    used = {name for pair in sets for names in pair for name in names}
    yes = sum(len(a & b) for a, b in sets)
    first, second = (sum(len(pair[who]) for pair in sets) for who in (0, 1))
    no = len(sets) * len(used) - first - second + yes
    return kappa_of([[yes, first - yes], [second - yes, no]])


def _parted(shared: Said) -> tuple[Parted, ...]:
    both, alone = Counter[str](), Counter[str]()
    for each in shared.values():
        for a, b in combinations(each.values(), 2):
            both.update(a.labels & b.labels)
            alone.update(a.labels ^ b.labels)
    categories = [Parted(name, both[name], alone[name]) for name in both | alone]
    return tuple(sorted(categories, key=lambda c: (-c.one, c.share, c.category)))
