"""Laws of the text room."""

from hypothesis import given
from hypothesis import strategies as st

from classmark.text import Analyzer, fold, fold_accents, languages, words

WORDS = st.text(min_size=1).filter(lambda word: len(words(word)) == 1)
ANALYZERS = st.builds(
    Analyzer,
    language=st.sampled_from(languages()),
    stop=st.booleans() | st.lists(WORDS, max_size=4),
    stem=st.sampled_from([True, False, "snowball"]),
    digits=st.sampled_from(["keep", "drop", "token"]),
    accents=st.sampled_from(["keep", "fold"]),
    min_length=st.integers(1, 5),
)


@given(ANALYZERS)
def test_parse_after_print_is_the_identity(analyzer):
    assert Analyzer.parse(str(analyzer)) == analyzer
    assert str(Analyzer.parse(str(analyzer))) == str(analyzer)


@given(st.text())
def test_tokens_of_tokens_are_the_tokens(text):
    tokens = words(text)
    assert words(" ".join(tokens)) == tokens


@given(st.text())
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)
    assert fold_accents(fold_accents(text)) == fold_accents(text)


@given(st.text(), ANALYZERS)
def test_terms_do_not_depend_on_neighbours(text, analyzer):
    tokens = words(text)
    alone = [term for token in tokens for term in analyzer.terms([token])]
    assert alone == analyzer.terms(tokens)
    assert analyzer(text) == [term for term in alone if term]
