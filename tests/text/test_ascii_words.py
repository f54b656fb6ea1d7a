"""Plain texts are cut by an expression: as if every character was looked at."""

from hypothesis import given
from hypothesis import strategies as st

from classmark.text import one_by_one, words


@given(st.text(st.characters(max_codepoint=127)))
def test_it_is_as_if_every_character_was_looked_at(text):
    assert words(text) == one_by_one(text)
