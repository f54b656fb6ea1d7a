"""Texts are cut by an expression: as if every character was looked at."""

from hypothesis import given
from hypothesis import strategies as st

from classmark.text import one_by_one, words


@given(
    st.one_of(
        st.text(st.characters(max_codepoint=127)),
        st.text(),
        st.text(st.sampled_from("aB\u0301\u0307漢あ한é½_ ٣𠀀\U0001d400")),
    )
)
def test_it_is_as_if_every_character_was_looked_at(text):
    assert words(text) == one_by_one(text)


def test_so_it_is_with_every_character_of_the_first_plane():
    for point in range(0x10000):
        text = f"a{chr(point)}b漢{chr(point)}"
        assert words(text) == one_by_one(text)
