import csv

import numpy as np
import pytest

from classmark.formats.svmlight import read_lshtc, read_names, write_names
from classmark.formats.taxonomies import (
    TAXONOMY_READERS,
    TAXONOMY_WRITERS,
    read_categories,
    read_category_csv,
    read_children_lists,
    read_hierarchy,
    read_indented,
    read_pairs,
    read_topic_tree,
    write_categories,
    write_category_csv,
    write_children_lists,
    write_indented,
    write_pairs,
    write_topic_tree,
)
from classmark.problems import Mistake, UnreadableFile
from classmark.taxonomy import Category, taxonomy_of

CSV = """id,parent,label,scope_note,synonyms
q,,Nature,"Living things, and stones.",
q.bee,q,Bees,,honeybees|drones
"""


def written(tmp_path, text, name="tree.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_csv(tmp_path):
    found = read_category_csv(written(tmp_path, CSV))
    assert found == [
        Category("q", "Nature", "Living things, and stones."),
        Category("q.bee", "Bees", "", ("honeybees", "drones"), ("q",)),
    ]
    for name in ("again.csv", "again.tsv"):
        assert write_category_csv(found, tmp_path / name) == 2
        assert read_category_csv(tmp_path / name) == found


SKOS_LOOP = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix c: <urn:category:> .
c:r a skos:Concept . c:a a skos:Concept ; skos:broader c:r, c:b .
c:b a skos:Concept ; skos:broader c:a .
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,colour\na,red\n", "line 2: .*colour"),
        ("parent,label\na,b\n", "line 2: .*an empty id"),
        ("id,parent\na,b\n", "parent 'b', which is not among"),
        ("id,parent\na,\na,\n", "'a' is there twice"),
        ("id,parent\na,b\nb,a\n", "cycle"),
        ("id,parent\na,a\n", "its own parent"),
        ("id,parent\na\n", "line 2: 1 cells"),
    ],
)
def test_csv_that_is_no_tree(tmp_path, text, words):
    with pytest.raises(UnreadableFile, match=words):
        read_category_csv(written(tmp_path, text))


def test_csv_cannot_hold_bars(tmp_path):
    with pytest.raises(Mistake, match=r"'b\|c' has a"):
        write_category_csv([Category("a", synonyms=("b|c",))], tmp_path / "x.csv")


def test_pairs(tmp_path):
    path = written(tmp_path, "# ours\nq bee\n\nq ant\n", "tree.txt")
    found = read_pairs(path)
    assert taxonomy_of(found).edges == [("q", "bee"), ("q", "ant")]
    assert write_pairs(found, path) == 2
    assert read_pairs(path) == found
    for text, words in [("a b c\n", "line 1: 3 cells"), ("a b\nb a\n", "cycle")]:
        with pytest.raises(UnreadableFile, match=words):
            read_pairs(written(tmp_path, text, "bad.txt"))
    with pytest.raises(Mistake, match="neither parent nor child"):
        write_pairs([Category("a")], path)
    with pytest.raises(Mistake, match="blanks"):
        write_pairs([Category("a b"), Category("c", parents=("a b",))], path)


def test_children_lists(tmp_path):
    path = written(tmp_path, "Root\tA\tB\nA\tA1\n", "rcv1.taxonomy")
    found = read_categories(path)
    assert [c.id for c in found] == ["Root", "A", "B", "A1"]
    assert write_children_lists(found, path) == 2
    assert read_children_lists(path) == found
    for text in ("A\n", "\tA\n", "A\t\tB\n"):
        with pytest.raises(UnreadableFile, match="line 1: parent TAB child"):
            read_children_lists(written(tmp_path, text, "bad.taxonomy"))
    with pytest.raises(Mistake, match="neither parent nor child"):
        write_children_lists([Category("a")], path)


def test_topic_tree(tmp_path):
    text = (
        "parent: None  child: Root  child-description: Root\n"
        "parent: Root  child: C1  child-description: OUR TOWN/HARBOUR\n"
        "parent: C1  child: C11\n"
    )
    found = read_topic_tree(written(tmp_path, text, "topics.hier.orig"))
    assert found[1] == Category("C1", "OUR TOWN/HARBOUR", parents=("Root",))
    assert taxonomy_of(found).path("C11") == ["Root", "C1", "C11"]
    with pytest.raises(UnreadableFile, match="line 1"):
        read_topic_tree(written(tmp_path, "C1 Root\n"))
    assert write_topic_tree(found, tmp_path / "again.orig") == 3
    assert read_topic_tree(tmp_path / "again.orig") == found
    for bad in (Category("a b"), Category("a", " x"), Category("a", "x\ny")):
        with pytest.raises(Mistake, match="does not fit"):
            write_topic_tree([bad], tmp_path / "bad.orig")


def test_indented(tmp_path):
    text = "Nature\n  Insects\n     Bees\n  General\nArts\n  General\n"
    found = read_indented(written(tmp_path, text, "tree.txt"))
    assert [c.id for c in found] == [
        "Nature",
        "Nature/Insects",
        "Nature/Insects/Bees",
        "Nature/General",
        "Arts",
        "Arts/General",
    ]
    assert found[3].label == "General"
    path = tmp_path / "again.txt"
    assert write_indented(found, path) == 6
    assert read_indented(path) == found
    for bad in ("a\n \tb\n", "a/b\n"):
        with pytest.raises(UnreadableFile, match="line"):
            read_indented(written(tmp_path, bad, "bad.txt"))
    with pytest.raises(UnreadableFile, match="twice"):
        read_indented(written(tmp_path, "a\na\n", "bad.txt"))
    with pytest.raises(Mistake, match="has a /"):
        write_indented([Category("a", "b/c")], path)
    several = [Category("a"), Category("b"), Category("c", parents=("a", "b"))]
    with pytest.raises(Mistake, match="several parents"):
        write_indented(several, path)


def test_formats_by_suffix_and_name(tmp_path):
    assert len(read_categories(written(tmp_path, CSV))) == 2
    path = written(tmp_path, "1 2 3\n1 4\n", "cat_hier.txt")
    assert [c.id for c in read_categories(path, "lshtc")] == ["1", "2", "3", "4"]
    with pytest.raises(
        Mistake, match=r"which format: give --format \(format=\), one of csv"
    ):
        read_categories(path)
    with pytest.raises(Mistake, match="format 'xyz' is not known"):
        read_categories(path, "xyz")
    assert set(TAXONOMY_READERS) - set(TAXONOMY_WRITERS) == {"lshtc"}
    with pytest.raises(Mistake, match="which format"):
        write_categories([], tmp_path / "a.unknown")


@pytest.mark.needs("rdflib")
def test_turtle_is_known_by_its_suffix(tmp_path):
    write_categories([Category("a")], tmp_path / "a.ttl")
    assert read_categories(tmp_path / "a.ttl") == [Category("a")]


def test_lshtc(tmp_path):
    path = written(tmp_path, "29 0:10 8:1 3:2\n7, 9 0:1\n", "train.txt")
    found = read_lshtc(path)
    assert found.labels == (("29",), ("7", "9"))
    assert found.rows.shape == (2, 8)
    assert found.rows.columns.tolist() == [2, 7]
    assert read_lshtc(path, width=20).rows.shape == (2, 20)
    assert len(read_lshtc(written(tmp_path, "", "train.txt"))) == 0
    tree = read_hierarchy(written(tmp_path, "1 2 29\n1 3 7\n1 3 9\n", "cat_hier.txt"))
    assert tree.leaves == ["29", "7", "9"]
    with pytest.raises(UnreadableFile, match="line 1: one category alone"):
        read_hierarchy(written(tmp_path, "1\n"))
    with pytest.raises(UnreadableFile, match="cycle"):
        read_hierarchy(written(tmp_path, "1 2\n2 1\n"))


def test_names(tmp_path):
    path = tmp_path / "names.txt"
    write_names(["bees", "two words", "käse"], path)
    assert read_names(path) == ["bees", "two words", "käse"]
    path.write_text("a\nb\n\n\n")
    assert read_names(path) == ["a", "b"]
    path.write_text("a\n\nb\n")
    with pytest.raises(UnreadableFile, match="line 2: no name"):
        read_names(path)
    path.write_text("a\na\n")
    with pytest.raises(UnreadableFile, match="line 2: 'a' is already on line 1"):
        read_names(path)
    for bad in (["a", "a"], [""], ["a\nb"], [" a"]):
        with pytest.raises(Mistake, match="names"):
            write_names(bad, path)


def test_real_trees(data):
    topics = read_categories(data / "rcv1-v2-topics" / "hiagm-rcv1.taxonomy")
    assert len(topics) == 104
    assert taxonomy_of(topics).roots == ["Root"]
    tree = read_hierarchy(data / "lshtc1-dryrun" / "cat_hier.txt")
    assert len(tree.leaves) == 1139
    assert len(tree.roots) == 10


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "'=", "''+", "'"])
def test_formulas_in_csv_are_disarmed_and_come_back(tmp_path, start):
    formula = f"{start}cmd|' /C calc'!A0".replace("|", "/")
    tree = [
        Category("top", formula, note=formula, notation=formula, guideline=formula),
        Category(f"{start}x", "X", parents=("top",), synonyms=(formula, "=b")),
    ]
    path = tmp_path / "tree.csv"
    write_category_csv(tree, path)
    with path.open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    assert read_category_csv(path) == tree


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("csv", "id,parent\nr,\na,r|b\nb,a\n"),
        ("pairs", "r a\nb a\na b\n"),
        ("children", "r\ta\nb\ta\na\tb\n"),
        ("lshtc", "r a b\nb a\n"),
        ("skos", SKOS_LOOP),
    ],
)
def test_every_format_lets_cycles_be_cut(tmp_path, name, text):
    path = written(tmp_path, text, "x.ttl" if name == "skos" else "x.txt")
    with pytest.raises(UnreadableFile, match=r"cycle.*import --break-cycles cut it"):
        read_categories(path, name)
    cut = []
    found = {each.id: each.parents for each in read_categories(path, name, cut=cut)}
    assert cut == [("b", "a")]
    assert found == {"r": (), "a": ("r",), "b": ("a",)}


def test_a_file_without_cycles_is_read_as_ever(tmp_path):
    path, cut = written(tmp_path, "a\n\tb\n", "x.txt"), []
    assert read_categories(path, "indented", cut=cut) == read_indented(path)
    path = written(tmp_path, "r a\na b\n", "x.txt")
    assert read_categories(path, "pairs", cut=cut) == read_pairs(path)
    assert cut == []


def test_a_large_graph_is_cut_in_seconds(tmp_path):
    rng = np.random.default_rng(0)
    up = rng.integers(0, 30_000, 100_000)
    down = rng.integers(0, 30_000, 100_000)
    lines = [f"{a} {b}" for a, b in zip(up.tolist(), down.tolist(), strict=True)]
    path, cut = written(tmp_path, "\n".join(lines), "graph.txt"), []
    categories = read_categories(path, "pairs", cut=cut)
    edges = {(p, each.id) for each in categories for p in each.parents}
    assert edges | set(cut) == {tuple(line.split()) for line in lines}
    assert len(cut) > 1000
