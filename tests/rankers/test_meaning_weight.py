"""The weight of meaning beside words, chosen by rankings of documents held out."""

from __future__ import annotations

import numpy as np
import pytest

import classmark as cm
from classmark.arrays import rows_from, take
from classmark.corpus.documents import folds
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.measures import category_ranking
from classmark.preferences.labels import labels_from
from classmark.rankers.meaning_weight import (
    ENOUGH,
    FOLDS,
    WEIGHTS,
    choose_weight,
    rescaled,
    weigh_meaning,
)
from classmark.taxonomy.tree import Taxonomy

TOPICS = ("hive", "quay", "loom")


class Telling:
    """Three numbers that tell the topic of a text, by the number it ends with."""

    def encode(self, texts):
        ends = [text.split()[-1][1:] for text in texts]
        numbers = [int(end) if end.isdigit() else 0 for end in ends]
        return np.eye(3)[np.array(numbers) % 3]


def documents(n=ENOUGH, *, words=False):
    """Texts of random words; one of them tells the topic, or only the last's number."""
    chance = np.random.default_rng(0)
    texts = [
        " ".join(
            [*chance.choice(list("bcdfgh"), 5), TOPICS[i % 3] if words else "", f"n{i}"]
        )
        for i in range(n)
    ]
    return texts, [[i % 3] for i in range(n)]


def rows_with(dense, n=ENOUGH):
    """Words that tell the topic half of the time, beside these numbers."""
    chance = np.random.default_rng(1)
    words = np.eye(3)[(np.arange(n) + chance.integers(0, 2, n)) % 3]
    return rows_from(np.hstack([words, dense])), [[i % 3] for i in range(n)]


def test_vectors_that_tell_all_count_much_and_those_that_tell_nothing_least():
    chance, topics = np.random.default_rng(2), np.arange(ENOUGH) % 3
    noise = chance.normal(size=(ENOUGH, 3))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    telling, labels = rows_with(0.5 * np.eye(3)[topics])
    misleading = rows_from(np.hstack([np.eye(3)[topics], 0.5 * noise]))
    assert choose_weight(cm.Rocchio(), telling, labels, 3, 0.5) >= 0.5
    assert choose_weight(cm.Rocchio(), misleading, labels, 3, 0.5) == min(WEIGHTS)


def test_the_weight_is_the_one_of_the_best_mean_average_precision_over_folds():
    chance = np.random.default_rng(3)
    dense = np.eye(3)[np.arange(ENOUGH) % 3] + 0.7 * chance.normal(size=(ENOUGH, 3))
    X, labels = rows_with(0.3 * dense)
    Y, means = labels_from(labels, ENOUGH, 3), []
    for weight in WEIGHTS:
        matrix, found = X.to_scipy().toarray(), []
        for learn, out in folds(ENOUGH, FOLDS):
            ranker = cm.Rocchio().fit(matrix[learn], take(Y, learn))
            learned = ranker.weights_.toarray()
            scores = matrix[out, :3] @ learned[:3]
            scores += (weight / 0.3) ** 2 * matrix[out, 3:] @ learned[3:]
            one = category_ranking(scores, take(Y, out))["average_precision"]
            found.extend([one] * len(out))
        means.append(np.mean(found))
    best = WEIGHTS[np.argmax(np.round(means, 9))]
    assert choose_weight(cm.Rocchio(), X, labels, 3, 0.3) == best


def test_with_few_documents_the_weight_of_the_source_stays():
    X, labels = rows_with(np.ones((ENOUGH - 1, 3)), ENOUGH - 1)
    assert choose_weight(cm.Rocchio(), X, labels, 3, 0.4) == 0.4
    unlabelled = [[], *rows_with(np.ones((ENOUGH, 3)))[1][1:]]
    X, _ = rows_with(np.ones((ENOUGH, 3)))
    assert choose_weight(cm.Rocchio(), X, unlabelled, 3, 0.4) == 0.4


def test_one_learning_stands_for_learning_at_every_weight():
    chance = np.random.default_rng(5)
    dense = np.eye(3)[np.arange(ENOUGH) % 3] + 0.7 * chance.normal(size=(ENOUGH, 3))
    X, labels = rows_with(0.3 * dense)
    Y, ranker = labels_from(labels, ENOUGH, 3), cm.PreferenceRanker(C=0.1, center=5.0)

    def precision(weight):
        rows, scores = rescaled(X, 3, weight / 0.3), np.empty((ENOUGH, 3))
        for learn, out in folds(ENOUGH, FOLDS):
            ranker.fit(take(rows, learn), take(Y, learn))
            scores[out] = ranker.decision_function(take(rows, out))
        return category_ranking(scores, Y)["average_precision"]

    best = max(precision(weight) for weight in WEIGHTS)
    assert precision(choose_weight(ranker, X, labels, 3, 0.3)) > best - 0.01
    assert precision(min(WEIGHTS)) < best - 0.05  # so that the choice matters


def test_what_a_ranker_leaves_open_is_chosen_once_for_all_documents(monkeypatch):
    texts, labels = documents()
    vectorizer, calls = cm.Vectorizer(meaning=Telling()), []
    choose = cm.PreferenceRanker.chosen

    def counted(self, rows, Y):
        setting = choose(self, rows, Y)
        if self.C is None:
            calls.append((len(rows), setting))
        return setting

    monkeypatch.setattr(cm.PreferenceRanker, "chosen", counted)
    model = cm.TextRanker.fit(vectorizer, cm.PreferenceRanker(), texts, labels, TOPICS)
    assert [n for n, _ in calls] == [ENOUGH]
    assert model.ranker.setting_ == calls[0][1]


def test_a_text_ranker_chooses_the_weight_and_learns_as_with_that_weight():
    texts, labels = documents()
    vectorizer = cm.Vectorizer(meaning=Telling())
    model = cm.TextRanker.fit(vectorizer, cm.Rocchio(), texts, labels, TOPICS)
    chosen = vectorizer.meaning_.weight
    assert chosen in WEIGHTS
    assert chosen != 0.5
    fixed = cm.Vectorizer(meaning=Telling(), meaning_weight=chosen)
    same = cm.TextRanker.fit(fixed, cm.Rocchio(), texts, labels, TOPICS)
    assert model.scores(texts[:9]) == pytest.approx(same.scores(texts[:9]), abs=1e-6)


def test_a_given_weight_stays_and_words_alone_are_left_alone():
    texts, labels = documents()
    given = cm.Vectorizer(meaning=Telling(), meaning_weight=0.4)
    cm.TextRanker.fit(given, cm.Rocchio(), texts, labels, TOPICS)
    assert given.meaning_.weight == 0.4
    source_s = cm.Vectorizer(meaning=Telling(), meaning_weight=None)
    cm.TextRanker.fit(source_s, cm.Rocchio(), texts, labels, TOPICS)
    assert source_s.meaning_.weight == 0.5
    alone, ranker = cm.Vectorizer(), cm.Rocchio()
    X = alone.fit_transform(texts)
    assert weigh_meaning(alone, ranker, X, labels) == (X, ranker)


def test_descriptions_of_categories_are_rescaled_as_documents_are():
    texts, labels = documents(words=True)
    tree = Taxonomy([("all", name) for name in TOPICS])
    vectorizer = cm.Vectorizer(meaning=Telling())
    X = vectorizer.fit_transform(texts)
    about = [f"{node} n{number}" for number, node in enumerate(tree)]
    ranker = TaxonomyRanker(
        tree, TOPICS, descriptions=vectorizer.transform(about), C=0.1
    )
    rows, weighed = weigh_meaning(vectorizer, ranker, X, labels)
    assert vectorizer.meaning_.weight != 0.5
    for own, again in ((rows, texts), (weighed.descriptions.to_scipy(), about)):
        expected = vectorizer.transform(again).toarray()
        assert own.toarray() == pytest.approx(expected, abs=1e-6)
    assert ranker.descriptions is not weighed.descriptions


def test_only_the_columns_of_meaning_are_rescaled():
    rows = rescaled([[0.0, 2.0, 4.0], [1.0, 0.0, 0.0]], 2, 0.5)
    assert rows.to_scipy().toarray().tolist() == [[0.0, 2.0, 2.0], [1.0, 0.0, 0.0]]


def test_a_weight_that_is_no_number_is_refused():
    vectorizer = cm.Vectorizer(meaning=Telling(), meaning_weight="much")
    with pytest.raises(cm.Mistake, match="meaning_weight is 'much': give a number"):
        vectorizer.fit(["n1", "n2"])
