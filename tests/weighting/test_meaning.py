"""Meaning beside words: the last columns of a vectorizer's rows."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from classmark import LiveVectorizer, Vectorizer
from classmark.meaning.sources import source_from
from classmark.problems import Mistake
from meaning.tiny_models import Model

TEXTS = ["A hive of bees", "Bees make honey", "A road for cars", "Cars on roads", "of"]


def centred_slowly(fitted, texts, model):
    """The formula, one text at a time: (u − c)/‖u − c‖, u = v/‖v‖."""
    units = []
    for vector in model.encode(fitted):
        length = np.sqrt(sum(v * v for v in vector))
        if length > 0:
            units.append(vector / length)
    centre = sum(units) / len(units)
    rows = []
    for vector in model.encode(texts):
        length = np.sqrt(sum(v * v for v in vector))
        if length == 0:
            rows.append(vector)
            continue
        away = vector / length - centre
        rows.append(away / np.sqrt(sum(v * v for v in away)))
    return np.array(rows)


def test_rows_are_words_and_weighted_centred_unit_vectors():
    model, new = Model(), ["bees on a road", "xx", "honey"]
    both = Vectorizer(meaning=model, meaning_weight=0.4)
    rows = both.fit_transform(iter(TEXTS)).toarray()
    words = Vectorizer().fit(TEXTS)
    width = len(words.vocabulary_)
    for got, texts in ((rows, TEXTS), (both.transform(iter(new)).toarray(), new)):
        np.testing.assert_array_equal(got[:, :width], words.transform(texts).toarray())
        expected = 0.4 * centred_slowly(TEXTS, texts, model)
        np.testing.assert_allclose(got[:, width:], expected, rtol=1e-5, atol=1e-7)
    assert not rows[4, width:].any()  # "of" has no vector
    np.testing.assert_allclose(np.linalg.norm(rows[:4, width:], axis=1), 0.4, rtol=1e-6)


def test_the_weight_is_the_sources_own_unless_given():
    source = source_from(Model())
    for weight, expected in ((None, 0.5), (0.2, 0.2)):
        rows = Vectorizer(meaning=source, meaning_weight=weight).fit_transform(TEXTS)
        dense = rows.toarray()[0, -5:]
        assert np.linalg.norm(dense) == pytest.approx(expected)
    source.weight = 0.3
    dense = Vectorizer(meaning=source).fit_transform(TEXTS).toarray()[0, -5:]
    assert np.linalg.norm(dense) == pytest.approx(0.3)


def test_each_text_is_encoded_once():
    model = Model()
    vectorizer = Vectorizer(meaning=source_from(model))
    model.calls = 0
    vectorizer.fit_transform(TEXTS)
    assert model.calls == 1
    vectorizer.rows(TEXTS)
    assert model.calls == 2


def test_fit_then_transform_is_fit_transform():
    vectorizer = Vectorizer(meaning=Model())
    at_once = vectorizer.fit_transform(TEXTS)
    then = vectorizer.fit(TEXTS).transform(TEXTS)
    np.testing.assert_array_equal(at_once.toarray(), then.toarray())
    assert at_once.dtype == np.float32


def test_columns_of_meaning_have_names():
    vectorizer = Vectorizer(meaning=Model(2)).fit(TEXTS)
    names = vectorizer.get_feature_names_out().tolist()
    assert names[-2:] == ["meaning[0]", "meaning[1]"]
    assert names[:-2] == Vectorizer().fit(TEXTS).get_feature_names_out().tolist()


def test_fitted_again_without_meaning_it_has_words_alone():
    vectorizer = Vectorizer(meaning=Model()).fit(TEXTS).set_params(meaning=None)
    expected = Vectorizer().fit_transform(TEXTS)
    got = vectorizer.fit_transform(TEXTS)
    np.testing.assert_array_equal(got.toarray(), expected.toarray())


def test_a_clone_has_the_same_source():
    source = source_from(Model())
    assert clone(Vectorizer(meaning=source)).meaning is source


@pytest.mark.parametrize("weight", [0, -1.0, np.inf, np.nan])
def test_a_weight_that_is_none_is_refused(weight):
    with pytest.raises(Mistake, match="meaning_weight is"):
        Vectorizer(meaning=Model(), meaning_weight=weight).fit(TEXTS)


def test_what_was_saved_needs_its_source_and_refuses_others():
    fitted = Vectorizer(meaning=Model(), meaning_weight=0.7).fit(TEXTS)
    arrays, settings = fitted.to_arrays()
    opened = Vectorizer.from_arrays(arrays, settings)
    assert opened.meaning_weight == 0.7
    with pytest.raises(Mistake, match=r"made with the vectors of Model \(5 numbers"):
        opened.rows(TEXTS)
    with pytest.raises(Mistake, match="open it with them"):
        opened.use_meaning(None)
    with pytest.raises(Mistake, match="give the former, or make it anew"):
        opened.use_meaning(Model(4))
    opened.use_meaning(Model())
    np.testing.assert_array_equal(
        opened.transform(TEXTS).toarray(), fitted.transform(TEXTS).toarray()
    )


def test_words_alone_are_saved_as_ever_and_take_no_source():
    fitted = Vectorizer().fit(TEXTS)
    arrays, settings = fitted.to_arrays()
    assert not [name for name in (*arrays, *settings) if "meaning" in name]
    with pytest.raises(Mistake, match="fitted on words alone: leave it out"):
        Vectorizer.from_arrays(arrays, settings).use_meaning(Model())


@pytest.mark.parametrize("weighting", ["log-tfidf", "pivoted"])
def test_gone_on_with_text_by_text_the_rows_are_the_same_to_the_bit(weighting):
    fitted = Vectorizer(weighting=weighting, meaning=Model()).fit(TEXTS)
    live = LiveVectorizer.start(fitted)
    texts = [*TEXTS, "bees on a road", "xx", "", "Honey honey"]
    before, after = fitted.rows(texts), live.rows(texts)
    assert after.width == before.width
    for part in ("starts", "columns", "values"):
        np.testing.assert_array_equal(getattr(after, part), getattr(before, part))
    assert live.meaning_columns == fitted.meaning_columns


def test_new_words_have_the_columns_behind_those_of_meaning():
    fitted = Vectorizer(meaning=Model(3)).fit(TEXTS)
    live, width = LiveVectorizer.start(fitted), len(fitted.vocabulary_)
    columns, values = live.learn("bees like roads and mead")
    names = live.get_feature_names_out()
    assert names[width:].tolist() == [
        "meaning[0]", "meaning[1]", "meaning[2]", "like", "mead",
    ]  # fmt: skip
    assert names[columns].tolist() == ["bee", "road", *names[width:]]
    expected = fitted.rows(["bees like roads and mead"]).row(0)
    np.testing.assert_array_equal(values[2:5], expected[1][-3:])
    is_word = (columns < width) | (columns >= width + 3)
    assert np.linalg.norm(values[is_word]) == pytest.approx(1.0)


def test_from_nothing_the_first_columns_are_meaning_and_nothing_is_centred():
    model = Model(3)
    live = LiveVectorizer(meaning=model, meaning_weight=0.4)
    assert live.rows(["hive"]).shape == (1, 3)
    columns, values = live.learn("bees make honey")
    assert columns.tolist() == [0, 1, 2, 3, 4, 5]
    vector = model.encode(["bees make honey"])[0]
    expected = 0.4 * vector / np.linalg.norm(vector)
    np.testing.assert_allclose(values[:3], expected, rtol=1e-6)
    assert live.get_feature_names_out()[2:4].tolist() == ["meaning[2]", "bee"]
    assert live.drift().new_terms == 1.0
    live.reweight()
    assert live.drift() == (0, 0.0, 0.0)
    live.learn("wax")
    assert live.drift().new_terms == 0.25


def test_columns_of_meaning_are_not_counted_nor_forgotten():
    live = LiveVectorizer.start(Vectorizer(meaning=Model()).fit(TEXTS))
    before = live.statistics_
    columns, _ = live.learn("bees make mead")
    live.reweight()
    live.forget("bees make mead", columns)
    after = live.statistics_
    assert (after.documents, after.tokens) == (before.documents, before.tokens)
    assert after.postings == before.postings
    for name in ("document_frequency", "collection_frequency"):
        assert not getattr(after, name)[live.meaning_columns].any()
        assert (getattr(after, name) >= 0).all()


def test_each_text_that_is_learned_is_encoded_once():
    model = Model()
    live = LiveVectorizer(meaning=source_from(model))
    model.calls = 0
    live.learn("bees")
    live.forget("bees")
    live.drift()
    assert model.calls == 1


def test_where_the_source_fails_nothing_is_learned(monkeypatch):
    live = LiveVectorizer(meaning=Model(2))
    live.learn("bees")
    before = live.to_arrays()[1]
    monkeypatch.setattr(Model, "encode", lambda _self, texts: [[np.nan]] * len(texts))
    with pytest.raises(Mistake, match="gave vectors of shape"):
        live.learn("wax and mead")
    assert live.to_arrays()[1] == before
    assert live.n_features == 3


def test_words_alone_import_nothing_of_the_extra():
    program = (
        "import sys, classmark as cm; cm.Vectorizer().fit_transform(['a hive']);"
        "print([name for name in ('tokenizers', 'safetensors', 'onnxruntime',"
        " 'wordllama', 'urllib.request') if name in sys.modules])"
    )
    run = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
