"""What a searcher takes, refuses and promises."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.index.models import KEPT, MODELS, Prepared
from classmark.index.postings import field_of
from classmark.index.search import Searcher, log_prior
from classmark.problems import Mistake
from oracles.searched import NAMES, counts_of, field_from


class Distant:
    """A field whose lists are decoded when they are asked for, and read-only."""

    def __init__(self, field):
        self._field, self.whole = field, None

    def __getattr__(self, name):
        return getattr(self._field, name)

    def lists(self, numbers):
        whole = self._field.whole
        runs = [slice(whole.begins[t], whole.ends[t]) for t in numbers]
        ends = np.cumsum([0, *(run.stop - run.start for run in runs)])
        parts = [
            np.concatenate([np.empty(0, np.uint32), *(column[run] for run in runs)])
            for column in (whole.items, whole.counts)
        ]
        for part in parts:
            part.flags.writeable = False
        return type(whole)(*parts, ends[:-1], ends[1:])


@pytest.fixture(scope="module")
def counts():
    return counts_of(11, 200, 20)


@pytest.mark.parametrize("model", list(MODELS))
def test_lists_may_be_decoded_when_asked_for(counts, model):
    alive = np.arange(200) % 5 > 0
    near, far = field_from(counts, alive), Distant(field_from(counts, alive))
    queries = [["t004", "t001", "t001"], ["absent"], ["t019"]]
    here, there = Searcher(near), Searcher(far)
    assert here.search_many(queries, 7, model) == there.search_many(queries, 7, model)
    vector = {name: i - 9.5 for i, name in enumerate(NAMES[:20])}
    assert here.search_vector(vector) == there.search_vector(vector)
    assert here.explain(queries[0], 3, model) == there.explain(queries[0], 3, model)


def test_names_and_weights(counts):
    searcher = Searcher(field_from(counts), names="d{}".format)
    hits = searcher.search({"t001": 2.0, "t005": 1.0}, 3)
    assert hits == searcher.search(["t001", "t005", "t001"], 3)
    assert hits[0].id == f"d{hits[0].number}"
    assert hits[0].score > 0
    assert searcher.search(["absent"]) == searcher.search([]) == []
    assert searcher.search(["t001"], 0) == []


def test_a_term_of_deleted_items_only_is_absent(counts):
    alive = counts[:, 15] == 0
    searcher = Searcher(field_from(counts, alive))
    assert searcher.search(["t015"]) == []
    assert searcher.search(["t015", "t000"]) == searcher.search(["t000"])


def test_an_empty_collection():
    searcher = Searcher(field_of(rows_from(np.zeros((0, 0))), []))
    assert searcher.search(["bee"]) == searcher.search_vector({"bee": 1.0}) == []
    assert searcher.search_many([["bee"], []], 3) == [[], []]
    assert searcher.search_many([], 3) == []


def test_threads_share_a_searcher(counts):
    searcher = Searcher(field_from(counts))
    queries = [[NAMES[i % 20], NAMES[i * 7 % 20]] for i in range(200)]
    alone = [searcher.search(query, 5) for query in queries]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda query: searcher.search(query, 5), queries)) == alone


def test_plans_do_not_pile_up(counts):
    prepared = Prepared(field_from(counts))
    for step in range(3 * KEPT):
        prepared.plan("bm25", {"k1": 1.0 + step})
    assert len(prepared.plans) <= KEPT


def test_impacts_are_made_for_the_second_query_where_there_is_room(counts):
    wide, narrow = field_from(counts), field_from(counts)
    narrow.room = 0
    answers = []
    for field, sizes in ((wide, [0, len(wide.whole.items)]), (narrow, [0, 0])):
        searcher = Searcher(field)
        prepared = searcher.one_field("")
        for size in sizes:
            answers.append(searcher.search(["t001", "t000"], 5))
            assert len(prepared.plan("bm25", {}).ready.impacts) == size
    assert answers == [answers[0]] * 4


def test_a_prior_moves_items(counts):
    searcher = Searcher(field_from(counts))
    chances = np.full(200, 0.001)
    chances[searcher.search(["t000"], 50)[-1].number] = 0.9
    for model in ("bm25", "dirichlet", "kl"):
        plain = {h.number: h.score for h in searcher.search(["t000"], 200, model)}
        moved = searcher.search(["t000"], 200, model, prior=log_prior(chances, 2.0))
        assert moved[0].number == np.argmax(chances)
        for hit in moved:
            expected = plain[hit.number] + 2 * np.log(chances[hit.number])
            assert hit.score == pytest.approx(expected)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda s: s.search(["t000"], -1), "k is -1"),
        (lambda s: s.search(["t000"], 2.5), "k is 2.5"),
        (lambda s: s.search(["t000"], fields={"title": 1.0}), "'title'"),
        (lambda s: s.search(["t000"], fields={"text": -1.0}), "-1.0"),
        (lambda s: s.search(["t000"], prior=log_prior([0.5])), "prior has 1"),
        (lambda s: s.search_vector({"t000": np.nan}), "finite"),
        (lambda s: s.explain(["t000"], 200), "item 200"),
        (lambda _: log_prior([0.5, 0.0]), "item 1"),
        (lambda _: log_prior([[0.5]]), "2 dimensions"),
        (lambda _: log_prior([0.5], np.inf), "weight"),
        (lambda s: Searcher({"a": field_from(np.ones((2, 1))), "b": s}), "differ"),
    ],
)
def test_mistakes_are_named(counts, act, words):
    searcher = Searcher(field_from(counts))
    with pytest.raises(Mistake, match=words):
        act(searcher)


def test_several_fields_have_no_one_vector(counts):
    searcher = Searcher({"a": field_from(counts), "b": field_from(counts)})
    with pytest.raises(Mistake, match="'a', 'b'"):
        searcher.search_vector({"t000": 1.0})


def test_counts_need_names():
    with pytest.raises(Mistake, match="2 columns"):
        field_of(rows_from(np.ones((1, 2))), ["bee"])
