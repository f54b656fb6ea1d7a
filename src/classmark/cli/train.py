"""Commands that train a category ranker, and measure how good learners are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from classmark.cli.options import (
    ALL,
    DATA,
    FOLDER,
    FORMAT,
    JSON,
    MachineOptions,
    argument,
    command,
    deferred,
    flag,
    option,
    options,
)
from classmark.cli.output import View
from classmark.problems import Mistake
from classmark.workbench.results import Evaluated, Table, Trained

with deferred():
    from classmark import estimator
    from classmark.workbench.learning import evaluate as evaluating
    from classmark.workbench.learning import options as once
    from classmark.workbench.learning import stream as streaming
    from classmark.workbench.learning import train as training
    from classmark.workbench.project import Project

BASE = option("At the nodes: svm, logistic or naive-bayes.")
MEMORY = option("What the weights may take, as in 4GB.")
RARE = option("Vote again on close calls for the rare.", None, "--rare/--no-rare")


@options
class LearnerOptions:
    """Settings of [learning], for this once: the learner and what it minimises."""

    learner: str | None = option(
        "plm, mmp, perceptron, loglinear, rocchio, or ensemble of several"
    )
    members: str | None = option('Of ensemble: which, as "plm loglinear tree".')
    loss: str | None = option(
        "Of plm: auto, dom, dis, dme, dom-dme or svm; of loglinear: dom, dis, dme "
        "or zero-one; of mmp: 1, 2 or 3."
    )
    C: float | None = option("What a violation costs.", None, "--C")
    thresholds: str | None = option(
        "Of plm: none, common or category; they say what belongs."
    )
    names: str | None = option(
        "Whether what categories are called counts: auto, yes or no."
    )
    layers: int | None = option(
        "Of plm and loglinear: layers that the tree makes, 2 or more; 0: none."
    )
    solver: str | None = option("Of loglinear: auto, dual, lbfgs or boosting.")
    passes: int | None = option("Of mmp and perceptron: times through all documents.")
    average: bool | None = option(
        "Of mmp and perceptron: rank by mean prototypes.",
        None,
        "--average/--no-average",
    )
    vote: bool | None = option(
        "Of mmp and perceptron: let all prototypes vote.", None, "--vote/--no-vote"
    )


@options
class WeightingOptions:
    """Settings of [learning], for this once: how much a word counts."""

    weighting: str | None = option(
        "binary, count, tf, log, tfidf, log-tfidf, relative-tfidf or pivoted"
    )
    norm: str | None = option("auto, l2 or none: whether weights have length 1.")
    select_features: int | None = option(
        "Words kept for each category, at least, as 100; 0: all words."
    )
    slope: float | None = option("Of pivoted: how much length counts, from 0 to 1.")


@options
class StrategyOptions:
    """Settings of [learning], for this once: what is made of the tree."""

    strategy: str | None = option("auto, plain, flat, top-down or pruned")
    base: str | None = BASE
    memory: str | None = MEMORY
    device: str | None = option(
        "cpu; or gpu: a graphics card learns all categories at once, without the tree."
    )
    policy: str | None = option("Of pruned: meta, bound, random, flatten-top …")
    bold: bool | None = option(
        "Prune also where it is not sure.", None, "--bold/--no-bold"
    )
    rare: bool | None = RARE


@command(JSON)
def train(
    *,
    project: Project = FOLDER,
    learner: LearnerOptions,
    select: bool = flag("Choose C by cross-validation.", "--select"),
    weighting: WeightingOptions,
    strategy: StrategyOptions,
    machines: MachineOptions,
) -> Trained:
    """Train a category ranker on the project's labels and put it in service."""
    changes = vars(learner) | vars(weighting) | vars(strategy)
    if learner.average is not None:
        changes["average"] = "yes" if learner.average else "no"
    settings = once.changed(project, changes)
    once.require_effect(project, [settings], changes)
    with machines.started() as workers:
        return training.train(project, settings, select=select, machines=workers)


@options
class ComparisonOptions:
    """Which strategies are compared, and how they learn."""

    strategy: str | None = option("Compare these instead: plain,flat,top-down,…")
    base: str | None = BASE
    memory: str | None = MEMORY
    rare: bool | None = RARE


@command(ALL | JSON)
def evaluate(
    *,
    project: Project = FOLDER,
    path: Path | None = argument(
        "Labelled documents: measure the model in service on them.", "[FILE]", None
    ),
    format_: str | None = FORMAT,
    learner: tuple[str, ...] = option(
        "Compare only these; repeatable. With settings: mmp(loss=3,passes=2).", ()
    ),
    folds: int | None = option("Cross-validate instead of the set-apart part."),
    compared: ComparisonOptions,
    machines: MachineOptions,
) -> Evaluated | Table:
    """Measure learners on documents they have not seen; on a FILE, the model."""
    if path is not None:
        if learner or folds is not None or compared != ComparisonOptions():
            raise Mistake(
                "with a FILE the model in service is measured, as it was trained: "
                "leave the other options out"
            )
        return evaluating.evaluate_file(project, path, format_)
    alone = ComparisonOptions(memory=compared.memory)
    if compared.strategy is None and compared != alone:
        raise Mistake("--base and --rare need --strategy: name some")
    if compared.strategy is not None and learner:
        raise Mistake("compare learners or strategies: give --learner or --strategy")
    with machines.started():
        if compared.strategy is None:
            settings = once.changed(project, {"memory": compared.memory})
            return evaluating.evaluate_project(project, learner, folds, settings)
        changes = dict(vars(compared))
        typed = changes.pop("strategy").split(",")
        names = [name.strip() for name in typed if name.strip()]
        settings = once.changed(project, changes | {"learner": "plm"})
        each = [replace(settings, strategy=name) for name in names]
        once.require_effect(project, each, changes)
        return evaluating.evaluate_strategies(project, names, settings, folds)


@options
class OnlineOptions:
    """Which learners are replayed, and how they learn."""

    learner: tuple[str, ...] = option(
        "plm, mmp, perceptron or rocchio; repeatable.", ()
    )
    loss: int = option("Of mmp: 1, 2 or 3.", 3)
    average: bool = flag("Rank with averaged prototypes.", "--average")
    C: float = option("Of plm.", 1.0, "--C")
    revisits: int = option("Of plm: earlier documents learned again, each time.", 100)
    time_budget: float | None = option(
        "Of plm: seconds a document, instead of --revisits."
    )
    max_documents: int | None = option("Of plm: documents kept at most.")


@command(ALL)
def stream(
    *,
    path: Path | None = argument("Labelled documents.", "[FILE]", None),
    dataset: str | None = option("A known collection instead of a file."),
    data: Path | None = DATA,
    format_: str | None = FORMAT,
    options: OnlineOptions,
    order: str = option("file or random", "file"),
    plot: Path | None = option("The curves (.svg); else in reports/."),
    facts: Path | None = option("Write all values here.", None, "--json"),
    budget: float | None = option("", hidden=True),
) -> View:
    """Rank each document, then learn it: what a learner does from nothing."""
    if (path is None) == (dataset is None):
        raise Mistake("give a FILE, or the name of a collection with --dataset")
    if budget is not None:
        new = "--time-budget (seconds)"
        estimator.warn_renamed("stream", "--budget (milliseconds)", new)
        options = replace(options, time_budget=budget / 1000)
    learning = dict(vars(options))
    learners = tuple(dict.fromkeys(learning.pop("learner"))) or ("plm",)
    setting = streaming.StreamSettings(learners, **learning)
    streaming.require(setting, order, plot, facts)
    if path is None:
        source, documents = str(dataset), streaming.known_stream(str(dataset), data)
    else:
        source, documents = path.name, streaming.read_stream(path, format_)
    streamed = streaming.stream(source, documents, setting, order, plot)
    values = []
    if facts is not None:
        streaming.write_facts(streamed, facts)
        values = [f"  values: {facts}"]
    return View(None, [streamed.table, *values, f"  plot: {streamed.plot}\n"])
