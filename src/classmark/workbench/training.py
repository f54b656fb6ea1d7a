"""Train a ranker on a project's labels, put it in service, and say how good it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from classmark.corpus.splits import folds
from classmark.experiments.evaluate import Evaluation, LabelledTexts, Split, evaluate
from classmark.judgments.labels import labels_from
from classmark.problems import Mistake
from classmark.rankers.calibration import ENOUGH
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text import LEARNERS, TextRanker, learner
from classmark.workbench.collecting import (
    TEST,
    collected,
    labelled,
    part_of,
    to_learn_from,
)
from classmark.workbench.learner import Origin
from classmark.workbench.learning import TRAINED, from_model
from classmark.workbench.moment import Moment
from classmark.workbench.project import whoami
from classmark.workbench.views import Evaluated, Table, Trained

if TYPE_CHECKING:
    from classmark.formats.record import Record
    from classmark.rankers.linear import LinearRanker
    from classmark.weighting.vectorizer import Vectorizer
    from classmark.workbench.project import Project
    from classmark.workbench.settings import LearningSettings

SHOWN = (
    "one_error", "average_precision", "coverage", "max_f1", "loss1", "loss2", "loss3",
    "calibration_error",
)  # fmt: skip
KEPT_MODELS = 5
USUAL_C = {"plm": 0.1, "loglinear": 30.0}
PRECISION = 1e-2  # relative duality gap


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model, what it was fitted on, and how long that took."""

    model: TextRanker
    ids: list[str]
    decisions: int | None
    seconds: float


def train(
    project: Project, settings: LearningSettings | None = None, *, select: bool = False
) -> Trained:
    """Learn from every judged document that is not set apart for testing.

    select : choose the C of plm by cross-validation on these documents first. The model
    is put in service; where it can learn from every decision, it will.
    """
    settings = settings or project.settings.learning
    moment = Moment(project.store)
    fitted = fit_at(project, moment, settings, select=select)
    model, ranker = fitted.model, fitted.model.ranker
    folder = project.models.next()
    price = getattr(ranker, "C", None)
    trained = Trained(
        folder.name,
        settings.learner,
        len(fitted.ids),
        len(model.categories),
        len(model.vectorizer.get_feature_names_out()),
        price,
        getattr(ranker, "duality_gap_", None),
        fitted.seconds,
        fitted.decisions,
    )
    model.save(folder, {"documents": len(fitted.ids), "seconds": fitted.seconds})
    used = asdict(settings if price is None else replace(settings, C=price))
    project.store.note_event(
        TRAINED, whoami(), model=folder.name, learner=settings.learner,
        upto=moment.upto, settings=used,
    )  # fmt: skip
    project.models.put_in_service(folder)
    project.models.drop_old(KEPT_MODELS)
    origin = Origin(folder.name, used)
    if learner := from_model(project, model, fitted.ids, moment, origin):
        learner.save()
    return trained


def fit_at(
    project: Project,
    moment: Moment,
    settings: LearningSettings,
    *,
    select: bool = False,
) -> Fitted:
    """Learn from what the log said at a moment."""
    ranker = new_ranker(settings)
    records = to_learn_from(moment.records(), ranker)
    if not records:
        raise Mistake(
            f"{project.folder} has no labelled documents to learn from: "
            "import some with labels (classmark import FILE)"
        )
    collection = collected(project, records, settings.grades, moment.categories())
    started = time.perf_counter()
    if select:
        ranker = selected(new_vectorizer(project, settings), collection, ranker)
    model = TextRanker.fit(
        new_vectorizer(project, settings),
        ranker,
        collection.texts,
        collection.lessons(ranker),
        collection.categories,
    )
    decisions = _calibrate(model, collection)
    seconds = time.perf_counter() - started
    return Fitted(model, [record.id for record in records], decisions, seconds)


def _calibrate(model: TextRanker, collection: LabelledTexts) -> int | None:
    """Learn probabilities where there are enough decisions; return how many."""
    if sum(map(bool, collection.labels)) < ENOUGH:
        return None
    model.calibrate(
        collection.texts, collection.labels, collection.lessons(model.ranker)
    )
    return model.calibrator.decisions_ if model.calibrator else None


def evaluate_project(
    project: Project, learners: Sequence[str] = (), n_folds: int | None = None
) -> Evaluated:
    """Measure learners on the documents set apart, or by cross-validation."""
    from classmark.experiments.figures import rank_curves

    records = labelled(project)
    collection = collected(project, records, project.settings.learning.grades)
    splits, how = _splits(records, n_folds)
    found: dict[str, Evaluation] = {}
    for name in learners or tuple(LEARNERS):
        settings = replace(project.settings.learning, learner=name)
        new_ranker(settings)
        found[name] = evaluate(
            collection,
            splits,
            partial(new_vectorizer, project),
            partial(new_ranker, settings),
        )
    plot = project.folder / "reports" / "evaluation.svg"
    curves = {name: result.precision for name, result in found.items()}
    rank_curves(curves, plot, f"{project.settings.name}: precision along the ranking")
    rows = [
        {"learner": name}
        | {measure: result.measures.get(measure) for measure in SHOWN}
        | {"tested": result.tested}
        for name, result in found.items()
    ]
    return Evaluated(Table("Evaluation", rows, how), plot)


def changed(project: Project, said: dict[str, Any]) -> LearningSettings:
    """The project's settings, with what was said for this once."""
    given = {name: value for name, value in said.items() if value is not None}
    return replace(project.settings.learning, **given)


def new_ranker(settings: LearningSettings) -> LinearRanker:
    """An unfitted ranker as the settings describe it."""
    if settings.learner == "plm":
        return learner(
            "plm",
            mapping=settings.cost,
            C=settings.C or USUAL_C["plm"],
            center=settings.center or None,
            tol=PRECISION,
        )
    if settings.learner == "loglinear":
        price = settings.C or USUAL_C["loglinear"]
        return learner("loglinear", decomposition=settings.decomposition, C=price)
    if settings.learner == "mmp":
        return learner("mmp", loss=1, passes=5, average=True)
    return learner(settings.learner)


def selected(
    vectorizer: Vectorizer, collection: LabelledTexts, ranker: LinearRanker
) -> LinearRanker:
    """The same ranker with the C that cross-validation prefers."""
    from classmark.experiments.select import select_cost

    if not isinstance(ranker, PreferenceRanker):
        raise Mistake("--select chooses the C of the learner plm: add --learner plm")
    X = vectorizer.fit_transform(collection.texts)
    labels = labels_from(collection.labels, X.shape[0], len(collection.categories))
    return ranker.set_params(C=select_cost(ranker, X, labels).C)


def new_vectorizer(
    project: Project, settings: LearningSettings | None = None
) -> Vectorizer:
    """An unfitted vectorizer as the settings describe it."""
    from classmark.weighting.vectorizer import Vectorizer

    learning = settings or project.settings.learning
    return Vectorizer(
        analyzer=project.settings.text.analyzer,
        weighting=learning.weighting,
        min_df=learning.min_df,
    )


def require_analyzer(description: str) -> str:
    """The description, once it is known that it can be parsed."""
    from classmark.text.analysis import Analyzer

    return str(Analyzer.parse(description))


def _splits(records: Sequence[Record], n_folds: int | None) -> tuple[list[Split], str]:
    parts = np.array([part_of(record) for record in records])
    if n_folds is None and (parts == TEST).any():
        test: NDArray[np.int64] = np.flatnonzero(parts == TEST)
        rest: NDArray[np.int64] = np.flatnonzero(parts != TEST)
        return [(rest, test)], (
            f"trained on {len(rest)} documents, tested on the {len(test)} set apart"
        )
    count = 5 if n_folds is None else n_folds
    if not 2 <= count <= len(records):
        raise Mistake(
            f"folds is {count} with {len(records)} labelled documents: "
            "use 2 or more, and at most one per document"
        )
    return list(
        folds(len(records), count, random_state=0)
    ), f"{count}-fold cross-validation"
