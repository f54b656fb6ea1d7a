"""Sources of vectors: anything that encodes, and the user's own vectors."""

from copy import deepcopy

import numpy as np
import pytest

from classmark import EncoderVectors, OwnVectors
from classmark.meaning.sources import (
    MeaningFacts,
    require_same,
    source_from,
    text_key,
)
from classmark.problems import Mistake


class Letters:
    """How often three letters occur."""

    def __init__(self, letters="abe"):
        self.letters = letters

    def encode(self, texts):
        return [[text.count(letter) for letter in self.letters] for text in texts]


def test_anything_that_encodes_texts_is_a_source():
    source = source_from(Letters())
    assert (source.name, source.dimension) == ("Letters", 3)
    assert source.encode(["bee", ""]).tolist() == [[0, 1, 2], [0, 0, 0]]
    assert source.encode([]).shape == (0, 3)
    assert source_from(source) is source


def test_the_digest_tells_models_apart_and_not_their_last_digits():
    def noisy(noise):
        model = Letters()
        plain = model.encode
        model.encode = lambda texts: np.array(plain(texts)) * (1 + noise)
        return EncoderVectors(model, "letters").digest

    assert noisy(0.0) == noisy(1e-6)
    assert noisy(0.0) != EncoderVectors(Letters("xyz"), "letters").digest
    assert EncoderVectors(Letters(), digest="mine").digest == "mine"


def test_what_does_not_encode_is_refused():
    for wrong in ("wordllama", Letters, 3):
        with pytest.raises(Mistake, match="give an object with encode"):
            source_from(wrong)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([1.0, 2.0], "gave shape"),
        ([[np.nan, 1.0]], "not finite"),
        ([[1.0, 2.0], [3.0, 4.0]], "gave vectors of shape"),
    ],
)
def test_vectors_of_another_shape_or_not_finite_are_refused(answer, message):
    model = Letters()
    source = None
    if message != "gave shape":
        model.encode = lambda _: [[1.0, 2.0]]
        source = source_from(model)
    model.encode = lambda _: answer
    with pytest.raises(Mistake, match=message):
        (source or source_from(model)).encode(["a text"])


def test_texts_that_are_no_strings_are_refused():
    with pytest.raises(Mistake, match="texts, number 1: 3 is no string"):
        source_from(Letters()).encode(["a", 3])


def test_a_source_is_not_copied():
    source = source_from(Letters())
    assert deepcopy({"meaning": source})["meaning"] is source


def test_other_vectors_are_refused_with_the_remedy():
    source = source_from(Letters())
    require_same(source, source.facts, "the model")
    other = MeaningFacts("glove", "0" * 64, 3)
    with pytest.raises(
        Mistake, match=r"made with the vectors of glove .*not with.*Let"
    ):
        require_same(source, other, "the model")


def test_own_vectors_are_recognised_by_their_texts():
    texts = {"a": "A hive", "b": "A road"}
    own = OwnVectors(["b", "a", "c"], [[1.0, 0.0], [0.0, 2.0], [9.0, 9.0]], texts)
    assert own.encode(["A hive", "A road"]).tolist() == [[0.0, 2.0], [1.0, 0.0]]
    with pytest.raises(Mistake, match="no vector for the text 'A ship'"):
        own.encode(["A ship"])


@pytest.mark.parametrize(
    ("vectors", "ids", "message"),
    [
        ([[1.0]], ["a"], "document b has no vector"),
        ([[1.0], [2.0]], ["a"], "1 ids for 2 vectors"),
        ([[1.0], [2.0]], ["a", "a"], "twice"),
        ([1.0, 2.0], ["a", "b"], "one row of them for each id"),
        ([["x"], ["y"]], ["a", "b"], "give numbers"),
    ],
)
def test_own_vectors_that_do_not_fit_the_documents_are_refused(vectors, ids, message):
    with pytest.raises(Mistake, match=message):
        OwnVectors(ids, vectors, {"a": "A hive", "b": "A road"})


def test_the_digest_of_own_vectors_changes_with_them():
    texts = {"a": "A hive"}
    digests = {
        OwnVectors([id_], [[value]], {id_: texts["a"]}).digest
        for value, id_ in ((1.0, "a"), (2.0, "a"), (1.0, "b"))
    }
    assert len(digests) == 3


def test_half_a_surrogate_pair_has_a_key_too():
    assert text_key("\ud800") != text_key("\ud801")
