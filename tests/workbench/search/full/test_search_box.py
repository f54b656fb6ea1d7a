"""Search on a desk: the index is opened once, shared, and follows the documents."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from classmark.problems import Mistake
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project
from classmark.workbench.search import search_box
from classmark.workbench.search.clicks import read_impressions
from classmark.workbench.search.search import MalformedQuery, search_in
from classmark.workbench.search.search_box import Wish, find
from classmark.workbench.team.desk import Desk
from workbench.team.shelves import new_shelf, records, shelf, subject


@pytest.fixture
def desk(tmp_path):
    with shelf(tmp_path / "shelf") as opened:
        yield opened


def ids(found):
    return [hit.id for hit in found.hits]


def test_hits_are_those_of_the_command_line_with_marked_words(desk):
    found = find(desk, "honey swarm", Wish(k=5))
    plain = search_in(desk.project, "honey swarm", Wish(k=5))
    assert ids(found) == [each.id for each in plain.answers]
    for hit, each in zip(found.hits, plain.answers, strict=True):
        marked = (f"*{p.text}*" if p.hit else p.text for p in hit.text)
        assert "".join(marked) == each.snippet
        assert "".join(piece.text for piece in hit.title) == each.title
        assert sum(dict(hit.parts).values()) + hit.rest == pytest.approx(hit.score)
    assert (found.impression, found.ranker) == (None, None)


@pytest.mark.parametrize(
    ("query", "wish"),
    [
        ("honey", Wish("boolean")),
        ("#sum(honey hive)", Wish()),
        ("honey", Wish("dirichlet", ("mu=100",))),
        ("honey", Wish(feedback="rm3")),
        ('"hive honey"', Wish(weights=("title=3",))),
    ],
)
def test_every_model_answers(desk, query, wish):
    hits = find(desk, query, wish).hits
    assert hits
    assert {subject(hit.id) for hit in hits if hit.score} >= {"bees"}


@pytest.mark.parametrize(
    ("query", "wish", "kind"),
    [
        ("honey AND", Wish(), MalformedQuery),
        ("honey", Wish("magic"), Mistake),
        ("honey", Wish(parameters=("k1",)), Mistake),
        ("honey", Wish(k=101), Mistake),
        ("honey", Wish(prior="pagerank"), Mistake),
        ("honey", Wish(ranker="7"), Mistake),
    ],
)
def test_what_cannot_be_searched_is_told(desk, query, wish, kind):
    with pytest.raises(kind):
        find(desk, query, wish)


def test_nothing_is_kept_unless_the_settings_say_so(desk, tmp_path):
    find(desk, "honey", Wish(), "ada")
    assert read_impressions(desk.project.store) == []
    for log, who in (("named", "ada"), ("anonymous", "")):
        with shelf(tmp_path / log, log=log) as kept:
            found = find(kept, "honey", Wish(k=3), "ada")
            search_box.click(kept, found.impression, ids(found)[1])
            (seen,) = read_impressions(kept.project.store)
            assert (seen.who, seen.query, seen.ids) == (who, "honey", ids(found))
            assert seen.clicked == {ids(found)[1]}
            with pytest.raises(Mistake, match="did not show"):
                search_box.click(kept, found.impression, "boats-1")
            assert find(kept, "zebra", Wish(), "ada").impression is None


def test_the_index_is_opened_once_and_again_when_it_changed(desk):
    first = desk.shelf.searchable(desk)
    find(desk, "honey", Wish())
    assert desk.shelf.searchable(desk) is first
    with Project(desk.folder) as other:
        import_records(other, records(10, 12), "more")
    assert search_box.standing(desk).stale
    assert "bees-11" not in ids(find(desk, "honey", Wish(k=50)))
    job = search_box.make_index(desk, "ada").wait(60)
    assert (job.state, job.said.split(":")[0]) == ("done", "48 documents are indexed")
    assert "bees-11" in ids(find(desk, "honey", Wish(k=50)))
    standing = search_box.standing(desk)
    assert (standing.ready, standing.stale, standing.documents) == (True, False, 48)
    assert standing.positions
    assert desk.shelf.searchable(desk) is not first


def test_a_project_without_an_index_says_so(tmp_path):
    with shelf(tmp_path / "bare", index=False) as bare:
        search_box.warm(bare)
        assert not search_box.standing(bare).ready
        with pytest.raises(Mistake, match="has no index yet"):
            find(bare, "honey", Wish())
        search_box.make_index(bare, positions=True).wait(60)
        search_box.warm(bare)
        assert ids(find(bare, '"hive honey"', Wish()))


def test_threads_search_while_the_index_is_made_anew(desk):
    expected = ids(find(desk, "honey swarm", Wish(k=5)))

    def search(_):
        return ids(find(desk, "honey swarm", Wish(k=5)))

    with ThreadPoolExecutor(6) as pool:
        before = [pool.submit(search, at) for at in range(40)]
        with Project(Path(desk.folder)) as other:
            import_records(
                other, (r for r in records(10, 14) if subject(r.id) == "boats"), "more"
            )
        search_box.make_index(desk)
        after = [pool.submit(search, at) for at in range(80)]
        assert all(set(f.result()) == set(expected) for f in [*before, *after])
    desk.jobs.wait(60)


def test_two_desks_keep_apart(tmp_path, desk):
    other = new_shelf(tmp_path / "other")
    with Desk(other) as second:
        assert desk.shelf is desk.shelf
        assert desk.shelf is not second.shelf
