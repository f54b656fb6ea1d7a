"""Files of preferences: read, written, and refused with the line."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.corpus.documents import Document
from classmark.formats.jsonl import read_jsonl, write_jsonl
from classmark.formats.preferences import (
    Preference,
    is_preferences,
    numbered_preferences,
    read_preferences,
    write_preferences,
)
from classmark.formats.records import Record
from classmark.formats.tables import write_delimited, write_parquet
from classmark.problems import Mistake, UnreadableFile

FILE = Path(__file__).parent / "files" / "shelf.preferences.csv"


def test_a_table_is_read_with_its_lines():
    assert is_preferences(FILE)
    assert list(numbered_preferences(FILE)) == [
        (2, Preference("d1", "bees", "wax")),
        (3, Preference("d1", "wax", "bread, rye", 2.5)),
        (4, Preference("d2", "bees", "wax")),
    ]


def test_the_weight_may_be_missing_and_columns_stand_in_any_order(tmp_path):
    path = tmp_path / "p.tsv"
    path.write_text("loser\tdocument\twinner\nwax\td1\tbees\n")
    assert list(read_preferences(path)) == [Preference("d1", "bees", "wax")]
    path = tmp_path / "p.jsonl"
    path.write_text('{"document": 7, "winner": "bees", "loser": "wax", "weight": 2}\n')
    assert list(read_preferences(path)) == [Preference("7", "bees", "wax", 2.0)]


names = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1
).filter(str.strip)
triples = st.tuples(names, names, names).filter(lambda t: t[1] != t[2])


@given(
    st.dictionaries(triples, st.floats(1e-3, 1e3)),
    st.sampled_from([".csv", ".tsv", ".jsonl", ".jsonl.gz"]),
)
def test_what_is_written_is_read_back(tmp_path_factory, given_, suffix):
    kept = {t: w for t, w in given_.items() if (t[0], t[2], t[1]) not in given_}
    wanted = [Preference(*triple, weight) for triple, weight in kept.items()]
    path = tmp_path_factory.mktemp("p") / f"p{suffix}"
    assert write_preferences(wanted, path, raw=True) == len(wanted)
    assert list(read_preferences(path)) == wanted


def test_cells_that_a_spreadsheet_would_run_are_guarded(tmp_path):
    path = tmp_path / "p.csv"
    write_preferences([Preference("d", "=1+1", "b")], path)
    assert path.read_text().splitlines()[1] == "d,'=1+1,b,1.0"


HEADER = "document,winner,loser,weight"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([HEADER, "d,a,b,1", "d,a,a,1"], "line 3: document 'd': 'a' cannot be above"),
        ([HEADER, "d,a,b,0"], "line 2: the weight is '0'"),
        ([HEADER, "d,a,b,nan"], "line 2: the weight is 'nan'"),
        ([HEADER, "d,a,b,much"], "line 2: the weight is 'much'"),
        ([HEADER, "d,a,b,1", "e,a,b,1", "d,a,b,2"], r"line 4.*it is on line 2"),
        ([HEADER, "d,a,b,1", "d,b,a,1"], r"line 3.*'b' over 'a': its contrary"),
        ([HEADER, "d,,b,1"], "line 2: 'winner' holds ''"),
        ([HEADER, "d,a"], "line 2: 2 cells"),
        (["document,winner", "d,a"], "line 2: no 'loser'"),
        ([HEADER + ",note", "d,a,b,1,x"], "line 2: unknown 'note'"),
    ],
)
def test_a_bad_line_is_named(tmp_path, rows, said):
    path = tmp_path / "p.csv"
    path.write_text("\n".join(rows))
    with pytest.raises(UnreadableFile, match=said):
        list(read_preferences(path))


@pytest.mark.parametrize("weight", [True, "x", -1, [1]])
def test_a_weight_in_json_is_a_number(tmp_path, weight):
    path = tmp_path / "p.jsonl"
    row = {"document": "d", "winner": "a", "loser": "b", "weight": weight}
    path.write_text(json.dumps(row))
    with pytest.raises(UnreadableFile, match="line 1: the weight"):
        list(read_preferences(path))


def test_other_suffixes_and_weights_are_refused(tmp_path):
    with pytest.raises(Mistake, match=r"p\.txt: .*use \.csv"):
        list(read_preferences(tmp_path / "p.txt"))
    with pytest.raises(Mistake, match="above 0"):
        write_preferences([Preference("d", "a", "b", 0.0)], tmp_path / "p.csv")


def test_records_keep_theirs_in_jsonl(tmp_path):
    record = Record(
        Document("d", {"text": "x", "preferences": "a field of that name"}),
        {"a": 1.0},
        preferences={("b", "a"): 1.0, ("a", "c"): 0.5},
    )
    write_jsonl([record], tmp_path / "d.jsonl")
    assert list(read_jsonl(tmp_path / "d.jsonl")) == [record]


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (write_delimited, "d.csv"),
        pytest.param(write_parquet, "d.parquet", marks=pytest.mark.needs("pyarrow")),
    ],
)
def test_tables_of_documents_refuse_them(tmp_path, write, name):
    record = Record(Document("d", {"text": "x"}), preferences={("b", "a"): 1.0})
    with pytest.raises(Mistake, match="record 'd' has preferences"):
        write([record], tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ("a over b", "must be a list"),
        ([["a", "b"]], "winner, loser"),
        ([{"winner": "a"}], "two different"),
        ([{"winner": "a", "loser": "a"}], "two different"),
        ([{"winner": "a", "loser": "b", "weight": 0}], "above 0"),
        ([{"winner": "a", "loser": "b", "weight": "1"}], "finite number"),
        ([{"winner": a, "loser": b} for a, b in ("ab", "ba")], "compared twice"),
    ],
)
def test_a_record_with_bad_preferences_is_named(tmp_path, given_, said):
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"id": "d", "preferences": given_}))
    with pytest.raises(UnreadableFile, match=rf"line 1: .*{said}"):
        list(read_jsonl(path))
