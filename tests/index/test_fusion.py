"""Words and meaning in one ranking, against scores of all documents, sorted."""

from dataclasses import replace

import numpy as np
import pytest

from classmark import (
    DenseIndex,
    EncoderVectors,
    HybridQuestion,
    Index,
    Mistake,
    VectorFile,
    dense_index,
    fuse,
)
from classmark.index.fusion import WEIGHT
from classmark.index.query_language import MalformedQuery

WORDS = ["wind", "tunnel", "drag", "wing", "shock", "wave", "heat", "flow"]
N, DIMENSION = 300, 12


class ByLetters:
    """Vectors that depend on the words, but not on their order."""

    def encode(self, texts):
        return [
            sum(
                (np.random.default_rng(list(w.encode())).normal(size=DIMENSION)
                 for w in text.split()),
                np.zeros(DIMENSION),
            )
            for text in texts
        ]  # fmt: skip


def texts_of(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return [
        " ".join([*rng.choice(WORDS, rng.integers(0, 5)), f"other{rng.integers(40)}"])
        for _ in range(n)
    ]


@pytest.fixture
def texts():
    return texts_of()


@pytest.fixture
def index(tmp_path, texts):
    documents = [(f"d{i}", text) for i, text in enumerate(texts)]
    with Index.build(tmp_path / "index", documents, positions=True) as opened:
        yield opened


@pytest.fixture
def dense(texts):
    return DenseIndex.of(texts, ByLetters())


def all_scores(index, dense, query, model="bm25"):
    """Words' scores and cosines of all documents: NaN where no term occurs."""
    words = np.full(len(index), np.nan)
    for hit in index.ask(query, len(index), model=model):
        words[hit.number] = hit.score
    (vector,) = dense.encode([query])
    return words, dense.cosines(vector, np.arange(len(index)))


def places(scores, allowed):
    """Ranks by score, ties by number; 0 for what is not ranked."""
    ranks = np.zeros(len(scores), int)
    best = sorted(np.flatnonzero(allowed), key=lambda i: (-scores[i], i))
    ranks[best] = np.arange(1, len(best) + 1)
    return ranks


def test_reciprocal_ranks_are_those_of_the_paper():
    items, scores = fuse([np.array([5, 3, 8]), np.array([3, 9]), np.array([9, 5])])
    expected = {
        5: 1 / 61 + 1 / 62, 3: 1 / 62 + 1 / 61, 9: 1 / 62 + 1 / 61, 8: 1 / 63,
    }  # fmt: skip
    assert items.tolist() == [3, 5, 9, 8]
    assert scores.tolist() == pytest.approx([expected[i] for i in items.tolist()])
    assert fuse([])[0].tolist() == []
    with pytest.raises(Mistake, match="constant"):
        fuse([np.array([1])], -1.0)


@pytest.mark.parametrize("model", ["bm25", "dirichlet", "jm", "pl2"])
@pytest.mark.parametrize("weight", [0.0, 0.5, 2.0, 50.0])
@pytest.mark.parametrize("depth", [1, 20, 1000])
def test_the_weighted_score_is_exact_over_all_documents(
    index, dense, model, weight, depth
):
    query = "shock wave drag"
    hybrid = HybridQuestion.of(index, query, dense, weight, model=model)
    hybrid = replace(hybrid, depth=depth, _cache={})
    words, cosines = all_scores(index, dense, query, model)
    listed = np.sort(words[~np.isnan(words)])[::-1]
    low, high = min(listed[:depth].min(), 0.0), listed[0]
    if low == high:
        low -= 1.0
    scaled = np.where(np.isnan(words), 0.0, np.maximum(words - low, 0) / (high - low))
    total = scaled + weight * cosines
    hits = hybrid.answer(15)
    expected = np.argsort(-total.round(10), kind="stable")[:15]
    assert [hit.number for hit in hits] == expected.tolist()
    assert [hit.score for hit in hits] == pytest.approx(total[expected])
    assert [hit.words for hit in hits] == pytest.approx(scaled[expected])
    assert [hit.cosine for hit in hits] == pytest.approx(cosines[expected])


@pytest.mark.parametrize("depth", [30, 1000])
def test_ranks_are_fused_over_the_first_of_each(index, dense, depth):
    query = "heat flow"
    hybrid = replace(
        HybridQuestion.of(index, query, dense, None), depth=depth, _cache={}
    )
    words, cosines = all_scores(index, dense, query)
    both = np.array([places(words, ~np.isnan(words)), places(cosines, np.ones(N))])
    both[both > depth] = 0
    total = np.where(both > 0, 1 / (60.0 + both), 0.0).sum(axis=0)
    hits = hybrid.answer(20)
    expected = np.argsort(-total, kind="stable")[:20]
    assert [hit.number for hit in hits] == expected.tolist()
    assert [hit.score for hit in hits] == pytest.approx(total[expected])
    assert [(hit.word_rank or 0, hit.meaning_rank or 0) for hit in hits] == list(
        map(tuple, both[:, expected].T.tolist())
    )
    assert all(0.0 <= hit.share <= 1.0 for hit in hits)


def test_documents_that_have_no_word_of_the_query_are_answers(index, dense, texts):
    hits = HybridQuestion.of(index, "wing", dense, weight=5.0).answer(N)
    assert len(hits) == N
    without = [hit for hit in hits if "wing" not in texts[hit.number].split()]
    assert without
    assert all(hit.words == 0.0 and hit.word_rank is None for hit in without)


@pytest.mark.parametrize("weight", [None, 2.0])
def test_only_documents_that_the_query_describes_are_answers(
    index, dense, texts, weight
):
    hits = HybridQuestion.of(index, '+wing -drag "shock wave"', dense, weight).answer(N)
    has = [set(texts[hit.number].split()) for hit in hits]
    assert hits
    assert all("wing" in each and "drag" not in each for each in has)


@pytest.mark.parametrize(
    ("query", "may_answer"),
    [
        ("wing flow", lambda _: True),
        ("wing -drag", lambda has: "drag" not in has),
        ('wing "shock wave" -drag', lambda has: "drag" not in has),
        ("-drag", lambda _: False),
        ("+wing flow", lambda has: "wing" in has),
        ("wing AND flow", lambda has: {"wing", "flow"} <= has),
        ("wing OR flow", lambda has: bool({"wing", "flow"} & has)),
    ],
)
@pytest.mark.parametrize("weight", [None, 2.0])
def test_all_that_a_query_does_not_rule_out_are_answers(
    index, dense, texts, query, may_answer, weight
):
    hits = HybridQuestion.of(index, query, dense, weight).answer(N)
    expected = {i for i, text in enumerate(texts) if may_answer(set(text.split()))}
    assert {hit.number for hit in hits} == expected


def test_what_must_not_be_there_has_no_meaning(index, dense):
    (plain,) = dense.encode(["wing shock wave"])
    hybrid = HybridQuestion.of(index, 'wing -drag "shock wave"', dense)
    assert np.array_equal(hybrid.vector, plain)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_deleted_documents_are_no_answers(index, dense, texts, weight):
    gone = [hit.id for hit in HybridQuestion.of(index, "heat", dense, weight).answer(3)]
    index.delete(gone)
    index.merging = "demand"
    index.commit()
    assert index.searcher.n_items == len(texts)
    hits = HybridQuestion.of(index, "heat", dense, weight).answer(N)
    assert len(hits) == N - 3
    assert not {hit.id for hit in hits} & set(gone)


@pytest.mark.parametrize("is_stored", [False, True])
def test_vectors_stand_by_the_numbers_of_the_index(index, texts, tmp_path, is_stored):
    index.merging = "demand"
    index.delete(["d3"])
    index.replace([("d5", "heat heat")])
    index.commit()
    documents = {f"d{i}": text for i, text in enumerate(texts)} | {"d5": "heat heat"}
    shuffled = sorted(documents.items(), reverse=True)
    meaning = EncoderVectors(ByLetters())
    if is_stored:
        meaning = VectorFile(tmp_path / "vectors", meaning)
        meaning.compute([text for name, text in shuffled if name != "d7"])
    dense = dense_index(index, shuffled[5:], meaning)
    missing = {"d3"} | {name for name, _ in shuffled[:5]}
    missing |= {"d7"} if is_stored and documents["d7"] not in meaning else set()
    (vector,) = dense.encode(["heat"])
    cosines = dense.cosines(vector, np.arange(index.searcher.n_items))
    for name in set(documents) - missing:
        (own,) = np.array(ByLetters().encode([documents[name]]))
        expected = own @ vector / np.linalg.norm(own) / np.linalg.norm(vector)
        assert cosines[index.number(name)] == pytest.approx(expected, abs=2e-3)
    assert np.count_nonzero(dense.rows < 0) == len(missing) + 1  # d5 as it was


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_a_query_without_a_vector_is_answered_by_its_words(index, dense, weight):
    question = index.question("heat flow")
    hybrid = HybridQuestion(question, dense, np.zeros(DIMENSION), weight)
    assert [h.id for h in hybrid.answer(9)] == [h.id for h in question.answer(9)]


def test_a_query_without_terms_is_answered_by_its_meaning(index, dense):
    hits = HybridQuestion.of(index, "the", dense).answer(3)
    assert len(hits) == 3
    assert all(hit.words == 0.0 and hit.share == 1.0 for hit in hits)


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("model", ["bm25", "dirichlet"])
def test_parts_add_up_to_the_score(index, dense, weight, model):
    hybrid = HybridQuestion.of(index, "shock wave", dense, weight, model=model)
    for hit in hybrid.answer(12):
        assert hit.words + hit.meaning == pytest.approx(hit.score)
        explained = hybrid.explain(hit)
        parts = sum(part.part for part in explained.parts) + explained.own
        assert parts == pytest.approx(hit.words)


def test_another_weight_needs_no_second_look(index, dense, monkeypatch):
    hybrid = HybridQuestion.of(index, "heat", dense, 1.0)
    hybrid.answer(5)
    monkeypatch.setattr(dense, "find", None)
    again = hybrid.with_weight(3.0).answer(5)
    assert again[0].meaning == pytest.approx(3.0 * again[0].cosine)


def test_mistakes_say_what_to_give(index, dense):
    with pytest.raises(Mistake, match="vectors of 2 documents, an index of 300"):
        HybridQuestion.of(index, "heat", DenseIndex.of(["a", "b"], ByLetters()))
    with pytest.raises(Mistake, match="weight of meaning"):
        HybridQuestion.of(index, "heat", dense, -1.0)
    with pytest.raises(MalformedQuery, match="beliefs"):
        HybridQuestion.of(index, "#and(heat flow)", dense)
