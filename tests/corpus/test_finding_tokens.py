"""The kernels that find tokens, against the reference path."""

import numpy as np
import pytest

from classmark.arrays import words_of
from classmark.corpus.counting import _encoded
from classmark.corpus.kernels import find_tokens, lower_word, mix
from classmark.text import kinds
from oracles import text as oracle


def found(texts):
    """Each document's tokens, as the pass finds them: bytes and key."""
    batch = _encoded(texts)
    most = len(batch.buffer)
    edges, keys = np.zeros(2 * most, np.uint32), np.zeros(most, np.uint64)
    firsts = np.zeros(len(texts) + 1, np.int64)
    bounds = batch.ends, batch.plain, kinds()
    with np.errstate(over="ignore"):
        text = (batch.buffer, words_of(batch.buffer))
        find_tokens(text, *bounds, edges, keys, firsts)
    whole = batch.buffer.tobytes()
    return [
        [
            (whole[edges[2 * t] : edges[2 * t + 1]].lower(), int(keys[t]))
            for t in range(firsts[document], firsts[document + 1])
        ]
        for document in range(len(texts))
    ]


@pytest.mark.parametrize("word", [0, 1, 0xFF << 56, 2**64 - 1, 0x0123456789ABCDEF])
def test_mix_and_lower_word(word):
    with np.errstate(over="ignore"):
        assert int(mix(np.uint64(word))) == oracle.mix(word)
    assert int(lower_word(np.uint64(word))) == oracle.lower_word(word)


@pytest.mark.parametrize("seed", range(5))
def test_lower_word_on_random_words(seed):
    for word in np.random.default_rng(seed).integers(2**64, size=200, dtype=np.uint64):
        assert int(lower_word(word)) == oracle.lower_word(int(word))


def test_find_tokens_finds_what_the_reference_does():
    texts = [
        "",
        "a",
        "Seven77 eightsss Ninechars " + "x" * 63 + " " + "Y" * 64 + " " + "z" * 65,
        "no_gap's",
        "ÀÉ ÎÕ ünï-cödé eightßß",
        "日本語abc か\u3099 \ud800 x",
        "\x7fA[Z`a{z/0:9@",
        " " * 200 + "far" + "-" * 130 + "away",
    ]
    assert found(texts) == [oracle.find_tokens(text) for text in texts]


def test_every_length_and_alignment():
    texts = [" " * gap + "Ab1" * size for gap in range(9) for size in range(30)]
    assert found(texts) == [oracle.find_tokens(text) for text in texts]
