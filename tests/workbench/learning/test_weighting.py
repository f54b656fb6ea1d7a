"""Norm and slope of a project: how much the length of a text counts."""

import numpy as np
import pytest

from classmark.problems import Mistake
from classmark.text import analyzer_from
from classmark.weighting.vectorizer import Vectorizer
from classmark.workbench.learning import options as once
from classmark.workbench.learning import unfitted
from classmark.workbench.learning.learner import from_nothing
from classmark.workbench.project import Project
from classmark.workbench.settings import LearningSettings, validated
from projects import new_project

TEXTS = ["bees", "bees honey hive wax", "honey bread", "a hive of bees and wax"]


def lengths(project):
    X = unfitted.new_vectorizer(project).fit_transform(TEXTS)
    return np.sqrt(X.multiply(X).sum(axis=1)).A1


def settings(**learning):
    return {"learning": LearningSettings(**learning)}


def test_pivoted_weights_keep_their_length_and_slope_changes_it(tmp_path):
    by_slope = {}
    for slope in (0.0, 0.3, 1.0):
        parts = settings(weighting="pivoted", slope=slope)
        with Project(new_project(tmp_path / str(slope), **parts)) as project:
            by_slope[slope] = lengths(project)
    assert not np.allclose(by_slope[0.3], 1.0)
    assert by_slope[0.0][1] > by_slope[0.3][1] > by_slope[1.0][1]  # a long text
    assert by_slope[0.0][0] < by_slope[0.3][0] < by_slope[1.0][0]  # a short one


@pytest.mark.parametrize(
    ("learning", "unit"),
    [
        ({}, True),
        ({"norm": "none"}, False),
        ({"weighting": "pivoted"}, False),
        ({"weighting": "pivoted", "norm": "l2"}, True),
    ],
)
def test_the_norm_is_as_set_and_automatic_by_weighting(tmp_path, learning, unit):
    with Project(new_project(tmp_path / "p", **settings(**learning))) as project:
        assert np.allclose(lengths(project), 1.0) == unit
        live = from_nothing(project).ranker.vectorizer
        assert (live.norm == "l2", live.slope) == (unit, 0.3)


def test_the_usual_vectorizer_is_that_of_a_new_project(tmp_path):
    with Project(new_project(tmp_path / "p")) as project:
        of_project = unfitted.new_vectorizer(project)
    usual = Vectorizer.usual()
    first, second = (each.get_params(deep=False) for each in (usual, of_project))
    analyzers = (params.pop("analyzer") for params in (first, second))
    assert len({str(analyzer_from(each)) for each in analyzers}) == 1
    assert first == second
    assert usual.weighting == "log-tfidf" != Vectorizer().weighting
    changed = Vectorizer.usual(characters=0, min_df=2)
    assert (changed.characters, changed.min_df, changed.first_line) == (0, 2, 2)


def test_a_slope_beyond_1_is_refused():
    with pytest.raises(Mistake, match=r"learning\.slope is 1\.5: give .* from 0 to 1"):
        validated({"name": "x", "learning": {"slope": 1.5}})
    with pytest.raises(Mistake, match=r"learning\.norm is 'l1': use auto, l2, none"):
        validated({"name": "x", "learning": {"norm": "l1"}})


def test_options_for_this_once_must_have_an_effect(tmp_path):
    with Project(new_project(tmp_path / "p")) as project:
        for options, message in (
            ({"slope": 0.5}, "--slope has no effect with the weighting log-tfidf"),
            ({"norm": "l3"}, "norm 'l3' is not known: use auto, l2, none"),
        ):
            changed = once.changed(project, options)
            with pytest.raises(Mistake, match=message):
                once.require_effect(project, [changed], options)
        options = {"slope": 0.5, "weighting": "pivoted"}
        once.require_effect(project, [once.changed(project, options)], options)
