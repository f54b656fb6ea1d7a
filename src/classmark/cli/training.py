"""Training and measuring on the command line."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from classmark.cli.options import (
    HERE,
    AllColumns,
    AsJson,
    Dashboard,
    On,
    Where,
    Workers,
    machines_for,
    open_project,
)

Base = Annotated[
    str | None, typer.Option(help="At the nodes: svm, logistic or naive-bayes.")
]
Memory = Annotated[
    str | None, typer.Option(help="What the weights may take, as in 4GB.")
]
Rare = Annotated[
    bool | None,
    typer.Option("--rare/--no-rare", help="Vote again on close calls for the rare."),
]


def train(
    project: Where = HERE,
    learner: Annotated[
        str | None, typer.Option(help="plm, loglinear, rocchio or perceptron")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="Of plm: dom, dis, dme, dom-dme or svm; of loglinear: dom, dis, dme "
            "or zero-one."
        ),
    ] = None,
    price: Annotated[
        float | None, typer.Option("--C", help="What a violation costs.")
    ] = None,
    select: Annotated[
        bool, typer.Option("--select", help="Choose C by cross-validation.")
    ] = False,
    strategy: Annotated[
        str | None, typer.Option(help="auto, plain, flat, top-down or pruned")
    ] = None,
    base: Base = None,
    memory: Memory = None,
    policy: Annotated[
        str | None, typer.Option(help="Of pruned: meta, bound or random.")
    ] = None,
    bold: Annotated[
        bool | None,
        typer.Option("--bold/--no-bold", help="Prune also where it is not sure."),
    ] = None,
    rare: Rare = None,
    workers: Workers = None,
    on: On = None,
    dashboard: Dashboard = False,
    as_json: AsJson = False,
) -> None:
    """Train a category ranker on the project's labels and put it in service."""
    from classmark.cli.output import show_trained
    from classmark.workbench.learning import train as training

    options: dict[str, str | float | None] = {"learner": learner, "loss": loss}
    options |= {"strategy": strategy, "base": base}
    options |= {"memory": memory, "C": price, "policy": policy}
    options |= {"bold": bold, "rare": rare}
    with open_project(project) as opened:
        chosen = training.changed(opened, options)
        training.require_effect(opened, [chosen], options)
        with machines_for(workers, on, dashboard=dashboard) as machines:
            trained = training.train(opened, chosen, select=select, machines=machines)
    show_trained(trained, as_json=as_json)


def evaluate(
    project: Where = HERE,
    learner: Annotated[
        list[str] | None, typer.Option(help="Compare only these; repeatable.")
    ] = None,
    folds: Annotated[
        int | None, typer.Option(help="Cross-validate instead of the set-apart part.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="Compare these instead: plain,flat,top-down,…")
    ] = None,
    base: Base = None,
    memory: Memory = None,
    rare: Rare = None,
    workers: Workers = None,
    on: On = None,
    dashboard: Dashboard = False,
    everything: AllColumns = False,
    as_json: AsJson = False,
) -> None:
    """Measure learners on documents they have not seen, and plot it."""
    from classmark.cli.output import show_evaluated
    from classmark.problems import Mistake
    from classmark.workbench.learning import evaluate as evaluating
    from classmark.workbench.learning.train import changed, require_effect

    options = {"base": base, "memory": memory, "rare": rare}
    if strategy is None and any(value is not None for value in options.values()):
        raise Mistake("--base, --memory and --rare need --strategy: name some")
    if strategy is not None and learner:
        raise Mistake("compare learners or strategies: give --learner or --strategy")
    with (
        open_project(project) as opened,
        machines_for(workers, on, dashboard=dashboard),
    ):
        if strategy is None:
            evaluated = evaluating.evaluate_project(opened, learner or (), folds)
        else:
            names = [name.strip() for name in strategy.split(",") if name.strip()]
            settings = changed(opened, options | {"learner": "plm"})
            each = [replace(settings, strategy=name) for name in names]
            require_effect(opened, each, options)
            evaluated = evaluating.evaluate_strategies(opened, names, settings, folds)
    show_evaluated(evaluated, as_json=as_json, everything=everything)
