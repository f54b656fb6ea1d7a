import pytest

from classmark.arrays import rows_from
from classmark.formats.arff import quoted, read_arff, unquoted, write_arff
from classmark.formats.records import Examples
from classmark.formats.taxonomies import read_mulan_labels, write_mulan_labels
from classmark.problems import Mistake, UnreadableFile
from classmark.taxonomy import Category

SPARSE = r"""% our own
@RELATION 'bees: -C 2'
@attribute 'it\'s wet' {0,1}
@attribute "two words" { 0 , 1 }
@attribute honey numeric
@attribute wax real

@DATA
{0 1, 2 0.5}
% nothing here
{}
{1 1,3 -2}
"""
DENSE = """@relation plain
@attribute a numeric
@attribute b integer
@attribute x {0,1}
@data
1,2,'1'
0, 3 ,0
"""
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="x"><label name="y"></label></label>
<label name="z"></label>
</labels>
"""


def written(tmp_path, text, name="a.arff"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_meka_sparse(tmp_path):
    found = read_arff(written(tmp_path, SPARSE))
    assert found.label_names == ("it's wet", "two words")
    assert found.feature_names == ("honey", "wax")
    assert found.labels == (("it's wet",), (), ("two words",))
    assert found.rows.shape == (3, 2)
    assert found.rows.values.tolist() == [0.5, -2.0]
    assert found.lines == (9, 11, 12)


def test_meka_counts_from_the_end(tmp_path):
    found = read_arff(
        written(tmp_path, SPARSE.replace("-C 2", "-C -1").replace("3 -2", "3 1"))
    )
    assert found.label_names == ("wax",)


def test_mulan_dense(tmp_path):
    path = written(tmp_path, DENSE)
    found = read_arff(path, ["x"])
    assert found.labels == (("x",), ())
    assert found.rows.to_scipy().toarray().tolist() == [[1, 2], [0, 3]]
    xml = written(tmp_path, XML.replace('name="y"', 'name="b"'), "a.xml")
    with pytest.raises(UnreadableFile, match="label 'z' is not an attribute"):
        read_arff(path, xml)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("1,2,'1'", "1,?,1", "line 6: a missing value"),
        ("1,2,'1'", "1,2", "line 6: 2 values for 3"),
        ("1,2,'1'", "1,b,1", "line 6: '1 b' is not"),
        ("1,2,'1'", "1,2,3", "line 6: 3 for a label"),
        ("1,2,'1'", "{0 ?}", "line 6: a missing value"),
        ("1,2,'1'", "{0 1},{2}", "line 6: one {…} a line"),
        ("1,2,'1'", "{0 1", "line 6: one {…} a line"),
        ("1,2,'1'", "{7 1}", "line 6: attribute 7 is not declared"),
        ("1,2,'1'", "{0 1,0 2}", "line 6: the same index"),
        ("a numeric", "a string", "line 2: attribute 'a' of type 'string'"),
        ("a numeric", "a {red,blue}", "line 2: attribute 'a'"),
        ("a numeric", "a", "line 2: attribute 'a'"),
        ("a numeric", "b numeric", "line 3: attribute 'b' is there twice"),
        ("@relation plain", "relation", "line 1: 'relation'"),
        ("@data", "% data", r"line 6: .*expected"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, old, new, words):
    path = written(tmp_path, DENSE.replace(old, new))
    with pytest.raises(UnreadableFile, match=words):
        read_arff(path, ["x"])


def test_sparse_rows_need_zero_first(tmp_path):
    text = DENSE.replace("{0,1}", "{1,0}").replace("1,2,'1'", "{0 1}")
    with pytest.raises(UnreadableFile, match=r"line 6: sparse rows, but .*'x'"):
        read_arff(written(tmp_path, text), ["x"])


def test_labels_must_be_said(tmp_path):
    with pytest.raises(UnreadableFile, match="give labels="):
        read_arff(written(tmp_path, DENSE))
    with pytest.raises(UnreadableFile, match="no @data line"):
        read_arff(written(tmp_path, "@relation x\n"))
    with pytest.raises(UnreadableFile, match="-C 9, but 4 attributes"):
        read_arff(written(tmp_path, SPARSE.replace("-C 2", "-C 9")))


def test_nested_labels(tmp_path):
    labels = read_mulan_labels(written(tmp_path, XML, "a.xml"))
    assert labels == [Category("x"), Category("y", parents=("x",)), Category("z")]
    write_mulan_labels(labels, tmp_path / "b.xml")
    assert read_mulan_labels(tmp_path / "b.xml") == labels
    with pytest.raises(Mistake, match="several parents"):
        write_mulan_labels(
            [*labels, Category("w", parents=("x", "z"))], tmp_path / "c.xml"
        )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<labels><label/></labels>", "a name of its own"),
        ('<labels><label name="a"/><label name="a"/></labels>', "'a'"),
        ("<labels>", "not XML"),
        ("", "not XML"),
        (
            '<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><labels>&b;</labels>',
            "refused",
        ),
        ('<!DOCTYPE l SYSTEM "file:///etc/passwd"><labels/>', "refused"),
    ],
)
def test_bad_label_files(tmp_path, text, words):
    with pytest.raises(UnreadableFile, match=words):
        read_mulan_labels(written(tmp_path, text, "a.xml"))


def test_what_cannot_be_written(tmp_path):
    rows = rows_from([[1.0]])
    with pytest.raises(Mistake, match="'q' is not among label_names"):
        write_arff(Examples(rows, (("q",),)), tmp_path / "x.arff", relation="r")
    same = Examples(rows, (("q",),), feature_names=("q",), label_names=("q",))
    with pytest.raises(Mistake, match="must all differ"):
        write_arff(same, tmp_path / "x.arff", relation="r")
    with pytest.raises(Mistake, match="cannot be a name"):
        quoted("a\nb")
    assert unquoted('"a') == '"a'


@pytest.mark.parametrize(
    ("folder", "stem", "shape", "labels", "parts"),
    [
        ("bibtex", "bibtex", (7395, 1836), 159, (4880, 2515)),
        ("medical", "medical", (978, 1449), 45, (333, 645)),
        ("tmc2007", "tmc2007-500", (28596, 500), 22, (21519, 7077)),
    ],
)
def test_mulan_sets(data, folder, stem, shape, labels, parts):
    place = data / f"mulan-{folder}"
    xml = place / f"{stem}.xml"
    whole = read_arff(place / f"{stem}.arff", xml)
    assert whole.rows.shape == shape
    assert len(whole.label_names) == labels
    sizes = [len(read_arff(place / f"{stem}-{p}.arff", xml)) for p in ("train", "test")]
    assert tuple(sizes) == parts
