"""Names of measures: each parses to a small value that prints as the same name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from classmark.problems import Mistake

if TYPE_CHECKING:
    from collections.abc import Sequence

AVERAGES = ("micro", "macro")
_FORM = re.compile(r"([a-z_]\w*)(?:\((\w+)\))?(?:@(\d+))?", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a measure says of itself; how it is computed stands elsewhere.

    cutoff : whether ``@10`` may, must or must not follow;  averaged : whether
    ``(micro)`` or ``(macro)`` must;  empty : what a query without relevant documents
    counts; None where there are no queries (for documents without labels see
    ``categories.py``).
    """

    name: str
    cites: str
    aliases: tuple[str, ...] = ()
    cutoff: Literal["no", "may", "must"] = "no"
    averaged: bool = False
    larger_is_better: bool = True
    empty: float | None = None


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure with its parameters.

    >>> str(Measure("nDCG", cutoff=10))
    'nDCG@10'
    """

    name: str
    cutoff: int | None = None
    average: str | None = None

    def __post_init__(self) -> None:
        declared = self.declaration
        if declared.averaged != (self.average in AVERAGES):
            forms = " or ".join(f"{self.name}({a})" for a in AVERAGES)
            form = forms if declared.averaged else self.name
            raise Mistake(f"measure {self.name!r}: write {form}")
        lacking = declared.cutoff == "must" and self.cutoff is None
        needless = declared.cutoff == "no" and self.cutoff is not None
        if lacking or needless or self.cutoff == 0:
            form = self.name if declared.cutoff == "no" else f"{self.name}@10"
            raise Mistake(f"measure {self.name!r}: write {form}, cut from 1 up")

    def __str__(self) -> str:
        average = "" if self.average is None else f"({self.average})"
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.name}{average}{cutoff}"

    @property
    def declaration(self) -> Declaration:
        """What is declared of it."""
        if self.name not in MEASURES:
            raise _unknown(self.name)
        return MEASURES[self.name]

    @property
    def larger_is_better(self) -> bool:
        """Whether more is better."""
        return self.declaration.larger_is_better


def parse(name: str | Measure) -> Measure:
    """Read a measure's name, in capitals or not: ``str`` and ``parse`` undo each other.

    >>> parse("ndcg@10"), str(parse("map"))
    (Measure(name='nDCG', cutoff=10, average=None), 'AP')
    """
    if isinstance(name, Measure):
        return name
    form = _FORM.fullmatch(name.strip())
    known = _SPELLINGS.get(form[1].lower()) if form else None
    if form is None or known is None:
        raise _unknown(name)
    average = form[2].lower() if form[2] else None
    return Measure(known, int(form[3]) if form[3] else None, average)


def parse_for(names: Sequence[str | Measure], computed: Sequence[str]) -> list[Measure]:
    """Read names, all of which must be among those that ``computed`` lists."""
    parsed = [parse(name) for name in names]
    for measure in parsed:
        if measure.name not in computed:
            raise Mistake(
                f"measure {measure} is not defined for this kind of answer: choose "
                f"among {', '.join(computed)}"
            )
    return parsed


def _unknown(name: str) -> Mistake:
    typed = re.split(r"[@(]", name.strip().lower())[0]
    near = get_close_matches(typed, _SPELLINGS, n=1)
    guess = f"did you mean {_SPELLINGS[near[0]]}? " if near else ""
    return Mistake(
        f"measure {name!r} is not known: {guess}the known ones are "
        f"{', '.join(MEASURES)}"
    )


_DECLARED = (
    Declaration(
        "AP",
        "ManningRaghavanSchutze08",
        ("map", "average_precision", "avgp"),
        cutoff="may",
        empty=0.0,
    ),
    Declaration("RR", "Voorhees99", ("mrr",), cutoff="may", empty=0.0),
    Declaration("WTA", "ManningRaghavanSchutze08", empty=0.0),
    Declaration("P", "ManningRaghavanSchutze08", cutoff="must", empty=0.0),
    Declaration("R", "ManningRaghavanSchutze08", cutoff="must", empty=0.0),
    Declaration("PRBEP", "Joachims05", ("rprec",), empty=0.0),
    Declaration("nDCG", "JarvelinKekalainen02", cutoff="may", empty=0.0),
    Declaration("Loss1", "CrammerSinger03", larger_is_better=False),
    Declaration("Loss2", "CrammerSinger03", larger_is_better=False),
    Declaration("Loss3", "CrammerSinger03", ("disagreement",), larger_is_better=False),
    Declaration("Domination", "DekelManningSinger03", larger_is_better=False),
    Declaration("Dominated", "DekelManningSinger03", larger_is_better=False),
    Declaration("OneError", "SchapireSinger00", ("one_error",), larger_is_better=False),
    Declaration("Coverage", "SchapireSinger00", larger_is_better=False),
    Declaration("MaxF1", "CrammerSinger03", ("max_f1",)),
    Declaration("nP", "AiolliSebastianiSperduti08", cutoff="must"),
    Declaration("F1", "VanRijsbergen79", averaged=True),
    Declaration("Precision", "VanRijsbergen79", averaged=True),
    Declaration("Recall", "VanRijsbergen79", averaged=True),
    Declaration("Accuracy", "ManningRaghavanSchutze08"),
    Declaration("Detected", "Babbar14"),
    Declaration("BAcc", "Babbar14", ("accuracy_bound",)),
    Declaration("TreeError", "DekelKeshetSinger04", larger_is_better=False),
    Declaration("hF", "Kiritchenko05", ("hierarchical_f",)),
    Declaration("Kappa", "Cohen60"),
    Declaration("Alpha", "Krippendorff04"),
    Declaration("ECE", "Guo17", larger_is_better=False),
    Declaration("WSS", "CohenHersh06", cutoff="must"),
)
MEASURES: dict[str, Declaration] = {declared.name: declared for declared in _DECLARED}
_SPELLINGS: dict[str, str] = {
    spelling.lower(): declared.name
    for declared in _DECLARED
    for spelling in (declared.name, *declared.aliases)
}
