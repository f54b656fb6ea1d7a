import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.formats.svmlight import JudgedRows, read_letor, write_letor
from classmark.problems import Mistake, UnreadableFile

TWO = """2 qid:10 1:0.5 2:0 3:1 #docid = D-1 inc = 1 prob = 0.02
0 qid:10 1:NULL 2:4 3:NULL #docid = D-2
1 qid:11 1:1 2:1 3:1
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "S1.txt"
    path.write_text(TWO)
    return path


def test_letor(path):
    found = read_letor(path)
    assert found.grades.tolist() == [2, 0, 1]
    assert found.qids == ("10", "10", "11")
    assert found.docids == ("D-1", "D-2", "")
    assert found.rows.shape == (3, 3)
    assert found.rows.row(1)[0].tolist() == [1], "NULL is not stored"


def test_groups_instead_of_qids(tmp_path):
    rows, groups = tmp_path / "rank.train", tmp_path / "rank.train.query"
    rows.write_text("1 1:1\n0 2:1\n3 1:2\n")
    groups.write_text("1\n2\n")
    assert read_letor(rows, groups=groups).qids == ("1", "2", "2")
    for text, words in [("1\n", "1 rows for 3"), ("9\n", "line 1: more"), ("x", "'x'")]:
        groups.write_text(text)
        with pytest.raises(UnreadableFile, match=words):
            read_letor(rows, groups=groups)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 qid:1 1:1\n\n1 1:1\n", "line 3: no qid"),
        ("1 1:1\n", "line 1: no qid"),
        ("good qid:1 1:1\n", "line 1: grade is 'good'"),
        ("1,2 qid:1 1:1\n", "line 1: grade is '1,2'"),
        ("nan qid:1 1:1\n", "line 1: grade is 'nan'"),
        ("1 qid:1 1:NUL\n", "line 1: '1:NUL'"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, text, words):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=words):
        read_letor(path)


@pytest.mark.parametrize("dense", [True, False])
def test_write_then_read(tmp_path, dense):
    rows = rows_from([[0.0, 0.25], [3.0, 0.0]])
    judged = JudgedRows(rows, np.array([2.0, 0.5]), ("a", "b"), ("d1", ""))
    path = tmp_path / "out.txt"
    write_letor(judged, path, dense=dense)
    again = read_letor(path, width=2)
    assert again.qids == judged.qids
    assert again.docids == judged.docids
    assert again.grades.tolist() == judged.grades.tolist()
    assert (again.rows.to_scipy() != rows.to_scipy()).nnz == 0


def test_what_cannot_be_written(tmp_path):
    rows = rows_from([[1.0]])
    with pytest.raises(Mistake, match="docids, row 0"):
        write_letor(JudgedRows(rows, np.ones(1), ("q",), ("a b",)), tmp_path / "x")
    with pytest.raises(Mistake, match="qids, row 0"):
        write_letor(JudgedRows(rows, np.ones(1), ("",), ("a",)), tmp_path / "x")


def test_letor_sets(data):
    counts = []
    for part in range(1, 5):
        found = read_letor(data / "letor-mq2008" / f"S{part}.txt")
        counts.append((len(found), len(set(found.qids))))
        assert found.rows.width == 46
        assert found.docids[0].startswith("GX")
    assert counts == [(2933, 157), (3635, 157), (3062, 157), (2707, 157)]
    folder = data / "lightgbm-lambdarank"
    train = read_letor(folder / "rank.train", groups=folder / "rank.train.query")
    assert train.rows.shape == (3005, 300)
    assert len(set(train.qids)) == 201
    ranks = read_letor(data / "letor-mq-agg" / "A1.txt")
    assert ranks.rows.width == 21
