"""Rankers of LETOR files are kept, and score what they have not seen."""

import numpy as np
import pytest

from classmark.formats.svmlight import read_letor, write_letor
from classmark.ltr import (
    LambdaMART,
    LetorRanker,
    RankBoost,
    RankingSVM,
    RankNet,
    normalise_per_query,
)
from classmark.problems import Mistake
from classmark.workbench.search.letor_files import learn_file, score_file
from classmark.workbench.search.train_ranker import (
    RankerTraining,
)


def rows(n=120, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)) * [1.0, 9.0, 0.1, 3.0]
    y = (X[:, 0] > 0).astype(float) + (X[:, 1] > 0)
    return X, y, [f"q{at // 8}" for at in range(n)]


@pytest.mark.parametrize(
    ("name", "ranker"),
    [
        ("ranking-svm", RankingSVM()),
        ("ranknet", RankNet(max_iter=5)),
        ("rankboost", RankBoost(5)),
        pytest.param(
            "lambdamart",
            LambdaMART(n_estimators=3, min_data_in_leaf=2),
            marks=pytest.mark.skipif(
                not LambdaMART.installed(), reason="needs LightGBM"
            ),
        ),
    ],
)
def test_what_is_opened_scores_as_what_was_fitted(tmp_path, name, ranker):
    X, y, qid = rows()
    scaled = normalise_per_query(X, qid)
    ranker.fit(scaled, y, qid)
    LetorRanker.of(ranker, name, facts={"why": "a test"}).save(tmp_path / "kept")
    opened = LetorRanker.open(tmp_path / "kept")
    np.testing.assert_allclose(opened.scores(X, qid), ranker.decision_function(scaled))
    assert (opened.learner, opened.facts) == (name, {"why": "a test"})
    with pytest.raises(Mistake, match="4 were learned"):
        opened.scores(X[:, :3], qid)


def test_a_file_is_learned_from_and_another_scored(tmp_path):
    from classmark.arrays import rows_from
    from classmark.formats.svmlight import JudgedRows

    for seed, name in enumerate(("known", "new")):
        X, y, qid = rows(seed=seed)
        ids = tuple(f"d{at}" for at in range(len(y)))
        write_letor(JudgedRows(rows_from(X), y, tuple(qid), ids), tmp_path / name)
    options = RankerTraining(prices=(0.01,))
    learn_file(tmp_path / "known", options, tmp_path / "kept")
    table = score_file(tmp_path / "kept", tmp_path / "new", tmp_path / "scores")
    written = [float(line) for line in (tmp_path / "scores").read_text().split()]
    again = read_letor(tmp_path / "new")
    opened = LetorRanker.open(tmp_path / "kept")
    np.testing.assert_array_equal(written, opened.scores(again.rows, again.qids))
    (row,) = table.rows
    assert row["rows"] == 120
    assert row["ndcg@10"] > 0.9
