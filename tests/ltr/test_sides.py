"""Do given items score as a search scores them, over one field and over several?"""

import numpy as np
import pytest

from classmark.index import kernels_models as fast
from classmark.index.models import MODELS, Prepared
from classmark.index.search import Searcher
from classmark.ltr.features import Side
from classmark.problems import Mistake
from oracles import models as slow
from oracles.searched import NAMES, counts_of, field_from

QUERY = {NAMES[2]: 2.0, NAMES[0]: 1.0, NAMES[7]: 1.0, "absent": 1.0}
PARAMETERS = {"k1": 0.9, "b": 0.3, "lambda": 0.6, "mu": 50.0, "c": 2.5}


@pytest.fixture(scope="module")
def alive():
    return np.random.default_rng(1).random(40) < 0.8


def changed(model):
    known = MODELS[model].parameters
    return {key: value for key, value in PARAMETERS.items() if key in known}


@pytest.mark.parametrize("model", list(MODELS))
def test_items_score_as_a_search_scores_them(model, alive):
    field = field_from(counts_of(3, 40, 12), alive)
    hits = Searcher(field).search(QUERY, 40, model, **changed(model))
    items = np.array([hit.number for hit in hits[::-1]])
    side = Side([Prepared(field)])
    scores = side.scores(side.matches(QUERY, items), items, (model, changed(model)))
    assert len(hits) > 15
    np.testing.assert_allclose(scores, [hit.score for hit in hits[::-1]], atol=1e-12)


@pytest.mark.parametrize("model", [name for name in MODELS if name != "cosine"])
def test_several_fields_score_as_one_text_of_them(model, alive):
    title, body = counts_of(5, 40, 12, 0.1), counts_of(3, 40, 12)
    whole = field_from(title + body, alive)
    hits = Searcher(whole).search(QUERY, 40, model, **changed(model))
    items = np.array([hit.number for hit in hits])
    side = Side([Prepared(field_from(title, alive)), Prepared(field_from(body, alive))])
    scores = side.scores(side.matches(QUERY, items), items, (model, changed(model)))
    np.testing.assert_allclose(scores, [hit.score for hit in hits], atol=1e-12)


def test_matches_count_terms_of_items():
    counts = np.array([[2, 0, 1], [0, 3, 0], [1, 1, 0]])
    side = Side([Prepared(field_from(counts)), Prepared(field_from(counts))])
    found = side.matches(
        {NAMES[1]: 2.0, "absent": 1.0, NAMES[0]: 1.0}, np.array([2, 0])
    )
    assert found.terms == (NAMES[1], NAMES[0])
    assert found.weights.tolist() == [2.0, 1.0]
    assert found.df.tolist() == [2, 2]
    assert found.cf.tolist() == [8, 6]
    assert found.tf.tolist() == [[2, 0], [2, 4]]
    assert side.lengths(np.array([2, 0])).tolist() == [4, 6]


def test_nothing_known_scores_nothing():
    side = Side([Prepared(field_from(np.array([[1, 2], [0, 1]])))])
    items = np.array([0, 1])
    found = side.matches({"absent": 1.0}, items)
    assert found.tf.shape == (0, 2)
    assert side.scores(found, items, ("bm25", {})).tolist() == [0.0, 0.0]


def test_sides_refuse():
    field = Prepared(field_from(np.array([[1, 2], [0, 1]])))
    with pytest.raises(Mistake, match="fields is empty"):
        Side([])
    side, items = Side([field, field]), np.array([0])
    with pytest.raises(Mistake, match="cosine needs the norms of one field"):
        side.scores(side.matches(QUERY, items), items, ("cosine", {}))
    with pytest.raises(Mistake, match="choose one of"):
        side.scores(side.matches(QUERY, items), items, ("bm26", {}))


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda m: m.name)
def test_the_kernel_adds_the_parts(model):
    rng = np.random.default_rng(0)
    world = np.array([50.0, 900.0, 18.0, 0.4, 0.5, 0.5])
    tf = rng.integers(0, 4, (3, 8)).astype(float)
    x, terms = rng.uniform(5, 9, 8), (rng.uniform(0.1, 2, 3), rng.uniform(0.1, 0.9, 3))
    ours, theirs = np.empty(8), np.empty(8)
    fast.score_items(model.code, world, terms, tf, x, ours)
    slow.score_items(model.code, world, terms, tf, x, theirs)
    np.testing.assert_allclose(ours, theirs)
