"""Candidates, partings, prices, and a learned ranker beside single models."""

import numpy as np
import pytest

from classmark.evaluation.retrieval import judged_queries, run_queries
from classmark.index.index import Index
from classmark.ltr import RankingSVM
from classmark.ltr.features import PairFeatures, Recipe
from classmark.ltr.training import (
    NAMES,
    Candidates,
    DocumentPreference,
    LearnedRanker,
    RankerRecipe,
    Tuned,
    candidates_of,
    choose_price,
    compare,
    fit_preferred,
    learner_of,
    part_queries,
    tune_models,
)
from classmark.problems import Mistake

TEXTS = [("a", "bees hum"), ("b", "bees bees hive"), ("c", "hive honey"), ("d", "tea")]
QUERIES = {"1": "bees", "2": "hive honey", "3": "tea", "4": "wasps", "5": "bees tea"}
QRELS = {
    "1": {"a": 2.0, "b": 1.0},
    "2": {"c": 1.0, "b": 0.0},
    "3": {"d": 1.0},
    "4": {"a": 1.0},
    "5": {"d": 1.0, "a": 1.0},
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    index = Index.build(tmp_path_factory.mktemp("i"), TEXTS)
    return judged_queries(index, QUERIES, QRELS)


@pytest.fixture(scope="module")
def found(asked):
    recipe = Recipe({"bm25": {}, "tf": {}}, feedback=())
    return candidates_of(asked, PairFeatures(asked.searcher, recipe), ("bm25", {}), 2)


def test_candidates_are_the_first_answers_with_their_grades(asked, found):
    run = run_queries(asked, ("bm25", {}))
    for query, block in found.blocks.items():
        assert list(block.ids) == list(run[query])
        judged = QRELS[query]
        assert block.grades.tolist() == [judged.get(id_, 0.0) for id_ in block.ids[:2]]
        assert block.raw.shape == block.rows.shape == (len(block.grades), 12)
    assert found.blocks["1"].teaches
    assert not found.blocks["3"].teaches
    assert not found.blocks["4"].teaches
    assert len(found.blocks["4"].ids) == 0


def test_what_is_not_a_candidate_follows_as_it_was(found):
    block = found.blocks["5"]
    assert len(block.ids) == 3
    first, second, rest = block.ids
    ordered = block.ordered(np.array([0.0, 1.0]))
    assert sorted(ordered, key=ordered.get, reverse=True) == [second, first, rest]
    assert list(block.ordered(np.zeros(2))) == [first, second, rest]


def test_only_queries_that_teach_are_stacked(found):
    X, grades, qid = found.stacked(list(QUERIES))
    assert set(qid) == {q for q in QUERIES if found.blocks[q].teaches}
    assert len(X) == len(grades) == len(qid)
    with pytest.raises(Mistake, match="no query has candidates of two grades"):
        found.stacked(["3", "4"])


def test_letor_rows_are_not_scaled(found):
    rows = found.judged_rows()
    assert rows.qids[:2] == ("1", "1")
    np.testing.assert_array_equal(
        rows.rows.to_scipy().toarray(),
        np.vstack([block.raw for block in found.blocks.values()]),
    )
    empty = Candidates((), found.recipe, {})
    with pytest.raises(Mistake, match="no query has an answer"):
        empty.judged_rows()


def test_queries_are_parted_once_by_their_seed():
    ids = [str(at) for at in range(11)]
    parting = part_queries(ids, 0.5, 3)
    assert sorted(parting.taught + parting.held_out) == sorted(ids)
    assert parting == part_queries(ids, 0.5, 3) != part_queries(ids, 0.5, 4)
    assert len(part_queries(ids, 0.7, 0).taught) == 8
    with pytest.raises(Mistake, match="4 judged queries: a ranker needs at least 5"):
        part_queries(ids[:4])
    with pytest.raises(Mistake, match="share is 0"):
        part_queries(ids, 0.0)


def test_the_price_of_the_best_held_out_order_is_chosen(asked, found):
    """A scorer that is right at one price only, and may not see what it is asked."""
    grades = {
        id(block.rows): block.grades for block in found.blocks.values()
    }  # what only a cheat knows
    seen = []

    def fit(queries, price):
        seen.append((set(queries), price))
        sign = 1.0 if price == 0.1 else -1.0
        return lambda rows: sign * grades[id(rows)]

    price, means = choose_price(asked, found, fit, (1.0, 0.1, 0.01))
    assert price == 0.1
    assert list(means) == [0.01, 0.1, 1.0]
    assert max(means.values()) == means[0.1]
    for part in {frozenset(queries) for queries, _ in seen}:
        assert part < set(asked.queries)
    assert choose_price(asked, found, fit, (5.0,)) == (5.0, {})


def test_models_are_tuned_on_the_queries_given(asked):
    tuned = tune_models(asked, "map", {"bm25": {"b": (0.0, 1.0)}})
    assert set(tuned.models["bm25"]) == {"b"}
    assert tuned.models["jm"] == {}
    assert tuned.choice == (tuned.best, tuned.models[tuned.best])


def test_an_order_is_compared_with_itself(asked):
    run = run_queries(asked, ("bm25", {}))
    compared = compare(asked, {"learned": run, "same": run})
    assert compared.chances == {"same": dict.fromkeys(("ndcg@10", "map", "mrr"), 1.0)}
    assert not compared.is_better("same", "map")


def test_preferences_teach_between_candidates(found):
    first, second = found.blocks["1"].ids
    said = {
        "1": [DocumentPreference(second, first, 2.0), DocumentPreference("d", first)]
    }
    learner = RankerRecipe("ranking-svm", lambda C: RankingSVM(C=C))
    ranker = fit_preferred(found, learner, said, ["1", "2"], 10.0)
    scores = ranker.decision_function(found.blocks["1"].rows)
    assert scores[1] > scores[0]
    with pytest.raises(Mistake, match="no click prefers one candidate to another"):
        fit_preferred(found, learner, said, ["2"], 1.0)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "lambdamart"])
def test_every_learner_learns(found, name):
    learner = learner_of(name)
    X, grades, qid = found.stacked(list(QUERIES))
    ranker = learner.make(1.0).fit(X, grades, qid)
    assert np.isfinite(ranker.decision_function(X)).all()
    tuned = Tuned({"bm25": {}}, "bm25", 0.5)
    learned = LearnedRanker(ranker, found, tuned, 1.0, {}, None)
    shares = learned.importance([query for query in QUERIES if query != "4"])
    assert set(shares) == set(found.names)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert min(shares.values()) >= 0.0
