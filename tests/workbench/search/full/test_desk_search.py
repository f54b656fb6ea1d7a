"""Search on a desk: the index is opened once, shared, and follows the documents."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from classmark.problems import Mistake
from classmark.workbench.files.importing import import_records
from classmark.workbench.project import Project
from classmark.workbench.search import hits
from classmark.workbench.search.clicks import log_click, read_impressions
from classmark.workbench.search.desk_search import (
    search_desk,
    search_state,
    warm_index,
)
from classmark.workbench.search.hits import starred
from classmark.workbench.search.index import start_indexing
from classmark.workbench.search.search import (
    MalformedQuery,
    QueryOptions,
    search_in,
)
from classmark.workbench.settings import SearchSettings
from classmark.workbench.store.store import Store
from projects import WORDS, new_desk, parish, subject


@pytest.fixture
def desk(tmp_path):
    with new_desk(tmp_path / "shelf", parish(), WORDS, indexed=True) as opened:
        yield opened


def ids(found):
    return [hit.id for hit in found.hits]


def test_hits_are_those_of_the_command_line_with_marked_words(desk):
    found = search_desk(desk, "honey swarm", QueryOptions(k=5))
    plain = search_in(desk, "honey swarm", QueryOptions(k=5))
    assert ids(found) == [each.id for each in plain.hits]
    for hit, each in zip(found.hits, plain.hits, strict=True):
        assert (hit.text, hit.title) == (each.text, each.title)
        assert "*" in starred(hit.text)
        assert "".join(piece.text for piece in hit.heading) == each.title
        total = sum(dict(hit.largest_parts).values()) + hit.rest
        assert total == pytest.approx(hit.score)
    assert (found.impression, found.ranker) == (None, None)


@pytest.mark.parametrize(
    ("query", "wish"),
    [
        ("honey", QueryOptions("boolean")),
        ("#sum(honey hive)", QueryOptions()),
        ("honey", QueryOptions("dirichlet", ("mu=100",))),
        ("honey", QueryOptions(feedback="rm3")),
        ('"hive honey"', QueryOptions(weights=("title=3",))),
    ],
)
def test_every_model_answers(desk, query, wish):
    hits = search_desk(desk, query, wish).hits
    assert hits
    assert {subject(hit.id) for hit in hits if hit.score} >= {"bees"}


@pytest.mark.parametrize(
    ("query", "wish", "kind"),
    [
        ("honey AND", QueryOptions(), MalformedQuery),
        ("honey", QueryOptions("magic"), Mistake),
        ("honey", QueryOptions(parameters=("k1",)), Mistake),
        ("honey", QueryOptions(k=101), Mistake),
        ("honey", QueryOptions(prior="pagerank"), Mistake),
        ("honey", QueryOptions(ranker="7"), Mistake),
    ],
)
def test_what_cannot_be_searched_is_told(desk, query, wish, kind):
    with pytest.raises(kind):
        search_desk(desk, query, wish)


def test_nothing_is_kept_unless_the_settings_say_so(desk, tmp_path):
    search_desk(desk, "honey", QueryOptions(), "ada")
    assert read_impressions(desk.store) == []
    for log, who in (("named", "ada"), ("anonymous", "")):
        search = SearchSettings(log)
        with new_desk(
            tmp_path / log, parish(), WORDS, indexed=True, search=search
        ) as kept:
            found = search_desk(kept, "honey", QueryOptions(k=3), "ada")
            log_click(kept.store, found.impression, ids(found)[1])
            (seen,) = read_impressions(kept.store)
            assert (seen.who, seen.query, seen.ids) == (who, "honey", ids(found))
            assert seen.clicked == {ids(found)[1]}
            with pytest.raises(Mistake, match="did not show"):
                log_click(kept.store, found.impression, "candles-1")
            assert search_desk(kept, "zebra", QueryOptions(), "ada").impression is None


def test_the_index_is_opened_once_and_again_when_it_changed(desk):
    first = desk.search_cache.index(desk)
    search_desk(desk, "honey", QueryOptions())
    assert desk.search_cache.index(desk) is first
    with Project(desk.folder) as other:
        import_records(other, parish(10, 12), "more")
    assert search_state(desk).stale
    assert "bees-11" not in ids(search_desk(desk, "honey", QueryOptions(k=50)))
    job = start_indexing(desk, "ada").wait(60)
    assert (job.state, job.said.split(":")[0]) == ("done", "48 documents are indexed")
    assert "bees-11" in ids(search_desk(desk, "honey", QueryOptions(k=50)))
    standing = search_state(desk)
    assert (standing.ready, standing.stale, standing.documents) == (True, False, 48)
    assert standing.positions
    assert desk.search_cache.index(desk) is not first


def test_a_project_without_an_index_says_so(tmp_path):
    with new_desk(tmp_path / "bare", parish(), WORDS) as bare:
        warm_index(bare)
        assert not search_state(bare).ready
        with pytest.raises(Mistake, match="has no index yet"):
            search_desk(bare, "honey", QueryOptions())
        start_indexing(bare, positions=True).wait(60)
        warm_index(bare)
        assert ids(search_desk(bare, '"hive honey"', QueryOptions()))


def test_threads_search_while_the_index_is_made_anew(desk):
    expected = ids(search_desk(desk, "honey swarm", QueryOptions(k=5)))

    def search(_):
        return ids(search_desk(desk, "honey swarm", QueryOptions(k=5)))

    with ThreadPoolExecutor(6) as pool:
        before = [pool.submit(search, at) for at in range(40)]
        with Project(Path(desk.folder)) as other:
            import_records(
                other, (r for r in parish(10, 14) if subject(r.id) == "candles"), "more"
            )
        start_indexing(desk)
        after = [pool.submit(search, at) for at in range(80)]
        assert all(set(f.result()) == set(expected) for f in [*before, *after])
    desk.jobs.wait(60)


def test_two_desks_keep_apart(tmp_path, desk):
    with new_desk(tmp_path / "other") as second:
        assert desk.search_cache is desk.search_cache
        assert desk.search_cache is not second.search_cache


def test_a_search_reads_each_hit_and_cuts_its_snippet_once(desk, monkeypatch):
    read, cut = [], []
    document, snippet = Store.document, hits.snippet
    monkeypatch.setattr(
        Store, "document", lambda *args: read.append(args[1]) or document(*args)
    )
    monkeypatch.setattr(
        hits,
        "snippet",
        lambda *args, **how: cut.append(args[0]) or snippet(*args, **how),
    )
    results = search_desk(desk, "honey swarm", QueryOptions(k=5))
    assert read == [hit.id for hit in results.hits]
    assert len(cut) == 5
