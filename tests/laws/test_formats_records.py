"""Laws of the record formats: what is written is read back the same."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from classmark.corpus.documents import Document
from classmark.formats.annif import read_annif_folder, write_annif_folder
from classmark.formats.jsonl import read_jsonl, write_jsonl
from classmark.formats.records import Judgment, Record, gather
from classmark.formats.reuters import plain
from classmark.formats.tables import (
    read_delimited,
    read_parquet,
    write_delimited,
    write_parquet,
)
from classmark.formats.test_collections import (
    read_beir,
    read_qrels,
    read_run,
    write_beir,
    write_qrels,
    write_run,
)

texts = st.text(max_size=40)
names = st.text(min_size=1, max_size=8).filter(str.strip)
words = st.text("abcxyz-_.0189é", min_size=1, max_size=6)
grades = st.floats(allow_nan=False, allow_infinity=False)


def collections(fields, facts, labels, links):
    record = st.builds(
        lambda f, m, la, li: (f, la, m, tuple(li)), fields, facts, labels, links
    )
    return st.dictionaries(names, record, max_size=4).map(
        lambda parts: [
            Record(Document(name, fields), *rest)
            for name, (fields, *rest) in parts.items()
        ]
    )


anything = collections(
    st.dictionaries(st.one_of(names, st.sampled_from(["id", "meta", "see"])), texts),
    st.dictionaries(names, texts),
    st.dictionaries(names, grades),
    st.lists(st.tuples(texts, texts), max_size=3),
)


@given(anything)
def test_jsonl_is_lossless(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("law") / "a.jsonl"
    write_jsonl(records, path)
    again = list(read_jsonl(path))
    assert again == records
    for one, other in zip(again, records, strict=True):
        assert list(one.document.fields) == list(other.document.fields)
        assert list(one.labels) == list(other.labels)


tidy = names.map(str.strip).filter(lambda name: name and "|" not in name)
columns = tidy.map(lambda name: ("c" + name.replace(".", "")).strip())
filled = st.text(min_size=1, max_size=40)
flat = collections(
    st.dictionaries(columns, filled),
    st.dictionaries(columns, filled),
    st.dictionaries(tidy, st.sampled_from([1.0, 2.0])),
    st.lists(st.tuples(texts, texts), max_size=3),
)


@given(flat, st.sampled_from(["a.csv", "a.tsv", "a.csv.xz"]))
def test_raw_tables_are_lossless(tmp_path_factory, records, name):
    path = tmp_path_factory.mktemp("law") / name
    write_delimited(records, path, raw=True)
    assert list(read_delimited(path)) == records


plain_fields = collections(
    st.dictionaries(columns, texts),
    st.dictionaries(names, texts),
    st.dictionaries(names, grades),
    st.lists(st.tuples(texts, texts), max_size=3),
)


@given(plain_fields)
def test_parquet_is_lossless(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("law") / "a.parquet"
    write_parquet(records, path)
    assert list(read_parquet(path)) == records


@given(st.dictionaries(names, st.tuples(texts, texts), max_size=4))
def test_beir_is_lossless_for_titles_and_bodies(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("law")
    records = [
        Record(
            Document(
                name,
                {k: v for k, v in (("title", title), ("body", body)) if v},
            )
        )
        for name, (title, body) in parts.items()
    ]
    write_beir(folder, records, [], {})
    assert list(read_beir(folder)) == records


@given(st.dictionaries(words.filter(lambda w: w.strip(".")), filled, max_size=3))
def test_annif_folders_are_lossless(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("law")
    records = [
        Record(Document(name, {"body": body}), {"http://example.org/" + name: 1.0})
        for name, body in parts.items()
    ]
    write_annif_folder(records, folder)
    again = sorted(read_annif_folder(folder), key=lambda record: record.id)
    bodies = {r.id: r.document.text.removeprefix("\ufeff") for r in records}
    assert {r.id: r.document.text for r in again} == bodies
    assert {r.id: r.labels for r in again} == {r.id: r.labels for r in records}


rankings = st.dictionaries(words, st.dictionaries(words, grades, min_size=1))


@given(rankings)
def test_runs_are_lossless_and_sorted(tmp_path_factory, run):
    path = tmp_path_factory.mktemp("law") / "a.run"
    write_run(run, path)
    lines = list(read_run(path))
    assert gather(lines) == run
    for one, next_ in pairwise(lines):
        if one.query == next_.query:
            assert one.score >= next_.score
            assert one.rank + 1 == next_.rank


@given(st.lists(st.builds(Judgment, words, words, grades)))
def test_qrels_are_lossless(tmp_path_factory, judged):
    path = tmp_path_factory.mktemp("law") / "a.qrels"
    write_qrels(judged, path)
    assert list(read_qrels(path)) == judged


@given(st.text("abc <>&\"' é\n"))
def test_decoding_undoes_encoding(text):
    encoded = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&#34;")
    assert plain(encoded) == text
    assert plain(text.replace("&", "and")) == text.replace("&", "and")
