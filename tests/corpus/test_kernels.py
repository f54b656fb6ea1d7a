"""Each kernel of the corpus room against its oracle."""

import numpy as np
import pytest

from classmark.corpus.counting import TokenTable
from classmark.corpus.kernels import (
    close_gaps,
    fill_slots,
    gather_by_document,
    scatter_by_term,
)
from classmark.text.tokens import words
from oracles import corpus as oracle
from oracles import text as text_oracle


def random_rows(seed, n=40, tokens=30):
    rng = np.random.default_rng(seed)
    return [
        [(int(t), int(rng.integers(1, 200))) for t in rng.permutation(tokens)[:size]]
        for size in rng.integers(0, tokens, size=n)
    ]


def flat(rows):
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    columns = np.array([t for row in rows for t, _ in row], np.uint32)
    counts = np.array([c for row in rows for _, c in row], np.uint8)
    return starts, columns, counts


def scattered(rows, number, width):
    starts, columns, counts = flat(rows)
    heads = np.zeros(width + 2, np.uint32)
    postings = np.zeros(len(columns), np.uint64)
    begins = np.zeros(len(starts), np.int64)
    scatter_by_term(starts, columns, counts, number, heads, postings, begins)
    return heads, postings, begins


@pytest.mark.parametrize("seed", range(5))
def test_scatter_and_gather(seed):
    rows, width = random_rows(seed), 7
    number = np.random.default_rng(seed).integers(width + 1, size=30).astype(np.uint32)
    heads, postings, begins = scattered(rows, number, width)
    lists = oracle.scatter_by_term(rows, number, width)
    assert np.diff(heads).tolist() == [len(listed) for listed in lists]
    pairs = [divmod(int(posting), 2**32) for posting in postings]
    assert pairs == [pair for listed in lists for pair in listed]
    kept = [sum(number[t] < width for t, _ in row) for row in rows]
    assert np.diff(begins).tolist() == kept

    stops, room = begins[:-1].copy(), begins[-1]
    columns, counts = np.zeros(room, np.uint32), np.zeros(room, np.float32)
    frequency, total = np.zeros(width, np.int64), np.zeros(width, np.int64)
    gather_by_document(heads, postings, stops, columns, counts, frequency, total)
    gathered = oracle.gather_by_document(lists, len(rows))
    for row, want in enumerate(gathered):
        part = slice(begins[row], stops[row])
        assert list(zip(columns[part], counts[part], strict=True)) == sorted(
            want.items()
        )
    assert frequency.tolist() == [
        sum(term in row for row in gathered) for term in range(width)
    ]
    assert total.tolist() == [
        sum(row.get(term, 0) for row in gathered) for term in range(width)
    ]


def test_close_gaps():
    starts = np.array([0, 3, 5, 9], np.int64)
    stops = np.array([2, 3, 9], np.int64)
    columns = np.arange(9, dtype=np.uint32)
    counts = columns.astype(np.float32)
    joined, ends = oracle.close_gaps(
        starts[:-1].tolist(), stops.tolist(), list(range(9))
    )
    close_gaps(starts, stops, columns, counts)
    assert columns[: starts[-1]].tolist() == counts[: starts[-1]].tolist() == joined
    assert stops.tolist() == starts[1:].tolist() == ends


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
    from classmark.text import kernels

    table = TokenTable()
    find = kernels.find_tokens

    def all_alike(*arguments):
        find(*arguments)
        keys = arguments[6]
        keys[keys >= kernels.LONG] = kernels.LONG

    monkeypatch.setattr(kernels, "find_tokens", all_alike)
    texts = ["abcdefgh ABCDEFGH abcdefghi abcdefgi éabcdefgh abcdefgh", "abcdefghi"]
    chunks = list(table.chunks(texts))
    tokens, _ = oracle.number_tokens([words(text) for text in texts])
    assert table.tokens() == tokens
    assert chunks[0].counts.tolist() == [3, 1, 1, 1, 1]
