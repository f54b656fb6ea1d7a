"""Thresholds on held-out documents of the embedded library."""

import numpy as np
import pytest

from classmark import PreferenceRanker, Vectorizer
from classmark.datasets.library import library_records


@pytest.fixture(scope="module")
def held_out():
    """Rows and labels of four fifths of the library, and of the rest."""
    records = [record for record in library_records() if record.labels]
    names = sorted({name for record in records for name in record.labels})
    Y = np.array([[name in record.labels for name in names] for record in records])
    texts = ["\n".join(record.document.fields.values()) for record in records]
    tested = np.random.default_rng(0).permutation(len(records)) % 5 == 0
    first, rest = (
        [t for t, out in zip(texts, tested, strict=True) if out == part]
        for part in (False, True)
    )
    vectorizer = Vectorizer()
    X = vectorizer.fit_transform(first)
    return X, Y[~tested].astype(float), vectorizer.transform(rest), Y[tested]


def micro(belongs, right):
    """Precision and F1 over all decisions."""
    both = (belongs & right).sum()
    return both / belongs.sum(), 2 * both / (belongs.sum() + right.sum())


@pytest.mark.parametrize("kind", ["common", "category"])
def test_what_belongs_is_right_as_binary_machines_say_and_the_order_stays(
    held_out, kind
):
    X, Y, Z, right = held_out
    how = {"C": 1.0, "center": 5.0, "tol": 1e-2}
    ranker = PreferenceRanker("dom", thresholds=kind, **how).fit(X, Y)
    binary = PreferenceRanker("svm", **how).fit(X, Y)
    plain = PreferenceRanker("dom", **how).fit(X, Y)
    precision, f1 = micro(ranker.predict(Z), right)
    assert precision > 0.95
    assert f1 > 0.45
    assert f1 > micro(binary.predict(Z), right)[1] - 0.03
    assert ranker.score(Z, right) > plain.score(Z, right) - 0.01
