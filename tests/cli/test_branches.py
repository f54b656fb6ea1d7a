"""The shape of the tree on the command line."""

import pytest

from projects import new_project


@pytest.fixture
def single(tmp_path):
    """Return a project with one category and twenty documents in it."""
    rows = [
        {"id": str(at), "text": f"hive {at}", "primary": "bees"} for at in range(20)
    ]
    return str(new_project(tmp_path / "one", rows))


def test_one_category_is_reported_with_nothing_to_choose_between(run, single):
    code, out, _ = run("taxonomy", "report", "--project", single)
    assert code == 0
    assert "nothing to compare" in out


@pytest.mark.parametrize("policy", ["bound", "meta", "random"])
def test_one_category_is_not_pruned_and_one_line_says_so(run, single, policy):
    code, _, err = run("taxonomy", "prune", "--policy", policy, "--project", single)
    assert code == 2
    assert "nothing to prune" in err
    assert err.count("\n") == 1
