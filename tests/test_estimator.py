"""The manners of scikit-learn, tried with the real one."""

import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from classmark.estimator import Estimator
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
