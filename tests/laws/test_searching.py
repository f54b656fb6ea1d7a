"""Laws of searching: pruned = exhaustive, explained = scored, deleted = never there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.index.kernels_impacts import WINDOW
from classmark.index.models import MODELS, REPEATED
from classmark.index.search import Searcher, log_prior
from oracles.searched import NAMES, counts_of, field_from, paper_ranking

seeds = st.integers(0, 2**32 - 1)
models = st.sampled_from(sorted(MODELS))
VALUES = {
    "k1": st.floats(0, 3),
    "b": st.floats(0, 1),
    "delta": st.floats(0, 2),
    "p": st.floats(0.05, 0.95),
    "lambda": st.floats(0.01, 1),
    "mu": st.floats(0.5, 3000),
    "c": st.floats(0.1, 10),
}


@st.composite
def choices(draw):
    """Draw a model with parameters."""
    name = draw(models)
    known = MODELS[name].parameters
    given_ = {key: draw(VALUES[key]) for key in known if draw(st.booleans())}
    return name, given_


def sparse_field(rng, n, width, deleted):
    """Draw a field of many documents, with lists of many blocks and of few postings."""
    from scipy import sparse

    chance = rng.choice([0.001, 0.02, 0.2, 0.6], width)
    columns = [np.flatnonzero(rng.random(n) < p) for p in chance]
    rows = np.concatenate(columns)
    counts = rng.geometric(rng.choice([0.2, 0.6, 1.0]), len(rows))
    owner = np.repeat(np.arange(width), [len(column) for column in columns])
    counts *= rng.choice([1, 1, 1, 30], len(rows))
    matrix = sparse.csr_array((counts.astype(float), (rows, owner)), shape=(n, width))
    return field_from(matrix, rng.random(n) < 0.7 if deleted else None)


def ways(searcher, terms, k, choice, prior=None):
    """Answer by accumulators, by windows, by what is cheaper of both, by impacts."""
    prepared = next(iter(searcher.fields.values()))
    key = (choice[0], *choice[1].items())
    without = prepared.plan(*choice).ready
    plan = prepared.ask_plan(choice, REPEATED)
    for way in (0, 1, 2, 3):
        if way != 1 or prunable(prepared, plan, terms):
            ready = plan.ready if way == 3 else without
            ready = ready._replace(strategy=way if without.strategy or way == 3 else 0)
            prepared.plans[key] = plan._replace(ready=ready)
            yield searcher.search(terms, k, choice[0], prior=prior, **choice[1])


def prunable(prepared, plan, terms):
    asked = prepared.ask(terms, (plan.model.name, {}))
    return plan.ready.strategy and (asked.scoring.a >= 0).all()


@given(
    seeds,
    choices(),
    st.sampled_from([1, 2, 10, 300]),
    st.sampled_from([40, 4096, 9000]),
    st.booleans(),
    st.booleans(),
)
def test_pruned_is_exhaustive_to_the_last_bit(seed, choice, k, n, deleted, prior):
    rng = np.random.default_rng(seed)
    searcher = Searcher(sparse_field(rng, n, 6, deleted))
    terms = [NAMES[t] for t in rng.integers(0, 7, rng.integers(0, 6))]
    known = log_prior(rng.random(n) + 1e-9, 0.3) if prior else None
    answers = list(ways(searcher, terms, k, choice, known))
    for answer in answers[1:]:
        assert answer == answers[0]
    ranked = [(-hit.score, hit.number) for hit in answers[0]]
    assert ranked == sorted(ranked)


@pytest.mark.parametrize("deleted", [False, True])
@pytest.mark.parametrize("k", [1, 10, 200])
@pytest.mark.parametrize("model", ["bm25", "bm25+", "jm", "pl2", "idf"])
def test_impacts_of_many_windows_are_exhaustive_to_the_last_bit(model, k, deleted):
    rng = np.random.default_rng(k)
    searcher = Searcher(sparse_field(rng, 2 * WINDOW + 999, 9, deleted))
    for asked in ([0, 1], [2, 3, 3], [4, 5, 6, 7, 8], range(9)):
        terms = [NAMES[t] for t in asked]
        exhaustive, *others = ways(searcher, terms, k, (model, {}))
        assert exhaustive
        for answer in others:
            assert answer == exhaustive


def test_a_term_that_only_other_shards_have_adds_nothing():
    """Statistics of a shard are those of all items: a list may be empty."""
    counts = counts_of(3, 300, 12, 0.4)
    counts[:, [5, 11]] = 0
    field = field_from(counts)
    field.df, field.cf = field.df + np.uint32(7), field.cf + 9
    searcher = Searcher(field)
    for asked in ([1, 2], [5, 4], [6, 11, 10], [5, 11], [11]):
        terms = [NAMES[t] for t in asked]
        exhaustive, *others = ways(searcher, terms, 300, ("bm25", {}))
        assert bool(exhaustive) == bool(set(asked) - {5, 11})
        assert others == [exhaustive] * len(others)


@given(seeds, st.sampled_from([1e-250, 1e-6, 1.0, 1e9, 1e250]), st.booleans())
def test_impacts_hold_for_any_weights(seed, scale, many):
    rng = np.random.default_rng(seed)
    searcher = Searcher(field_from(counts_of(seed, 600, 40, 0.4)))
    numbers = rng.permutation(40)[: 35 if many else 3]
    weights = scale * rng.lognormal(0, 3, len(numbers))
    terms = {NAMES[t]: w for t, w in zip(numbers, weights.tolist(), strict=True)}
    exhaustive, *others = ways(searcher, terms, 10, ("bm25", {}))
    for answer in others:
        assert answer == exhaustive


@given(seeds, choices(), st.integers(0, 30), st.booleans())
def test_search_is_the_papers_ranking(seed, choice, k, deleted):
    rng = np.random.default_rng(seed)
    counts = counts_of(seed, 25, 6)
    alive = rng.random(25) < 0.7 if deleted else np.ones(25, bool)
    query = {int(t): int(rng.integers(1, 3)) for t in rng.permutation(6)[:3]}
    tokens = [NAMES[t] for t, times in query.items() for _ in range(times)]
    name, parameters = choice
    searcher = Searcher(field_from(counts, alive if deleted else None))
    hits = searcher.search(tokens, k, name, **parameters)
    expected = paper_ranking(name, counts, alive, query, parameters)
    assert len(hits) == min(k, len(expected))
    scores = {item: score for score, item in expected}
    for hit, (score, _) in zip(hits, expected, strict=False):
        assert hit.score == pytest.approx(score, rel=1e-8, abs=1e-10)
        assert hit.score == pytest.approx(scores[hit.number], rel=1e-8, abs=1e-10)


@given(seeds, choices(), st.booleans())
def test_parts_add_up_to_the_score(seed, choice, prior):
    rng = np.random.default_rng(seed)
    fields = {
        name: field_from(counts_of(seed + i, 30, 5)) for i, name in enumerate("ab")
    }
    terms = [NAMES[t] for t in rng.integers(0, 6, 4)]
    name, parameters = choice
    extras = {"fields": {"a": 2.0, "b": 0.5}}
    extras["prior"] = log_prior(rng.random(30) + 0.01) if prior else None
    searcher = Searcher(fields)
    hits = {
        h.number: h for h in searcher.search(terms, 30, name, **extras, **parameters)
    }
    for item in range(30):
        found = searcher.explain(terms, item, name, **extras, **parameters)
        assert sum(part.part for part in found.parts) + found.own == pytest.approx(
            found.score, abs=1e-12
        )
        assert found.found == (item in hits)
        if found.found:
            assert found.score == pytest.approx(hits[item].score, rel=1e-9, abs=1e-11)


@given(seeds, choices())
def test_a_fraction_as_field_weight_scales_its_scores(seed, choice):
    field = field_from(counts_of(seed, 30, 5))
    searcher, (name, parameters) = Searcher({"a": field, "b": field}), choice
    terms = ["t000", "t003", "t003"]
    alone = Searcher(field).search(terms, 30, name, **parameters)
    both = searcher.search(terms, 30, name, fields={"a": 1.0, "b": 2.5}, **parameters)
    scores = {hit.number: hit.score for hit in both}
    assert set(scores) == {hit.number for hit in alone}
    for hit in alone:
        assert scores[hit.number] == pytest.approx(3.5 * hit.score, rel=1e-9, abs=1e-9)


@given(seeds, choices())
def test_deleted_items_were_never_there(seed, choice):
    rng = np.random.default_rng(seed)
    counts = counts_of(seed, 30, 6)
    alive = rng.random(30) < 0.6
    numbers = np.flatnonzero(alive)
    terms = ["t002", "t000", "t005", "t002"]
    name, parameters = choice
    left = Searcher(field_from(counts, alive)).search(terms, 9, name, **parameters)
    built = Searcher(field_from(counts[alive])).search(terms, 9, name, **parameters)
    assert len(left) == len(built)
    scores = {int(numbers[hit.number]): hit.score for hit in built}
    for hit, other in zip(left, built, strict=True):
        assert hit.score == pytest.approx(other.score, rel=1e-9, abs=1e-12)
        assert alive[hit.number]
    top = {hit.number for hit in left if hit.score > left[-1].score + 1e-9}
    assert top <= set(scores)


@given(seeds, choices(), st.integers(0, 12))
def test_many_queries_are_answered_as_one_by_one(seed, choice, k):
    rng = np.random.default_rng(seed)
    searcher, (name, parameters) = Searcher(field_from(counts_of(seed, 30, 6))), choice
    queries = [[NAMES[t] for t in rng.integers(0, 7, m)] for m in (3, 0, 1, 5)]
    one_by_one = [searcher.search(q, k, name, **parameters) for q in queries]
    assert searcher.search_many(queries, k, name, **parameters) == one_by_one
    weighed = [dict.fromkeys(query, 1.5) for query in queries]
    assert searcher.search_many(weighed, k, name, **parameters) == [
        searcher.search(q, k, name, **parameters) for q in weighed
    ]


@given(seeds, st.integers(0, 40), st.booleans(), st.booleans())
def test_search_vector_is_the_dot_product(seed, k, every, deleted):
    rng = np.random.default_rng(seed)
    counts = counts_of(seed, 30, 12)
    alive = rng.random(30) < 0.7 if deleted else np.ones(30, bool)
    n, df = alive.sum(), (counts[alive] > 0).sum(axis=0)
    X = counts * (np.log((1 + n) / (1 + df)) + 1)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    X = np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)
    w = rng.normal(size=12) * (rng.random(12) < 0.6) * (df > 0)
    query = {NAMES[t]: float(w[t]) for t in range(12)} | {"absent": 3.0}
    searcher = Searcher(field_from(counts, alive if deleted else None))
    hits = searcher.search_vector(query, k, every=every)
    sharing = alive & (every | ((counts > 0) @ (w != 0)))
    scores = (X @ w)[sharing]
    assert [hit.score for hit in hits] == pytest.approx(
        sorted(scores, reverse=True)[:k], abs=1e-12
    )
    for hit in hits:
        assert sharing[hit.number]
        assert hit.score == pytest.approx(X[hit.number] @ w, abs=1e-12)
