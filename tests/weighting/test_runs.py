"""Runs of characters beside words: weights, files, and a vectorizer that goes on."""

from collections import Counter

import numpy as np
import pytest

from classmark.corpus.runs import RUN_WEIGHT, CharacterRuns, shown
from classmark.rankers.linear import Rocchio
from classmark.rankers.reasons import WordsBehind
from classmark.rankers.text_ranker import TextRanker
from classmark.text import Analyzer
from classmark.weighting.live import LiveVectorizer
from classmark.weighting.vectorizer import Vectorizer, logarithmic, smooth_idf

TEXTS = [
    "Beekeeping\nA hive of bees, and the beekeeper's honey.",
    "Beekeepers\nHow beekeepers feed a hive in winter.",
    "Bread\nA baker bakes bread; bakers like rye.",
    "Baking rye bread",
    "東京 の 図書館",
    "図書館 と 養蜂",
]
READ = {"weighting": "log-tfidf", "characters": 4, "first_line": 2}


def by_hand(text, texts):
    """The weights of one text, by the formulas, term after term."""
    runs = CharacterRuns(Analyzer(), 4)

    def counted(each):
        first, several, _ = each.partition("\n")
        return Counter(runs(f"{each}\n{first}" if several else each))

    df = Counter(term for each in texts for term in counted(each))
    weights = {}
    for term, tf in counted(text).items():
        scale = RUN_WEIGHT if shown(term) != term else 1.0
        idf = smooth_idf(df[term], len(texts))
        weights[shown(term)] = scale * logarithmic(tf) * idf
    norm = np.sqrt(sum(value**2 for value in weights.values()))
    return {term: value / norm for term, value in weights.items()}


def test_weights_are_those_by_hand():
    vectorizer = Vectorizer(**READ)
    X, names = vectorizer.fit_transform(TEXTS), vectorizer.get_feature_names_out()
    for row, text in zip(X, TEXTS, strict=True):
        weights = dict(zip(names[row.indices], row.data, strict=True))
        assert weights == pytest.approx(by_hand(text, TEXTS), rel=1e-5)
    assert (vectorizer.transform(TEXTS) != X).nnz == 0


def test_a_vectorizer_that_goes_on_weighs_as_one_fitted_at_once():
    first = Vectorizer(**READ).fit(TEXTS)
    live = LiveVectorizer.start(first)
    assert live.rows(TEXTS).to_scipy().toarray() == pytest.approx(
        first.transform(TEXTS).toarray(), abs=1e-6
    )
    more = ["Honey cake\nBaked with honey", "Winter rye"]
    live.partial_fit(more)
    live.reweight()
    at_once = Vectorizer(**READ).fit(TEXTS + more)
    names = live.get_feature_names_out().tolist()
    assert sorted(names) == sorted(at_once.get_feature_names_out())
    order = [names.index(name) for name in at_once.get_feature_names_out()]
    assert live.rows(TEXTS + more).to_scipy()[:, order].toarray() == pytest.approx(
        at_once.transform(TEXTS + more).toarray(), abs=1e-6
    )


def test_a_text_forgotten_leaves_no_run_behind():
    live = LiveVectorizer(**READ)
    live.partial_fit(TEXTS)
    before = live.statistics_
    live.learn("Bee bread\nbees")
    live.forget("Bee bread\nbees")
    after = live.statistics_
    width = len(before.document_frequency)
    assert (after.document_frequency[:width] == before.document_frequency).all()
    assert after.tokens == before.tokens


def test_files_from_before_there_were_runs_open_as_they_were():
    vectorizer = Vectorizer(weighting="log-tfidf").fit(TEXTS)
    arrays, settings = vectorizer.to_arrays()
    old = {k: v for k, v in settings.items() if k not in {"characters", "first_line"}}
    opened = Vectorizer.from_arrays(arrays, old)
    assert (opened.transform(TEXTS) != vectorizer.transform(TEXTS)).nnz == 0


def test_reasons_are_words_and_their_parts_are_all_of_the_evidence():
    labels = [[0], [0], [1], [1], [2], [2]]
    model = TextRanker.fit(
        Vectorizer(**READ), Rocchio(), TEXTS, labels, ["bees", "bread", "books"]
    )
    text = "Beekeepers bake: 図書館"
    X = model.vectorizer.rows([text])
    evidence = model.ranker.evidence(X, 0)
    behind = WordsBehind.of(text, model.vectorizer)
    assert behind.evidence(evidence).total == pytest.approx(evidence.total)
    assert set(behind.words) == {"beekeepers", "bake", "図書", "書館", "図", "書", "館"}
    best = model.suggest(text, k=3)
    favour = {one.category: dict(one.favour) for one in best}
    assert list(favour["bees"]) == ["beekeepers"]
    assert next(iter(favour["bread"])) == "bake", "though no text has the word itself"
    assert "図書" in favour["books"]
    assert "the" not in WordsBehind.of("The beekeepers", model.vectorizer).words


def test_a_word_seen_in_no_other_form_is_recognised_by_its_runs():
    labels = [[0], [0], [1], [1]]
    words, runs = (
        TextRanker.fit(
            Vectorizer("words|lower", characters=n), Rocchio(), TEXTS[:4], labels, "ab"
        )
        for n in (0, 4)
    )
    assert words.scores(["beekeeperish"]).tolist() == [[0.0, 0.0]]
    assert runs.suggest("beekeeperish")[0].category == "a"
