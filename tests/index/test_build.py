"""An index holds what its documents say, however many blocks it was built in."""

import threading
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.corpus.documents import Document
from classmark.index.build import Setup, build_segment, entries
from classmark.index.index import Index
from classmark.problems import Mistake
from classmark.text import Analyzer, words
from classmark.validation import byte_size
from oracles.indexed import fielded, plain

ANALYZER = Analyzer()


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def built(documents, folder, **options):
    """Build one segment; return its files."""
    count = iter(range(1000))
    setup = Setup(ANALYZER, **options)
    segment = build_segment(
        entries(documents, None), setup, lambda: Path(folder) / str(next(count))
    )
    assert sum(1 for _ in Path(folder).iterdir()) == 1
    return contents(segment.folder)


@given(st.one_of(plain, fielded), st.integers(1, 5), st.booleans())
def test_the_number_of_blocks_does_not_change_a_byte(documents, block, positions):
    with TemporaryDirectory() as one, TemporaryDirectory() as many:
        whole = built(documents, one, positions=positions)
        assert built(documents, many, block=block, positions=positions) == whole


@given(plain, st.sampled_from([0, 10**9]))
def test_an_index_holds_what_the_analyzer_says(documents, memory):
    with TemporaryDirectory() as folder:
        Index.build(folder, documents)
        field = Index.open(folder, memory=memory).field("text" if documents else None)
        counted = [Counter(ANALYZER(text)) for _, text in documents]
        terms = sorted(set().union(*counted))
        assert [field.term(number) for number in range(field.n_terms)] == terms
        assert field.lengths.tolist() == [sum(row.values()) for row in counted]
        assert field.total_length == sum(field.lengths)
        lists = field.lists(np.arange(len(terms)))
        for number, term in enumerate(terms):
            having = [(i, row[term]) for i, row in enumerate(counted) if row[term]]
            run = slice(lists.begins[number], lists.ends[number])
            assert lists.items[run].tolist() == [i for i, _ in having]
            assert lists.counts[run].tolist() == [n for _, n in having]
            assert field.df[number] == len(having)
            assert field.cf[number] == sum(n for _, n in having)
            assert field.number(term) == number
        assert field.number("nothing") is None


def test_the_courses_pairs_become_lists_by_term_then_document(tmp_path):
    """In blocks of three documents, merged, or at once."""
    documents = ["brutus caesar", "caesar", "brutus", "caesar", "noble", "", "brutus"]
    documents += ["kill", "", "julius"]
    numbered = [(f"d{at}", text) for at, text in enumerate(documents, start=1)]
    merged = built(numbered, tmp_path / "blocks", block=3)
    assert merged == built(numbered, tmp_path / "at once")
    field = Index.build(tmp_path / "index", numbered).field("text")
    lists = field.lists(np.arange(field.n_terms))
    assert {
        field.term(t): [int(i) + 1 for i in lists.items[begin:end]]
        for t, (begin, end) in enumerate(zip(lists.begins, lists.ends, strict=True))
    } == {"brutus": [1, 3, 7], "caesar": [1, 2, 4], "julius": [10], "kill": [8],
          "nobl": [5]}  # fmt: skip


@given(plain, st.integers(1, 4))
def test_positions_are_those_of_the_tokens(documents, part):
    with TemporaryDirectory() as folder:
        index = Index.build(folder, documents[:part], positions=True)
        if documents[part:]:
            index.add(documents[part:])
            index.commit()
        field = index.field("text") if documents else index.field()
        rows = [ANALYZER.terms(words(text)) for _, text in documents]
        for number in range(field.n_terms):
            found = field.places(number)
            expected = [
                [place for place, term in enumerate(row) if term == field.term(number)]
                for row in rows
            ]
            assert found.items.tolist() == [i for i, e in enumerate(expected) if e]
            assert found.places.tolist() == [place for row in expected for place in row]
            assert np.diff(found.bounds).tolist() == [len(e) for e in expected if e]


def test_fields_are_indexed_apart(tmp_path):
    documents = [
        {"id": "a", "title": "Bees", "body": "A hive of bees"},
        Document("b", {"body": "Honey"}),
        {"id": "c", "year": "1984"},
    ]
    index = Index.build(tmp_path, documents)
    assert index.fields == ["title", "body", "year"]
    assert index.field("title").lengths.tolist() == [1, 0, 0]
    assert index.field("body").lengths.tolist() == [2, 1, 0]
    with pytest.raises(Mistake, match="it has title, body, year"):
        index.field("text")
    with pytest.raises(Mistake, match="name one"):
        index.field()
    chosen = Index.build(tmp_path, documents, fields=["body", "abstract"])
    assert chosen.fields == ["body", "abstract"]
    assert chosen.field("abstract").n_terms == 0


def test_a_count_above_255_is_whole(tmp_path):
    index = Index.build(tmp_path, [("a", "bee " * 1000), ("b", "bees")])
    field = index.field()
    assert field.cf.tolist() == [1001]
    assert field.lists(np.array([0])).counts.tolist() == [1000, 1]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("text", "one str"),
        ({"id": "a"}, "one dict"),
        ([("a", "x"), "b"], "row 1: str is not a document"),
        ([("a", 3)], "row 0 .*int"),
        ([(7, "x")], "the id is 7"),
        ([("", "x")], "the id is ''"),
        ([("a", "x"), ("b", "y"), ("a", "z")], "document 3: id 'a' .* document 1"),
        ([{"id": "a", "year": 1984}], "field 'year' is int"),
    ],
)
def test_what_is_no_document_is_refused_by_its_place(documents, message, tmp_path):
    with pytest.raises(Mistake, match=message):
        Index.build(tmp_path, documents)
    with pytest.raises(Mistake, match="holds no index"):
        Index.open(tmp_path)
    assert not Index.build(tmp_path, [])


@pytest.mark.parametrize("given", ["much", "12 XB", -1, True, None, 2.5])
def test_memory_that_is_none_is_refused(given):
    with pytest.raises(Mistake, match="give a size such as"):
        byte_size(given)


def test_too_little_memory_is_refused(tmp_path):
    with pytest.raises(Mistake, match="at least"):
        Index.build(tmp_path, [], memory="1MB")


def test_doubles_are_found_across_blocks(tmp_path):
    documents = [("a", "x"), ("b", "y"), ("c", "z"), ("b", "z")]
    with pytest.raises(Mistake, match="document 4: id 'b' is also that of document 2"):
        built(documents, tmp_path, block=1)


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


class Sampler(threading.Thread):
    """Notes the largest resident set."""

    def __init__(self):
        super().__init__()
        self.most, self.stopped = resident(), False

    def run(self):
        while not self.stopped:
            self.most = max(self.most, resident())
            time.sleep(0.002)


def test_the_memory_is_a_hard_cap(data, tmp_path):
    import json

    def articles():
        with (data / "wikispeedia" / "articles.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                article = json.loads(line)
                yield article["id"], article["text"]

    few = [(str(i), "Some wörds to compile the kernels with") for i in range(50)]
    built(few, tmp_path / "warm", block=20)
    before = resident()
    sampler = Sampler()
    sampler.start()
    try:
        index = Index.build(tmp_path / "index", articles(), memory="64MB")
    finally:
        sampler.stopped = True
        sampler.join()
    assert sampler.most - before <= 64e6
    assert index.check().documents == len(index) == 4598
