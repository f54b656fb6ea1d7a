"""How good are learners and strategies on documents they have not seen?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.arrays import Floats, Ints
from classmark.corpus.documents import folds
from classmark.evaluation.evaluate import (
    FEW,
    RARE_ERROR,
    Evaluation,
    Split,
    evaluate_each,
    in_tree,
    of_assigned,
)
from classmark.evaluation.evaluate import RARE as RECALL
from classmark.formats import read_records
from classmark.formats.text_files import writing
from classmark.language import N_, _, as_stored, joined, restored, whole
from classmark.measures import macro_t_test, micro_sign_test, retrieval_per_query
from classmark.problems import TooLittleMemory, refusal, worded
from classmark.rankers.text_ranker import LEARNERS
from classmark.ranking import top
from classmark.workbench.learning import fit, unfitted
from classmark.workbench.learning.options import for_learner
from classmark.workbench.learning.train import with_what_is_beside
from classmark.workbench.meaning import require_vectors
from classmark.workbench.results import Cell, Column, Evaluated, Table
from classmark.workbench.settings import LearningSettings, Settings
from classmark.workbench.settings_form import form_fields, with_form_values
from classmark.workbench.store.log import now
from classmark.workbench.store.named import with_ids

if TYPE_CHECKING:
    from classmark.rankers.text_ranker import TextRanker
    from classmark.weighting.vectorizer import Vectorizer
    from classmark.workbench.project import Project
    from classmark.workbench.store.log import JudgedRecord


SHOWN = (
    "one_error", "average_precision", "coverage", "max_f1", "loss1", "loss2", "loss3",
    "calibration_error", RARE_ERROR,
)  # fmt: skip
COMPARED = ("one_error", "average_precision", "coverage", "max_f1")
RARE = " + rare"
LEARNER_NAMES = tuple(LEARNERS)
LAST = "reports/evaluation.json"
AHEAD = 100  # ranks of the curve that is shown
ANNIF = ("p_at_1", "f1_at_5", "ndcg_at_10")
ANNIF_COLUMNS = (
    Column("corpus"),
    Column("documents"),
    Column("p_at_1", "P@1", ".3f"),
    Column("f1_at_5", "F1@5", ".3f"),
    Column("ndcg_at_10", "nDCG@10", ".3f"),
)
ANNIF_NOTE = "P@1, F1@5 and nDCG@10 as Annif's eval has them"
AHEAD_OF_ANNIF = 10  # categories that these look at
AT_ONCE = 500  # documents scored together
BEST = "of the best categories, as many as are right"
OF_RARE = f"categories learned from {FEW} documents or fewer"
COLUMNS = (
    Column("learner"),
    Column("strategy"),
    Column("one_error", "wrong at\nthe top", ".1%", "least"),
    Column("average_precision", "average\nprecision", ".3f", "greatest"),
    Column("looked_at", "looked at until\nall are found", ".1f", "least"),
    Column("micro_f1", "micro-F1", ".3f", "greatest", BEST),
    Column("macro_f1", "macro-F1", ".3f", "greatest", BEST),
    Column("seconds", format=".1f", meaning="of training and scoring"),
    Column(
        "sign_p", "p of the\nsign test", ".3f", meaning="micro sign test with the first"
    ),
    Column(
        "t_p", "p of the\nt-test", ".3f", meaning="macro t-test over the categories' F1"
    ),
    Column("coverage", meaning="looked at until all are found, less 1", brief=False),
    *(Column(name, brief=False) for name in SHOWN[3:-1]),
    Column(RARE_ERROR, meaning=OF_RARE, brief=False),
    Column("hierarchical_f1", meaning=BEST, brief=False),
    Column(
        "tree_error",
        meaning="edges from the best category to the nearest right one",
        brief=False,
    ),
    Column("accuracy_bound", brief=False),
    Column("detected", meaning="categories assigned to some document", brief=False),
    Column(RECALL, meaning=f"mean over {OF_RARE}", brief=False),
    Column("tested", meaning="documents", brief=False),
)


def evaluate_project(
    project: Project,
    learners: Sequence[str] = (),
    n_folds: int | None = None,
    learning: LearningSettings | None = None,
) -> Evaluated:
    """Measure learners on the documents set apart, or by cross-validation.

    learners : names, with settings where they differ from the project's, as in
    "mmp(loss=3,passes=2)"; by default each but an ensemble of them.
    """
    learning = learning or project.settings.learning
    learners = learners or [name for name in LEARNERS if name != unfitted.ENSEMBLE]
    settings = {each: _spelt_out(learning, each) for each in learners}
    return _measured(project, "learner", settings, n_folds)


def evaluate_file(project: Project, path: Path, format_: str | None = None) -> Table:
    """Measure the model in service on a corpus, by the measures that Annif reports.

    path : a file or folder in any format that ``classmark import`` reads. Documents
    without labels are left out; labels that the model does not rank count as missed.
    Texts that the model was trained on are not told apart.
    """
    model = project.require_model()
    run: dict[str, dict[str, float]] = {}
    right: dict[str, dict[str, int]] = {}
    records = with_ids(read_records(path, format_), project.store)
    labelled = (record for record in records if record.labels)
    while some := list(islice(labelled, AT_ONCE)):
        scores = model.scores([project.text_of(record) for record in some])
        for record, best in zip(some, _ten_best(model, scores), strict=True):
            number = str(len(right))  # ids may be met in several files
            run[number], right[number] = best, dict.fromkeys(record.labels, 1)
    if not right:
        raise refusal(
            "%(path)s has no labelled documents: give a corpus with labels",
            path=path,
        )
    unknown = _labels_not_ranked(model, right, path)
    row: dict[str, Cell] = {"corpus": str(path), "documents": len(right)}
    row |= annif_measures(run, right)
    note = "each document counts alike; " + ANNIF_NOTE
    if unknown:
        note += f"; labels of categories that are not ranked: {unknown:,}"
    return Table("Model in service", [row], note, ANNIF_COLUMNS)


def _labels_not_ranked(
    model: TextRanker, right: Mapping[str, Mapping[str, int]], path: Path
) -> int:
    """How many labels the model has no category for; refused where it is all."""
    labels = set[str]().union(*right.values())
    if labels.isdisjoint(model.categories):
        some = ", ".join(map(repr, sorted(labels)[:3]))
        raise refusal(
            "%(path)s: none of its %(n)s labels (%(some)s, …) is a category of the "
            "model, as %(category)r is: give labels by the ids of categories",
            path=path,
            n=whole(len(labels)),
            some=some,
            category=min(model.categories),
        )
    return len(labels - set(model.categories))


def _ten_best(model: TextRanker, scores: Floats) -> list[dict[str, float]]:
    """Of each text the ten best categories that are ranked, by their order."""
    shown = np.flatnonzero(np.isfinite(scores).all(axis=0))
    names = [model.categories[column] for column in shown.tolist()]
    best = top(model.ordered_by(scores[:, shown], shown), AHEAD_OF_ANNIF)
    return [{names[c]: -float(at) for at, c in enumerate(row)} for row in best.tolist()]


def annif_measures(
    run: Mapping[str, Mapping[str, float]], right: Mapping[str, Mapping[str, int]]
) -> dict[str, Cell]:
    """P@1, F1@5 and nDCG@10 as ``annif eval`` has them, means over documents.

    run, right : document → category → score, and 1 where it is right.

    >>> annif_measures({"d": {"a": 2.0, "b": 1.0}}, {"d": {"b": 1}})
    {'p_at_1': 0.0, 'f1_at_5': 0.333, 'ndcg_at_10': 0.631}
    """
    values = retrieval_per_query(run, right, ["P@1", "P@5", "nDCG@10"])
    f1 = [2 * 5 * p / (5 + len(right[d])) for d, p in values["P@5"].items()]
    means = {name: fmean(each.values()) for name, each in values.items()}
    measured = (means["P@1"], fmean(f1), means["nDCG@10"])
    return {name: round(value, 3) for name, value in zip(ANNIF, measured, strict=True)}


def _spelt_out(learning: LearningSettings, written: str) -> LearningSettings:
    """The settings of a learner, written as its name, or name(setting=value,…)."""
    name, has_more, more = written.partition("(")
    if has_more and not more.endswith(")"):
        raise refusal(
            "learner %(written)r: write %(name)s(setting=value,setting=value)",
            written=written,
            name=name,
        )
    pairs = [pair.partition("=") for pair in more[:-1].split(",") if pair]
    values = {f"learning.{key.strip()}": value.strip() for key, _, value in pairs}
    known = {each.name for each in form_fields(Settings(""))["learning"]}
    if unknown := sorted(values.keys() - known):
        key = unknown[0].removeprefix("learning.")
        names = ", ".join(sorted(name.removeprefix("learning.") for name in known))
        raise refusal(
            "%(key)r is not a setting of a learner: use %(names)s",
            key=key,
            names=names,
        )
    others = for_learner(learning, name)
    return with_form_values(Settings("x", learning=others), values)[0].learning


def evaluate_strategies(
    project: Project,
    strategies: Sequence[str],
    learning: LearningSettings | None = None,
    n_folds: int | None = None,
) -> Evaluated:
    """Compare strategies, each with the first: who is right where they differ?

    learning : with ``rare``, each is measured without and with the votes on rare
    categories.
    """
    learning = learning or project.settings.learning
    settings: dict[str, LearningSettings] = {}
    for name in dict.fromkeys(strategies):
        descends = name in fit.DESCENDING
        one = replace(
            learning,
            strategy=name,
            rare=False,
            layers=0 if descends else learning.layers,
            thresholds="none" if descends else learning.thresholds,
        )
        settings[name] = one
        if learning.rare:
            settings[name + RARE] = replace(one, rare=True)
    return _measured(project, "strategy", settings, n_folds)


def _measured(
    project: Project,
    compared: str,
    settings: dict[str, LearningSettings],
    n_folds: int | None,
) -> Evaluated:
    """Measure by each of the settings; compared : "learner" or "strategy"."""
    from classmark.evaluation.figures import rank_curves

    for each in settings.values():
        fit.require(each)
        unfitted.new_ranker(each)
    records = fit.labelled(project)
    if not records:
        raise refusal(
            "%(folder)s has no labelled documents to measure on: import some "
            "with labels %(remedy)s, or label them %(remedy2)s",
            folder=project.folder,
            remedy=worded("(classmark import FILE)"),
            remedy2=worded("(classmark decide)"),
        )
    tasks, (splits, how) = _tasks(project, records, settings), _splits(records, n_folds)
    task = next(iter(tasks.values()))
    ids, meaning = [record.id for record in records], project.settings.meaning
    require_vectors(project, meaning, ids, task.collection.texts)
    if (vectors := project.meaning()) is not None:
        how = joined(how, _("words and meaning, by %(name)s", name=vectors.name))
    learners = {
        name: partial(
            _fit_on, unfitted.new_vectorizer(project, each), tasks[name], each
        )
        for name, each in settings.items()
    }
    left_out: dict[str, TooLittleMemory] = {}
    results = evaluate_each(task.collection, splits, learners, left_out)
    how = joined(how, *_words_of(left_out))
    plot = project.folder / "reports" / "evaluation.svg"
    curves = {name: result.precision for name, result in results.items()}
    rank_curves(curves, plot, f"{project.settings.name}: precision along the ranking")
    rare = None
    if any(each.rare for each in settings.values()):
        rare = _draw_induced(project, results)
    rows = _rows(compared, results, task)
    table = Table("Evaluation", rows, how, COLUMNS, "measures")
    _write_last(project, compared, table, results, task.collection.categories)
    return Evaluated(table, plot, rare)


def _words_of(left_out: Mapping[str, TooLittleMemory]) -> list[str]:
    """Which learners were left out, and why."""
    text = N_("%(name)s is left out: %(why)s")
    return [_(text, name=name, why=str(why)) for name, why in left_out.items()]


def _write_last(
    project: Project,
    compared: str,
    table: Table,
    results: dict[str, Evaluation],
    names: Sequence[str],
) -> None:
    """Write what was measured last, for the page that shows it."""
    facts = {
        "at": now(),
        "compared": compared,
        "note": table.note,
        "made": as_stored(table.note),
        "rows": list(table.rows),
        "precision": {n: r.precision[:AHEAD].tolist() for n, r in results.items()},
        "categories": {n: _by_category(r, names) for n, r in results.items()},
    }
    with writing(project.folder / LAST) as file:
        json.dump(facts, file, ensure_ascii=False)


def last_evaluation(project: Project) -> dict[str, Any] | None:
    """What was measured last; None: nothing yet."""
    path = project.folder / LAST
    if not path.is_file():
        return None
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return facts | {"note": restored(facts.pop("made", facts["note"]))}


def _by_category(result: Evaluation, names: Sequence[str]) -> list[dict[str, Cell]]:
    """Precision, recall and F1 of each category that was tested, or was assigned."""
    right, given, chosen = Counter[int](), Counter[int](), Counter[int]()
    for labels, assigned in zip(result.labels, result.assigned, strict=True):
        given.update(labels)
        chosen.update(assigned)
        right.update(set(labels) & set(assigned))
    rows: list[dict[str, Cell]] = []
    for label in sorted(given.keys() | chosen.keys(), key=lambda c: (-given[c], c)):
        hits = right[label]
        rows.append(
            {
                "category": str(names[label]),
                "documents": given[label],
                "precision": hits / chosen[label] if chosen[label] else None,
                "recall": hits / given[label] if given[label] else None,
                "f1": 2 * hits / (given[label] + chosen[label]),
            }
        )
    return rows


def _tasks(
    project: Project,
    records: Sequence[JudgedRecord],
    settings: dict[str, LearningSettings],
) -> dict[str, fit.TrainingTask]:
    """What each of the settings learns from; those that teach alike share it."""
    categories, by_lesson = project.store.categories(), {}
    for each in settings.values():
        if (key := _lesson_key(each)) not in by_lesson:
            collection = fit.collected(project, records, each, categories)
            by_lesson[key] = fit.task_of(collection, categories)
    return {name: by_lesson[_lesson_key(each)] for name, each in settings.items()}


def _lesson_key(learning: LearningSettings) -> tuple[str, int, str]:
    return learning.grades, learning.layers, learning.thresholds


def _draw_induced(project: Project, results: dict[str, Evaluation]) -> Path:
    """Draw how often categories are right and how often each strategy assigns them."""
    from classmark.evaluation.figures import induced_curves

    first = next(iter(results.values()))
    lines = {"true": _often(first.labels)}
    lines |= {name: _often(result.assigned) for name, result in results.items()}
    path = project.folder / "reports" / "rare.svg"
    title = "How often is a category right, and how often is it chosen?"
    induced_curves({project.settings.name: lines}, path, title)
    return path


def _often(labels: Sequence[Sequence[int]]) -> list[int]:
    """How often each category occurs, most often first."""
    return sorted(Counter(chain.from_iterable(labels)).values(), reverse=True)


def _fit_on(
    vectorizer: Vectorizer,
    task: fit.TrainingTask,
    settings: LearningSettings,
    train: Ints,
) -> TextRanker:
    """The model that learned from some of a task's texts, as the settings say."""
    which = train.tolist()
    fitted = fit.fit(task, copy(vectorizer), settings, which)
    return with_what_is_beside(fitted, task, settings, which)


def _rows(
    compared: str, results: dict[str, Evaluation], task: fit.TrainingTask
) -> list[dict[str, Cell]]:
    names = task.collection.categories
    first = next(iter(results.values()))
    rows: list[dict[str, Cell]] = []
    for name, result in results.items():
        shown = SHOWN if compared == "learner" else COMPARED
        row: dict[str, Cell] = {compared: name}
        row |= {measure: result.measures.get(measure) for measure in shown}
        row["looked_at"] = result.measures["coverage"] + 1
        if fit.has_tree(task.tree):
            row |= in_tree(result, task.tree, names)
        else:
            row |= of_assigned(result, len(names))
        if compared == "strategy":
            row |= _against(first, result)
        rows.append(row | {"seconds": result.seconds, "tested": result.tested})
    return rows


def _against(first: Evaluation, other: Evaluation) -> dict[str, Cell]:
    """Could the difference from the first be chance? By decisions, and by F1."""
    if other is first:
        return {"sign_p": None, "t_p": None}
    sets = (other.labels, other.assigned, first.assigned)
    labels = {label for lines in sets for label in chain.from_iterable(lines)}
    return {
        "sign_p": micro_sign_test(*sets).p_value,
        "t_p": macro_t_test(*sets).p_value if len(labels) > 1 else None,
    }


def _splits(
    records: Sequence[JudgedRecord], n_folds: int | None
) -> tuple[list[Split], str]:
    parts = np.array([fit.part_of(record) for record in records])
    if n_folds is None and (parts == fit.TEST).any():
        test: Ints = np.flatnonzero(parts == fit.TEST)
        rest: Ints = np.flatnonzero(parts != fit.TEST)
        return [(rest, test)], _(
            "trained on %(rest)s documents, tested on the %(test)s set apart",
            rest=whole(len(rest)),
            test=whole(len(test)),
        )
    count = 5 if n_folds is None else n_folds
    if not 2 <= count <= len(records):
        raise refusal(
            "folds is %(count)s with %(n)s labelled documents: use 2 or more, "
            "and at most one per document",
            count=count,
            n=whole(len(records)),
        )
    how = _("%(n)s-fold cross-validation", n=count)
    return list(folds(len(records), count, random_state=0)), how
