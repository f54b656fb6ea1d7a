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
    """What a problem is made of: see ``PreferenceRanker``; prior : 0 for none."""

    loss: Loss
    C: float
    center: float | None
    prior: float
    tol: float


PAPER = PreferenceSetting("dom", 1.0, None, 0.0, 1e-3)


def stated(ranker: PreferenceRanker) -> PreferenceSetting:
    """What the parameters say, and as in the paper what they leave open."""
    values = {name: getattr(ranker, name) for name in PreferenceSetting._fields}
    given = {
        name: value
        for name, value in values.items()
        if value != AUTO and not (value is None and name in ("C", "tol"))
    }
    given["prior"] = given.get("prior") or 0.0
    return PAPER._replace(**given)


CENTER, PRIOR, TOL = 5.0, 0.3, 1e-2
PRICES = (0.3, 0.1, 1.0)  # what a label's groups cost; the first if nothing is tried
PAIR_PRICE = 1.0  # the same where each pair of labels is priced alone ("dis")
SEVERAL = 1.5  # labels per document: from there on, a prior, and "dis" is tried
MANY = 8.0  # labels per document: from there on, "dis" without trial
ENOUGH = 200  # documents with labels: with fewer, nothing is held out
LEARNED, JUDGED = 20_000, 2000  # documents of a trial at most: to learn, held out
SCORES = 50_000_000  # of documents held out, at most


def chosen(ranker: PreferenceRanker, rows: Rows, labels: Rows) -> PreferenceSetting:
    """The setting for documents (n, features) with labels (n, k).

    What the parameters say stays. Else: center 5; prior 0.3 where documents have 1.5
    labels or more and no thresholds are learned; loss "dom", a label's group at the
    price 0.3, unless 0.1, 1 or, with 1.5 labels or more, "dis" ranks a third of the
    documents, held out, clearly better. From 8 labels per document on "dis" without
    trial; its pairs cost 1 together for each label of a document. Weights that are to
    be sparse have "dom" at 0.3 and no prior, which would touch all labels.
    """
    n_documents = int((np.diff(labels.starts) > 0).sum())
    own = labels.nnz / max(n_documents, 1)
    others = max(labels.width - own, 1.0)
    loss = ranker.loss if ranker.loss != AUTO else "dis" if own >= MANY else "dom"
    center: Any = CENTER if ranker.center == AUTO else ranker.center
    size = rows.width * labels.width * rows.values.itemsize
    dense = size <= byte_size(ranker.memory)
    if not dense and ranker.loss == AUTO:
        loss = "dom"
    prior: Any = ranker.prior
    if prior == AUTO:
        prior = PRIOR * float(own >= SEVERAL and dense and not ranker.thresholds)
    tol = TOL if ranker.tol is None else ranker.tol
    pairs = PreferenceSetting("dis", PAIR_PRICE / others, center, prior or 0.0, tol)
    if loss == "dis":
        return pairs
    share = own / others if loss == "dme" else 1.0
    tried = [pairs._replace(loss=loss, C=share * price) for price in PRICES]
    if n_documents < ENOUGH or not dense:
        return tried[0]
    if ranker.loss == AUTO and own >= SEVERAL:
        tried.append(pairs)
    return _best(ranker, tried, rows, labels)


def _best(
    ranker: PreferenceRanker, tried: list[PreferenceSetting], rows: Rows, labels: Rows
) -> PreferenceSetting:
    """The first of the settings, or one that ranks documents held out clearly better.

    Each in turn takes the place of the best before it where its average precision is
    higher by more than the standard error of the difference.
    """
    params = ranker.get_params(deep=False)
    order = generator(ranker.random_state).permutation(len(rows))
    third = -(-len(rows) // 3)
    held_out = np.sort(order[: min(third, JUDGED, SCORES // labels.width)])
    learned = np.sort(order[third : third + LEARNED])
    training = take(rows, learned), take(labels, learned)
    truth, documents = take(labels, held_out), take(rows, held_out)
    precision: dict[PreferenceSetting, Any] = {}
    for loss in dict.fromkeys(setting.loss for setting in tried):
        alike = sorted(setting for setting in tried if setting.loss == loss)
        fresh = type(ranker)(**params | alike[0]._asdict())
        path = fresh.path(*training, [setting.C for setting in alike])
        for setting, fitted in zip(alike, path, strict=True):
            scores = fitted.decision_function(documents)
            measured = category_ranking_per_document(scores, truth)
            precision[setting] = measured["average_precision"]
    best = tried[0]
    for setting in tried[1:]:
        gain = precision[setting] - precision[best]
        gain = gain[~np.isnan(gain)]
        if gain.sum() > gain.std() * np.sqrt(len(gain)):
            best = setting
    return best
