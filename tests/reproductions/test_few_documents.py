"""Where documents are few, the default ranker does not lose to Rocchio."""

import pytest

import classmark as cm
from classmark.preferences.labels import labels_from


@pytest.mark.parametrize(
    "name",
    ["library", *(pytest.param(n, marks=pytest.mark.data) for n in ("pypi-topics",))],
)
def test_the_default_is_at_least_as_good_as_rocchio(name, request):
    path = request.getfixturevalue("data") if name != "library" else None
    dataset = cm.datasets.load(name, path)
    vectorizer = cm.Vectorizer(weighting="log-tfidf")
    X = vectorizer.fit_transform(dataset.train.texts)
    Z = vectorizer.transform(dataset.test.texts)
    k = len(dataset.label_names)
    Y = labels_from(dataset.label_numbers(dataset.train), X.shape[0], k)
    truth = labels_from(dataset.label_numbers(dataset.test), Z.shape[0], k)
    default = cm.PreferenceRanker(C=0.1, center=5.0, tol=1e-2).fit(X, Y)
    assert default.score(Z, truth) >= cm.Rocchio().fit(X, Y).score(Z, truth)
