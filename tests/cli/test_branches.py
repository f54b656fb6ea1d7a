"""The shape of the tree on the command line."""

import pytest

from classmark.workbench.files.importing import import_documents, import_taxonomy
from classmark.workbench.project import Project, create
from classmark.workbench.settings import Settings


@pytest.fixture
def single(tmp_path):
    """Return a project with one category and twenty documents in it."""
    (tmp_path / "tree.csv").write_text("id,parent,label\nbees,,Bees\n")
    entry = '{{"id": "{0}", "text": "hive {0}", "primary": "bees"}}'
    lines = "\n".join(entry.format(at) for at in range(20))
    (tmp_path / "hives.jsonl").write_text(lines)
    create(tmp_path / "one", Settings("one"))
    with Project(tmp_path / "one") as project:
        import_taxonomy(project, tmp_path / "tree.csv")
        import_documents(project, tmp_path / "hives.jsonl")
    return str(tmp_path / "one")


def test_one_category_is_reported_with_nothing_to_choose_between(run, single):
    code, out, _ = run("taxonomy", "report", "--project", single)
    assert code == 0
    assert "nothing to choose between" in out


@pytest.mark.parametrize("policy", ["bound", "meta", "random"])
def test_one_category_is_not_pruned_and_one_line_says_so(run, single, policy):
    code, _, err = run("taxonomy", "prune", "--policy", policy, "--project", single)
    assert code == 2
    assert "nothing to choose between" in err
    assert err.count("\n") == 1
