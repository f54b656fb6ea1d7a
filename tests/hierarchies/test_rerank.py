"""Close calls in favour of large classes, made again."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import LinearSVC

from classmark.arrays import rows_from, take
from classmark.hierarchies import rerank as voting
from classmark.hierarchies.flat import CrammerSingerSVM, FlatClassifier, HierarchicalSVM
from classmark.hierarchies.places import numbered
from classmark.hierarchies.rerank import (
    Doubts,
    RareCategoryReranker,
    Votes,
    quicker,
)
from classmark.hierarchies.taxonomy_ranker import TaxonomyRanker
from classmark.problems import Mistake
from classmark.taxonomy.tree import Taxonomy

SIZES = {"large": 60, "middle": 20, "small": 6}
TREE = Taxonomy([("r", "s"), ("r", "large"), ("s", "middle"), ("s", "small")])


def skewed(n=40, seed=0):
    """Classes of very different sizes that overlap; as many of each are asked."""
    random = np.random.default_rng(seed)
    means = dict(zip(SIZES, random.normal(size=(3, 12)), strict=True))
    y = [name for name, size in SIZES.items() for _ in range(size)]
    asked = [name for name in SIZES for _ in range(n)]
    X, T = (
        np.array([means[name] for name in names])
        + 1.5 * random.normal(size=(len(names), 12))
        for names in (y, asked)
    )
    return X, y, T, asked


@pytest.fixture(scope="module")
def learned():
    X, y, T, asked = skewed()
    return RareCategoryReranker(delta=0.6).fit(X, y), X, y, T, asked


def by_hand(model, T):
    """The algorithm of the paper, a document at a time, with sklearn's SVM."""
    answers, again = [], 0
    X, sizes = model.pairs_.rows.to_scipy().toarray(), model.sizes_
    owned = model.pairs_.owned
    scores = model.base_.decision_function(T)
    for row, x in zip(scores, T, strict=True):
        p = np.exp(model.scale_ * (row - row.max()))
        p /= p.sum()
        first, second = np.argsort(-row, kind="stable")[:2]
        answers.append(model.classes_[first])
        if p[first] - p[second] > model.delta or sizes[first] < 2 * sizes[second]:
            continue
        again += 1
        a, b = sorted((first, second))
        of_a, of_b = owned.row(a)[0], owned.row(b)[0]
        size = min(len(of_a), len(of_b))
        random = np.random.default_rng((model.pairs_.seed, a, b))
        votes = 0
        for _ in range(model.votes):
            left = of_a[random.permutation(len(of_a))[:size]]
            right = of_b[random.permutation(len(of_b))[:size]]
            svm = LinearSVC(
                loss="hinge", fit_intercept=False, tol=1e-6, max_iter=100_000
            )
            svm.fit(X[[*left, *right]], [a] * size + [b] * size)
            votes += int(svm.predict([x])[0] == second)
        if 2 * votes > model.votes:
            answers[-1] = model.classes_[second]
    return answers, again


def test_it_is_the_algorithm_of_the_paper(learned):
    model, *_, T, _ = learned
    expected, again = by_hand(model, T)
    found = model.predict(T)
    differing = sum(a != b for a, b in zip(found, expected, strict=True))
    assert differing <= 1  # a vote decided by the tolerance of the solver
    assert model.repredicted_ == again / len(T)
    assert found != model.base_.predict(T)


def test_small_classes_are_found_more_often(learned):
    model, *_, T, asked = learned
    before, after = model.base_.predict(T), model.predict(T)
    assert after.count("small") > before.count("small")
    hits = [
        sum(p == t for p, t in zip(answers, asked, strict=True))
        for answers in (before, after)
    ]
    assert hits[1] > hits[0]


def test_only_the_two_best_change_places(learned):
    model, *_, T, _ = learned
    base, own = model.base_.rank(T), model.rank(T)
    for before, after in zip(base, own, strict=True):
        assert after in (before, [before[1], before[0], *before[2:]])
    assert [line[0] for line in own] == model.predict(T)
    assert model.rank(T, k=2) == [line[:2] for line in own]
    best = model.decision_function(T).argmax(axis=1)
    assert [model.classes_[at] for at in best] == model.predict(T)


@pytest.mark.parametrize("limits", [(0.0, 1e9), (1.0, 1e9), (0.0, 2.0)])
def test_without_doubt_the_base_answers(learned, limits):
    _, X, y, T, _ = learned
    model = RareCategoryReranker(None, *limits).fit(X, y)
    assert model.predict(T) == model.base_.predict(T)
    assert model.repredicted_ == 0.0


def test_an_answer_does_not_depend_on_its_company(learned, monkeypatch):
    model, X, y, T, _ = learned
    expected = model.predict(T)
    model.pairs_.cache.clear()
    assert model.predict(T[::-1])[::-1] == expected
    monkeypatch.setattr(voting, "KEPT", 1)
    model.pairs_.cache.clear()
    assert model.predict(T) == expected
    assert len(model.pairs_.cache) == 1
    monkeypatch.setattr("classmark.hierarchies.rerank.CELLS", 10)
    assert model.predict(T) == expected
    assert RareCategoryReranker(delta=0.6).fit(X, y).predict(T) == expected


def test_limits_are_chosen_where_none_are_given(learned):
    _, X, y, T, _ = learned
    model = RareCategoryReranker(delta=None, ratio=None).fit(X, y)
    assert model.delta_ > 0
    half = RareCategoryReranker(delta=None, ratio=3.0).fit(X, y)
    assert half.ratio_ == 3.0
    fixed = RareCategoryReranker(delta=model.delta_, ratio=model.ratio_).fit(X, y)
    assert fixed.predict(T) == model.predict(T)


@pytest.mark.parametrize(
    "base",
    [
        FlatClassifier("naive-bayes"),
        CrammerSingerSVM(C=0.1),
        HierarchicalSVM(TREE),
        TaxonomyRanker(TREE, list(SIZES), C=0.1, center=1.0),
    ],
)
def test_any_base_will_do(base):
    X, y, T, _ = skewed()
    model = RareCategoryReranker(base, delta=0.6).fit(np.abs(X), y)
    scores = model.decision_function(np.abs(T))
    assert scores.shape == (len(T), 3)
    assert 0 < model.repredicted_ < 1
    assert set(model.predict(np.abs(T))) <= set(SIZES)


def test_documents_of_both_classes_teach_neither():
    rows = rows_from(np.eye(3))
    labels = numbered([[0, 1], [0], [0, 1]], range(2))
    votes = Votes(rows, labels, 1.0, count=3)
    one, columns = np.ones(3), np.tile([0, 1], (3, 1))
    doubts = Doubts(*columns.T, 0 * one, 2 * one, columns)
    assert not votes.second_wins(rows, doubts, one > 0).any()


def test_several_classes_a_document():
    X, y, T, _ = skewed()
    several = [[name, "large"] if at % 9 == 0 else name for at, name in enumerate(y)]
    model = RareCategoryReranker(delta=0.6).fit(X, several)
    assert model.sizes_.sum() == sum(
        len({*own}) if isinstance(own, list) else 1 for own in several
    )
    assert len(model.predict(T)) == len(T)


def test_one_class_and_no_documents():
    X = np.eye(3)
    model = RareCategoryReranker().fit(X, ["only"] * 3)
    assert model.predict(X) == ["only"] * 3
    assert model.predict(take(rows_from(X), [])) == []


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"votes": 4}, "votes is 4: give an odd number"),
        ({"delta": 1.5}, "delta is 1.5"),
        ({"ratio": 0.0}, "ratio is 0.0"),
    ],
)
def test_parameters_that_make_no_sense(parameters, said):
    with pytest.raises(Mistake, match=said):
        RareCategoryReranker(**parameters).fit(np.eye(2), ["a", "b"])


def test_a_second_document_is_needed():
    with pytest.raises(Mistake, match=r"no class has a second .* give one class two"):
        RareCategoryReranker().fit(np.eye(2), ["a", "b"])


def test_top_is_one_or_more(learned):
    with pytest.raises(Mistake, match="k is 0"):
        learned[0].rank(learned[3], k=0)


def test_scikit_learn_can_copy_it():
    copied = clone(RareCategoryReranker(FlatClassifier(C=3.0), votes=7))
    assert (copied.votes, copied.base.C) == (7, 3.0)
    with pytest.raises(Mistake, match="not fitted"):
        copied.predict(np.eye(2))


def test_the_copy_for_the_temperature_is_solved_less_closely():
    X, y, T, _ = skewed()
    close = CrammerSingerSVM(tol=1e-4)
    assert quicker(close, None).get_params() == {**close.get_params(), "tol": 0.1}
    assert close.tol == 1e-4
    assert quicker(CrammerSingerSVM(tol=0.5), None).tol == 0.5
    tree = HierarchicalSVM(TREE)
    assert quicker(tree, None) is tree
    model = RareCategoryReranker(close, delta=0.6).fit(X, y)
    assert model.base_.tol == 1e-4
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patched:
        patched.setattr("classmark.hierarchies.rerank.LOOSE", 0.0)
        exact = RareCategoryReranker(close, delta=0.6).fit(X, y)
    assert model.scale_ == pytest.approx(exact.scale_, rel=0.2)
    assert model.scale_ != exact.scale_
    assert len(model.predict(T)) == len(T)


def test_what_the_base_has_chosen_is_not_chosen_again():
    base = TaxonomyRanker(TREE, list(SIZES))
    learned = TaxonomyRanker(TREE, list(SIZES)).fit(np.eye(3), [[0], [1], [2]])
    found = quicker(base, learned)
    setting = learned.setting_
    assert (found.C, found.center) == (setting.C, setting.center)
    assert (found.prior, found.noise) == (setting.prior, setting.noise)
    assert (base.C, base.center) == (None, "auto")
