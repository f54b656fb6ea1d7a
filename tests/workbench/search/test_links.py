"""Documents of a project, and pages of a file, ranked by their links."""

import numpy as np
import pytest

from classmark.corpus.documents import Document
from classmark.formats.records import Record
from classmark.links.pagerank import METHODS
from classmark.problems import Mistake, UnreadableFile
from classmark.workbench.project import Project
from classmark.workbench.search.links import LinkReader, rank_documents, rank_edges
from projects import new_project

LINKS = {"bees": ["honey", "sea"], "tea": ["honey", "tea", "honey"], "honey": []}


@pytest.fixture
def project(tmp_path):
    rows = [
        {"id": id_, "title": id_.title(), "links": list(ends)}
        for id_, ends in LINKS.items()
    ]
    with Project(new_project(tmp_path / "web", rows)) as opened:
        yield opened


def test_documents_are_ranked_with_their_titles(project):
    found = rank_documents(project, LinkReader())
    assert [row["id"] for row in found.rows] == ["honey", "tea", "bees"]
    first = found.rows[0]
    assert (first["rank"], first["title"], first["links in"]) == (1, "Honey", 2)
    assert first["links out"] == 0
    assert sum(row["probability"] for row in found.rows) == pytest.approx(1)
    assert first["times the mean"] == pytest.approx(3 * first["probability"])
    assert found.note == (
        "3 links between 3 pages, 1 of them without links; 1 links lead elsewhere"
    )
    assert [row["id"] for row in rank_documents(project, LinkReader(), 1).rows] == [
        "honey"
    ]


def test_a_personal_rank_begins_at_home(project):
    found = rank_documents(project, LinkReader(home=["bees", "bees"], damping=0.5))
    assert {row["id"]: round(row["probability"], 6) for row in found.rows} == {
        "bees": 0.666667,
        "honey": 0.333333,
        "tea": 0.0,
    }
    with pytest.raises(Mistake, match="no page 'sea' to personalise"):
        rank_documents(project, LinkReader(home=["sea"]))


def test_a_project_without_links_says_so(project):
    project.store.put_documents(
        Record(Document(id_), links=(("sea", ""),)) for id_ in LINKS
    )
    with pytest.raises(Mistake, match="none of its 3 documents links to another"):
        rank_documents(project, LinkReader())


def test_a_file_of_links_is_ranked_any_way(tmp_path):
    path = tmp_path / "links.tsv"
    path.write_text("# who, whom\n\na page\tb\nb\tc\nc\tb\r\na page\tc\n")
    found = [rank_edges(path, LinkReader(method=method)).rows for method in METHODS]
    assert [row["id"] for row in found[0]] == ["b", "c", "a page"]
    values = np.array([[row["probability"] for row in rows] for rows in found])
    assert np.ptp(values, axis=0).max() < 1e-8
    assert "title" not in found[0][0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a b\na b c\n", "line 2: 3 cells: a link is a source and a target"),
        ("a\t\n", "line 1: 2 cells"),
        ("# nothing\n", "no link: give a source and a target a line"),
    ],
)
def test_what_is_no_list_of_links_is_refused(tmp_path, text, said):
    (tmp_path / "edges.txt").write_text(text)
    with pytest.raises(UnreadableFile, match=said):
        rank_edges(tmp_path / "edges.txt", LinkReader())


def test_at_least_one_page_is_asked_for(project, tmp_path):
    for asked in (
        lambda: rank_documents(project, LinkReader(), 0),
        lambda: rank_edges(tmp_path / "none", LinkReader(), 0),
    ):
        with pytest.raises(Mistake, match="k is 0"):
            asked()
