"""Each kernel of the corpus room against its oracle."""

import numpy as np
import pytest

from classmark.corpus import counting
from classmark.corpus.counting import TokenTable
from classmark.corpus.kernels import LONG, fill_slots, gather_by_document
from classmark.text import words
from oracles import corpus as oracle
from oracles import text as text_oracle


@pytest.mark.parametrize("seed", range(5))
def test_lists_become_rows(seed):
    rng, width = np.random.default_rng(seed), 7
    lists = [
        [
            (int(d), int(rng.integers(1, 999)))
            for d in np.flatnonzero(rng.random(40) < s)
        ]
        for s in rng.random(width)
    ]
    flat = [(d << 32) + count for listed in lists for d, count in listed]
    bounds = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    columns, counts = np.zeros(len(flat), np.uint32), np.zeros(len(flat), np.float32)
    starts, total = np.zeros(41, np.int64), np.zeros(width, np.int64)
    by_term = (np.array(flat, np.uint64), bounds[:-1], bounds[1:])
    gather_by_document(by_term, starts, columns, counts, total)
    for row, expected in enumerate(oracle.gather_by_document(lists, 40)):
        part = slice(starts[row], starts[row + 1])
        assert list(zip(columns[part], counts[part], strict=True)) == expected
    assert total.tolist() == [sum(count for _, count in listed) for listed in lists]


def test_fill_slots():
    keys = [text_oracle.key(f"token{i}".encode()) for i in range(50)]
    known, slots = np.array(keys, np.uint64), np.zeros(64, np.uint32)
    with np.errstate(over="ignore"):
        fill_slots(known, slots)
    assert slots.tolist() == oracle.fill_slots(keys, 64)


def test_number_tokens_and_count_tokens():
    rng = np.random.default_rng(1)
    texts = [" ".join(f"W{w}" * 3 for w in rng.zipf(1.5, 50) % 999) for _ in range(30)]
    table = TokenTable()
    chunks = list(table.chunks(texts))
    tokens, numbers = oracle.number_tokens([words(text) for text in texts])
    assert table.tokens() == tokens
    assert len(chunks) == 1
    chunk = chunks[0]
    for i, row in enumerate(oracle.count_tokens(numbers)):
        part = slice(chunk.starts[i], chunk.starts[i + 1])
        pairs = zip(chunk.columns[part], chunk.counts[part], strict=True)
        assert [(int(t), int(c)) for t, c in pairs] == row


def test_dropped_tokens_are_numbered_first_and_not_counted():
    table = TokenTable(["the", "internationally"])
    chunks = list(table.chunks(["The bee the hive", "", "internationally the the bee"]))
    assert table.tokens() == ["the", "internationally", "bee", "hive"]
    assert chunks[0].starts.tolist() == [0, 2, 2, 3]
    assert chunks[0].columns.tolist() == [2, 3, 2]
    assert chunks[0].counts.tolist() == [1, 1, 1]


def test_tokens_whose_keys_collide_stay_apart(monkeypatch):
    """Two long tokens with one hash are told apart by their bytes."""
    table, find = TokenTable(), counting.find_tokens

    def all_alike(*arguments):
        find(*arguments)
        keys = arguments[5]
        keys[keys >= LONG] = LONG

    monkeypatch.setattr(counting, "find_tokens", all_alike)
    texts = ["abcdefgh ABCDEFGH abcdefghi abcdefgi éabcdefgh abcdefgh", "abcdefghi"]
    chunks = list(table.chunks(texts))
    tokens, _ = oracle.number_tokens([words(text) for text in texts])
    assert table.tokens() == tokens
    assert chunks[0].counts.tolist() == [3, 1, 1, 1, 1]
