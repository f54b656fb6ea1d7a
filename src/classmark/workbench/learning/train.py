"""Train a ranker, calibrate it, put it in service."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from classmark.arrays import Floats, Ints, Rows, rows_from, take
from classmark.corpus.documents import folds_by_arrival
from classmark.hierarchies.back_off import BackOff
from classmark.hierarchies.rerank import Votes
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.hierarchies.top_down import TopDownRanker
from classmark.preferences.labels import is_graphs, labels_from
from classmark.problems import refusal, worded
from classmark.progress import spread, spread_by, track
from classmark.rankers.calibration import (
    ENOUGH,
    Calibrator,
    PathCalibrator,
    fitted_scale,
    learned_of,
    sample_tests,
    scored_apart,
    sizes_of,
)
from classmark.rankers.ensemble import (
    EnsembleRanker,
    preference_weights,
    scored_by_each,
)
from classmark.rankers.names import CategoryNames, LearnedNames, learn_names
from classmark.rankers.online import OnlineRanker
from classmark.rankers.preference import PreferenceRanker
from classmark.validation import byte_size, bytes_text
from classmark.workbench.learning import fit, unfitted
from classmark.workbench.learning.learner import (
    from_model,
)
from classmark.workbench.learning.models import (
    Beside,
    BestScores,
    named,
    save_model,
    voted,
)
from classmark.workbench.learning.trained import TRAINED
from classmark.workbench.learning.working_folder import WORKING, WorkingFolder
from classmark.workbench.meaning import require_vectors
from classmark.workbench.results import NamesTried, Revoted, Trained
from classmark.workbench.store.log import LogReplay, whoami

if TYPE_CHECKING:
    from classmark.evaluation.evaluate import Split
    from classmark.machines.cluster import Machines
    from classmark.rankers.linear import LinearRanker
    from classmark.rankers.text_ranker import TextRanker
    from classmark.weighting.dense import MeaningBlock
    from classmark.workbench.project import Project
    from classmark.workbench.settings import LearningSettings, MeaningSettings


CONFIDENCE = 0.9  # that the precision promised is kept
DRIFT = 2.0  # times as often as documents held out may later ones be placed wrongly
LISTED = (
    1000  # categories, above which the best scores of more documents tell how likely
)
MANY = 20_000  # documents: from here on one fold of a tree is held out, not five


class HeldOut(NamedTuple):
    """Documents with labels, and scores of some by rankers that have not seen them.

    documents : the numbers of those with scores;  right : their labels;  fold : of
    each, in which it was left out;  learned : how many documents with each category
    that fold's ranker learned from, scaled to all documents;  of_each : the scores by
    each ranker of an ensemble, (rankers, n, k);  best : in a tree too large for all
    scores of many documents, the best of more of them.
    """

    rows: Rows
    labels: Rows
    scores: Floats
    right: Rows
    documents: Ints
    fold: Ints
    learned: Floats
    of_each: Floats | None = None
    best: BestScores | None = None

    @property
    def can_be_right(self) -> bool:
        """Whether some document has a category that its ranker has learned."""
        document = np.repeat(np.arange(len(self.right)), np.diff(self.right.starts))
        return bool(np.isfinite(self.scores[document, self.right.columns]).any())


def learn_beside(
    fitted: fit.FittedModel,
    task: fit.TrainingTask,
    learning: LearningSettings,
    working: Path | None = None,
) -> Beside:
    """Probabilities for the model; where to stop in a tree, and votes, beside it.

    With fewer than ``ENOUGH`` labelled documents there is nothing of it.
    working : keeps what is finished, so that a training which was killed goes on.
    """
    numbers = range(len(task.collection.labels))
    if sum(map(bool, task.collection.labels)) < ENOUGH:
        if learning.rare:
            how = worded("use --no-rare")
            raise refusal("rare needs %(n)s labels, or %(how)s", n=ENOUGH, how=how)
        return Beside()
    model, held_out = fitted.model, _held_out(fitted, task, numbers, working)
    tried = fit_names(fitted, task, learning, held_out)
    held_out = _with_names(_weighed(model.ranker, held_out, tried), tried)
    model.calibrator = _calibrated(model, held_out)
    model.note_lengths(held_out.rows)
    places = None
    if fitted.strategy.complexity_ratio is not None and held_out.can_be_right:
        names, rows = model.categories, held_out.right
        y = [[names[c] for c in rows.row(i)[0]] for i in range(len(rows))]
        back_off = BackOff(task.tree, confidence=CONFIDENCE, drift=DRIFT)
        places = back_off.fit(held_out.scores, y, names)
    beside = Beside(places, names=_used(tried), tried=tried and _names_tried(tried))
    if not learning.rare:
        return beside
    votes = _votes(held_out)
    return replace(beside, votes=votes, change=_revoted(votes, held_out))


def _calibrated(model: TextRanker, held_out: HeldOut) -> Calibrator:
    """Probabilities for a model, from all scores of documents, or from their best."""
    if held_out.best is not None:
        return PathCalibrator().fit_best(*held_out.best, len(model.categories))
    return model.calibrated_by().fit(
        held_out.scores, held_out.right, held_out.learned, sizes_of(held_out.labels)
    )


def fit_names(
    fitted: fit.FittedModel,
    task: fit.TrainingTask,
    learning: LearningSettings,
    held_out: HeldOut,
) -> LearnedNames | None:
    """The names of categories, weighed; None where they are not to be tried."""
    if not (own := task.names_for(learning, fitted.strategy)):
        return None
    names = CategoryNames.of(fitted.model.vectorizer, own)
    rows = take(held_out.rows, held_out.documents)
    scores = held_out.scores if held_out.of_each is None else held_out.of_each
    learned = learn_names(names, rows, scores, held_out.right)
    return learned._replace(sure=True) if learning.names == "yes" else learned


def _used(names: LearnedNames | None) -> CategoryNames | None:
    return names.names if names is not None and names.sure else None


def _weighed(
    ranker: LinearRanker, held_out: HeldOut, names: LearnedNames | None
) -> HeldOut:
    """The same, where an ensemble's rankers count as they were learned to.

    Together with the names where these are used. The ensemble counts so from now on.
    """
    if held_out.of_each is None or not isinstance(ranker, EnsembleRanker):
        return held_out
    if names is not None and names.sure:
        shares: Any = np.array(names.shares)
    else:
        shares = preference_weights(held_out.of_each, held_out.right)
        if not shares.any():
            return held_out
    ranker.weigh(shares)
    return held_out._replace(scores=np.tensordot(shares, held_out.of_each, 1))


def _with_names(held_out: HeldOut, names: LearnedNames | None) -> HeldOut:
    """The same, scored with names where they are used."""
    if (used := _used(names)) is None:
        return held_out
    added = used.scores(take(held_out.rows, held_out.documents))
    return held_out._replace(scores=held_out.scores + added)


def _names_tried(names: LearnedNames) -> NamesTried:
    count, weights = len(names.names.owners), names.names.weights
    return NamesTried(names.sure, count, *weights, names.before, names.after)


def with_what_is_beside(
    fitted: fit.FittedModel,
    task: fit.TrainingTask,
    learning: LearningSettings,
    which: Sequence[int],
) -> TextRanker:
    """The model fitted on the texts of these numbers, as it would be in service.

    With names where they are used, and its close calls voted on with ``rare``; a fifth
    of the texts, the last, tells the weights of names, all of them the votes.
    """
    model, numbers = fitted.model, range(len(fitted.model.categories))
    labelled = sum(bool(task.collection.labels[i]) for i in which)
    tries = labelled >= ENOUGH and task.names_for(learning, fitted.strategy)
    if not (tries or learning.rare):
        return model
    held_out = _held_out(fitted, task, which, n_folds=5 if learning.rare else 1)
    if tries:
        names = fit_names(fitted, task, learning, held_out)
        held_out = _with_names(_weighed(model.ranker, held_out, names), names)
        if (used := _used(names)) is not None:
            model = named(model, used, numbers)
    return voted(model, _votes(held_out), numbers) if learning.rare else model


def _votes(held_out: HeldOut) -> Votes:
    if not held_out.can_be_right:
        raise refusal(
            "rare categories need two documents each: label more, or %(how)s",
            how=worded("use --no-rare"),
        )
    rows, labels, scores, right, *_ = held_out
    labelled = np.flatnonzero(np.diff(labels.starts) > 0)
    return Votes(
        take(rows, labelled), take(labels, labelled), fitted_scale(scores, right)
    )


def _revoted(votes: Votes, held_out: HeldOut) -> Revoted:
    """What votes change of held-out documents, none of them among the voters'."""
    rows, labels = held_out.rows, held_out.labels
    labelled = np.flatnonzero(np.diff(labels.starts) > 0)
    again, chosen, numbers = 0, set(), np.arange(labels.width)
    for fold in np.unique(held_out.fold):
        documents = held_out.documents[held_out.fold == fold]
        others = np.setdiff1d(labelled, documents)
        unseen = replace(votes, rows=take(rows, others), labels=take(labels, others))
        scores = held_out.scores[held_out.fold == fold]
        after, voted_on = unseen.revoted(take(rows, documents), scores, numbers)
        again += int(voted_on.sum())
        chosen |= set(after.argmax(axis=1).tolist())
    return Revoted(
        votes.delta,
        votes.ratio,
        votes.count,
        again / len(held_out.documents),
        len(np.unique(held_out.scores.argmax(axis=1))),
        len(chosen),
    )


def _held_out(
    fitted: fit.FittedModel,
    task: fit.TrainingTask,
    which: Sequence[int],
    working: Path | None = None,
    n_folds: int = 5,
) -> HeldOut:
    """Scores of the texts fitted on by rankers that left them out.

    In the order of arrival, so that it shows how much what comes later differs.
    """
    ranker, rows = fitted.model.ranker, rows_from(fitted.X)
    texts = [task.collection.labels[i] for i in which]
    labels = labels_from(texts, len(rows), len(fitted.model.categories))
    among = np.arange(len(rows))
    if is_tree := isinstance(ranker, TopDownRanker):
        among = np.flatnonzero(np.diff(labels.starts) > 0)
    n_labels = np.diff(labels.starts)[among]
    first = np.full(len(among), -1, np.int64)
    first[n_labels > 0] = labels.columns[labels.starts[among[n_labels > 0]]]
    parts = [(among[a], among[b]) for a, b in folds_by_arrival(first)]
    parts = parts[-1 if is_tree and len(among) > MANY else -n_folds :]
    more, parts, best = parts, sample_tests(parts, labels), None
    if is_tree or (working is not None and _is_sparse_with_blocks(ranker)):
        more = sample_tests(more, labels, LISTED)
        scores, best = _scored_in_turn(parts, more, ranker, rows, labels, working)
    else:
        lessons = task.collection.lessons(ranker, which)
        taught = lessons if is_graphs(lessons) else labels
        scores = _scored_at_once(parts, ranker, rows, taught)
    fold = np.repeat(np.arange(len(parts)), [len(tested) for _, tested in parts])
    documents = np.concatenate([tested for _, tested in parts])
    right = take(labels, documents)
    held_out = HeldOut(
        rows, labels, np.empty(0), right, documents, fold, learned_of(parts, labels),
        best=best,
    )  # fmt: skip
    if not isinstance(ranker, EnsembleRanker):
        return held_out._replace(scores=np.concatenate(scores))
    of_each = np.concatenate(scores, axis=1)
    summed = np.tensordot(ranker.shares_, of_each, 1)
    return held_out._replace(scores=summed, of_each=of_each)


def _scored_at_once(
    parts: list[Split], ranker: LinearRanker, rows: Rows, taught: Any
) -> list[Floats]:
    """Scores of each fold by a ranker fitted on the others, with what was chosen.

    (n, k), or of an ensemble (rankers, n, k).
    """
    if isinstance(ranker, EnsembleRanker):
        rankers = [each.fresh() for each in ranker.rankers_]
        return spread(scored_by_each, parts, (rankers, rows, taught), "calibrating")
    parameters = ranker.get_params(deep=False)
    if isinstance(ranker, TaxonomyRanker):
        parameters |= ranker.setting_._asdict()
    fresh = type(ranker)(**parameters)
    return spread(scored_apart, parts, (fresh, rows, taught), "calibrating")


def _scored_in_turn(
    parts: list[Split],
    more: list[Split],
    ranker: Any,
    rows: Rows,
    labels: Rows,
    working: Path | None,
) -> tuple[list[Floats], BestScores | None]:
    """Scores of each fold by a ranker fitted on the others, what is finished kept.

    One fold after the other: it is nodes, or blocks of labels, that machines share.
    more : the same folds with more documents where a tree's best scores are enough.
    """
    scores, best, parameters = [], [], ranker.get_params(deep=False)
    lists = sum(len(tested) for _, tested in more) > sum(len(t) for _, t in parts)
    for fold, (train, tested) in enumerate(track(parts, "calibrating", len(parts))):
        folder: Any = None if working is None else working / f"fold-{fold}"
        seen, lessons = take(rows, train), take(labels, train)
        if isinstance(ranker, TopDownRanker):
            as_pruned = {"taxonomy": ranker.classifier_.taxonomy, "prune": None}
            fresh = TopDownRanker(**parameters | as_pruned)
            fresh.working = folder
            fresh.fit(seen, lessons)
            if lists:
                others = more[fold][1]
                found = BestScores.of(fresh, take(rows, others), take(labels, others))
                best.append(found)
        else:
            from classmark.machines.labels import fit_blocks

            fresh = type(ranker)(**parameters)
            fit_blocks(None, fresh, seen, lessons, folder)
        scores.append(fresh.decision_function(take(rows, tested)))
    return scores, BestScores.joined(best)


def _is_sparse_with_blocks(ranker: LinearRanker) -> bool:
    """Whether the labels were learned apart, for want of memory."""
    if getattr(ranker, "store_", "dense") != "sparse":
        return False
    from classmark.machines.labels import has_blocks

    return has_blocks(ranker)


KEPT_MODELS = 5


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model, what it was fitted on, and how long that took.

    settings : those it was fitted with, what was chosen written out;  meaning : its
    source of vectors.
    """

    model: TextRanker
    ids: list[str]
    seconds: float
    strategy: fit.Strategy
    beside: Beside
    settings: LearningSettings
    meaning: MeaningSettings


def train(
    project: Project,
    settings: LearningSettings | None = None,
    *,
    select: bool = False,
    machines: Machines | None = None,
) -> Trained:
    """Learn from every judged document that is not set apart for testing.

    select : choose the C of plm by cross-validation on these documents first. The model
    is put in service; where it can learn from every decision, it will. A top-down
    training that was killed goes on where it was.
    machines : whose workers do what can be parted (a tree's nodes, folds).
    """
    settings = settings or project.settings.learning
    moment = LogReplay(project.store.log())
    working = WorkingFolder(project.models.folder / WORKING)
    bringing = nullcontext() if machines is None else spread_by(machines)
    with working, bringing:
        fitted = fit_at(project, moment, settings, select=select, working=working)
        name = put_in_service(
            project, fitted, moment, asked=asdict(settings), select=select
        )
        working.remove()
    if learner := from_model(project, fitted, moment, name):
        learner.save()
    model, strategy, calibrator = fitted.model, fitted.strategy, fitted.model.calibrator
    return Trained(
        name,
        settings.learner,
        len(fitted.ids),
        len(model.categories),
        strategy.size.features,
        fitted.settings.C or None,
        getattr(model.ranker, "duality_gap_", None),
        fitted.seconds,
        None if calibrator is None else calibrator.decisions_,
        strategy.name,
        strategy.why,
        strategy.size.flat,
        strategy.complexity_ratio,
        tuple(str(node) for node in getattr(model.ranker, "pruned_", ())),
        learner is not None,
        "" if learner else _why_later(strategy, fitted.settings),
        fitted.settings.base if fit.by_nodes(fitted.settings) else None,
        fitted.beside.change,
        *_chosen(fitted),
        fitted.beside.tried,
        unfitted.shares_by_member(model.ranker, settings),
    )


def _chosen(fitted: TrainedModel) -> tuple[Any, Any, Any, Any]:
    """The loss, center, prior and noise of a model that has them."""
    if not isinstance(fitted.model.ranker.simple, PreferenceRanker):
        return None, None, None, None
    used = fitted.settings
    return used.loss, used.center, used.prior, used.noise


def put_in_service(
    project: Project, fitted: TrainedModel, moment: LogReplay, **how: Any
) -> str:
    """Save a model and put it in service; return its name.

    how : further details of how it was trained, for the log.
    """
    meaning = fitted.meaning.remembered
    facts = {"documents": len(fitted.ids), "seconds": fitted.seconds} | meaning
    folder = save_model(
        project.models, fitted.model, fitted.beside, moment.numbers(), facts
    )
    project.store.note_event(
        TRAINED, whoami(), model=folder.name, learner=fitted.settings.learner,
        upto=moment.upto, settings=asdict(fitted.settings), seconds=fitted.seconds,
        **meaning, **how,
    )  # fmt: skip
    project.models.put_in_service(folder)
    project.models.drop_old(KEPT_MODELS)
    return folder.name


def _why_later(strategy: fit.Strategy, settings: LearningSettings) -> str:
    """Why a model does not learn from every decision."""
    if fit.by_nodes(settings):
        return f"{settings.base} learns from all documents at once"
    if not fit.learns_live(settings):
        return f"{fit.what_learns(settings)} learns from all documents at once"
    return (
        f"the weights take {bytes_text(strategy.size.flat)}, more than the "
        f"{bytes_text(byte_size(settings.memory))} given: allow more with "
        f"{worded('--memory')}"
    )


def fit_at(
    project: Project,
    moment: LogReplay,
    settings: LearningSettings,
    meaning: MeaningSettings | None = None,
    *,
    select: bool = False,
    working: WorkingFolder | None = None,
) -> TrainedModel:
    """Learn from what the log said at a moment.

    meaning : the source of vectors, or the project's; those that are missing are
    computed, and stay;  working : where what is finished is kept while it goes on.
    """
    meaning = meaning or project.settings.meaning
    fit.require(settings)
    judged = map(moment.judged, project.store.records(ever=True))
    records = fit.to_learn_from(judged, unfitted.new_ranker(settings))
    if not records:
        raise refusal(
            "%(folder)s has no labelled documents: import some %(remedy)s",
            folder=project.folder,
            remedy=worded("(classmark import FILE)"),
        )
    categories = moment.categories()
    collection = fit.collected(project, records, settings, categories)
    started = time.perf_counter()
    task = fit.task_of(collection, categories)
    name = _name(task, settings, meaning)
    place = None if working is None else working.claim(name)
    require_vectors(
        project, meaning, [record.id for record in records], collection.texts
    )
    vectorizer = unfitted.new_vectorizer(project, settings, meaning)
    fitted = fit.fit(task, vectorizer, settings, select=select, working=place)
    beside = learn_beside(fitted, task, settings, place)
    return TrainedModel(
        fitted.model,
        [record.id for record in records],
        time.perf_counter() - started,
        fitted.strategy,
        beside,
        _written_out(settings, fitted.model.ranker, fitted.strategy),
        _with_weight(meaning, vectorizer.meaning_),
    )


def _with_weight(
    meaning: MeaningSettings, block: MeaningBlock | None
) -> MeaningSettings:
    """The settings with the weight that was used."""
    return meaning if block is None else replace(meaning, weight=block.weight)


def _written_out(
    settings: LearningSettings, ranker: Any, strategy: fit.Strategy
) -> LearningSettings:
    """The settings, with what was chosen in the place of what leaves the choice."""
    used = replace(settings, strategy=strategy.name)
    if isinstance(ranker, OnlineRanker):
        average = "yes" if ranker.average else "no"
        loss = str(ranker.loss) if settings.learner == "mmp" else settings.loss
        return replace(used, passes=ranker.passes, average=average, loss=loss)
    if isinstance(ranker.simple, PreferenceRanker):
        how = ranker.simple.kept_as[1]
        names = ("center", "prior", "noise")
        numbers: dict[str, Any] = {name: how[name] or 0.0 for name in names}
        return replace(used, loss=how["loss"], C=how["C"], **numbers)
    used = replace(used, solver=getattr(ranker, "solver", used.solver))
    price = getattr(ranker, "C", None)
    return used if price is None else replace(used, C=price)


def _name(
    task: fit.TrainingTask, settings: LearningSettings, meaning: MeaningSettings
) -> str:
    """What this very training is called, and no other."""
    how = asdict(settings) | meaning.remembered
    digest = blake2b(repr(sorted(how.items())).encode(), digest_size=8)
    digest.update(repr(task.tree.edges).encode())
    for text, labels in zip(task.collection.texts, task.collection.labels, strict=True):
        digest.update(f"{len(text)} {text} {labels}".encode())
    return digest.hexdigest()
