"""A text in pieces: nothing is lost of it, and the words that answer are marked."""

from hypothesis import given
from hypothesis import strategies as st

from classmark.text import Analyzer
from classmark.workbench.search.hits import (
    WIDTH,
    SnippetPiece,
    snippet,
    starred,
)

WORDS = st.lists(
    st.sampled_from(["bee", "Bees", "wasp", "*star*", "—", "a", "\n", "<b>"]),
    max_size=80,
).map(" ".join)


@given(WORDS)
def test_pieces_are_the_text_with_single_blanks(text):
    pieces = snippet(text, {"bee"}, Analyzer(), whole=True)
    assert "".join(piece.text for piece in pieces) == " ".join(text.split())
    assert {piece.text for piece in pieces if piece.hit} <= {"bee", "Bees"}
    assert sum(piece.hit for piece in pieces) == text.lower().count("bee")


@given(WORDS)
def test_a_snippet_is_its_pieces_marked(text):
    pieces = snippet(text, {"bee"}, Analyzer())
    assert starred(pieces) == "".join(
        f"*{piece.text}*" if piece.hit else piece.text for piece in pieces
    )
    shown = "".join(piece.text for piece in pieces).removeprefix("… ")
    assert shown.removesuffix(" …") in " ".join(text.split())
    if "bee" in text.lower():
        assert any(piece.hit for piece in pieces)


def test_long_texts_are_cut_around_the_words():
    text = "a " * 100 + "bee " + "b " * 100
    pieces = snippet(text, {"bee"}, Analyzer())
    assert pieces[0] == SnippetPiece("… ")
    assert pieces[-1] == SnippetPiece(" …")
    assert len("".join(piece.text for piece in pieces).split()) <= WIDTH + 2
