import time
import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from classmark.arrays import rows_from
from classmark.formats.records import Examples
from classmark.formats.svmlight import read_svmlight, svmlight_blocks, write_svmlight
from classmark.formats.text_files import FileLimits
from classmark.problems import Mistake, UnreadableFile


def written(tmp_path, text):
    path = tmp_path / "rows.svm"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_labels_queries_comments_and_values(tmp_path):
    path = written(tmp_path, "1,5 qid:7 3:0.5 9:1 # a note\n-1 1:-2e-1\r\n")
    found = read_svmlight(path)
    assert found.labels == (("1", "5"), ("-1",))
    assert found.qids == ("7", "")
    assert found.comments == ("a note", "")
    assert found.rows.shape == (2, 9)
    assert found.rows.row(0)[0].tolist() == [2, 8]
    assert found.rows.row(1)[1].tolist() == [-0.2]
    assert found.lines == (1, 2)


def test_lines_without_labels_and_without_anything(tmp_path):
    found = read_svmlight(written(tmp_path, "# about\n\n 2:1\n \n3\n3, 4 1:0\n"))
    assert found.labels == ((), (), ("3",), ("3", "4"))
    assert found.rows.nnz == 1, "a zero is not stored"
    assert found.qids == found.comments == ()


def test_unsorted_features_are_sorted(tmp_path):
    found = read_svmlight(written(tmp_path, "1 9:1 2:2\n2 1:3\n"))
    assert found.rows.row(0)[0].tolist() == [1, 8]
    assert found.rows.row(0)[1].tolist() == [2.0, 1.0]
    assert found.rows.row(1)[1].tolist() == [3.0]


def test_a_header_counts_from_zero_and_is_checked(tmp_path):
    found = read_svmlight(written(tmp_path, "2 10 4\n0,3 0:1\n 9:2\n"))
    assert found.rows.shape == (2, 10)
    assert found.rows.columns.tolist() == [0, 9]
    with pytest.raises(UnreadableFile, match="promises 3 examples and 2 follow"):
        read_svmlight(written(tmp_path, "3 10 4\n0,3 0:1\n 9:2\n"))
    with pytest.raises(UnreadableFile, match="line 3: index 10 is beyond the 10"):
        read_svmlight(written(tmp_path, "2 10 4\n0,3 0:1\n 10:2\n"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 2:3\n1 0:1\n", "line 2: index 0 in a file counted from 1.*first_index=0"),
        ("1 2:3\n\n1 2:x\n", "line 3: '2:x' is not index:number"),
        ("1 2:3:4 5\n", "line 1: '2:3:4'"),
        ("1 2: 3:1\n", "line 1: '2:'"),
        ("1 1e2:3\n", "line 1: '1e2:3'"),
        ("1 -1:3\n", "line 1: '-1:3'"),
        ("1 1:nan\n", "line 1: '1:nan'"),
        ("1 1:1e999\n", "line 1: 1e999 is too large"),
        ("1 5000000000:1\n", "line 1: index 5000000000 is over"),
        ("1 99999999999999999999:1\n", "line 1"),
        ("1 1:1_0\n", "line 1: '1:1_0'"),
        ("1 3:1 2:1 3:2\n", "line 1: the same index occurs twice"),
        ("1,,2 3:1\n", "line 1: an empty label"),
        ("1 2 3:1\n", "line 1: '2' is not"),
        (b"\xff 3:1\n", "line 1: not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, text, words):
    with pytest.raises(UnreadableFile, match=words):
        read_svmlight(written(tmp_path, text))


def test_width_and_first_index_are_what_is_asked(tmp_path):
    path = written(tmp_path, "1 0:1 3:1\n")
    assert read_svmlight(path, first_index=0).rows.shape == (1, 4)
    assert read_svmlight(path, first_index=0, width=7).rows.shape == (1, 7)
    with pytest.raises(UnreadableFile, match="beyond the 3 columns"):
        read_svmlight(path, first_index=0, width=3)


def test_empty_file(tmp_path):
    assert len(read_svmlight(written(tmp_path, ""))) == 0


def test_a_byte_order_mark_is_dropped(tmp_path):
    assert read_svmlight(written(tmp_path, b"\xef\xbb\xbf7 1:1")).labels == (("7",),)


def test_blocks_join_to_the_whole(tmp_path):
    lines = [f"{n % 5} {n + 1}:{n + 1} # n{n}\n" for n in range(500)]
    path = written(tmp_path, "".join(lines))
    blocks = list(svmlight_blocks(path, block=100))
    whole = read_svmlight(path)
    assert len(blocks) > 10
    assert sum(len(block) for block in blocks) == len(whole) == 500
    assert whole.lines == tuple(range(1, 501))
    assert whole.comments[7] == "n7"
    assert whole.rows.width == 500


def test_long_lines_are_refused(tmp_path):
    path = written(tmp_path, "1 " + "1:1 " * 200)
    with pytest.raises(UnreadableFile, match="more than 100 bytes"):
        list(svmlight_blocks(path, limits=FileLimits(line=100), block=50))


def test_reading_streams(tmp_path):
    path = written(tmp_path, "".join(f"1 {n % 99 + 1}:1\n" for n in range(100_000)))
    tracemalloc.start()
    count = sum(len(block) for block in svmlight_blocks(path, block=1 << 14))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 100_000
    assert peak < 2 << 20, "a block at a time, not the whole file as objects"


def test_as_scikit_learn_reads(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 30)) * (rng.random((60, 30)) < 0.2)
    labels = tuple((str(n % 4),) for n in range(60))
    path = tmp_path / "rows.svm"
    write_svmlight(Examples(rows_from(X), labels), path)
    theirs, y = load_svmlight_file(str(path), n_features=30)
    ours = read_svmlight(path, width=30)
    assert (ours.rows.to_scipy() != theirs).nnz == 0
    assert y.tolist() == [float(label) for (label,) in ours.labels]


def test_compressed(tmp_path):
    examples = Examples(rows_from([[0.0, 1.5]]), (("a",),))
    path = tmp_path / "rows.svm.gz"
    write_svmlight(examples, path, first_index=0, header=True)
    found = read_svmlight(path)
    assert found.labels == (("a",),)
    assert found.rows.shape == (1, 2)


def test_what_cannot_be_written(tmp_path):
    rows = rows_from([[1.0]])
    for label in ("a b", "a,b", "a:b", "#", ""):
        with pytest.raises(Mistake, match="cannot stand"):
            write_svmlight(Examples(rows, ((label,),)), tmp_path / "x.svm")
    with pytest.raises(Mistake, match="qids, row 0"):
        write_svmlight(Examples(rows, (("a",),), ("a b",)), tmp_path / "x.svm")
    with pytest.raises(Mistake, match="count from 0"):
        write_svmlight(Examples(rows, ((),)), tmp_path / "x.svm", header=True)
    assert not (tmp_path / "x.svm").exists()


def test_examples_must_fit():
    with pytest.raises(Mistake, match="labels: 2 for 1 rows"):
        Examples(rows_from([[1.0]]), ((), ()))
    with pytest.raises(Mistake, match="feature_names: 2 for 1 columns"):
        Examples(rows_from([[1.0]]), ((),), feature_names=("a", "b"))


def test_five_megabytes_are_quick(tmp_path):
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(5_000):
        columns = np.cumsum(rng.integers(1, 500, 80))
        lines.append("7,9 " + " ".join(f"{c}:0.25" for c in columns.tolist()))
    path = written(tmp_path, "\n".join(lines))
    start = time.perf_counter()
    found = read_svmlight(path)
    assert time.perf_counter() - start < 2
    assert found.rows.nnz == 400_000


@pytest.mark.parametrize(
    ("name", "rows", "columns", "without"),
    [("cooking", 10_491, 577, 134), ("cs", 9_270, 635, 36)],
)
def test_stack_exchange(data, name, rows, columns, without):
    found = read_svmlight(data / "stackex" / f"stackex_{name}.svm")
    assert found.rows.shape == (rows, columns)
    assert sum(not labels for labels in found.labels) == without
