"""The tokens of a text, one after the other."""

from hypothesis import given
from hypothesis import strategies as st

from classmark.corpus.counting import TokenTable
from classmark.text import fold, words

TRICKY = st.text(st.sampled_from("aΣσİ\u0301\u0307\n\r .'Å\u0345ſ한漢A"), max_size=80)


@given(st.one_of(TRICKY, st.text(max_size=80)))
def test_a_text_may_be_folded_line_by_line(text):
    assert "\n".join(map(fold, text.split("\n"))) == fold(text)


@given(TRICKY.map(lambda text: f"{'ascii words ' * 20}{text}{' and More' * 30}"))
def test_long_runs_of_ascii_are_read_as_single_characters_are(text):
    table = TokenTable()
    (chunk,) = table.sequences([text + "é"])
    names = table.tokens()
    assert [names[number] for number in chunk.columns] == words(text + "é")


@given(st.lists(st.text(max_size=30), max_size=6))
def test_sequences_are_the_words_of_each_text(texts):
    table = TokenTable(["the", "a"])
    found = []
    for chunk in table.sequences(texts):
        names = table.tokens()
        bounds = zip(chunk.starts[:-1], chunk.starts[1:], strict=True)
        found += [[names[n] for n in chunk.columns[a:b]] for a, b in bounds]
        assert chunk.counts.tolist() == [1] * len(chunk.columns)
    assert found == [words(text) for text in texts]
