"""Are accumulators, heaps, windows and lookups what the slow versions say?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.index import kernels_impacts as impacts
from classmark.index import kernels_pruning as finishing
from classmark.index import kernels_pruning as pruning
from classmark.index import kernels_search as finding
from classmark.index import kernels_topk as fast
from classmark.index import kernels_topk as heaps
from classmark.index import kernels_vectors as vectors
from classmark.index.kernels_models import Final, Heap, Scoring
from classmark.index.models import MODELS, REPEATED, Prepared
from oracles import finding as slow_finding
from oracles import finishing as slow_finishing
from oracles import heaps as slow_heaps
from oracles import impacts as slow_impacts
from oracles import pruning as slow_pruning
from oracles import topk as slow
from oracles import vectors as slow_vectors
from oracles.searched import counts_of, field_from

seeds = st.integers(0, 2**32 - 1)
WORLD = np.array([50.0, 900.0, 18.0, 0.8, 0.5, 0.5])


def postings(seed, n=60):
    rng = np.random.default_rng(seed)
    items = np.flatnonzero(rng.random(n) < 0.5).astype(np.uint32)
    counts = rng.integers(1, 9, len(items)).astype(np.uint32)
    acc = np.where(rng.random(n) < 0.5, -0.0, rng.normal(size=n))
    return items, counts, rng.uniform(0.2, 4.0, n), acc


def scoring_of(code, items, counts, x, a=0.7, b=0.4):
    """The scoring of a query of one term."""
    terms = np.array([[0, len(items)]]), np.array([a]), np.array([b])
    return Scoring(code, WORLD, x, items, counts, *terms)


def empty_heap(k):
    return Heap(np.zeros(k, np.int64), np.zeros(k))


def test_untouched_is_minus_zero():
    for value in (0.0, -0.0, 1.0, -1e-300):
        assert fast.is_untouched(value) == slow.is_untouched(value)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3))), st.integers(0, 5))
def test_the_heap_keeps_the_best(entries, k):
    ours, theirs = empty_heap(k), empty_heap(k)
    size = other = 0
    for d, s in entries:
        size = heaps.push(ours, size, d, float(s))
        other = slow_heaps.push(theirs, other, d, float(s))
        assert heaps.bar_of(ours, size) == slow.bar_of(theirs, other)
    heaps.sort_heap(ours, size)
    slow_heaps.sort_heap(theirs, other)
    assert size == other
    for mine, plain in zip(ours, theirs, strict=True):
        assert mine[:size].tolist() == plain[:size].tolist()


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda m: m.name)
@given(seed=seeds)
def test_parts_are_added(model, seed):
    items, counts, x, acc = postings(seed)
    x = x * 100 if model.name == "dph" else x
    plain, listed, noted = acc.copy(), acc.copy(), np.zeros((2, 70), np.uint32)
    end = len(items) - 1 if len(items) else 0
    scoring = scoring_of(model.code, items, counts, x)
    assert fast.is_ratio(scoring, 0) == slow.is_ratio(scoring, 0)
    fast.add_parts(scoring, 0, 0, end, acc)
    n = fast.list_parts(scoring, 0, 0, end, listed, noted[0], 2)
    assert n == slow.list_parts(scoring, 0, 0, end, plain, noted[1], 2)
    np.testing.assert_array_equal(noted[0, 2:n], noted[1, 2:n])
    np.testing.assert_array_equal(acc, listed)
    np.testing.assert_allclose(acc, plain, rtol=1e-9, atol=1e-12)


@given(seeds)
def test_inner_loops(seed):
    items, counts, x, acc = postings(seed)
    plain, listed, noted = acc.copy(), acc.copy(), np.zeros((2, 70), np.uint32)
    term = (scoring_of(0, items, counts, x), 0, 0, len(items))
    fast.add_parts(*term, acc)
    n = fast.list_parts(*term, listed, noted[0], 0)
    m = slow.list_parts(*term, plain, noted[1], 0)
    assert noted[0, :n].tolist() == noted[1, :m].tolist()
    np.testing.assert_array_equal(acc, listed)
    np.testing.assert_allclose(acc, plain)
    squares, others = np.zeros(60), np.zeros(60)
    begins, ends = np.array([0, 0]), np.array([len(items), len(items) // 2])
    lists = (items, counts, begins, ends)
    vectors.square_norms(np.array([2.0, 0.5]), lists, squares)
    slow_vectors.square_norms([2.0, 0.5], lists, others)
    np.testing.assert_allclose(squares, others)


@given(seeds, st.integers(0, 70), st.booleans(), st.booleans())
def test_selection(seed, k, deleted, owned):
    rng = np.random.default_rng(seed)
    acc = np.where(rng.random(60) < 0.4, -0.0, rng.integers(-2, 3, 60) * 0.5 + 0.0)
    acc = np.where(np.signbit(acc) & (acc == 0), -0.0, acc)
    final = Final(
        rng.random(60) < 0.7 if deleted else np.empty(0, bool),
        rng.integers(0, 3, 60) * 1.0 if owned else np.empty(0),
        0.5,
        -1.0,
    )
    touched = rng.permutation(np.flatnonzero(~(np.signbit(acc) & (acc == 0))))
    touched = np.concatenate([touched, touched[:3]]).astype(np.uint32)
    found = []
    for room in (fast, slow):
        state, out = acc.copy(), empty_heap(k)
        n = room.select_all(state, False, final, out)
        found.append([part[:n].tolist() for part in out])
        state = acc.copy()
        n = room.select_listed(state, touched, len(touched), final, 0, out)
        heaps.sort_heap(out, n)
        found.append([part[:n].tolist() for part in out])
        assert np.signbit(state).all()
        assert not state.any()
    for other in found[1:]:
        assert other == found[0]


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda m: m.name)
@given(seed=seeds, k=st.integers(0, 40), deleted=st.booleans(), owned=st.booleans())
def test_the_last_list_finishes(model, seed, k, deleted, owned):
    items, counts, x, acc = postings(seed)
    rng = np.random.default_rng(seed)
    x = x * 100 if model.name == "dph" else x
    final = Final(
        rng.random(60) < 0.7 if deleted else np.empty(0, bool),
        rng.integers(0, 3, 60) * 1.0 if owned else np.empty(0),
        0.5,
        -1.0,
    )
    scoring = scoring_of(model.code, items, counts, x)
    found = []
    for room in (fast, slow):
        state, heap = acc.copy(), empty_heap(k)
        n = room.finish_parts(scoring, 0, state, final, 0, heap)
        heaps.sort_heap(heap, n)
        assert not state[items].any()
        found.append([heap[0][:n].tolist(), heap[1][:n].round(9).tolist()])
    assert found[0][1] == pytest.approx(found[1][1], abs=1e-8)
    assert len(set(found[0][0])) == len(found[1][0])


@given(seeds, st.integers(0, 60))
def test_selection_of_every_item(seed, k):
    rng = np.random.default_rng(seed)
    acc = np.where(rng.random(40) < 0.5, -0.0, rng.integers(-1, 2, 40) * 1.0)
    final, found = Final(np.empty(0, bool), np.empty(0), 1.0, 0.0), []
    for room in (fast, slow):
        out = empty_heap(k)
        n = room.select_all(acc.copy(), True, final, out)
        found.append([part[:n].tolist() for part in out])
    assert found[0] == found[1]
    assert len(found[0][0]) == min(k, 40)


@given(st.lists(st.integers(0, 60), unique=True), st.integers(0, 61), st.data())
def test_gallop(items, d, data):
    array = np.array(sorted(items), np.uint32)
    end = data.draw(st.integers(0, len(array)))
    at = data.draw(st.integers(0, end))
    assert fast.gallop(array, at, end, d) == slow.gallop(array, at, end, d)


def test_block_statistics():
    field = field_from(counts_of(4, 700, 6, 0.4))
    ours = Prepared(field).postings
    theirs = [np.zeros_like(ours.max_counts), np.zeros_like(ours.min_lengths)]
    firsts = ours.table[:, pruning.FIRST_BLOCK]
    slow_pruning.block_statistics(field.whole, field.lengths, firsts, *theirs)
    np.testing.assert_array_equal(ours.max_counts, theirs[0])
    np.testing.assert_array_equal(ours.min_lengths, theirs[1])
    assert len(ours.max_counts) > 6


@pytest.mark.parametrize("way", [0, 1, 2])
def test_finding_is_the_slow_way(way):
    field = Prepared(field_from(counts_of(5, 300, 8, 0.4)))
    plan = field.plan("dirichlet", {"mu": 20.0})
    query = field.located(["t003", "t000", "t003"])[0]
    found = []
    for room in (finding, slow_finding):
        scratch = finding.empty_scratch(300)
        shared = (field.postings, plan.ready._replace(strategy=way), scratch)
        out, sizes = empty_heap(24), np.array([4, 4])
        assert room.find(np.tile(query, 2), sizes, *shared, out) == 12
        assert sizes.tolist() == [12, 12]
        np.testing.assert_array_equal(out[0][:12], out[0][12:])
        single = empty_heap(12)
        assert room.find_one(query, *shared, single) == 12
        np.testing.assert_array_equal(single.items, out[0][12:])
        found.append(out)
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1])


@pytest.mark.parametrize("model", ["bm25", "bm25+", "jm", "spl", "cosine", "dph"])
def test_impacts_are_the_slow_ones(model):
    field = Prepared(field_from(counts_of(4, 400, 8, 0.3)))
    ready, made = field.plan(model, {}).ready, []
    items, counts, table = field.postings[:3]
    for room in (impacts, slow_impacts):
        peaks, out = np.zeros(len(table)), np.zeros(len(items), np.uint16)
        shared = ready.code, ready.world, ready.x, (items, counts), table
        made.append((room.weigh_lists(*shared, peaks, out), peaks, out))
    assert made[0][0] == made[1][0] == (model != "dph")
    if made[0][0]:
        np.testing.assert_allclose(made[0][1], made[1][1])
        assert abs(made[0][2].astype(int) - made[1][2]).max() <= 1
        assert made[0][2].max() == 65_535


def test_finding_by_impacts_is_the_slow_way():
    field = Prepared(field_from(counts_of(7, 400, 8, 0.3)))
    plan = field.ask_plan(("bm25", {}), REPEATED)
    asked, found = field.ask(["t001", "t004", "t006"], ("bm25", {})), []
    places = asked.query.numbers
    final = Final(field.alive, plan.ready.extra, asked.scale, asked.offset)
    for room in (impacts, slow_impacts):
        heap, scratch = empty_heap(9), finding.empty_scratch(400)
        shared = asked.scoring, final, places, plan.ready, scratch
        n = room.find_by_impacts(*shared, heap)
        found.append((n, heap[0].tolist(), heap[1].round(9).tolist()))
        assert not scratch.sums.any()
    assert found[0] == found[1]
    nothing = asked.scoring._replace(a=np.zeros(3))
    lack = impacts.find_by_impacts(nothing, final, places, plan.ready, scratch, heap)
    assert lack == -1


def test_pieces_of_finding():
    field = Prepared(field_from(counts_of(6, 90, 5, 0.4)))
    asked = field.ask(["t001", "t004"], ("kl", {"mu": 30.0}))
    scoring, ready = asked.scoring, asked.plan.ready
    query = np.zeros((2, 2), int), np.zeros(2), np.zeros(2)
    _, places, table = field.lists(asked.query)
    scale, offset, _ = slow_finding.prepare(
        ready.code, places, asked.query.weights, table, ready.world,
        np.zeros(2, int), query,
    )  # fmt: skip
    for mine, plain in zip(scoring[-3:], query, strict=True):
        np.testing.assert_allclose(mine, plain)
    assert (scale, offset) == pytest.approx((asked.scale, asked.offset))
    ours, theirs = np.full(90, -0.0), np.full(90, -0.0)
    finding.accumulate(scoring, ours)
    slow_finding.accumulate(scoring, theirs)
    np.testing.assert_allclose(ours, theirs)
    for d in range(90):
        ours, theirs = np.zeros(2), np.zeros(2)
        occurs = slow_finding.parts_of(scoring, d, theirs)
        assert finding.parts_of(scoring, d, ours) == occurs
        np.testing.assert_allclose(ours, theirs)
    final, best = Final(field.alive, ready.extra, scale, offset), []
    most = scale * ready.most_extra + offset
    for room in (pruning, slow_pruning):
        heap = empty_heap(7)
        n = room.find_pruned(
            scoring, final, places, field.postings, most, np.full(90, -0.0), heap
        )
        best.append((n, heap[0].tolist()))
    assert best[0] == best[1]


@given(seeds, st.booleans(), st.booleans())
def test_find_vector(seed, every, unit):
    rng = np.random.default_rng(seed)
    field = field_from(counts_of(seed, 40, 6))
    weights, places = rng.normal(size=4), rng.permutation(6)[:4]
    x = rng.random(40) + 0.1 if unit else np.empty(0)
    extra, alive = rng.normal(size=40), rng.random(40) < 0.8
    found = []
    for room in (vectors, slow_vectors):
        out, final = empty_heap(9), Final(alive, extra, 1.0, 0.0)
        query, lists, acc = (weights, places), tuple(field.whole), np.full(40, -0.0)
        n = room.find_vector(query, lists, x, final, every, acc, out)
        found.append((out[0][:n].tolist(), out[1][:n].round(9).tolist()))
    assert found[0] == found[1]


def finished(room, field, asked):
    """What a room finds by accumulating all terms but the last; None: no bar."""
    scoring, ready = asked.scoring, asked.plan.ready
    final = Final(field.alive, ready.extra, asked.scale, asked.offset)
    own, last = asked.scale * ready.most_extra + asked.offset, len(scoring.a) - 1
    acc, touched, n = np.full(600, -0.0), np.zeros(601, np.uint32), 0
    peaks, rest = np.full(9, np.nan), np.zeros(last + 2)
    room.bound_rest(scoring, asked.query.numbers, peaks, rest)
    for t in range(last):
        n = fast.list_parts(scoring, t, *scoring.spans[t].tolist(), acc, touched, n)
    heap = empty_heap(5)
    bar = room.find_bar(touched[:n], acc, final, heap, rest[last], own) - 1e-6
    if bar == -np.inf:
        return None
    n = room.keep_near(touched, n, acc, final, bar - rest[last])
    size = room.finish_known(scoring, final, rest, last, bar, acc, touched, n, heap)
    assert np.signbit(acc).all()
    heaps.sort_heap(heap, size)
    out = empty_heap(5)
    assert size == slow.best_of(slow_finding.sums(scoring), final, out)
    assert heap[0].tolist() == out[0].tolist()
    np.testing.assert_allclose(heap[1], out[1])
    return n, rest.round(9).tolist(), np.nan_to_num(peaks).round(9).tolist()


@pytest.mark.parametrize(
    "model", [m for m in MODELS.values() if m.grows], ids=lambda m: m.name
)
def test_longer_lists_are_looked_up(model):
    field = Prepared(field_from(counts_of(8, 600, 9, 0.3)))
    outcomes = []
    for terms in (["t008", "t007", "t000"], ["t006", "t001"], ["t002", "t000"]):
        asked = field.ask(terms, (model.name, {}))
        if (asked.scoring.a >= 0).all():
            outcomes.append(finished(finishing, field, asked))
            assert outcomes[-1] == finished(slow_finishing, field, asked)
    if model.name in {"bm25", "bm25+", "jm", "lgd"}:
        assert any(outcomes)
