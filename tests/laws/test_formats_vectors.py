"""Vectors and taxonomies: write then read is the identity; any bytes give a reason."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from classmark.arrays import rows_from
from classmark.formats.arff import read_arff, write_arff
from classmark.formats.records import Examples
from classmark.formats.svmlight import (
    BadToken,
    parse_one_by_one,
    parse_pairs,
    read_letor,
    read_lshtc,
    read_names,
    read_svmlight,
    svmlight_blocks,
    write_svmlight,
)
from classmark.formats.taxonomies import (
    read_category_csv,
    read_children_lists,
    read_hierarchy,
    read_indented,
    read_mulan_labels,
    read_pairs,
    read_skos,
    read_topic_tree,
    write_category_csv,
    write_children_lists,
    write_indented,
    write_mulan_labels,
    write_pairs,
    write_skos,
)
from classmark.problems import UnreadableFile
from classmark.taxonomy import Category, categories_of, taxonomy_of
from laws.test_taxonomy import forests

QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
WORD = st.text("abcXYZ019.-_éß", min_size=1, max_size=6)
NAME = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=6
)


@st.composite
def examples(draw):
    kind = draw(st.sampled_from([np.float32, np.float64]))
    shape = draw(st.tuples(st.integers(0, 5), st.integers(1, 6)))
    value = st.just(0.0) | st.floats(allow_nan=False, allow_infinity=False, width=32)
    dense = draw(hnp.arrays(kind, shape, elements=value))
    names = draw(st.lists(WORD, unique=True, min_size=1, max_size=4))
    chosen = st.lists(st.sampled_from(names), unique=True, max_size=3).map(sorted)
    labels = tuple(tuple(draw(chosen)) for _ in range(shape[0]))
    qids = tuple(draw(WORD) for _ in labels) if draw(st.booleans()) else ()
    comments = tuple(draw(WORD) for _ in labels) if draw(st.booleans()) else ()
    rows = rows_from(dense)
    return Examples(rows, labels, qids, comments, (), tuple(sorted(names)))


def same_rows(one, other):
    assert one.shape == other.shape
    assert (one.starts == other.starts).all()
    assert (one.columns == other.columns).all()
    assert (one.values == other.values.astype(one.values.dtype)).all()


@QUICK
@given(examples(), st.booleans(), st.integers(1, 40))
def test_svmlight_round_trip(tmp_path, written, header, block):
    path = tmp_path / "x.svm"
    write_svmlight(written, path, first_index=0 if header else 1, header=header)
    found = read_svmlight(path, width=written.rows.width)
    same_rows(written.rows, found.rows)
    assert found.labels == written.labels
    assert found.qids == written.qids
    assert found.comments == written.comments
    blocks = svmlight_blocks(path, width=written.rows.width, block=block)
    assert sum(len(part) for part in blocks) == len(written)


@QUICK
@given(examples())
def test_arff_round_trip(tmp_path, written):
    path = tmp_path / "x.arff"
    names = tuple(f"it's {at}\\%" for at in range(written.rows.width))
    named = Examples(
        written.rows,
        written.labels,
        feature_names=names,
        label_names=written.label_names,
    )
    write_arff(named, path, relation="ours")
    found = read_arff(path)
    same_rows(written.rows, found.rows)
    assert found.labels == written.labels
    assert found.feature_names == names
    assert found.label_names == written.label_names


@st.composite
def categories(draw, *, most_parents=1, names=NAME, alone=True):
    tree = draw(forests(most_parents=most_parents))
    ids = draw(st.lists(names, min_size=len(tree), max_size=len(tree), unique=True))
    return [
        Category(ids[v], parents=tuple(ids[u] for u in tree.parents(v)))
        for v in tree
        if alone or tree.parents(v) or tree.children(v)
    ]


def same_tree(one, other):
    assert {c.id: c.parents for c in one} == {c.id: c.parents for c in other}


@QUICK
@given(
    categories(most_parents=3, names=NAME.filter(lambda n: "|" not in n)),
    NAME,
    st.text("ab ,;\"'", max_size=5).map(str.strip),
)
def test_csv_round_trip(tmp_path, listed, notation, note):
    full = [
        Category(c.id, "L", note, ("s", "t"), c.parents, notation, "deprecated")
        for c in listed
    ]
    write_category_csv(full, tmp_path / "x.csv")
    assert read_category_csv(tmp_path / "x.csv") == full


@QUICK
@given(categories(most_parents=3, names=WORD, alone=False))
def test_pairs_and_lists_round_trip(tmp_path, listed):
    path = tmp_path / "x.txt"
    write_pairs(listed, path)
    same_tree(read_pairs(path), listed)


@QUICK
@given(categories(names=WORD, alone=False))
def test_children_lists_round_trip(tmp_path, listed):
    path = tmp_path / "x.txt"
    write_children_lists(listed, path)
    same_tree(read_children_lists(path), listed)


@QUICK
@given(categories())
def test_mulan_labels_round_trip(tmp_path, listed):
    write_mulan_labels(listed, tmp_path / "x.xml")
    same_tree(read_mulan_labels(tmp_path / "x.xml"), listed)


@QUICK
@given(categories(names=WORD))
def test_indented_round_trip(tmp_path, listed):
    path = tmp_path / "x.txt"
    write_indented(listed, path)
    found = read_indented(path)
    tree = taxonomy_of(listed)
    assert {c.id for c in found} == {"/".join(tree.path(node)) for node in tree}
    write_indented(found, path)
    assert read_indented(path) == found


@settings(QUICK)
@given(categories(most_parents=3), st.sampled_from([".ttl", ".rdf", ".nt"]))
def test_skos_round_trip(tmp_path, listed, suffix):
    path = tmp_path / f"x{suffix}"
    write_skos(listed, path)
    found = {c.id: set(c.parents) for c in read_skos(path)}
    assert found == {c.id: set(c.parents) for c in listed}


@given(forests(most_parents=2))
def test_categories_of_a_taxonomy_make_it_again(tree):
    again = taxonomy_of(categories_of(tree))
    assert again.nodes == [str(node) for node in tree]
    assert [again.parents(str(v)) for v in tree] == [
        [str(u) for u in tree.parents(v)] for v in tree
    ]


TOKEN = st.binary(max_size=8).filter(lambda raw: raw.split() == [raw]) | st.builds(
    lambda index, value: f"{index}:{value}".encode(),
    st.integers(0, 2**33),
    st.floats() | st.integers(),
)


def outcome(parse, tokens):
    try:
        found = parse(tokens)
    except BadToken as bad:
        return bad.at, bad.problem
    return found.indices.tolist(), found.values.tolist()


@given(st.lists(TOKEN, max_size=6))
def test_tokens_at_once_equal_one_by_one(tokens):
    assert outcome(parse_pairs, tokens) == outcome(parse_one_by_one, tokens)


PIECES = st.lists(
    st.binary(max_size=12)
    | st.sampled_from(
        [
            b"1 ",
            b"2:3 ",
            b"qid:1",
            b",",
            b"\n",
            b" ",
            b"#",
            b"\t",
            b"{0 1}",
            b"{",
            b"}",
            b"@attribute a {0,1}\n",
            b"@relation '-C 1'\n",
            b"@data\n",
            b"?",
            b"id,parent",
            b"<labels>",
            b"<label name='a'>",
            b"</label>",
            b"</labels>",
            b"parent: a ",
            b"child: b",
            b"<urn:a> ",
            b" a <urn:b> .",
            b"@prefix a: <urn:b> .",
            b'"',
            b"'",
        ]
    ),
    max_size=12,
).map(b"".join)


@settings(QUICK)
@given(PIECES)
@pytest.mark.parametrize(
    ("reader", "suffix"),
    [
        (read_svmlight, ".svm"),
        (read_letor, ".txt"),
        (read_lshtc, ".txt"),
        (read_arff, ".arff"),
        (read_hierarchy, ".txt"),
        (read_names, ".txt"),
        (read_mulan_labels, ".xml"),
        (read_category_csv, ".csv"),
        (read_pairs, ".txt"),
        (read_children_lists, ".txt"),
        (read_topic_tree, ".txt"),
        (read_indented, ".txt"),
        (read_skos, ".ttl"),
        (read_skos, ".rdf"),
        (read_skos, ".nt"),
    ],
)
def test_any_bytes_give_a_result_or_a_reason(tmp_path, reader, suffix, raw):
    path = tmp_path / f"x{suffix}"
    path.write_bytes(raw)
    reason = str(path)
    try:
        reader(path)
    except UnreadableFile as problem:
        reason = str(problem)
    assert str(path) in reason
