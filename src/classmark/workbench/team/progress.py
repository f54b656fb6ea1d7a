"""How far the work is, how good the suggestions are, and whether to stop.

Probabilities are measured on documents that the trained model has not learned from:
those set apart for testing, and those that were decided after it was trained. Every
document is ranked before it is decided and learned, so its first decision measures the
ranker honestly (test, then learn).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from classmark.language import _, decimal, ngettext
from classmark.measures import calibration_error, reliability
from classmark.ranking import top
from classmark.taxonomy.category import ACTIVE
from classmark.workbench.deciding.queue import shuffled
from classmark.workbench.learning.fit import TEST
from classmark.workbench.team.decisions import Step, decision_log, step, steps

if TYPE_CHECKING:
    from pathlib import Path

    from classmark.workbench.project import Project
    from classmark.workbench.store.store import Store


BINS = 10
ASKED = 300  # documents at most, drawn at random
SUGGESTIONS = 10  # suggestions of each, those that people see
FEWEST_DOCUMENTS = 20  # documents below which nothing is said
CELLS = 1 << 21  # scores that are looked at without being asked for
UNLEARNED = """
SELECT d.id FROM documents AS d WHERE d.id IN (SELECT document FROM labels) AND (
  d.meta LIKE ? OR (SELECT min(seq) FROM judgments AS j WHERE j.document = d.id
    AND j.act IN ('assign', 'primary')) > ?)
ORDER BY d.id
"""


@dataclass(frozen=True, slots=True)
class Bin:
    """Suggestions about equally likely: promised, and the share that came true."""

    promised: float
    kept: float
    count: int


@dataclass(frozen=True, slots=True)
class Promises:
    """What was promised of suggestions, and what came true.

    documents : that were asked of;  error : the expected calibration error;  reason :
    why nothing is known, else "";  waits : whether it takes long and was not asked for.
    """

    documents: int = 0
    bins: tuple[Bin, ...] = ()
    error: float = 0.0
    reason: str = ""
    waits: bool = False


def promises(project: Project, *, ask: bool = False) -> Promises:
    """Compare probabilities with decisions; ``ask`` : also where it takes long."""
    folder = project.models.current()
    if folder is None:
        return Promises(
            reason=_("no model was trained yet: there are no probabilities")
        )
    ids, derived = project.once(_unlearned), project.state.derived
    version, earlier = derived.get(Promises, (None, None))
    if version == (folder.name, len(ids)):
        return cast("Promises", earlier)
    if len(ids) < FEWEST_DOCUMENTS:
        return Promises(
            len(ids),
            reason=ngettext(
                "%(n)s document was decided since the model was trained, or set apart: "
                "from %(fewest)s on this is measured",
                "%(n)s documents were decided since the model was trained, or set "
                "apart: from %(fewest)s on this is measured",
                len(ids),
                fewest=FEWEST_DOCUMENTS,
            ),
        )
    n_documents = min(ASKED, len(ids))
    if not ask and n_documents * max(1, len(project.categories)) > CELLS:
        return replace(earlier or Promises(n_documents), waits=True)
    measured = _measured(project, folder, ids)
    derived[Promises] = (folder.name, len(ids)), measured
    return measured


def _unlearned(project: Project) -> list[str]:
    """Decided documents that the model in service has not learned from."""
    name = cast("Path", project.models.current()).name
    upto = int(project.store.last_event("trained", model=name).get("upto", -1))
    rows = project.store.run(UNLEARNED, (f'%"part":"{TEST}"%', upto))
    return [id_ for (id_,) in rows]


def _measured(project: Project, folder: Path, ids: Sequence[str]) -> Promises:
    from classmark.workbench.learning.models import as_of_now, open_model, with_beside

    model = as_of_now(project, with_beside(project, open_model(project, folder)))
    if model is None:
        return Promises(reason="every category that the model knows is retired")
    if model.calibrator is None:
        return Promises(reason=_("the model is not calibrated: too few decisions"))
    chosen = shuffled(ids, "calibration")[:ASKED]
    likely: list[float] = []  # of the first ten categories of each document
    true: list[bool] = []
    for record in map(project.store.record, chosen):
        X = model.vectorizer.rows([project.text_of(record)])
        scores = model.ranker.decision_function(X)
        ranked = np.flatnonzero(np.isfinite(scores[0]))
        shown = model.ordered_by(scores[:, ranked], ranked)[0]
        best = top(shown, min(SUGGESTIONS, len(ranked)))
        probabilities: Any = model.probabilities(scores[:, ranked], ranked, X)
        likely += probabilities[0, best].tolist()
        true += [model.categories[at] in record.labels for at in ranked[best].tolist()]
    seen = reliability(likely, true, BINS)
    bins = zip(seen.promised, seen.kept, seen.counts, strict=True)
    return Promises(
        len(chosen),
        tuple(Bin(float(p), float(k), int(n)) for p, k, n in bins if n),
        calibration_error(likely, true, BINS),
    )


RECENT = 100  # decisions that "now" means
ALLOWED = 0.05  # of the first suggestions may be wrong
ERROR = 0.05  # the chance that more are
FEWEST = 10  # decisions before anything is measured


@dataclass(frozen=True, slots=True)
class Hint:
    """Whether the rest may be accepted unread.

    wrong of the last ``decisions`` had a wrong first suggestion;  most : the share of
    wrong ones at most, with 95 % confidence, were they drawn at random.
    """

    decisions: int
    wrong: int
    most: float
    waiting: int

    @property
    def stop(self) -> bool:
        """Whether few enough would be wrong."""
        return self.most <= ALLOWED

    @property
    def wrong_at_most(self) -> int:
        """How many of those that wait would be wrong, at most."""
        return math.ceil(self.most * self.waiting)


@dataclass(frozen=True, slots=True)
class Share:
    """What one person did: decisions, and the means over those that are measured."""

    who: str
    decisions: int
    means: Step | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the work is and how it goes.

    decisions : of people;  measured : those that a ranker had made suggestions for;
    whole, recent : means over all of these, and the last hundred;  popular, unordered :
    how many categories would have been looked at in a list of the most used first, and
    in one without order;  tail : category → documents, the most used first;  unused :
    categories without any;  days : decisions of each day.
    """

    documents: int
    decided: int
    aside: int
    decisions: int
    measured: int
    unknown: int
    whole: Step | None
    recent: Step | None
    steps: tuple[Step, ...]
    popular: float
    unordered: float
    hint: Hint | None
    tail: tuple[tuple[str, int], ...]
    unused: int
    days: tuple[tuple[str, int], ...]
    people: tuple[Share, ...]

    @property
    def waiting(self) -> int:
        """Documents without a label that are not set aside."""
        return max(0, self.documents - self.decided - self.aside)

    @property
    def saved(self) -> float | None:
        """The share of looking that the ranking saves, against the most used first."""
        if self.whole is None or not self.popular > 0 or math.isnan(self.whole.effort):
            return None
        return 1 - self.whole.effort / self.popular


def most_wrong(wrong: int, decisions: int, error: float = ERROR) -> float:
    """The upper bound of a share, wrong of so many being seen [ClopperPearson34].

    The share at which so few wrong ones, or fewer, have the chance ``error``.

    >>> round(most_wrong(0, 100), 4)
    0.0295
    """
    from scipy.special import betaincinv

    if wrong >= decisions:
        return 1.0
    return float(betaincinv(wrong + 1, decisions - wrong, 1 - error))


def progress(project: Project) -> Progress:
    """How far the work is, and how it goes."""
    state = project.state
    with decision_log(project) as log:
        decisions, choices = list(log.made), log.categories
        values = np.array(log.quality, dtype=np.float64).reshape(len(log.quality), 6)
        counts = dict(log.documents)
    measured = [each for each in decisions if each.is_measured]
    who = np.array([each.who for each in measured], dtype=object)
    has_effort = ~np.isnan(values[:, 0])
    enough = len(measured) >= FEWEST
    tail = _tail(project, counts)
    recent = step(values[-RECENT:], len(values)) if enough else None
    active = {id_ for id_, c in project.categories.items() if c.status == ACTIVE}
    return Progress(
        documents=len(state.ids),
        decided=len(state.labels),
        aside=state.n_aside,
        decisions=len(decisions),
        measured=len(measured),
        unknown=int((~has_effort).sum()),
        whole=step(values, len(values)) if enough else None,
        recent=recent,
        steps=tuple(steps(values)) if enough else (),
        popular=_mean(
            [e.popular for e, k in zip(measured, has_effort, strict=True) if k]
        ),
        unordered=_mean(  # the expected rank of the last label without an order
            [n * (choices + 1) / (n + 1) for n in (len(e.ranks) for e in measured)]
        ),
        hint=_hint(recent, state.n_waiting),
        tail=tail,
        unused=len(active - {name for name, _ in tail}),
        days=tuple(sorted(Counter(each.at[:10] for each in decisions).items())),
        people=tuple(
            Share(name, count, step(mine, len(mine)) if len(mine) else None)
            for name, count in sorted(Counter(e.who for e in decisions).items())
            for mine in [values[who == name]]
        ),
    )


def _tail(project: Project, counts: Mapping[int, int]) -> tuple[tuple[str, int], ...]:
    """Category → documents, the most used first; those that do not stand are left."""
    standing = project.store.run("SELECT number, id FROM categories WHERE stands = 1")
    counted = [(id_, counts[number]) for number, id_ in standing if counts.get(number)]
    return tuple(sorted(counted, key=lambda row: (-row[1], row[0])))


def _hint(recent: Step | None, waiting: int) -> Hint | None:
    if recent is None:
        return None
    wrong = round(recent.one_error * recent.documents)
    most = most_wrong(wrong, recent.documents)
    return Hint(recent.documents, wrong, most, waiting)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


ACTS = 300  # the last ones, that are asked; no index by document is to be scanned
LOOKED_AT = """
SELECT avg(deepest), count(*) FROM (
  SELECT max(rank) AS deepest FROM judgments AS j
  WHERE seq > (SELECT max(seq) FROM judgments) - ? AND act IN ('assign', 'primary')
  AND rank IS NOT NULL AND NOT EXISTS (SELECT 1 FROM undone WHERE seq = j.seq)
  GROUP BY document || ''
) AS decided
"""


def pace(store: Store) -> str:
    """The mean rank of the last label that was right, of late, in words; or ""."""
    mean, many = store.run(LOOKED_AT, (ACTS,)).fetchone()
    return _("average rank %(mean)s", mean=decimal(float(mean), 1)) if many else ""
