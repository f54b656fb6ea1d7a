"""Runs of characters and first lines: what they are, and that the fast path agrees."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.corpus import counting
from classmark.corpus.counting import count, count_blocks
from classmark.corpus.documents import GrowingVocabulary
from classmark.corpus.runs import (
    RUN,
    CharacterRuns,
    first_line_again,
    require_reading,
    scale_of,
    shown,
)
from classmark.problems import Mistake
from classmark.text import ALONE, Analyzer, kind, one_by_one, words

ANALYZERS = (
    Analyzer(),
    Analyzer(stop=False, stem=False),
    Analyzer("finnish", digits="drop", min_length=3),
    Analyzer(accents="fold", digits="token"),
)
TEXTS = st.text(
    st.characters() | st.sampled_from("aeé the東京都のカタ ไทย\u0301\u3099_-\n1")
)


def by_hand(text, analyzer, length):
    """Words, and every run, character by character."""
    terms = Counter(analyzer(text))
    plain = Analyzer(
        stop=False, stem=False, digits=analyzer.digits, accents=analyzer.accents,
        min_length=analyzer.min_length,
    )  # fmt: skip
    for token in plain(text):
        marked = f"_{token}_"
        for at in range(len(marked)):
            if len(run := marked[at : at + length]) == length:
                terms[RUN + run] += 1
    rest, places, at = counting.fold(text), [], 0
    for piece in one_by_one(text):
        at = rest.index(piece, at)
        places.append((at, at + len(piece), kind(piece[0]) == ALONE))
        at += len(piece)
    for (start, end, alone), (begin, stop, also) in pairwise(places):
        if alone and also and end == begin:
            terms[RUN + rest[start:stop]] += 1
    return terms


@given(TEXTS, st.sampled_from(ANALYZERS), st.integers(2, 5))
def test_runs_are_those_of_the_definition(text, analyzer, length):
    assert Counter(CharacterRuns(analyzer, length)(text)) == by_hand(
        text, analyzer, length
    )


@given(st.lists(TEXTS, max_size=6), st.sampled_from(ANALYZERS), st.integers(2, 5))
def test_the_fast_path_counts_what_the_slow_one_does(texts, analyzer, length):
    runs = CharacterRuns(analyzer, length)
    slow = count(texts, runs)
    before = counting.SMALL
    counting.SMALL = 0
    try:
        fast = count(texts or [""], runs)
        again = count(texts or [""], runs, slow.vocabulary)
        growing = GrowingVocabulary()
        blocks = list(count_blocks(texts or [""], runs, growing))
    finally:
        counting.SMALL = before
    if not texts:
        assert not fast.rows.nnz
        return
    assert fast.vocabulary == slow.vocabulary
    for other in (fast, again):
        for name in ("starts", "columns", "values"):
            assert np.array_equal(getattr(other.rows, name), getattr(slow.rows, name))
    names = list(growing.number)
    found = [
        {names[c]: float(v) for c, v in zip(*block.row(i), strict=True)}
        for block in blocks
        for i in range(len(block))
    ]
    assert found == [dict(Counter(runs(text))) for text in texts]


def test_characters_that_stand_alone_go_in_pairs_and_no_further():
    runs = CharacterRuns(Analyzer(stop=False, stem=False), 4)
    assert [shown(t) for t in runs("東京都、大阪")] == [
        "東", "京", "都", "大", "阪", "~東京", "~京都", "~大阪",
    ]  # fmt: skip
    assert words("東京都") == ["東", "京", "都"], "search finds phrases by places"
    assert "~ภาษา" in [shown(t) for t in runs("ภาษาไทย")], "Thai has no blanks"


def test_stop_words_have_runs_and_dropped_numbers_have_none():
    runs = CharacterRuns(Analyzer(digits="drop"), 4)
    assert [shown(term) for term in runs("the 2024")] == ["~_the", "~the_"]


def test_first_lines_of_several_stand_there_again():
    texts = ["Bees\nA hive.", "A hive.", ""]
    assert first_line_again(texts, 1) is texts
    assert first_line_again(texts, 3) == ["Bees\nA hive.\nBees\nBees", "A hive.", ""]
    assert next(iter(first_line_again(iter(texts), 2))).endswith("\nBees")


def test_a_run_counts_half_a_word():
    assert scale_of([RUN + "bees", "bee", "~"]).tolist() == [0.5, 1.0, 1.0]


@pytest.mark.parametrize(
    ("characters", "first_line", "message"),
    [
        (1, 1, "characters is 1: give 2 or more, or 0"),
        (-4, 1, "characters is -4"),
        (4.5, 1, "characters is 4.5: give a whole number"),
        (True, 1, "characters is True"),
        (4, 0, "first_line is 0: give 1 or more"),
        (4, "2", "first_line is '2'"),
    ],
)
def test_what_cannot_be_read_is_named(characters, first_line, message):
    with pytest.raises(Mistake, match=message):
        require_reading(characters, first_line, (1, 1))
