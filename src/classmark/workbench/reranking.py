"""Answers in a learned order: the first stage finds them, the ranker orders them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from classmark.index.asking import question
from classmark.index.query_language import Belief, parse
from classmark.index.search import Hit
from classmark.ltr.reranker import Reranker
from classmark.problems import Mistake
from classmark.workbench.rankers import NONE, ranker_number

if TYPE_CHECKING:
    from classmark.workbench.project import Project
    from classmark.workbench.searchable import Searchable
    from classmark.workbench.searching import Wish

Parts = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Ordered:
    """Which ranker orders an answer."""

    number: int
    ranker: Reranker

    @property
    def said(self) -> str:
        """The ranker in words."""
        facts = self.ranker.facts
        return (
            f"ordered by ranker {self.number} ({facts['learner']}, learned from "
            f"{facts['taught']} queries)"
        )


def ranker_for(
    project: Project, held: Searchable, query: str, wish: Wish
) -> Ordered | None:
    """Return the ranker that is to order the answer; None: the model alone does.

    One in service orders what is asked without a model, weights, feedback or prior of
    its own; a query of #operators ranks by beliefs.
    """
    if wish.ranker == NONE:
        return None
    own = [name for name, value in _asked(wish).items() if value]
    beliefs = isinstance(parse(query), Belief)
    if wish.ranker is None:
        current = None if own or beliefs else held.ranker_in_service(project)
        return None if current is None else Ordered(*current)
    if own or beliefs:
        what = own[0] if own else "an #operator"
        raise Mistake(f"--ranker and {what}: both would order the answers: leave one")
    number = ranker_number(wish.ranker)
    return Ordered(number, held.ranker(project, number))


def rerank(
    project: Project, held: Searchable, query: str, ordered: Ordered, wish: Wish
) -> tuple[list[Hit], Parts]:
    """Find the candidates, put them in the ranker's order; equals as they were found.

    Candidates are as many as the ranker was trained with, or as are asked for if more.
    """
    ranker, index = ordered.ranker, held.index
    ranker.require_fit_for(index, f"ranker {ordered.number}")
    links = held.chances(project) if ranker.recipe.pagerank else None
    if ranker.recipe.pagerank and links is None:
        raise Mistake(
            f"ranker {ordered.number} was trained with links, and no document links to "
            "another any more: train one again with classmark rank train"
        )
    model, parameters = ranker.first
    options: dict[str, Any] = dict(parameters)
    asked = question(index, query, model, **options)
    hits = asked.answer(max(ranker.depth, wish.k))
    if not hits:
        return [], {}
    weights = {
        term: max(each.get(term, 0.0) for each in asked.term_weights.values())
        for term in asked.terms()
    }
    numbers = np.array([hit.number for hit in hits], np.int64)
    raw = ranker.features(index, links).of(weights, numbers)
    scores = ranker.scores(raw)
    best = np.argsort(-scores, kind="stable")[: wish.k].tolist()
    found = [Hit(hits[at].id, float(scores[at]), hits[at].number) for at in best]
    if not wish.explain:
        return found, {}
    parts = ranker.parts(raw)
    return found, {hits[at].id: parts[at] for at in best}


def _asked(wish: Wish) -> dict[str, object]:
    return {
        "--model": wish.model,
        "--set": wish.parameters,
        "--weight": wish.weights,
        "--feedback": wish.feedback,
        "--prior": wish.prior,
    }
