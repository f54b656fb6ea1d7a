"""A store that is not what its log says is found by the check."""

import pytest

from classmark.problems import DamagedFolder
from classmark.workbench.deciding.decide import Decision, decide
from classmark.workbench.project import Project, info
from classmark.workbench.store.undo import undo
from projects import new_project


def facts_of(folder, **options):
    with Project(folder) as project:
        return {row["what"]: row["value"] for row in info(project, **options).rows}


def test_the_vocabulary_is_counted_and_its_laws_are_drawn(tmp_path):
    texts = {
        f"d{n}": " ".join(f"w{i}" for i in range(1, 2 * n + 1)) for n in range(1, 9)
    }
    folder = new_project(tmp_path / "shelf", texts)
    assert "tokens" not in facts_of(folder)
    facts = facts_of(folder, vocabulary=True)
    assert (facts["tokens"], facts["different terms"]) == (72, 16)
    assert facts["terms that occur once"] == 2
    assert 0 < float(facts["Heaps: beta"]) < 1
    assert float(facts["Zipf: exponent"]) > 0
    assert float(facts["Zipf: r²"]) <= 1
    drawn = (folder / "reports" / "vocabulary.svg").read_text()
    assert facts["plot of the vocabulary"] == str(folder / "reports" / "vocabulary.svg")
    assert "Heaps" in drawn
    assert "rank of the term" in drawn


def test_an_empty_project_has_no_law(tmp_path):
    facts = facts_of(new_project(tmp_path / "shelf", {}), vocabulary=True)
    assert facts["tokens"] == 0
    assert "plot of the vocabulary" not in facts


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
