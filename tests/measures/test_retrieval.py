import json
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RR, P, R, Rprec, Success, nDCG
from sklearn.metrics import ndcg_score

from classmark.measures import parse, retrieval, retrieval_per_query
from classmark.problems import Mistake

GOLDEN = Path(__file__).parent.parent / "golden" / "measures.json"
PEERS = {
    "map": AP,
    "AP@7": AP @ 7,
    "mrr": RR,
    "wta": Success @ 1,
    "p@10": P @ 10,
    "r@10": R @ 10,
    "r@3": R @ 3,
    "prbep": Rprec,
}
GAINED = {"ndcg@10": nDCG @ 10, "ndcg@3": nDCG @ 3, "ndcg": nDCG}


def collection(seed, *, tied):
    """Twelve queries: one without relevant documents, one missing from the run."""
    rng = np.random.default_rng(seed)
    names = [f"d{i:02}" for i in range(40)]
    run, qrels = {}, {}
    for q in range(12):
        judged = rng.choice(names, 20, replace=False)
        qrels[f"q{q}"] = {str(d): int(rng.integers(-1, 5)) for d in judged}
        found = sorted(rng.choice(names, int(rng.integers(1, 35)), replace=False))
        scores = rng.permutation(len(found)).astype(float)
        scores = np.round(scores / 6) if tied else scores
        # trec_eval puts the last document id first among equal scores
        run[f"q{q}"] = {
            str(d): float(s) for d, s in zip(found[::-1], scores, strict=True)
        }
    qrels["q3"] = dict.fromkeys(qrels["q3"], 0)
    del run["q5"]
    return run, qrels


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_measures_equal_trec_eval(seed, tied):
    run, qrels = collection(seed, tied=tied)
    expected = ir_measures.calc_aggregate([*PEERS.values()], qrels, run)
    assert retrieval(run, qrels, [*PEERS]) == pytest.approx(
        {name: expected[measure] for name, measure in PEERS.items()}
    )


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_ndcg_equals_trec_eval_given_the_gains_as_grades(seed, tied):
    run, qrels = collection(seed, tied=tied)
    gains = {
        query: {doc: 2 ** max(grade, 0) - 1 for doc, grade in judged.items()}
        for query, judged in qrels.items()
    }
    expected = ir_measures.calc_aggregate([*GAINED.values()], gains, run)
    assert retrieval(run, qrels, [*GAINED]) == pytest.approx(
        {name: expected[measure] for name, measure in GAINED.items()}
    )


def test_ndcg_equals_scikit_learn():
    rng = np.random.default_rng(3)
    grades, scores = rng.integers(0, 5, size=(6, 15)), rng.random((6, 15))
    run = {
        str(q): {str(d): s for d, s in enumerate(row)} for q, row in enumerate(scores)
    }
    qrels = {
        str(q): {str(d): int(g) for d, g in enumerate(row)}
        for q, row in enumerate(grades)
    }
    expected = ndcg_score(2.0**grades - 1, scores, k=5)
    assert retrieval(run, qrels, ["ndcg@5"])["ndcg@5"] == pytest.approx(expected)


def test_the_course_example():
    golden = json.loads(GOLDEN.read_text())["ndcg_course"]
    grades = golden["grades"]
    run = {"q": {f"d{i}": -i for i in range(4)}}
    judged = {f"d{i}": grade for i, grade in enumerate(grades)}
    judged |= {f"missed{i}": grade for i, grade in enumerate(golden["not_retrieved"])}
    names = [f"nDCG@{k}" for k in range(1, 5)]
    result = [*retrieval(run, {"q": judged}, names).values()]
    assert result == pytest.approx(golden["ndcg"], abs=0.005)
    ideal = np.cumsum(np.array([31, 15, 15, 15]) / np.log2([2, 3, 4, 5]))
    assert result * ideal == pytest.approx(golden["dcg"], abs=0.05)


def test_ties_keep_the_order_of_the_run():
    qrels = {"q": {"a": 1}}
    assert retrieval({"q": {"a": 1, "b": 1}}, qrels, ["wta"]) == {"wta": 1}
    assert retrieval({"q": {"b": 1, "a": 1}}, qrels, ["wta"]) == {"wta": 0}


def test_values_of_queries():
    run, qrels = collection(1, tied=False)
    names = ["map", "nDCG@10"]
    each, mean = retrieval_per_query(run, qrels, names), retrieval(run, qrels, names)
    for name in names:
        assert [*each[name]] == [*qrels]
        assert np.mean([*each[name].values()]) == pytest.approx(mean[name])
        assert each[name]["q3"] == each[name]["q5"] == 0


def test_names_are_kept_as_given_and_unjudged_queries_left_out():
    run = {"q": {"a": 1.0}, "unjudged": {"b": 1.0}}
    result = retrieval(run, {"q": {"a": 1}}, ["MAP", parse("p@1")])
    assert result == {"MAP": 1.0, "P@1": 1.0}


def test_mistakes_are_named():
    with pytest.raises(Mistake, match="qrels is empty"):
        retrieval({"q": {"a": 1.0}}, {}, ["map"])
    with pytest.raises(Mistake, match="run, query 'q': a value is not a number"):
        retrieval({"q": {"a": float("nan")}}, {"p": {"a": 1}, "q": {"a": 1}}, ["map"])
    with pytest.raises(Mistake, match="Coverage is not defined for this kind"):
        retrieval({"q": {"a": 1.0}}, {"q": {"a": 1}}, ["coverage"])
