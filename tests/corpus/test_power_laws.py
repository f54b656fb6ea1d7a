"""Heaps' and Zipf's laws are found again in collections that were made by them."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from classmark.arrays import rows_from
from classmark.corpus.counting import count
from classmark.corpus.power_laws import vocabulary_growth, vocabulary_laws
from classmark.problems import Mistake
from classmark.text import Analyzer


def by_heaps(K, beta, documents=300, length=80):
    """Documents that bring new terms as the law says; all else is the first term."""
    rows, known = [], 0
    for number in range(1, documents + 1):
        target = int(K * (number * length) ** beta)
        new = list(range(known, target))
        known = target
        rows.append({0: length - len(new)} | {term: 1 for term in new if term})
    counts = np.zeros((documents, known))
    for number, row in enumerate(rows):
        for term, times in row.items():
            counts[number, term] = times
    return counts


@pytest.mark.parametrize(("K", "beta"), [(4.0, 0.6), (2.0, 0.75), (10.0, 0.4)])
def test_heaps_law_is_found_again(K, beta):
    laws = vocabulary_laws(by_heaps(K, beta))
    assert laws.heaps.beta == pytest.approx(beta, abs=0.01)
    assert pytest.approx(K, rel=0.05) == laws.heaps.K
    assert laws.heaps.fit > 0.99
    tokens = laws.tokens
    assert laws.heaps.at(tokens) == pytest.approx(laws.terms, rel=0.02)


@pytest.mark.parametrize("exponent", [0.8, 1.0, 1.4])
def test_zipfs_exponent_is_found_again(exponent):
    counts = np.round(1e6 * np.arange(1, 301) ** -exponent)
    rng = np.random.default_rng(0)
    rng.shuffle(counts)
    split = rng.binomial(counts.astype(int), 0.5)
    laws = vocabulary_laws(np.array([split, counts - split]))
    assert laws.zipf.exponent == pytest.approx(exponent, abs=0.01)
    assert laws.zipf.head == pytest.approx(1e6, rel=0.02)
    assert laws.zipf.fit > 0.999


def test_growth_is_that_of_reading_document_by_document():
    texts = ["bees and wax", "", "wax bees hive hive", "tea", "tea and bees"]
    analyzer = Analyzer.parse("words|lower")
    tokens, terms = vocabulary_growth(count(texts, analyzer).rows)
    seen, read, expected = set(), 0, []
    for text in texts:
        read += len(analyzer(text))
        seen |= set(analyzer(text))
        expected.append((read, len(seen)))
    assert list(zip(tokens.tolist(), terms.tolist(), strict=True)) == expected


def test_counts_say_what_the_vocabulary_is():
    laws = vocabulary_laws(csr_matrix([[2, 1, 0], [1, 0, 1], [0, 0, 0]]))
    assert (laws.documents, laws.tokens, laws.terms, laws.once) == (3, 5, 3, 2)


def test_a_collection_that_is_too_small_has_no_law():
    laws = vocabulary_laws([[1.0, 1.0]])
    assert laws.heaps is None
    assert laws.zipf is None


def test_growth_that_ends_at_once_is_a_level_law():
    laws = vocabulary_laws(np.ones((5, 4)))
    assert laws.heaps.beta == pytest.approx(0.0)
    assert pytest.approx(4.0) == laws.heaps.K


@pytest.mark.parametrize("value", [-1.0, 0.5])
def test_weights_are_no_counts(value):
    with pytest.raises(Mistake, match="whole numbers"):
        vocabulary_laws(rows_from([[value, 1.0]]))
