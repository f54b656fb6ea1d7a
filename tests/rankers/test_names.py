"""Names of categories beside scores: what they add, why, and how much is learned."""

import numpy as np
import pytest

from classmark.arrays import rows_from
from classmark.preferences.labels import labels_from
from classmark.problems import Mistake
from classmark.rankers.linear import Rocchio
from classmark.rankers.names import CategoryNames, NamedRanker, learn_names
from classmark.weighting.vectorizer import Vectorizer

NAMES = [["honey bees", "apiculture"], [], ["bread"], ["roads", "streets"]]
TEXTS = ["a bee and honey", "breadcrumbs of the baker", "streets and roads", "honey"]


@pytest.fixture
def vectorizer():
    return Vectorizer(characters=4).fit([*TEXTS, "apiculture in towns"])


@pytest.fixture
def names(vectorizer):
    made = CategoryNames.of(vectorizer, NAMES)
    return CategoryNames(
        made.units, made.is_run, made.owners, made.texts, made.width, (0.7, 1.3)
    )


def unit(vector):
    length = np.sqrt(vector @ vector)
    return vector / length if length else vector


def slowly(vectorizer, names, text):
    """The largest a ⟨u, x⟩ + b ⟨v, x⟩ over the names of each category."""
    x, is_run = vectorizer.transform([text]).toarray()[0], names.is_run
    scores = []
    for own in NAMES:
        rows = vectorizer.transform(own).toarray() if own else np.zeros((0, len(x)))
        parts = [
            0.7 * x[~is_run] @ unit(n[~is_run]) + 1.3 * x[is_run] @ unit(n[is_run])
            for n in rows
        ]
        scores.append(max(parts, default=0.0))
    return scores


@pytest.mark.parametrize("text", [*TEXTS, "nothing of it", ""])
def test_scores_are_those_of_the_definition(vectorizer, names, text):
    found = names.scores(vectorizer.transform([text]))[0]
    np.testing.assert_allclose(found, slowly(vectorizer, names, text), atol=1e-12)


def test_a_name_is_seen_inside_a_compound(vectorizer, names):
    scores = names.scores(vectorizer.transform(["breadcrumbs"]))[0]
    assert scores.argmax() == 2
    assert scores[2] > 0


def ranker_with(vectorizer, names):
    X = vectorizer.transform(TEXTS)
    return NamedRanker(Rocchio().fit(X, [[0], [2], [3], [1]]), names, [0, 1, 2, 3])


def test_the_evidence_sums_to_the_lead_over_the_average(vectorizer, names):
    ranker = ranker_with(vectorizer, names)
    X = vectorizer.transform(["honey for the bees in the streets"])
    scores = ranker.decision_function(X)[0]
    for category, score in enumerate(scores):
        total = ranker.evidence(X, category).total
        assert total == pytest.approx(score - scores.mean(), abs=1e-9)


def test_the_name_that_matches_is_told_with_its_part(vectorizer, names):
    ranker = ranker_with(vectorizer, names)
    X = vectorizer.transform(["apiculture"])
    name, part = ranker.matched_name(X, 0)
    assert name == "apiculture"
    assert part == pytest.approx(names.scores(X)[0, 0])
    assert ranker.matched_name(X, 1) is None
    assert ranker.matched_name(vectorizer.transform(["of"]), 0) is None


def test_categories_that_came_later_have_no_names(vectorizer, names):
    X = vectorizer.transform(TEXTS)
    inside = Rocchio().fit(X, [[0], [2], [3], [1]])
    ranker = NamedRanker(inside, names, [-1, 0, -1, 2])
    added = ranker.decision_function(X) - inside.decision_function(X)
    assert not added[:, [0, 2]].any()
    np.testing.assert_allclose(added[:, [1, 3]], names.scores(X)[:, [0, 2]])


def test_words_that_came_later_are_in_no_name(vectorizer, names):
    X = vectorizer.transform(TEXTS)
    wide = rows_from(np.hstack([X.toarray(), np.ones((len(TEXTS), 3))]))
    np.testing.assert_allclose(names.scores(wide), names.scores(X), atol=1e-6)


def test_a_fitted_ranker_is_inside(vectorizer, names):
    with pytest.raises(Mistake, match="fit that one"):
        ranker_with(vectorizer, names).fit(vectorizer.transform(TEXTS), [[0]] * 4)


def test_saved_and_opened_they_are_the_same(vectorizer, names):
    opened = CategoryNames.from_arrays(*names.to_arrays())
    X = vectorizer.transform(TEXTS)
    np.testing.assert_array_equal(opened.scores(X), names.scores(X))
    assert opened.texts == list(names.texts)


def held_out(tell, n=200, k=20):
    """Texts that say what their category is called, or do not; scores that guess."""
    random = np.random.default_rng(0)
    labels = random.integers(k, size=n)
    shown = labels if tell else random.integers(k, size=n)
    texts = [f"name{c:03}x and filler{i % 7}" for i, c in enumerate(shown)]
    vectorizer = Vectorizer(characters=4)
    X = vectorizer.fit_transform(texts)
    names = CategoryNames.of(vectorizer, [[f"name{c:03}x"] for c in range(k)])
    scores = random.normal(size=(n, k))
    scores[np.arange(n), labels] += 1.0
    return names, X, scores, labels_from([[c] for c in labels], n, k)


def test_names_that_tell_are_given_a_weight():
    learned = learn_names(*held_out(tell=True))
    assert learned.sure
    assert learned.after > learned.before + 0.1
    assert max(learned.names.weights) > 0
    assert min(learned.names.weights) >= 0


def test_names_that_tell_nothing_are_not_sure_to_help():
    learned = learn_names(*held_out(tell=False))
    assert learned is None or not learned.sure
