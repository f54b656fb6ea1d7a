"""The live vectorizer: what it learns, what stays, how it is stored."""

import json
import subprocess
import sys
from math import log
from time import perf_counter

import numpy as np
import pytest
from sklearn.base import clone

from classmark.corpus import counting
from classmark.problems import Mistake
from classmark.storage import open_folder, save
from classmark.text import Analyzer
from classmark.weighting.live import Drift, LiveVectorizer
from classmark.weighting.vectorizer import Vectorizer
from meaning.tiny_models import Model

TRAIN = ["bees make honey", "the hive, a hive of bees", "honey and wax", "wax"]


def pairs(live, row):
    """Return the words of a row as {term: weight}."""
    names = live.get_feature_names_out()
    named = {names[c]: float(v) for c, v in zip(*row, strict=True)}
    return {name: v for name, v in named.items() if not name.startswith("meaning[")}


words_and_meaning = pytest.mark.parametrize(
    "meaning", [{}, {"meaning": Model(3)}], ids=["words", "meaning"]
)


def test_columns_are_by_arrival_and_sorted_in_the_row():
    live = LiveVectorizer("words|lower", "count", norm=None)
    columns, values = live.learn("wax bee wax")
    assert (columns.tolist(), values.tolist()) == ([0, 1], [2.0, 1.0])
    columns, values = live.learn("ant bee ant ant")
    assert (columns.tolist(), values.tolist()) == ([1, 2], [1.0, 3.0])
    assert (columns.dtype, values.dtype) == (np.uint32, np.float32)
    assert live.get_feature_names_out().tolist() == ["wax", "bee", "ant"]
    assert live.n_features == 3


@pytest.mark.parametrize("norm", ["l2", None])
@pytest.mark.parametrize(
    "weighting", ["log-tfidf", "tfidf", "relative-tfidf", "pivoted", "log", "tf"]
)
def test_the_first_document_has_weights(weighting, norm):
    live = LiveVectorizer(weighting=weighting, norm=norm)
    columns, values = live.learn("bees make honey, much honey")
    assert len(columns) == 3
    assert (values > 0.1).all()


def test_texts_without_terms_in_force_give_no_length_to_turn_about():
    live = LiveVectorizer(weighting="pivoted", norm=None)
    live.learn("")
    live.reweight()
    assert live.learn("bees")[1] == pytest.approx([log(3)])


def test_before_the_first_reweighting_all_terms_count_the_same():
    live = LiveVectorizer("words|lower", "log-tfidf", norm=None)
    live.partial_fit(["a b", "a b", "a"])
    assert pairs(live, live.learn("a b c c")) == pytest.approx(
        {"a": 1, "b": 1, "c": 1 + log(2)}
    )


@pytest.mark.parametrize(
    ("weighting", "factor"),
    [("tfidf", log(6 / 2) + 1), ("relative-tfidf", log(6)), ("pivoted", log(6))],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_a_late_term_has_the_frequency_known_when_it_came(weighting, factor, at_once):
    live = LiveVectorizer("words|lower", weighting, norm=None, slope=0.0)
    live.partial_fit(["a", "a b", "b"])
    live.reweight()
    if at_once:
        live.partial_fit(["a", "c a", "c", "c"])
    else:
        for text in ["a", "c a", "c", "c"]:
            live.learn(text)
    (column,), (value,) = live.rows(["c"]).row(0)
    assert column == 2
    assert value == pytest.approx(factor)


def test_unknown_terms_are_left_out_and_not_learned():
    live = LiveVectorizer(weighting="count", norm=None)
    assert live.transform(["bees"]).shape == (1, 0)
    live.partial_fit(TRAIN)
    before = live.to_arrays()
    found = live.transform(["mead, bees", "mead", ""])
    assert found.shape == (3, live.n_features)
    assert found.sum(axis=1).ravel().tolist() == [[1.0, 0.0, 0.0]]
    after = live.to_arrays()
    assert before[1] == after[1]
    assert all(np.array_equal(before[0][name], after[0][name]) for name in before[0])


def test_no_texts_are_no_rows():
    live = LiveVectorizer()
    assert live.partial_fit([]).shape == (0, 0)
    live.learn("bees")
    assert live.rows([]).shape == (0, 1)
    assert live.partial_fit(iter([])).values.dtype == np.float32


@words_and_meaning
@pytest.mark.parametrize("weighting", ["log-tfidf", "pivoted", "binary"])
def test_start_goes_on_from_a_fitted_vectorizer(weighting, meaning):
    fitted = Vectorizer(
        Analyzer(stem=False), weighting, norm=None, slope=0.2, **meaning
    )
    fitted.fit(TRAIN)
    live = LiveVectorizer.start(fitted)
    assert (live.transform(TRAIN) != fitted.transform(TRAIN)).nnz == 0
    assert live.drift() == Drift(0, 0.0, 0.0)
    known = fitted.get_feature_names_out().tolist()
    live.learn("bees like mead")
    assert live.get_feature_names_out().tolist() == [*known, "like", "mead"]
    old = live.transform(TRAIN)[:, : len(known)]
    assert (old != fitted.transform(TRAIN)).nnz == 0
    assert fitted.statistics_.documents == 4
    live.reweight()
    whole = Vectorizer(**fitted.get_params()).fit([*TRAIN, "bees like mead"])
    assert pairs(live, live.rows(["honey mead"]).row(0)) == pytest.approx(
        pairs(whole, whole.rows(["honey mead"]).row(0)), rel=1e-6
    )


def test_start_needs_a_fitted_vectorizer():
    with pytest.raises(Mistake, match="this Vectorizer is not fitted"):
        LiveVectorizer.start(Vectorizer())


@words_and_meaning
def test_drift_grows_with_what_is_learned_and_reweighting_ends_it(meaning):
    live = LiveVectorizer("words|lower", **meaning)
    assert live.drift() == Drift(0, 0.0, 0.0)
    live.partial_fit(["a b", "a", "a"])
    live.reweight()
    live.partial_fit(["b b c"])
    drift = live.drift()
    new = {"a": log(5 / 4), "b": log(5 / 3), "c": log(5 / 2)}
    old = {"a": log(4 / 4), "b": log(4 / 2), "c": log(5 / 2)}
    occurrences = ["a", "b", "a", "a", "b", "b", "c"]
    assert drift.documents == 1
    assert drift.new_terms == pytest.approx(1 / 3)
    mean = sum(abs(new[t] - old[t]) for t in occurrences) / 7
    assert drift.shift == pytest.approx(mean)
    live.reweight()
    assert live.drift() == Drift(0, 0.0, 0.0)


@words_and_meaning
def test_forgetting_leaves_the_columns_and_the_weights_in_force(meaning):
    live = LiveVectorizer(**meaning)
    live.partial_fit(TRAIN)
    live.reweight()
    live.learn("bees like mead")
    before = live.transform(["bees like mead"])
    live.forget("bees like mead")
    assert (live.transform(["bees like mead"]) != before).nnz == 0
    assert live.statistics_.documents == 4
    assert live.statistics_.document_frequency[-2:].tolist() == [0, 0]


@words_and_meaning
@pytest.mark.parametrize(
    "text", ["mead", "bees honey wax", "honey honey honey", "like"]
)
def test_what_was_not_learned_cannot_be_forgotten(text, meaning):
    live = LiveVectorizer(**meaning)
    live.partial_fit(["bees", "honey", "honey", "like"])
    live.forget("like")
    before = live.to_arrays()[1]
    with pytest.raises(Mistake, match="was not learned, or is forgotten already"):
        live.forget(text)
    assert live.to_arrays()[1] == before


def test_nothing_to_forget_and_nothing_to_put_into_force():
    live = LiveVectorizer()
    with pytest.raises(Mistake, match="was not learned"):
        live.forget("")
    with pytest.raises(Mistake, match="nothing was learned"):
        live.reweight()


@pytest.mark.parametrize(
    ("settings", "texts", "message"),
    [
        ({}, "one string", "texts is one string"),
        ({}, ["bees", 3], "texts, row 1: int is not a string"),
        ({"weighting": "tf-idf"}, ["a"], "weighting is 'tf-idf'"),
        ({"norm": "l1"}, ["a"], "norm is 'l1'"),
        ({"slope": 2.0}, ["a"], "slope is 2.0"),
        ({"analyzer": 3}, ["a"], "analyzer is int"),
    ],
)
@words_and_meaning
def test_mistakes(settings, texts, message, meaning):
    live = LiveVectorizer(**settings, **meaning)
    for call in (live.partial_fit, live.transform):
        with pytest.raises(Mistake, match=message):
            call(texts)


@words_and_meaning
def test_a_text_that_fails_leaves_nothing_behind(meaning):
    live = LiveVectorizer(**meaning)
    live.learn("bees")
    before = live.n_features
    for texts in (["wax", 3], ["wax", None]):
        with pytest.raises(Mistake):
            live.partial_fit(texts)
    assert live.n_features == before


@words_and_meaning
def test_an_interrupted_call_leaves_no_terms_behind(monkeypatch, meaning):
    live = LiveVectorizer(**meaning)
    live.learn("bees")
    before = live.get_feature_names_out().tolist()

    def interrupted(_self, _counts):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LiveVectorizer, "_absorbed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            live.learn("wax and mead")
    assert live.get_feature_names_out().tolist() == before
    assert live.learn("mead")[0][-1] == len(before)


@words_and_meaning
def test_a_saved_one_can_be_opened_from_its_folder_and_goes_on(tmp_path, meaning):
    analyzer = Analyzer(stop=["of"])
    live = LiveVectorizer(analyzer, "pivoted", norm=None, slope=0.2, **meaning)
    live.partial_fit(TRAIN)
    live.reweight()
    live.learn("Käse of bees")
    arrays, settings = live.to_arrays()
    save(tmp_path / "live", "live", 1, arrays, json.loads(json.dumps(settings)))
    opened = open_folder(tmp_path / "live", "live", 1)
    again = LiveVectorizer.from_arrays(opened.arrays, opened.settings)
    again.use_meaning(**({"meaning": None} | meaning))
    assert again.to_arrays()[1] == settings
    for one in (live, again):
        one.partial_fit(["mead bees", "wax"])
        one.forget("Käse of bees")
    texts = [*TRAIN, "Käse mead"]
    assert (live.transform(texts) != again.transform(texts)).nnz == 0
    assert live.drift() == again.drift()


def test_parameters_are_listed_and_cloned():
    live = LiveVectorizer(weighting="log")
    live.learn("bees")
    assert repr(live) == "LiveVectorizer(weighting='log')"
    assert clone(live).n_features == 0


def test_one_short_text_needs_no_compiled_code():
    script = (
        "import sys; from classmark.weighting.live import LiveVectorizer;"
        "live = LiveVectorizer(); live.learn('bees'); live.reweight();"
        "live.rows(['hives']); live.forget('bees'); live.drift();"
        "sys.exit('numba' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0  # noqa: S603


@words_and_meaning
@pytest.mark.parametrize("weighting", ["log-tfidf", "pivoted"])
def test_many_texts_take_the_compiled_path_and_give_the_same(
    weighting, monkeypatch, meaning
):
    texts = [f"bees {i % 7} honey {' wax' * (i % 5)} w{i % 31}" for i in range(90)]
    singly, at_once = (LiveVectorizer(None, weighting, **meaning) for _ in range(2))
    for part in (texts[:20], texts[20:]):
        rows = [singly.learn(text) for text in part]
        with monkeypatch.context() as patch:
            patch.setattr(counting, "SMALL", 0)
            block = at_once.partial_fit(part)
            again = at_once.rows([*part, "never seen"])
        for i, (columns, values) in enumerate(rows):
            for found in (block, again):
                assert found.row(i)[0].tolist() == columns.tolist()
                assert found.row(i)[1].tolist() == values.tolist()
        singly.reweight()
        at_once.reweight()
    left, right = singly.to_arrays(), at_once.to_arrays()
    assert left[1] == right[1]
    assert all(np.array_equal(left[0][name], right[0][name]) for name in left[0])


def test_a_text_is_learned_quickly():
    """A relaxed bound, for busy machines: about 0.1 ms beyond the analysis."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{n}" for n in rng.zipf(1.3, 60) % 50_000) for _ in range(400)]
    live = LiveVectorizer()
    live.partial_fit(texts[:100])
    took = []
    for text in texts[100:]:
        start = perf_counter()
        live.analyzer_(text)
        middle = perf_counter()
        live.learn(text)
        took.append(perf_counter() - middle - (middle - start))
    assert np.median(took) < 1e-3
