"""The weight of meaning beside words, learned from judged queries."""

import numpy as np
import pytest

from classmark import DenseIndex, Index
from classmark.evaluation.retrieval import (
    best_of,
    hybrid_questions,
    judged_queries,
    learn_weight,
    measure,
    run_hybrid,
    run_queries,
)
from classmark.index.fusion import fuse
from classmark.ltr.training import Tuned, gather
from classmark.problems import Mistake

TEXTS = [("a", "bees bees"), ("b", "bees"), ("c", "wasps"), ("d", "bees sing")]
QRELS = {"1": {"c": 1.0}, "2": {"c": 1.0}}


class Fixed:
    """The third document means what every query does, the others the contrary."""

    def encode(self, texts):
        return [[1.0 if "wasps" in t or t == "bees?" else -1.0, 0.5] for t in texts]


@pytest.fixture
def judged(tmp_path):
    index = Index.build(tmp_path / "index", TEXTS)
    return judged_queries(index, {"1": "bees?", "2": "wasps bees"}, QRELS)


@pytest.fixture
def dense():
    return DenseIndex.of([text for _, text in TEXTS], Fixed())


def test_a_weight_of_0_is_words_alone(judged, dense):
    run = run_hybrid(hybrid_questions(judged, dense), 0.0, 1)
    words = run_queries(judged, ("bm25", {}), 1)
    assert {q: list(each) for q, each in run.items()} == {
        q: list(each) for q, each in words.items()
    }


def test_the_weight_that_is_learned_is_the_smallest_of_the_best(judged, dense):
    questions = hybrid_questions(judged, dense)
    trials = learn_weight(judged, questions, (0.0, 0.1, 1.0, 5.0))
    for trial in trials:
        run = run_hybrid(questions, trial.parameters["weight"], 10)
        assert trial.value == pytest.approx(
            measure(judged, run, ["ndcg@10"])["ndcg@10"].mean()
        )
    assert best_of(trials) == trials[2]
    assert trials[2].value == 1.0
    assert trials[0].value < 1.0


def test_no_weight_is_reciprocal_ranks(judged, dense):
    questions = hybrid_questions(judged, dense)
    run = run_hybrid(questions, None)
    by_words = list(run_queries(judged, ("bm25", {}))["2"])
    near, _ = dense.find(questions["2"].vector, 4)
    items, _ = fuse([np.array(["abcd".index(name) for name in by_words]), near])
    assert list(run["2"]) == ["abcd"[item] for item in items]


def test_vectors_are_a_feature_of_the_candidates(judged, dense):
    tuned = Tuned({"bm25": {}}, "bm25", 0.0)
    candidates = gather(judged, tuned, dense=dense)
    assert candidates.names[-1] == "meaning"
    assert candidates.recipe.meaning == dense.facts
    assert gather(judged, tuned).names == candidates.names[:-1]
    with pytest.raises(Mistake, match="source"):
        gather(judged, tuned, dense=DenseIndex(np.eye(4)))
