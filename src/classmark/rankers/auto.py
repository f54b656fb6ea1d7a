"""What the preference ranker learns with where its parameters leave it open.

The constants were chosen on the design sets of ``benchmarks/defaults.py``, and on no
others; docs/benchmarks.md has what they cost and gain where nothing was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from classmark.arrays import Floats, Ints, Rows, take
from classmark.measures.categories import category_ranking_per_document
from classmark.preferences.graph import Loss, short_name
from classmark.preferences.labels import (
    favoured,
    graphs_from,
    is_graphs,
    levels_from,
    relevant,
)
from classmark.problems import Mistake
from classmark.solvers.preference import THRESHOLDS, Caps
from classmark.validation import byte_size, generator, require_numbers

if TYPE_CHECKING:
    from classmark.rankers.preference import PreferenceRanker

AUTO = "auto"


class PreferenceSetting(NamedTuple):
    """What a problem is made of: see ``PreferenceRanker``.

    prior, noise : 0 for none.
    """

    loss: Loss
    C: float
    center: float | None
    prior: float
    tol: float
    noise: float = 0.0


PAPER = PreferenceSetting("dom", 1.0, None, 0.0, 1e-3)


class OpenRanker(Protocol):
    """A ranker whose parameters may leave a setting open: alone, or with a tree."""

    loss: Any
    C: float | None
    tol: Any
    center: float | str | None
    prior: float | str | None
    noise: float | str | None
    memory: str
    random_state: int
    thresholds: str | None

    def fresh(self) -> Any:
        """One like it that has not learned."""


def stated(ranker: OpenRanker, usual: PreferenceSetting = PAPER) -> PreferenceSetting:
    """What the parameters say; what they leave open as usual, in the paper at first."""
    values = {name: getattr(ranker, name) for name in PreferenceSetting._fields}
    given = {
        name: value
        for name, value in values.items()
        if value != AUTO and not (value is None and name in ("C", "tol"))
    }
    for name in ("prior", "noise"):
        given[name] = given.get(name, getattr(usual, name)) or 0.0
    return usual._replace(**given)


PRICE, NOISE, PRIOR, TOL = 0.3, 2.0, 0.3, 1e-2
CENTERS = (3.0, 1.4, 6.0)  # the first if nothing is tried
TREE_CENTERS = (6.0, 3.0, 1.4)  # the same where prototypes are smoothed along a tree
PAIR_PRICE, PAIR_CENTER = 1.0, 5.0  # where each pair of labels is priced alone ("dis")
SEVERAL = 1.5  # labels per document: from there on, a prior, and "dis" is tried
MANY = 8.0  # labels per document: from there on, "dis" without trial
ENOUGH = 200  # documents with labels: with fewer, a prior, and nothing is held out
LEARNED, JUDGED = 20_000, 2000  # documents of a trial at most: to learn, held out
SCORES = 50_000_000  # of documents held out, at most
CARD = PreferenceSetting("dom", 10.0, None, 0.3, 1e-2)  # for very many labels
SURE = 2.0  # standard errors by which a setting must be better than the one before


def chosen(
    ranker: OpenRanker, rows: Rows, Y: Any, *, has_tree: bool = False
) -> PreferenceSetting:
    """The setting for documents (n, features) and their labels, grades or graphs.

    What the parameters say stays. Else: loss "dom", a label's group at the price 0.3,
    noise 2, center 3 unless 1.4 or 6 or, with 1.5 labels per document or more, "dis"
    ranks documents held out clearly better; prior 0.3 where documents have 1.5 labels
    or more, or are fewer than 200, and no thresholds are learned. From 8 labels per
    document on "dis" without trial; its pairs cost 1 together for each label of a
    document. Weights that are to be sparse have no prior, which would touch all labels,
    and no noise; their center is 5.

    has_tree : whether the prototypes are smoothed along a tree: then there is a prior
    however many labels and documents there are, and center is 6 unless 3 or 1.4 is
    better.
    """
    if is_graphs(Y):
        levels = favoured(graphs_from(Y, len(rows), thresholds=True))
    else:
        levels = levels_from(Y, len(rows))
    labels = relevant(levels, Y)
    n_documents = int((np.diff(labels.starts) > 0).sum())
    own = labels.nnz / max(n_documents, 1)
    others = max(labels.width - own, 1.0)
    size = rows.width * labels.width * rows.values.itemsize
    dense = size <= byte_size(ranker.memory)
    tol = TOL if ranker.tol is None else ranker.tol
    pairs = PreferenceSetting("dis", PAIR_PRICE / others, PAIR_CENTER, 0.0, tol)
    loss = ranker.loss if ranker.loss != AUTO else "dom"
    share = own / others if loss == "dme" else 1.0
    centers = TREE_CENTERS if has_tree else CENTERS
    by_label = PreferenceSetting(loss, share * PRICE, centers[0], 0.0, tol, NOISE)
    if not dense:
        by_label = by_label._replace(center=PAIR_CENTER, noise=0.0)
    tried = [by_label]
    if dense and n_documents >= ENOUGH:
        tried += [by_label._replace(center=center) for center in centers[1:]]
    if loss == "dis" or (ranker.loss == AUTO and own >= MANY and dense):
        tried = [pairs]
    elif ranker.loss == AUTO and own >= SEVERAL and len(tried) > 1:
        tried.append(pairs)
    usual = has_tree or own >= SEVERAL or n_documents < ENOUGH
    if usual and dense and not ranker.thresholds:
        tried = [setting._replace(prior=PRIOR) for setting in tried]
    tried = list(dict.fromkeys(_as_stated(ranker, setting) for setting in tried))
    return _best(ranker, tried, rows, labels) if len(tried) > 1 else tried[0]


def _as_stated(ranker: OpenRanker, setting: PreferenceSetting) -> PreferenceSetting:
    """The setting with what the parameters say of center, prior and noise."""
    stated_values = {
        name: getattr(ranker, name)
        for name in ("center", "prior", "noise")
        if getattr(ranker, name) != AUTO
    }
    for name in ("prior", "noise"):
        if name in stated_values:
            stated_values[name] = stated_values[name] or 0.0
    return setting._replace(**stated_values)


def _best(
    ranker: OpenRanker, tried: list[PreferenceSetting], rows: Rows, labels: Rows
) -> PreferenceSetting:
    """The first of the settings, or one that ranks documents held out clearly better.

    Each in turn takes the place of the best before it where its average precision is
    higher by more than two standard errors of the difference. Together they learn from
    as many documents as there are: the choice costs about one more training.
    """
    order = generator(ranker.random_state).permutation(len(rows))
    third = -(-len(rows) // 3)
    held_out = np.sort(order[: min(third, JUDGED, max(SCORES // labels.width, 1))])
    learned = np.sort(order[third:][: min(len(rows) // len(tried), LEARNED)])
    training = take(rows, learned), take(labels, learned)
    truth, documents = take(labels, held_out), take(rows, held_out)
    precision: dict[PreferenceSetting, Any] = {}
    for setting in tried:
        fitted = ranker.fresh().set_params(**setting._asdict()).fit(*training)
        measured = category_ranking_per_document(
            fitted.decision_function(documents), truth
        )
        precision[setting] = measured["average_precision"]
    best = tried[0]
    for setting in tried[1:]:
        gain = precision[setting] - precision[best]
        gain = gain[~np.isnan(gain)]
        if gain.sum() > SURE * gain.std() * np.sqrt(len(gain)):
            best = setting
    return best


def require_parameters(ranker: PreferenceRanker) -> None:
    """Refuse parameters that are of no use, alone or together."""
    how, thresholds = stated(ranker), ranker.thresholds or ranker.loss == "svm"
    require_numbers(ranker, "C", "tol", or_none=True, over=0)
    require_numbers(ranker, "n_jobs", "max_iter", whole=True, least=1)
    require_numbers(ranker, "revisits", whole=True, least=0)
    require_numbers(ranker, "max_documents", whole=True, or_none=True, least=1)
    require_numbers(ranker, "time_budget", or_none=True, least=0)
    if ranker.device not in ("cpu", "gpu"):
        raise Mistake(f"device is {ranker.device!r}: use 'cpu' or 'gpu'")
    for name in ("center", "prior", "noise"):
        if getattr(ranker, name) != AUTO:
            require_numbers(ranker, name, or_none=True)
    if how.center is not None and ranker.kernel is not None:
        raise Mistake(
            f"center is {ranker.center} beside a kernel: prototypes are made of "
            "features, use center=None or kernel=None"
        )
    if how.prior and (ranker.kernel is not None or thresholds):
        raise Mistake(
            f"prior is {ranker.prior} beside a kernel, thresholds or the loss 'svm': "
            "use prior=None, or leave them out"
        )
    if ranker.thresholds not in (None, *THRESHOLDS):
        raise Mistake(
            f"thresholds is {ranker.thresholds!r}: use None, 'common' or 'category'"
        )
    weight = ranker.class_weight
    if not isinstance(weight, Mapping) and weight not in (None, "balanced"):
        raise Mistake(f"class_weight is {weight!r}: use None, 'balanced' or a dict")


def require_card(ranker: PreferenceRanker, y: Any, weights: Floats | None) -> None:
    """Refuse what a card does not learn."""
    how = stated(ranker)
    beside = {
        "sample_weight is given": weights is not None,
        f"kernel is {ranker.kernel!r}": ranker.kernel is not None,
        f"thresholds is {ranker.thresholds!r}": ranker.thresholds is not None,
        f"center is {how.center}": how.center is not None,
        f"noise is {how.noise}": bool(how.noise),
        f"loss is {ranker.loss!r}": short_name(how.loss) != "dom",
        "y holds preference graphs": is_graphs(y),
    }
    if not is_graphs(y):
        beside["y holds grades"] = bool((levels_from(y).values > 1).any())
    for fact, is_so in beside.items():
        if is_so:
            raise Mistake(
                f"{fact} beside device 'gpu', which learns labels by the loss 'dom' "
                "alone: leave it out, or use device 'cpu'"
            )


def shares_of(ranker: PreferenceRanker, levels: Rows) -> Floats:
    """1 per label, or such that every label's groups cost the same together."""
    weight = ranker.class_weight
    if weight is None:
        return np.ones(levels.width)
    if isinstance(weight, Mapping):
        names = ranker.classes_.tolist()
        return np.array([float(weight.get(name, 1.0)) for name in names])
    size = _sizes(levels)
    used = max(int((size > 0).sum()), 1)
    return np.asarray(size.sum() / (used * np.maximum(size, 1)))


def caps_of(ranker: PreferenceRanker, levels: Rows, shares: Floats) -> Caps:
    """C times the label's share; what a label has is shared by its negatives."""
    prices = (ranker.setting_ or stated(ranker)).C * shares
    if ranker.class_weight != "balanced":
        return Caps(prices, prices)
    size = _sizes(levels)
    others = np.maximum(len(levels) - size, 1)
    return Caps(prices, prices * size / others)


def _sizes(levels: Rows) -> Ints:
    """How many documents speak for each label."""
    return np.bincount(relevant(levels).columns, minlength=levels.width)
