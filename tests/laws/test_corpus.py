"""Laws of the corpus room."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from classmark.corpus import counting
from classmark.corpus.counting import TokenTable
from classmark.text import Analyzer, words

TEXTS = st.lists(st.text() | st.text("aB1_ éß漢の\u0301'İΣ"), max_size=6)


@given(TEXTS)
def test_the_compiled_pass_equals_the_reference_path(texts):
    table = TokenTable()
    chunks = list(table.chunks(texts))
    tokens = table.tokens()
    found = []
    for chunk in chunks:
        for i in range(len(chunk.starts) - 1):
            part = slice(chunk.starts[i], chunk.starts[i + 1])
            pairs = zip(chunk.columns[part], chunk.counts[part], strict=True)
            found.append({tokens[token]: int(times) for token, times in pairs})
    assert found == [dict(Counter(words(text))) for text in texts]


@given(st.text(), st.text())
def test_documents_do_not_touch(one, other):
    table = TokenTable()
    list(table.chunks([one, other]))
    assert table.tokens() == list(dict.fromkeys([*words(one), *words(other)]))


def test_every_code_point_between_letters(monkeypatch):
    monkeypatch.setattr(counting, "SMALL", 0)
    text = " ".join(f"a{chr(point)}B" for point in range(0x110000))
    analyzer = Analyzer(stop=False, stem=False)
    counted = counting.count([text], analyzer)
    columns, values = counted.rows.row(0)
    terms = [counted.vocabulary.terms[column] for column in columns.tolist()]
    counts = dict(zip(terms, values.tolist(), strict=True))
    assert counts == Counter(analyzer(text))
