"""A shard scores as the whole index does, whatever the model and wherever it is cut."""

from functools import cache

import numpy as np
import pytest

from classmark.index.feedback import RM3, Information, Rocchio
from classmark.index.index import Index
from classmark.index.models import MODELS
from classmark.index.search import log_prior
from classmark.index.snapshot import open_snapshot
from classmark.machines.searching import Place, Shard, SpreadIndex
from classmark.problems import Mistake
from machines.sharded import WORDS, Here, collection, cut

QUERIES = ["w0", "w1 w1 w9", "w3 w20 w0 w5 nowhere", "w23", "nowhere", ""]
LANGUAGE = [
    "w1 w2",
    "+w0 -w3",
    '"w1 w2" w5',
    "NOT w0",
    "w0 AND (w4 OR w6)",
    '"w0 w1 w1"',
    "nowhere",
]
BELIEFS = ["#and(w1 w2)", "#wsum(2 w0 1 w9)", "#or(w1 #not(w2))", "#combine(w0 w7)"]


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Give an index on several shards, the same one on one machine, and a rebuilt."""

    @cache
    def made(seed, fields=("text",)):
        place, rng = tmp_path_factory.mktemp("case"), np.random.default_rng(seed)
        documents = collection(seed, 40, fields)
        edges = 1 + np.sort(rng.choice(39, rng.integers(1, 5), replace=False))
        gone = [f"d{n}" for n in rng.choice(40, 9, replace=False)] if seed % 2 else []
        folder = cut(place / "cut", documents, edges.tolist(), gone)
        living = [each for each in documents if each["id"] not in gone]
        whole = Index.build(
            place / "whole", living, fields=list(fields), positions=True
        )
        return SpreadIndex(Here(), folder), Index.open(folder), whole

    return made


def scored(hits):
    return [(hit.id, hit.score) for hit in hits]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_model_scores_as_the_whole(cases, seed, model):
    spread, index, whole = cases(seed)
    for k in (0, 1, 7, 100):
        many = spread.search_many(QUERIES, k, model)
        assert many == index.search_many(QUERIES, k, model)
        for query, found in zip(QUERIES, many, strict=True):
            assert found == spread.search(query, k, model)
            assert scored(found) == scored(whole.search(query, k, model))
    assert len(spread.search("w0 w1", 100, model)) > 7


@pytest.mark.parametrize("model", ["bm25", "dirichlet", "kl", "cosine", "bm25+", "pl2"])
@pytest.mark.parametrize("seed", [4, 5])
def test_fields_and_priors(cases, seed, model):
    spread, index, whole = cases(seed, ("title", "text"))
    chances = np.random.default_rng(seed).random(40) + 0.1
    prior = log_prior(chances, 0.3)
    rest = log_prior([chances[index.number(id_)] for id_ in whole.ids()], 0.3)
    for weights in (None, {"title": 2.5, "text": 0.5}, {"text": 1.0}):
        for query in QUERIES:
            found = spread.search(query, 9, model, fields=weights, prior=prior)
            assert found == index.search(query, 9, model, fields=weights, prior=prior)
            plain = whole.search(query, 9, model, fields=weights, prior=rest)
            assert scored(found) == scored(plain)
            for hit in found:
                told = spread.explain(query, hit.id, model, fields=weights, prior=prior)
                same = index.explain(query, hit.id, model, fields=weights, prior=prior)
                assert told == same


@pytest.mark.parametrize("seed", [6, 7, 8])
@pytest.mark.parametrize("every", [False, True])
def test_vectors_of_any_sign(cases, seed, every):
    spread, index, whole = cases(seed)
    rng = np.random.default_rng(seed)
    for size in (0, 1, 5, 24):
        words = rng.choice(WORDS, size, replace=False).tolist()
        weights = {word: rng.uniform(-1, 1) for word in [*words, "nowhere"]}
        for k in (3, 50):
            found = spread.search_vector(weights, k, every=every)
            assert found == index.search_vector(weights, k, every=every)
            alone = whole.search_vector(weights, k, every=every)
            assert scored(found) == scored(alone)


@pytest.mark.parametrize("seed", [9, 10])
@pytest.mark.parametrize("fields", [("text",), ("title", "text")])
def test_the_language(cases, seed, fields):
    spread, index, whole = cases(seed, fields)
    asked = [*LANGUAGE, *(["title:w1 w0", 'title:"w0 w1"'] if len(fields) > 1 else [])]
    for query in asked:
        for model in (None, "boolean", "jm", "dirichlet"):
            found = spread.ask(query, 12, model=model)
            assert found == index.ask(query, 12, model=model)
            assert scored(found) == scored(whole.ask(query, 12, model=model))
        for hit in spread.ask(query, 3):
            told = spread.question(query).explain(hit.number)
            assert told == index.question(query).explain(hit.number)
    for query in BELIEFS:
        assert spread.ask(query, 30) == index.ask(query, 30)
        assert scored(spread.ask(query, 30)) == scored(whole.ask(query, 30))


@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("fields", [("text",), ("title", "text")])
@pytest.mark.parametrize(
    "feedback",
    [
        "rm3",
        "rocchio",
        Information(model="spl"),
        RM3(terms=3),
        Rocchio(documents=2),
    ],
)
def test_feedback_learns_from_all_shards(cases, seed, fields, feedback):
    spread, index, whole = cases(seed, fields)
    prior = log_prior(np.linspace(0.1, 1.0, 40))
    for query in LANGUAGE:
        for model in ("bm25", "kl"):
            found = spread.ask(query, 8, model=model, feedback=feedback)
            assert found == index.ask(query, 8, model=model, feedback=feedback)
            alone = whole.ask(query, 8, model=model, feedback=feedback)
            assert scored(found) == scored(alone)
        found = spread.ask(query, 8, feedback=feedback, prior=prior)
        assert found == index.ask(query, 8, feedback=feedback, prior=prior)


def test_one_document_a_shard(tmp_path):
    documents = collection(13, 7)
    folder = cut(tmp_path / "cut", documents, range(1, 7))
    index = Index.open(folder)
    for workers in (1, 2, 7, 20):
        spread = SpreadIndex(Here(workers), folder)
        for model in MODELS:
            assert spread.search("w0 w1 w5", 7, model) == index.search(
                "w0 w1 w5", 7, model
            )
        query = "#sum(w0-w1-w2-w3-w4-w5-w6-w7-w8-w9 w1)"
        assert spread.ask(query) == index.ask(query)
        assert list(spread.ids()) == list(index.ids())
        assert [spread.id(n) for n in range(7)] == [f"d{n}" for n in range(7)]
        assert spread.number("d5") == 5
        assert "d7" not in spread
        assert len(spread) == 7


def test_lists_that_do_not_fit_the_memory_are_read_when_asked_for(tmp_path):
    folder = cut(tmp_path / "cut", collection(14, 40), [10, 25], ["d3", "d30"])
    tight, index = SpreadIndex(Here(), folder, memory=1), Index.open(folder)
    for model in MODELS:
        assert tight.search("w0 w7", 9, model) == index.search("w0 w7", 9, model)
    weights = {"w0": 0.5, "w3": -1.0}
    assert tight.search_vector(weights, 9) == index.search_vector(weights, 9)
    assert tight.ask('"w1 w2"', feedback="rm3") == index.ask('"w1 w2"', feedback="rm3")
    shard = Shard(Place(str(folder), index.generation, 0, 2, 1))
    assert shard.searcher.fields["text"].whole is None


def test_a_field_that_a_shard_lacks(tmp_path):
    folder = tmp_path / "cut"
    Index.build(folder, [{"id": "a", "text": "w1 w2"}], positions=True)
    with Index.open(folder, merging="demand") as index:
        index.add([{"id": "b", "text": "w1", "title": "w2 w1"}])
        index.commit()
    spread, index = SpreadIndex(Here(), folder), Index.open(folder)
    with Index.open(folder) as other:
        other.merge()
    for query in ("w1", "title:w2", "w2"):
        for model in ("bm25", "dirichlet"):
            found = spread.ask(query, model=model)
            assert found == index.ask(query, model=model)
            assert found == other.ask(query, model=model)


def test_an_index_without_documents(tmp_path):
    Index.build(tmp_path / "none", [])
    spread = SpreadIndex(Here(), tmp_path / "none")
    assert spread.search("w1") == spread.ask("w1 -w2", feedback="rm3") == []
    assert spread.search_many(["w1", ""]) == [[], []]
    assert spread.search_many([]) == []
    assert spread.search_vector({"w1": 1.0}, every=True) == []
    assert len(spread) == 0


def test_a_shard_with_no_living_document(tmp_path):
    documents = collection(15, 12)
    gone = [f"d{n}" for n in range(4, 8)]
    folder = cut(tmp_path / "cut", documents, [4, 8], gone)
    spread, index = SpreadIndex(Here(), folder), Index.open(folder)
    assert spread.search("w0 w1", 12) == index.search("w0 w1", 12)
    assert spread.ask("NOT w9", 12) == index.ask("NOT w9", 12)


def test_what_is_wrong_is_said_as_by_an_index(cases):
    spread, index, _ = cases(17, ("title", "text"))
    refused = [
        lambda one: one.search("w1", -1),
        lambda one: one.search("w1", model="nothing"),
        lambda one: one.search("w1", b=7),
        lambda one: one.search("w1", fields={"body": 1.0}),
        lambda one: one.search("w1", feedback="magic"),
        lambda one: one.search_vector({"w1": 1.0}),
        lambda one: one.explain("w1", "nobody"),
        lambda one: one.ask("body:w1 ("),
        lambda one: one.ask("w1", model="boolean", feedback="rm3"),
        lambda one: one.ask("#and(w1)", model="jm"),
        lambda one: one.ask("w1", feedback="magic"),
        lambda one: one.question("w1").explain(400),
    ]
    for act in refused:
        with pytest.raises(Mistake) as here:
            act(spread)
        with pytest.raises(Mistake) as there:
            act(index)
        assert str(here.value) == str(there.value)
    with pytest.raises(Mistake, match="prior has 2 items: the index has 40"):
        spread.search("w1", prior=log_prior([0.5, 0.5]))


def test_a_generation_that_is_gone(tmp_path):
    folder = cut(tmp_path / "cut", collection(18, 20), [7])
    place = Place(str(folder), open_snapshot(folder).number, 0, 1, 1 << 20)
    spread = SpreadIndex(Here(), folder)
    before = spread.search("w0")
    with Index.open(folder) as index:
        index.merge()
    assert spread.search("w0") == before
    with pytest.raises(Mistake, match="was changed, and generation"):
        Shard(place)
    elsewhere = place._replace(folder=str(tmp_path / "elsewhere"))
    with pytest.raises(Mistake, match="is not there for a worker"):
        Shard(elsewhere)


def test_a_closed_index_says_so(tmp_path):
    with SpreadIndex(Here(), cut(tmp_path / "cut", collection(19, 5), [2])) as spread:
        assert repr(spread).endswith("5 documents)")
    with pytest.raises(Mistake, match="was closed"):
        spread.search("w0")
    with pytest.raises(Mistake, match="was closed"):
        spread.search_many(["w0"])


def test_shards_have_about_equally_many_documents(tmp_path):
    folder = cut(tmp_path / "cut", collection(20, 30), [20, 22, 24, 26, 28])
    spread = SpreadIndex(Here(2), folder)
    assert spread.searcher._extents == [(0, 20), (20, 30)]  # noqa: SLF001
