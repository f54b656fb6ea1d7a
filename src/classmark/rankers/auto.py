"""What the preference ranker learns with where its parameters leave it open.

The constants were chosen on the design sets of ``benchmarks/defaults.py``, and on no
others; docs/benchmarks.md has what they cost and gain where nothing was chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from classmark.arrays import Rows, take
from classmark.measures.categories import category_ranking_per_document
from classmark.preferences.graph import Loss
from classmark.validation import byte_size, generator

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


def stated(ranker: PreferenceRanker) -> PreferenceSetting:
    """What the parameters say, and as in the paper what they leave open."""
    values = {name: getattr(ranker, name) for name in PreferenceSetting._fields}
    given = {
        name: value
        for name, value in values.items()
        if value != AUTO and not (value is None and name in ("C", "tol"))
    }
    for name in ("prior", "noise"):
        given[name] = given.get(name) or 0.0
    return PAPER._replace(**given)


PRICE, NOISE, PRIOR, TOL = 0.3, 2.0, 0.3, 1e-2
CENTERS = (3.0, 1.4, 6.0)  # the first if nothing is tried
PAIR_PRICE, PAIR_CENTER = 1.0, 5.0  # where each pair of labels is priced alone ("dis")
SEVERAL = 1.5  # labels per document: from there on, a prior, and "dis" is tried
MANY = 8.0  # labels per document: from there on, "dis" without trial
ENOUGH = 200  # documents with labels: with fewer, a prior, and nothing is held out
LEARNED, JUDGED = 20_000, 2000  # documents of a trial at most: to learn, held out
SCORES = 50_000_000  # of documents held out, at most
SURE = 2.0  # standard errors by which a setting must be better than the one before


def chosen(ranker: PreferenceRanker, rows: Rows, labels: Rows) -> PreferenceSetting:
    """The setting for documents (n, features) with labels (n, k).

    What the parameters say stays. Else: loss "dom", a label's group at the price 0.3,
    noise 2, center 3 unless 1.4 or 6 or, with 1.5 labels per document or more, "dis"
    ranks documents held out clearly better; prior 0.3 where documents have 1.5 labels
    or more, or are fewer than 200, and no thresholds are learned. From 8 labels per
    document on "dis" without trial; its pairs cost 1 together for each label of a
    document. Weights that are to be sparse have no prior, which would touch all labels,
    and no noise; their center is 5.
    """
    n_documents = int((np.diff(labels.starts) > 0).sum())
    own = labels.nnz / max(n_documents, 1)
    others = max(labels.width - own, 1.0)
    size = rows.width * labels.width * rows.values.itemsize
    dense = size <= byte_size(ranker.memory)
    tol = TOL if ranker.tol is None else ranker.tol
    pairs = PreferenceSetting("dis", PAIR_PRICE / others, PAIR_CENTER, 0.0, tol)
    loss = ranker.loss if ranker.loss != AUTO else "dom"
    share = own / others if loss == "dme" else 1.0
    by_label = PreferenceSetting(loss, share * PRICE, CENTERS[0], 0.0, tol, NOISE)
    if not dense:
        by_label = by_label._replace(center=PAIR_CENTER, noise=0.0)
    tried = [by_label]
    if dense and n_documents >= ENOUGH:
        tried += [by_label._replace(center=center) for center in CENTERS[1:]]
    if loss == "dis" or (ranker.loss == AUTO and own >= MANY and dense):
        tried = [pairs]
    elif ranker.loss == AUTO and own >= SEVERAL and len(tried) > 1:
        tried.append(pairs)
    if dense and not ranker.thresholds and (own >= SEVERAL or n_documents < ENOUGH):
        tried = [setting._replace(prior=PRIOR) for setting in tried]
    tried = list(dict.fromkeys(_as_stated(ranker, setting) for setting in tried))
    return _best(ranker, tried, rows, labels) if len(tried) > 1 else tried[0]


def _as_stated(
    ranker: PreferenceRanker, setting: PreferenceSetting
) -> PreferenceSetting:
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
    ranker: PreferenceRanker, tried: list[PreferenceSetting], rows: Rows, labels: Rows
) -> PreferenceSetting:
    """The first of the settings, or one that ranks documents held out clearly better.

    Each in turn takes the place of the best before it where its average precision is
    higher by more than two standard errors of the difference. Together they learn from
    as many documents as there are: the choice costs about one more training.
    """
    params = ranker.get_params(deep=False)
    order = generator(ranker.random_state).permutation(len(rows))
    third = -(-len(rows) // 3)
    held_out = np.sort(order[: min(third, JUDGED, max(SCORES // labels.width, 1))])
    learned = np.sort(order[third:][: min(len(rows) // len(tried), LEARNED)])
    training = take(rows, learned), take(labels, learned)
    truth, documents = take(labels, held_out), take(rows, held_out)
    precision: dict[PreferenceSetting, Any] = {}
    for setting in tried:
        fitted = type(ranker)(**params | setting._asdict()).fit(*training)
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
