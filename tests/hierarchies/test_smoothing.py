"""Prototypes smoothed along trees and graphs, against the obvious way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from classmark.arrays import rows_from
from classmark.hierarchies import taxonomy_ranker
from classmark.hierarchies.taxonomy_ranker import smoothed_prototypes
from classmark.taxonomy.tree import Taxonomy


def unit(vector):
    length = np.linalg.norm(vector)
    return vector / length if length else vector


def nearest(tree, node):
    """Edges from a node to each one above it, by growing sets."""
    found, ring, distance = {}, {node}, 0
    while ring:
        distance += 1
        ring = {p for v in ring for p in tree.parents(v)} - found.keys()
        found.update(dict.fromkeys(ring, distance))
    return found


def slowly(X, Y, tree, names, decay, said):
    """The formula, label by label, dense."""
    below = {
        v: [c for c, n in enumerate(names) if n == v or v in nearest_of(tree, n)]
        for v in tree.nodes
    }
    root = tree.roots[0] if len(tree.roots) == 1 else None
    columns = []
    for c, name in enumerate(names):
        total = unit(X[Y[:, c] > 0].sum(axis=0))
        above = nearest(tree, name) if name in tree else {}
        for node, distance in above.items():
            if node != root:
                own = (Y[:, below[node]] > 0).any(axis=1)
                total = total + decay**distance * unit(X[own].sum(axis=0))
                total = total + decay**distance * said[tree.number(node)]
        if name in tree:
            total = total + said[tree.number(name)]
        columns.append(unit(total))
    return np.array(columns).T


def nearest_of(tree, name):
    return nearest(tree, name) if name in tree else {}


TREE = Taxonomy(
    [("r", "a"), ("r", "b"), ("a", "c"), ("c", 1), ("b", 1), ("a", 2), ("b", 3)]
)
FOREST = Taxonomy([("a", 1), ("a", 2), ("b", 3), ("b", 1)])


@given(
    st.sampled_from([TREE, FOREST]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(0, 2**16),
)
def test_prototypes_are_those_of_the_formula(tree, decay, seed):
    random = np.random.default_rng(seed)
    names = [1, "a", 3, 2, "elsewhere"]
    X = random.random((9, 6)) * (random.random((9, 6)) < 0.5)
    Y = (random.random((9, 5)) < 0.35).astype(float)
    said = random.random((len(tree), 6)) * (random.random((len(tree), 1)) < 0.5)
    nodes = [tree.number(n) if n in tree else -1 for n in names]
    smoothed = smoothed_prototypes(
        rows_from(X), rows_from(Y), tree, nodes, decay, csr_matrix(said)
    )
    assert smoothed.prototypes.toarray() == pytest.approx(
        slowly(X, Y, tree, names, decay, said)
    )


def test_shares_lead_to_the_prototype_without_a_document():
    """Nearly: the lengths of the sums are taken as they are with the document."""
    random = np.random.default_rng(4)
    label = np.arange(240) % 3
    X = random.random((240, 8)) + 3.0 * np.eye(8)[label]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y, nodes = np.eye(3)[label], TREE.numbers([1, 2, 3]).tolist()
    whole = smoothed_prototypes(rows_from(X), rows_from(Y), TREE, nodes)
    for i in range(0, 240, 40):
        rest = np.arange(240) != i
        without = smoothed_prototypes(
            rows_from(X[rest]), rows_from(Y[rest]), TREE, nodes
        )
        before, after = (
            each.prototypes.toarray()[:, label[i]] for each in (whole, without)
        )
        lessened = unit(before - whole.shares[label[i]] * X[i])
        assert np.linalg.norm(lessened - after) < 0.5 * np.linalg.norm(before - after)


def test_alone_with_its_label_a_document_leaves_what_is_above():
    X, tree = rows_from(np.eye(2)), Taxonomy([("r", "a"), ("a", 1), ("a", 2)])
    prototypes, _, shares = smoothed_prototypes(X, X, tree, [2, 3])
    rest = prototypes.toarray()[:, 0] - shares[0] * np.eye(2)[0]
    assert unit(rest) == pytest.approx([0.0, 1.0])


def test_grades_count_as_labels():
    X, tree = rows_from(np.eye(3)), Taxonomy([("r", 1), ("r", 2)])
    graded, plain = [[2.0, 0], [1.0, 0], [0, 1.0]], [[1.0, 0], [1.0, 0], [0, 1.0]]
    first, second = (
        smoothed_prototypes(X, rows_from(Y), tree, [1, 2])[0] for Y in (graded, plain)
    )
    assert first.toarray() == pytest.approx(second.toarray())


def test_only_the_heaviest_terms_of_an_ancestor_are_kept(monkeypatch):
    monkeypatch.setattr(taxonomy_ranker, "KEPT", 2)
    monkeypatch.setattr(taxonomy_ranker, "LEAST", 1)
    tree = Taxonomy([("r", "a"), ("r", "b"), ("a", 1), ("a", 2)])
    X = rows_from([[3.0, 0, 0, 0], [0, 2.0, 1.0, 0], [0, 0, 0, 1.0]])
    Y = rows_from([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    found, dropped, _ = smoothed_prototypes(
        X, Y, tree, tree.numbers([1, 2, "b"]).tolist()
    )
    assert dropped == pytest.approx(1 / 14)
    assert found.toarray()[:, 0] / found[0, 0] == pytest.approx(
        [1, np.sqrt(1 / 14) / (1 + 1.5 / np.sqrt(14)), 0, 0]
    )


def test_blocks_of_documents_give_the_same(monkeypatch):
    random = np.random.default_rng(0)
    X = rows_from(random.random((30, 8)))
    Y = rows_from(np.eye(3)[random.integers(0, 3, 30)])
    nodes = TREE.numbers([1, 2, 3]).tolist()
    whole = smoothed_prototypes(X, Y, TREE, nodes)
    monkeypatch.setattr(taxonomy_ranker, "BLOCK", 20)
    parted = smoothed_prototypes(X, Y, TREE, nodes)
    assert parted.prototypes.toarray() == pytest.approx(whole.prototypes.toarray())
    assert parted.shares == pytest.approx(whole.shares)


def test_many_labels_take_few_terms_of_each_ancestor(monkeypatch):
    monkeypatch.setattr(taxonomy_ranker, "ENTRIES", 600)
    monkeypatch.setattr(taxonomy_ranker, "LEAST", 2)
    tree = Taxonomy([("r", "a"), *(("a", c) for c in range(100))])
    X, Y = rows_from(np.eye(100)), rows_from(np.eye(100))
    found, dropped, _ = smoothed_prototypes(X, Y, tree, list(range(2, 102)))
    assert found.nnz <= 100 * (1 + 6)
    assert dropped == pytest.approx(0.94)
