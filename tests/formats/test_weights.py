"""Weights of a query are readable, and read back as they were written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.formats.weights import QueryWeights, read_weights, write_weights
from classmark.problems import Mistake, UnreadableFile

QUERY = QueryWeights(
    "words|lower", "log-tfidf", "l2", "rocchio", 1.5, {"bee": 0.1, "#": -0.25}
)
TSV = """# format: classmark query 1
# analyzer: words|lower
# weighting: log-tfidf
# norm: l2
# method: rocchio
# C: 1.5
term\tweight
#\t-0.25
bee\t0.1
"""


def test_the_table_is_as_people_read_it(tmp_path):
    assert write_weights(QUERY, tmp_path / "q.tsv") == 2
    assert (tmp_path / "q.tsv").read_text() == TSV
    write_weights(QUERY, tmp_path / "q.json")
    told = json.loads((tmp_path / "q.json").read_text())
    assert told["weights"] == {"#": -0.25, "bee": 0.1}
    assert told["analyzer"] == "words|lower"


WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("ending", ["tsv", "json"])
@given(
    weights=st.dictionaries(WORDS, NUMBERS, min_size=1),
    C=st.none() | st.floats(1e-9, 1e9),
)
def test_what_is_written_is_read(tmp_path_factory, ending, weights, C):
    path = tmp_path_factory.mktemp("weights") / f"q.{ending}"
    query = QueryWeights("words|lower", "tfidf", "l2", "balanced", C, weights)
    assert write_weights(query, path) == len(weights)
    assert read_weights(path) == query


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q.tsv", "bee\t0.1\n", "not 'classmark query 1'"),
        ("q.tsv", TSV.replace("# analyzer: words|lower\n", ""), "its analyzer"),
        ("q.tsv", TSV + "honey\n", "line 10: not a new term"),
        ("q.tsv", TSV + "bee\t1\n", "line 10: not a new term"),
        ("q.tsv", TSV + "wax\tmuch\n", "weight is 'much'"),
        ("q.tsv", TSV.partition("#\t")[0], "it has no weights"),
        ("q.json", "{", "no JSON"),
        ("q.json", "[1]", "no object with 'weights'"),
        ("q.json", '{"weights": {"a": null}}', "weight is None"),
    ],
)
def test_other_files_are_refused(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(UnreadableFile, match=said):
        read_weights(tmp_path / name)


def test_the_ending_says_how(tmp_path):
    with pytest.raises(Mistake, match=r"\.tsv or \.json"):
        write_weights(QUERY, tmp_path / "q.txt")
    assert not list(tmp_path.iterdir())
