"""Laws of the weighting room: the live vectorizer."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.weighting.live import LiveVectorizer
from classmark.weighting.vectorizer import WEIGHTINGS, Vectorizer

ANALYZER = "words|lower"
TEXTS = st.lists(
    st.lists(st.sampled_from("abcdefgh") | st.text("xyz", min_size=1), max_size=12).map(
        " ".join
    ),
    min_size=1,
    max_size=8,
)
SETTINGS = st.fixed_dictionaries(
    {
        "analyzer": st.just(ANALYZER),
        "weighting": st.sampled_from(WEIGHTINGS),
        "norm": st.sampled_from(["l2", None]),
        "slope": st.sampled_from([0.0, 0.3, 0.9]),
    }
)
REWEIGHT = "reweight"


def lived(settings, past):
    """Return a vectorizer that went through texts and re-weightings."""
    live = LiveVectorizer(**settings)
    for event in past:
        if event is REWEIGHT and live.statistics_.documents:
            live.reweight()
        elif event is not REWEIGHT:
            live.learn(event)
    return live


PASTS = TEXTS.flatmap(
    lambda texts: st.lists(st.sampled_from([*texts, REWEIGHT]), max_size=10)
)


def same(one, other):
    """Whether two vectorizers hold the same, to the bit."""
    (arrays, settings), (others, told) = one.to_arrays(), other.to_arrays()
    return settings == told and all(
        np.array_equal(arrays[name], others[name]) for name in arrays
    )


def entries(rows):
    return [
        (rows.row(i)[0].tolist(), rows.row(i)[1].tolist()) for i in range(len(rows))
    ]


@given(SETTINGS, PASTS, TEXTS, TEXTS)
def test_old_texts_keep_their_rows_while_others_are_learned(s, past, old, new):
    live = lived(s, past)
    learned = entries(live.partial_fit(old))
    assert entries(live.rows(old)) == learned
    for text in new:
        live.learn(text)
        assert entries(live.rows(old)) == learned
    live.forget(new[0])
    assert entries(live.rows(old)) == learned


@given(SETTINGS, PASTS, TEXTS)
def test_learning_and_forgetting_leaves_the_statistics_as_before(s, past, texts):
    live = lived(s, past)
    before, width = live.statistics_, live.n_features
    live.partial_fit(texts)
    for text in reversed(texts):
        live.forget(text)
    after = live.statistics_
    for name in ("documents", "tokens", "postings"):
        assert getattr(after, name) == getattr(before, name)
    for name in ("document_frequency", "collection_frequency"):
        assert np.array_equal(getattr(after, name)[:width], getattr(before, name))
        assert not getattr(after, name)[width:].any()


@given(SETTINGS, PASTS, TEXTS)
def test_one_that_was_saved_and_opened_goes_on_as_if_never_stopped(s, past, texts):
    live = lived(s, past)
    arrays, settings = live.to_arrays()
    again = LiveVectorizer.from_arrays(arrays, json.loads(json.dumps(settings)))
    assert same(live, again)
    assert entries(live.partial_fit(texts)) == entries(again.partial_fit(texts))
    assert same(live, again)
    live.reweight()
    again.reweight()
    assert entries(live.rows(texts)) == entries(again.rows(texts))


@given(SETTINGS, PASTS, TEXTS)
def test_learning_one_by_one_is_learning_together(s, past, texts):
    one, other = lived(s, past), lived(s, past)
    together = entries(one.partial_fit(texts))
    assert together == [entries(other.partial_fit([text]))[0] for text in texts]
    assert same(one, other)


@given(SETTINGS, TEXTS, st.lists(st.text("abxyz "), max_size=3), PASTS)
def test_reweighted_it_is_the_vectorizer_up_to_the_columns(s, texts, unseen, astray):
    texts = [*texts, "a"]
    live = LiveVectorizer(**s)
    for text in texts:
        live.learn(text)
    astray = [text for text in astray if text is not REWEIGHT]
    live.partial_fit(astray)
    for text in astray:
        live.forget(text)
    live.reweight()
    fitted = Vectorizer(**s).fit(texts)
    names, order = live.get_feature_names_out(), fitted.vocabulary_.number
    for text in [*texts, *unseen]:
        columns, values = live.rows([text]).row(0)
        found = {names[c]: v for c, v in zip(columns, values, strict=True)}
        if text in unseen and not found.keys() <= order.keys():
            continue
        columns, values = fitted.rows([text]).row(0)
        expected = dict(zip(columns.tolist(), values, strict=True))
        assert {order[t]: v for t, v in found.items()} == pytest.approx(
            expected, rel=1e-6, abs=1e-12
        )
