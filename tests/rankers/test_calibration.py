"""Probabilities: against scikit-learn, and on documents nobody learned from."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from classmark.datasets import load
from classmark.measures import calibration_error
from classmark.preferences.graph import PreferenceGraph
from classmark.problems import Mistake
from classmark.rankers import calibration
from classmark.rankers.calibration import (
    METHODS,
    Calibrator,
    along,
    category_offsets,
    crossed_probabilities,
    held_out_scores,
    isotonic,
)
from classmark.rankers.linear import Rocchio
from classmark.rankers.live_text_ranker import LiveTextRanker
from classmark.rankers.preference import PreferenceRanker
from classmark.rankers.text_ranker import TextRanker
from classmark.weighting.vectorizer import Vectorizer

ANALYZER = "words|lower|stop(english)|snowball(english)"


def made_up(seed=0, n=400, k=6):
    """Scores whose labels are drawn with known chances, several per document."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, k)) * 2
    chance = 1 / (1 + np.exp(-2 * (scores - 1)))
    return scores, (rng.random((n, k)) < chance).astype(int)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([2, 5, 1000]))
def test_the_curve_is_that_of_scikit_learn(seed, n, steps):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, steps, n) / 7
    y = rng.random(n) if seed % 2 else (rng.random(n) < x / (x.max() + 1)).astype(float)
    steps_at = IsotonicRegression(out_of_bounds="clip").fit(x, y).predict(x).round(9)
    heights = np.unique(steps_at)
    middles = [x[steps_at == height].mean() for height in heights]
    places, values = isotonic(x, y)
    assert values == pytest.approx(heights, abs=1e-8)
    assert places == pytest.approx(middles, abs=1e-9)
    assert along(places, places, values) == pytest.approx(values)


def test_platt_minimises_the_cross_entropy_of_its_targets():
    scores, Y = made_up()
    fitted = Calibrator("platt").fit(scores, Y)
    f, y = fitted.shifted(scores).ravel(), Y.ravel()
    so = y.sum()
    t = np.where(y, (so + 1) / (so + 2), 1 / (len(y) - so + 2))

    def cost(ab):
        return np.sum(np.logaddexp(0, ab[0] * f + ab[1]) - t * (ab[0] * f + ab[1]))

    expected = minimize(cost, [0.0, 0.0], method="Nelder-Mead", tol=1e-10).x
    assert fitted.curve_ == pytest.approx(expected, abs=1e-4)


matrices = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 5)),
    elements=st.floats(-1e6, 1e6) | st.sampled_from([0.0, 0.1, 1.0]),
)


@given(matrices, st.sampled_from(METHODS), st.integers(0, 9))
def test_the_order_and_the_probabilities_agree(scores, method, seed):
    k = scores.shape[1]
    known, Y = made_up(seed, 30, k)
    calibrator = Calibrator(method).fit(known, Y)
    calibrator.offsets_ = np.random.default_rng(seed).normal(size=k)
    likely, order = calibrator.transform(scores), calibrator.shifted(scores)
    assert ((likely > 0) & (likely < 1)).all()
    for o, p in zip(order, likely, strict=True):
        assert (p[:, None] >= p[None, :])[o[:, None] > o[None, :]].all()


def test_two_categories_hardly_ever_have_one_probability():
    calibrator = Calibrator().fit(*uneven(1))
    likely = np.sort(calibrator.transform(uneven(2)[0]), axis=1)
    shown = likely[:, 1:] >= 0.05
    assert (np.diff(likely, axis=1) == 0)[shown].mean() < 0.01


def rare_and_frequent(seed, n=1500, k=60):
    """Categories of many sizes, right the less often the rarer they are."""
    rng = np.random.default_rng(seed)
    sizes = np.repeat([2, 5, 20, 200], k // 4)
    scores = rng.normal(size=(n, k)) * 2
    chance = 1 / (1 + np.exp(-2 * scores + 7 - 0.6 * np.log1p(sizes)))
    return scores, (rng.random((n, k)) < chance).astype(int), sizes


def test_the_size_of_a_category_tells_how_often_it_is_right():
    """Few decisions of each are held out, but many of those of its size."""
    scores, Y, sizes = rare_and_frequent(1, n=150)
    by_size, alone = (
        Calibrator().fit(scores, Y, sizes, sizes),
        Calibrator().fit(scores, Y),
    )
    asked, truth, _ = rare_and_frequent(2)
    rare = sizes == 2
    errors = [
        calibration_error(each.transform(asked)[:, rare], truth[:, rare])
        for each in (by_size, alone)
    ]
    assert errors[0] < 0.85 * errors[1]
    means = [by_size.offsets_[sizes == n].mean() for n in (2, 20, 200)]
    assert means == sorted(means)


def test_sizes_are_those_that_the_folds_have_learned_from():
    X, Y = np.eye(20), np.tile([[1, 0], [0, 1]], (10, 1))
    Y[0] = [1, 1]
    held_out = held_out_scores(Rocchio(), X, Y)
    assert held_out.sizes.tolist() == Y.sum(axis=0).tolist()
    parts = list(calibration.folds(20, 5, random_state=0))
    for train, test in parts:
        expected = Y[train].sum(axis=0) * 20 / 16
        assert (held_out.learned[test] == expected).all()
    with pytest.raises(Mistake, match="without sizes"):
        Calibrator().fit(held_out.scores, held_out.labels, held_out.learned)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_promised_comes_true(method):
    calibrator = Calibrator(method).fit(*made_up(1, 2000))
    scores, Y = made_up(2, 2000)
    assert calibration_error(calibrator.transform(scores), Y) < 0.03
    assert calibration_error(crossed_probabilities(scores, Y, method), Y) < 0.03


@pytest.mark.parametrize("method", METHODS)
def test_scores_that_mislead_or_say_nothing_give_the_base_rate(method):
    scores, Y = made_up()
    wrong = Calibrator(method).fit(-scores, Y).transform(-scores)
    assert wrong == pytest.approx(Y.mean(), abs=0.02)
    nothing = Calibrator(method).fit(np.zeros_like(scores), Y)
    assert nothing.transform(np.zeros((1, 6))) == pytest.approx(Y.mean(), abs=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_two_categories_are_told_apart_by_their_distance(method):
    rng = np.random.default_rng(3)
    gap = rng.normal(size=600)
    Y = (rng.random(600) < 1 / (1 + np.exp(-3 * gap)))[:, None] ^ [False, True]
    scores = np.column_stack((gap, -gap))
    calibrator = Calibrator(method).fit(scores, Y.astype(int))
    narrow, wide = calibrator.transform(np.array([[0.02, -0.02], [1.5, -1.5]]))[:, 0]
    assert abs(narrow - 0.5) < 0.15
    assert wide > 0.9


def test_held_out_documents_are_never_learned_from(monkeypatch):
    """One feature per document: whoever has seen it knows it; nobody else does."""
    X, Y = np.eye(20), np.tile([[1, 0], [0, 1]], (10, 1))
    scores, labels, *_ = held_out_scores(Rocchio(), X, Y)
    assert scores.shape == (20, 2)
    assert (scores == 0).all()
    assert labels.columns.tolist().count(0) == 10
    monkeypatch.setattr(calibration, "CELLS", 2)
    assert len(held_out_scores(Rocchio(), np.eye(200), np.tile(Y, (10, 1)))[0]) == 50


def test_documents_without_labels_are_learned_from_but_not_asked():
    rng = np.random.default_rng(0)
    X = rng.random((30, 4))
    labels = [[int(row[:2].argmax())] if i % 3 else [] for i, row in enumerate(X)]
    graphs = [PreferenceGraph(2, [(a, 1 - a)]) for a in X[:, :2].argmax(axis=1)]
    Y = calibration.labels_from(labels, 30, 2)
    scores, asked, *_ = held_out_scores(PreferenceRanker(), X, Y, graphs)
    assert len(scores) == 20
    truth = asked.to_scipy().toarray()
    assert (scores.argmax(axis=1) == truth.argmax(axis=1)).mean() > 0.8


def uneven(seed=0, n=3000, k=8):
    """Scores whose first two categories are right far less often than they seem."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, k)) * 2
    lower = np.where(np.arange(k) < 2, 4.0, 0.0)
    chance = 1 / (1 + np.exp(-2 * (scores - 1) + lower))
    return scores, (rng.random((n, k)) < chance).astype(int)


def test_an_offset_is_the_mode_under_a_normal_prior():
    rng = np.random.default_rng(5)
    margins, right = rng.normal(size=(40, 3)), rng.random((40, 3)) < [0.05, 0.5, 0.9]
    found = category_offsets(margins, right, kappa=2.0)
    for r in range(3):

        def cost(b, m=margins[:, r], y=right[:, r]):
            return np.sum(np.logaddexp(0, m + b) - y * (m + b)) + b @ b

        assert found[r] == pytest.approx(minimize(cost, [0.0]).x[0], abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_category_that_is_seldom_right_is_promised_less(method):
    calibrator = Calibrator(method).fit(*uneven(1))
    scores, Y = uneven(2)
    found = calibrator.transform(scores)
    alone = Calibrator(method).fit(*uneven(1))
    alone.offsets_ = np.zeros(0)
    assert (calibrator.offsets_[:2] < -0.3).all()
    assert (np.abs(calibrator.offsets_[2:]) < 0.5).all()
    by_offsets = calibration_error(found[:, :2], Y[:, :2])
    assert by_offsets < 0.5 * calibration_error(
        alone.transform(scores)[:, :2], Y[:, :2]
    )


def test_few_decisions_hardly_move_a_category_from_the_common_curve():
    few, many = (
        category_offsets(np.zeros((n, 1)), np.zeros((n, 1), bool))[0] for n in (1, 3000)
    )
    assert -0.5 < few < 0
    assert many < -3


def test_columns_say_which_categories_are_asked():
    scores, Y = uneven()
    calibrator = Calibrator().fit(scores, Y)
    columns = [3, 1, 8]  # the last came later
    some, offsets = scores[:, [3, 1, 5]], calibrator.offsets_
    found = calibrator.transform(some, columns)
    calibrator.offsets_ = np.array([offsets[3], offsets[1], 0.0])
    assert (found == calibrator.transform(some)).all()
    calibrator.offsets_ = offsets
    with pytest.raises(Mistake, match="3 columns, 8 categories were fitted: say with"):
        calibrator.transform(some)


def test_merged_categories_have_the_mean_of_their_offsets():
    calibrator = Calibrator().fit(*uneven())
    offsets = calibrator.offsets_.copy()
    merged = calibrator.regrouped([[2], [0, 3], [9]])
    assert merged.offsets_.tolist() == [offsets[2], (offsets[0] + offsets[3]) / 2, 0.0]
    assert (calibrator.offsets_ == offsets).all()


def test_files_from_before_the_offsets_open_with_the_curve_alone():
    scores, Y = uneven()
    arrays, settings = Calibrator().fit(scores, Y).to_arrays()
    old = Calibrator.from_arrays({"curve": arrays["curve"]}, settings)
    expected = along(old.standing(scores), *arrays["curve"])
    assert (old.transform(scores) == expected).all()
    assert (old.transform(scores[:, :3], [7, 1, 2]) <= 1).all()
    assert (old.regrouped([[1], [2, 3]]).offsets_ == []).all()


@pytest.mark.parametrize("method", METHODS)
def test_stored_and_opened_it_says_the_same(method):
    scores, Y = made_up()
    calibrator = Calibrator(method).fit(scores, Y)
    opened = Calibrator.from_arrays(*calibrator.to_arrays())
    assert (opened.transform(scores) == calibrator.transform(scores)).all()
    assert opened.decisions_ == 400


def test_mistakes_are_named():
    with pytest.raises(Mistake, match="isotonic or platt"):
        Calibrator("beta").fit([[1.0]], [[0]])
    with pytest.raises(Mistake, match="call fit first"):
        Calibrator().transform([[1.0]])
    with pytest.raises(Mistake, match="finite"):
        Calibrator().fit([[np.nan]], [[0]])
    with pytest.raises(Mistake, match="empty"):
        Calibrator().fit(np.empty((0, 2)), [])


@pytest.fixture(scope="module")
def library():
    data = load("library")
    model = TextRanker.fit(
        Vectorizer(ANALYZER, "log-tfidf"),
        PreferenceRanker(C=0.1, center=5.0, tol=1e-2),
        data.train.texts,
        data.label_numbers(data.train),
        data.label_names,
    )
    labels = data.label_numbers(data.train)
    return data, model.calibrate(data.train.texts, labels)


def test_on_the_library_promises_come_true(library):
    data, model = library
    scores = model.scores(data.test.texts)
    found = model.probabilities(scores)
    truth = np.zeros(found.shape)
    for i, row in enumerate(data.label_numbers(data.test)):
        truth[i, row] = 1
    every, best = np.arange(len(found)), scores.argmax(axis=1)
    assert calibration_error(found, truth) < 0.006
    assert calibration_error(found[every, best], truth[every, best]) < 0.08
    assert found.sum(axis=1).mean() == pytest.approx(truth.sum(axis=1).mean(), rel=0.1)


def test_a_text_ranker_keeps_its_probabilities(library, tmp_path):
    data, model = library
    note = data.test.texts[0]
    model.save(tmp_path / "model")
    opened = TextRanker.open(tmp_path / "model")
    assert opened.suggest(note) == model.suggest(note)
    chances = [found.probability for found in opened.suggest(note)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.3


def test_categories_that_come_later_have_the_common_curve(library):
    data, model = library
    ids = map(str, range(len(data.train.texts)))
    live = LiveTextRanker.start(deepcopy(model), ids)
    live.add(["new"])
    shown = [*range(3, len(model.categories)), len(model.categories)]
    live.show(shown)
    note = data.test.texts[0]
    scores = live.model.scores([note])[:, shown]
    calibrator = model.calibrator
    own = calibrator.regrouped([[c] for c in shown])
    assert own.offsets_[-1] == 0 != own.offsets_[0]
    expected = dict(zip(shown, own.transform(scores)[0], strict=True))
    for found in live.suggest(note, k=50):
        number = live.categories.index(found.category)
        assert found.probability == pytest.approx(expected[number])


def test_on_reuters_promises_come_true(data):
    reuters = load("reuters-21578", path=data)
    numbers = [reuters.label_numbers(part) for part in (reuters.train, reuters.test)]
    parts = zip((reuters.train, reuters.test), numbers, strict=True)
    (texts, lists), (asked, wanted) = (
        zip(*((t, row) for t, row in zip(p.texts, n, strict=True) if row), strict=True)
        for p, n in parts
    )
    model = TextRanker.fit(
        Vectorizer(ANALYZER, "log-tfidf"), Rocchio(), texts, lists, reuters.label_names
    ).calibrate(texts, lists)
    scores = model.scores(asked)
    truth = calibration.labels_from(wanted, len(asked), scores.shape[1]).to_scipy()
    found, so = model.probabilities(scores), truth.toarray()
    every, best = np.arange(len(scores)), scores.argmax(axis=1)
    assert calibration_error(found, so) < 0.001
    assert calibration_error(found[every, best], so[every, best]) < 0.04
