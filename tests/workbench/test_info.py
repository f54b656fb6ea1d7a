"""A store that is not what its log says is found by the check."""

import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.problems import DamagedFolder
from classmark.taxonomy.category import Category
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.project import Project, create, info
from classmark.workbench.settings import Settings
from classmark.workbench.store.undo import undo


@pytest.fixture
def folder(tmp_path):
    create(tmp_path / "shelf", Settings("shelf"))
    with Project(tmp_path / "shelf") as project:
        project.store.put_categories([Category("a"), Category("b")])
        project.store.put_documents([Record(Document("d", {"text": "t"}))])
    return tmp_path / "shelf"


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
