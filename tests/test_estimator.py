"""The manners of scikit-learn, tried with the real one."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import classmark as cm
from classmark.estimator import Estimator, renamed
from classmark.problems import Mistake


class Outer(Estimator):
    def __init__(self, inner=None, rate=0.5):
        self.inner = inner
        self.rate = rate

    def fit(self, X, y=None):  # noqa: ARG002 - as scikit-learn calls it
        self.seen_ = len(X)
        return self


class Sorter(Outer):
    _kind = "classifier"
    _needs_y = True


def test_parameters_are_listed_nested_and_set():
    outer = Outer(inner=Outer(rate=1.0))
    assert outer.get_params(deep=False) == {"inner": outer.inner, "rate": 0.5}
    assert outer.get_params()["inner__rate"] == 1.0
    outer.set_params(inner__rate=2.0, rate=3.0)
    assert (outer.inner.rate, outer.rate) == (2.0, 3.0)


def test_an_unknown_parameter_is_named():
    with pytest.raises(Mistake, match="Outer has no parameter 'speed': it has inner"):
        Outer().set_params(speed=1)


def test_repr_shows_what_is_not_default():
    assert repr(Outer(rate=2)) == "Outer(rate=2)"
    assert repr(Outer()) == "Outer()"


def test_clone_copies_the_parameters_and_nothing_learned():
    outer = Outer(inner=Outer(rate=1.0)).fit([1, 2])
    twin = clone(outer)
    assert twin.inner is not outer.inner
    assert twin.inner.rate == 1.0
    assert not hasattr(twin, "seen_")


def test_fitted_or_not():
    with pytest.raises(ValueError, match="not fitted"):
        check_is_fitted(Outer())
    with pytest.raises(Mistake, match="this Outer is not fitted: call fit first"):
        Outer()._require_fitted()  # noqa: SLF001 - for subclasses
    check_is_fitted(Outer().fit([]))


def test_tags():
    assert is_classifier(Sorter())
    assert not is_classifier(Outer())
    assert get_tags(Sorter()).target_tags.required
    assert get_tags(Outer()).transformer_tags is None


class Renamed(Estimator):
    @renamed(speed="rate")
    def __init__(self, rate=0.5):
        self.rate = rate


def test_an_old_name_of_a_parameter_works_with_a_warning():
    with pytest.warns(FutureWarning, match="Renamed: speed is now rate"):
        old = Renamed(speed=2.0)
    assert old.get_params() == {"rate": 2.0}
    with pytest.warns(FutureWarning, match="speed is now rate"):
        old.set_params(speed=3.0)
    with pytest.warns(FutureWarning, match="speed is now rate"):
        assert old.speed == 3.0
    assert clone(old).rate == 3.0


def test_an_old_name_beside_its_new_one_is_refused():
    with pytest.raises(Mistake, match="speed is the old name of rate: give rate alone"):
        Renamed(rate=1.0, speed=2.0)


def test_saved_parameters_may_have_old_names():
    assert Renamed.from_params({"speed": 2.0}).rate == 2.0


def test_an_attribute_that_never_was_is_no_old_name():
    with pytest.raises(AttributeError, match="'Renamed' object has no attribute 'way'"):
        Renamed().way  # noqa: B018 - the access is what is tried


OLD_CALLS = {
    "mapping": lambda: cm.PreferenceRanker(mapping="dis").loss == "dis",
    "budget": lambda: cm.PreferenceRanker(budget=0.5).time_budget == 0.5,
    "keep": lambda: cm.PreferenceRanker(keep=9).max_documents == 9,
    "decomposition": lambda: cm.LogLinearRanker(decomposition="dis").loss == "dis",
    "supports": lambda: cm.MMP(budget=5).max_documents == 5,
    "rounds": lambda: cm.HierarchicalSVM(None, rounds=2).max_iter == 2,
    "top": lambda: (
        cm.Rocchio().fit(np.eye(3), [[0], [1], [2]]).rank(np.eye(3), top=2).shape
        == (3, 2)
    ),
    "gap_": lambda: cm.RankingSVM().fit([[1.0], [0.0]], [1, 0], [0, 0]).gap_ >= 0.0,
    "weights": lambda: (
        cm.RankingSVM().fit([[1.0], [0.0]], [1, 0], [0, 0], weights=[1, 1]).coef_[0] > 0
    ),
    "groups": lambda: (
        cm.decompose(cm.PreferenceGraph(2, [(0, 1)]), decomposition="dom") == [[(0, 1)]]
    ),
}


@pytest.mark.parametrize("name", OLD_CALLS)
def test_old_names_of_the_public_face_go_on_working(name):
    with pytest.warns(FutureWarning, match="the old name goes with version"):
        assert OLD_CALLS[name]()


@pytest.mark.parametrize(
    ("short", "long"),
    [("dis", "disagreement"), ("dom", "domination"), ("dme", "dominated")],
)
@pytest.mark.parametrize("ranker", [cm.PreferenceRanker, cm.LogLinearRanker])
def test_a_loss_has_the_names_of_both_papers(ranker, short, long):
    X, Y = np.eye(4), [[0], [1], [2], [0, 1]]
    weights = ranker(short, C=1.0).fit(X, Y).weights_
    assert np.array_equal(weights, ranker(long, C=1.0).fit(X, Y).weights_)
