"""A learned order is kept, opened again, and refuses an index that is not its own."""

from dataclasses import replace

import numpy as np
import pytest

from classmark import MeaningFacts
from classmark.evaluation.retrieval import tally
from classmark.index.index import Index
from classmark.ltr.features import (
    PairFeatures,
    Recipe,
    Reranker,
    minmax,
    open_reranker,
    save_reranker,
)
from classmark.ltr.training import learner_of
from classmark.problems import DamagedFolder, Mistake

ROWS = [
    {"id": str(at), "title": f"bee {at}", "body": "hive " * at} for at in range(1, 6)
]
RECIPE = Recipe({"jm": {"lambda": 0.3}, "bm25": {}}, feedback=())


@pytest.fixture
def index(tmp_path):
    return Index.build(tmp_path / "index", ROWS)


@pytest.fixture
def ranker(index):
    names = PairFeatures(index, RECIPE).names
    weights = np.linspace(-1, 2, len(names))
    facts = {"learner": "ranking-svm", "z": 1, "a": [0.5]}
    return Reranker(
        "ranking-svm", names, weights, RECIPE, ("bm25", {"b": 0.3}), 50,
        tuple(index.fields), str(index.analyzer), facts=facts,
    )  # fmt: skip


def test_a_ranker_is_the_same_when_opened(ranker, index, tmp_path):
    save_reranker(ranker, tmp_path / "r")
    opened = open_reranker(tmp_path / "r")
    assert opened.names == ranker.names
    assert list(opened.recipe.models) == ["jm", "bm25"]
    assert opened.recipe == ranker.recipe
    assert (opened.first, opened.depth) == (ranker.first, 50)
    assert list(opened.facts.items()) == list(ranker.facts.items())
    raw = opened.features(index).of(tally(["bee", "hive"]), np.arange(5))
    np.testing.assert_array_equal(opened.scores(raw), ranker.scores(raw))


def test_parts_add_up_to_the_score(ranker, index):
    raw = ranker.features(index).of(tally(["bee", "hive"]), np.arange(5))
    parts = ranker.parts(raw)
    assert any(len(each) > 3 for each in parts)
    sums = [sum(each.values()) for each in parts]
    np.testing.assert_allclose(sums, ranker.scores(raw))
    for each in parts:
        sizes = [abs(part) for part in each.values()]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("name", ["ranknet", "rankboost"])
def test_networks_and_thresholds_are_the_same_when_opened(
    ranker, index, tmp_path, name
):
    raw = ranker.features(index).of(tally(["bee", "hive"]), np.arange(5))
    learner = learner_of(name).make(1.0)
    learner.fit(minmax(raw), np.arange(5), ["q"] * 5)
    kept = replace(ranker, learner=name, weights=learner.weights_)
    save_reranker(kept, tmp_path / "r")
    opened = open_reranker(tmp_path / "r")
    np.testing.assert_array_equal(opened.weights, learner.weights_)
    scores = learner.decision_function(minmax(raw))
    np.testing.assert_allclose(opened.scores(raw), scores)
    if name == "ranknet":
        assert not opened.is_sum
        with pytest.raises(Mistake, match="ranknet is no sum of features"):
            opened.parts(raw)
    else:
        sums = [sum(each.values()) for each in opened.parts(raw)]
        np.testing.assert_allclose(sums, scores)


def test_another_index_is_refused(ranker, index, tmp_path):
    ranker.require_fit_for(index)
    other = Index.build(tmp_path / "o", [{"id": "1", "title": "bee"}])
    with pytest.raises(
        Mistake, match=r"over the fields title, body, the index has titl"
    ):
        ranker.require_fit_for(other)
    plain = Index.build(tmp_path / "p", ROWS, analyzer="words|lower")
    with pytest.raises(Mistake, match="was trained over terms of"):
        ranker.require_fit_for(plain)


def test_features_of_another_version_are_refused(ranker, index):
    other = Reranker(
        ranker.learner, ranker.names[:-1], ranker.weights[:-1], ranker.recipe,
        ranker.first, 50, ranker.fields, ranker.analyzer,
    )  # fmt: skip
    with pytest.raises(Mistake, match="features of this version"):
        other.features(index)


def test_trees_are_not_explained(ranker):
    trees = Reranker(
        "lambdamart", ranker.names, np.empty(0), ranker.recipe, ranker.first, 50,
        ranker.fields, ranker.analyzer, "tree",
    )  # fmt: skip
    with pytest.raises(Mistake, match="lambdamart is no sum of features"):
        trees.parts(np.zeros((1, len(ranker.names))))


def test_damage_is_refused(ranker, tmp_path):
    save_reranker(ranker, tmp_path / "r")
    content = bytearray((tmp_path / "r" / "weights.npy").read_bytes())
    content[-1] ^= 1
    (tmp_path / "r" / "weights.npy").write_bytes(content)
    with pytest.raises(DamagedFolder, match="checksum"):
        open_reranker(tmp_path / "r")


def test_weights_that_are_too_few_are_refused(ranker, tmp_path):
    short = Reranker(
        ranker.learner, ranker.names, ranker.weights[1:], ranker.recipe, ranker.first,
        50, ranker.fields, ranker.analyzer,
    )  # fmt: skip
    save_reranker(short, tmp_path / "r")
    with pytest.raises(DamagedFolder, match="weights for"):
        open_reranker(tmp_path / "r")


def test_a_ranker_remembers_which_vectors_it_was_taught_with(ranker, tmp_path):
    facts = MeaningFacts("letters", "0123", 7)
    with_meaning = replace(ranker, recipe=RECIPE._replace(meaning=facts))
    save_reranker(with_meaning, tmp_path / "ranker")
    assert open_reranker(tmp_path / "ranker").recipe.meaning == facts
