"""All documents as unit rows: those that are asked for one by one."""

import numpy as np
import pytest

from classmark.index import models
from classmark.index.index import Index
from classmark.index.models import Prepared
from classmark.index.vectors import unit_rows, vectors_of


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    random = np.random.default_rng(0)
    texts = [
        (f"d{i}", " ".join(f"w{w}" for w in random.integers(0, 50, size=i % 17)))
        for i in range(60)
    ]
    index = Index.build(tmp_path_factory.mktemp("index") / "i", texts)
    index.delete(["d5", "d59"])
    return Prepared(index.commit().field())


@pytest.mark.parametrize(("first", "last"), [(0, 60), (10, 31), (5, 6), (7, 7)])
@pytest.mark.parametrize("stride", [7, models.STRIDE])
def test_rows_of_a_range_are_its_vectors(monkeypatch, field, first, last, stride):
    monkeypatch.setattr(models, "STRIDE", stride)
    found = unit_rows(field, first, last)
    alive = np.asarray(field.field.alive)[first:last]
    items = np.arange(first, last)[alive]
    expected = vectors_of(field, items).to_scipy().toarray()
    assert found.shape == (last - first, field.field.n_terms)
    assert np.array_equal(found.to_scipy().toarray()[alive], expected)
    assert not found.to_scipy().toarray()[~alive].any()
    for row in range(len(found)):
        assert (np.diff(found.row(row)[0].astype(int)) > 0).all()
