"""Meaning beside words: the last columns of a vectorizer's rows."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from classmark import LiveVectorizer, Vectorizer
from classmark.meaning.sources import source_from
from classmark.problems import Mistake

TEXTS = ["A hive of bees", "Bees make honey", "A road for cars", "Cars on roads", "of"]


class Model:
    """Vectors by chance, one for each text; none for a text without long words."""

    def __init__(self, dimension=5):
        self.dimension, self.calls = dimension, 0

    def encode(self, texts):
        self.calls += 1
        return np.array([self.vector(text.split()) for text in texts])

    def vector(self, words):
        seeds = [list(word.encode()) for word in words if len(word) > 2]
        chance = [np.random.default_rng(seed) for seed in seeds]
        every = [own.normal(2.0, 1.0, self.dimension) for own in chance]
        return np.sum(every, axis=0) if every else np.zeros(self.dimension)


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


def test_a_vectorizer_with_meaning_does_not_go_on_text_by_text():
    with pytest.raises(Mistake, match="fit one of words alone"):
        LiveVectorizer.start(Vectorizer(meaning=Model()).fit(TEXTS))


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
