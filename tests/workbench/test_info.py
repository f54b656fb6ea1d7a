"""A store that is not what its log says is found by the check."""

import pytest

from classmark.problems import DamagedFolder
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.project import Project, info
from classmark.workbench.store.undo import undo
from projects import new_project


@pytest.fixture
def folder(tmp_path):
    return new_project(tmp_path / "shelf", {"d": "t"}, ["a", "b"])


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("DELETE FROM undone", "document 'd' and the log differ"),
        ("UPDATE categories SET id = 'x' WHERE id = 'b'", "categories and log differ"),
    ],
)
def test_a_store_that_is_not_what_its_log_says_is_told(folder, harm, said):
    with Project(folder) as project:
        decide(project, "d", Decision(("a",)), {})
        undo(project)
        info(project, check=True)
        project.store.run(harm)
        with pytest.raises(DamagedFolder, match=said):
            info(project, check=True)
