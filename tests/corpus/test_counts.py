"""Counting: the compiled pass against the reference path, whatever the block sizes."""

from collections import Counter

import numpy as np
import pytest

from classmark.corpus import counting
from classmark.corpus import counting as tables
from classmark.corpus.counting import count, count_blocks, statistics
from classmark.corpus.documents import GrowingVocabulary, Vocabulary
from classmark.problems import Mistake
from classmark.text import Analyzer

ANALYZER = Analyzer(digits="token")
TEXTS = [
    "The bees visited 12 hives in 1984; the hive was visited by bees.",
    "",
    "Ünïcödé BEES: straße, Straße, STRASSE and 東京の蜂",
    "... --- ...",
    "Internationalization internationalizations internationalisation",
    "bee " * 700 + "hive " * 255 + "wax " * 256,
]


@pytest.fixture
def compiled_always(monkeypatch):
    monkeypatch.setattr(counting, "SMALL", 0)


@pytest.fixture(params=[(1, 1, 2), (40, 64, 4), (10_000, 10_000, 4096)])
def any_size(request, monkeypatch, compiled_always):  # noqa: ARG001 - a fixture by name
    """Batches, chunks and tables so small that each has to be left and enlarged."""
    batch, chunk, room = request.param
    monkeypatch.setattr(tables, "BATCH", batch)
    monkeypatch.setattr(tables, "CHUNK", chunk)
    monkeypatch.setattr(tables, "_ROOM", room)
    monkeypatch.setattr(tables, "_SLICE", 3)


def expected(texts, analyzer):
    return [dict(Counter(analyzer(text))) for text in texts]


def as_dicts(rows, terms):
    found = []
    for i in range(len(rows)):
        columns, values = rows.row(i)
        assert (np.diff(columns.astype(np.int64)) > 0).all()
        found.append({terms[c]: int(v) for c, v in zip(columns, values, strict=True)})
    return found


@pytest.mark.usefixtures("any_size")
def test_counts_are_those_of_the_reference_path():
    counted = count(TEXTS, ANALYZER)
    terms = counted.vocabulary.terms
    assert terms == sorted({term for text in TEXTS for term in ANALYZER(text)})
    assert as_dicts(counted.rows, terms) == expected(TEXTS, ANALYZER)
    again = statistics(counted.rows)
    assert counted.statistics.documents == again.documents == len(TEXTS)
    assert counted.statistics.tokens == again.tokens
    assert counted.statistics.postings == again.postings
    for name in ("document_frequency", "collection_frequency"):
        ours, theirs = getattr(counted.statistics, name), getattr(again, name)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.usefixtures("any_size")
def test_a_frozen_vocabulary_leaves_the_rest_out():
    vocabulary = Vocabulary.of(["hive", "bee", "unseen"])
    counted = count(iter(TEXTS), ANALYZER, vocabulary)
    assert counted.vocabulary is vocabulary
    wanted = [
        {term: n for term, n in row.items() if term in vocabulary}
        for row in expected(TEXTS, ANALYZER)
    ]
    assert as_dicts(counted.rows, vocabulary.terms) == wanted
    assert counted.rows.shape == (len(TEXTS), 3)


@pytest.mark.usefixtures("any_size")
def test_blocks_grow_a_vocabulary():
    growing = GrowingVocabulary()
    found = []
    for block in count_blocks((text for text in TEXTS), ANALYZER, growing):
        assert block.width == len(growing)
        found += as_dicts(block, list(growing.number))
    assert found == expected(TEXTS, ANALYZER)


@pytest.mark.usefixtures("any_size")
def test_blocks_with_a_frozen_vocabulary():
    vocabulary = Vocabulary.of(["bee"])
    blocks = list(count_blocks(TEXTS, ANALYZER, vocabulary))
    assert sum(len(block) for block in blocks) == len(TEXTS)
    assert sum(block.values.sum() for block in blocks) == 2 + 1 + 700


def test_many_small_documents_make_more_than_one_block(monkeypatch):
    monkeypatch.setattr(tables, "BATCH", 1000)
    monkeypatch.setattr(tables, "CHUNK", 1000)
    monkeypatch.setattr(tables, "SMALL", 0)
    texts = (f"document {i} number{i}" for i in range(2000))
    blocks = list(count_blocks(texts, ANALYZER, GrowingVocabulary()))
    assert len(blocks) > 5
    assert sum(len(block) for block in blocks) == 2000


def test_few_short_texts_and_many_long_ones_agree(monkeypatch):
    slow = count(TEXTS, ANALYZER)
    monkeypatch.setattr(counting, "SMALL", 0)
    fast = count(TEXTS, ANALYZER)
    assert slow.vocabulary == fast.vocabulary
    np.testing.assert_array_equal(slow.rows.starts, fast.rows.starts)
    np.testing.assert_array_equal(slow.rows.columns, fast.rows.columns)
    np.testing.assert_array_equal(slow.rows.values, fast.rows.values)
    assert slow.rows.values.dtype == fast.rows.values.dtype == np.float32


@pytest.mark.parametrize("size", [0, 1 << 20])
def test_nothing_to_count(monkeypatch, size):
    monkeypatch.setattr(counting, "SMALL", size)
    assert count([], ANALYZER).rows.shape == (0, 0)
    assert count([""], ANALYZER).rows.shape == (1, 0)
    assert count(["the"], ANALYZER, Vocabulary.of(["a"])).rows.shape == (1, 1)
    (block,) = count_blocks([], ANALYZER, Vocabulary.of(["a"]))
    assert block.shape == (0, 1)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("bees", "texts is one string"),
        (b"bees", "texts is one string"),
        (5, "texts is int: give an iterable"),
        (["bees", None], "texts, row 1: NoneType is not a string"),
        (["bees"] * 20_000 + [3.0], "texts, row 20000: float"),
    ],
)
def test_mistakes_name_the_row(texts, message):
    with pytest.raises(Mistake, match=message):
        count(texts, ANALYZER)


def test_a_text_too_long_for_the_pass_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "_MOST", 100)
    with pytest.raises(Mistake, match="part it"):
        list(tables.TokenTable().chunks(["bee " * 50]))
