"""Train a ranker on a project's labels, put it in service, and say how good it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from classmark.corpus.splits import folds
from classmark.experiments.evaluate import Evaluation, LabelledTexts, Split, evaluate
from classmark.judgments.labels import labels_from
from classmark.problems import Mistake
from classmark.rankers.calibration import ENOUGH
from classmark.rankers.text import LEARNERS, TextRanker, learner
from classmark.taxonomy.category import taxonomy_of
from classmark.workbench.project import whoami
from classmark.workbench.supervising import taught
from classmark.workbench.views import Evaluated, Table, Trained

if TYPE_CHECKING:
    from classmark.formats.record import Record
    from classmark.rankers.linear import LinearRanker
    from classmark.weighting.vectorizer import Vectorizer
    from classmark.workbench.project import Project
    from classmark.workbench.settings import LearningSettings

TEST = "test"
SHOWN = (
    "one_error", "average_precision", "coverage", "max_f1", "loss1", "loss2", "loss3",
    "calibration_error",
)  # fmt: skip
KEPT_MODELS = 5
USUAL_C = {"plm": 0.1, "loglinear": 30.0}
PRECISION = 1e-2  # relative duality gap


def train(
    project: Project, settings: LearningSettings | None = None, *, select: bool = False
) -> Trained:
    """Learn from every judged document that is not set apart for testing.

    select : choose the C of plm by cross-validation on these documents first.
    """
    settings = settings or project.settings.learning
    chosen = settings.learner
    ranker = new_ranker(settings)
    records = [record for record in judged(project, ranker) if part_of(record) != TEST]
    if not records:
        raise Mistake(
            f"{project.folder} has no labelled documents to learn from: "
            "import some with labels (classmark import FILE)"
        )
    collection = collected(project, records, settings.grades)
    started = time.perf_counter()
    if select:
        ranker = selected(project, collection, ranker)
    model = TextRanker.fit(
        new_vectorizer(project),
        ranker,
        collection.texts,
        collection.lessons(ranker),
        collection.categories,
    )
    decisions = _calibrate(model, collection)
    seconds = time.perf_counter() - started
    folder = project.models.next()
    trained = Trained(
        folder.name,
        chosen,
        len(records),
        len(collection.categories),
        len(model.vectorizer.get_feature_names_out()),
        getattr(ranker, "C", None),
        getattr(ranker, "duality_gap_", None),
        seconds,
        decisions,
    )
    model.save(folder, {"documents": len(records), "seconds": seconds})
    project.models.put_in_service(folder)
    project.models.drop_old(KEPT_MODELS)
    project.store.note_event("trained", whoami(), model=folder.name, learner=chosen)
    return trained


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
    return learner(settings.learner)


def selected(
    project: Project, collection: LabelledTexts, ranker: LinearRanker
) -> LinearRanker:
    """The same ranker with the C that cross-validation prefers."""
    from classmark.experiments.select import select_cost
    from classmark.rankers.preference import PreferenceRanker

    if not isinstance(ranker, PreferenceRanker):
        raise Mistake("--select chooses the C of the learner plm: add --learner plm")
    X = new_vectorizer(project).fit_transform(collection.texts)
    labels = labels_from(collection.labels, X.shape[0], len(collection.categories))
    return ranker.set_params(C=select_cost(ranker, X, labels).C)


def new_vectorizer(project: Project) -> Vectorizer:
    """An unfitted vectorizer as the settings describe it."""
    from classmark.weighting.vectorizer import Vectorizer

    settings = project.settings
    return Vectorizer(
        analyzer=settings.text.analyzer,
        weighting=settings.learning.weighting,
        min_df=settings.learning.min_df,
    )


def require_analyzer(description: str) -> str:
    """The description, once it is known that it can be parsed."""
    from classmark.text.analysis import Analyzer

    return str(Analyzer.parse(description))


def text_of(project: Project, record: Record) -> str:
    """The text that is learned from: the chosen fields, or all."""
    wanted = project.settings.text.fields
    if not wanted:
        return record.document.text
    fields = record.document.fields
    return "\n".join(fields[name] for name in wanted if fields.get(name))


def labelled(project: Project) -> list[Record]:
    """Documents with at least one label."""
    return [record for record in project.store.records() if record.labels]


def judged(project: Project, ranker: LinearRanker) -> list[Record]:
    """Documents the ranker can learn from: with labels, or else with preferences."""
    return [
        record
        for record in project.store.records()
        if record.labels or (record.preferences and ranker.takes_graphs)
    ]


def part_of(record: Record) -> str:
    """The part of a split a document was set apart for, or nothing."""
    return record.meta.get("part", "")


def collected(
    project: Project, records: Sequence[Record], grades: str = "equal"
) -> LabelledTexts:
    """Texts and label numbers; every leaf is a category, and every label in use."""
    known = project.store.categories()
    used = {name for record in records for name in record.labels}
    used |= {n for record in records for pair in record.preferences for n in pair}
    leaves = set(taxonomy_of(known).leaves)
    names = [c.id for c in known if c.id in leaves or c.id in used]
    number = {name: index for index, name in enumerate(names)}
    return LabelledTexts(
        [text_of(project, record) for record in records],
        [sorted(number[name] for name in record.labels) for record in records],
        names,
        taught(records, names, grades),
    )


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
