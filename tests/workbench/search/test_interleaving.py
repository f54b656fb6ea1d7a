"""Orders tried against each other, and neighbours interchanged, while people search."""

from dataclasses import replace

import numpy as np
import pytest

from classmark.problems import Mistake
from classmark.workbench.search.clicks import (
    estimated_propensities,
    log_click,
    read_impressions,
)
from classmark.workbench.search.desk_search import search_desk
from classmark.workbench.search.interleaving import (
    _mixed,
    begin_experiment,
    click_report,
    show_clicks,
)
from classmark.workbench.search.search import QueryOptions
from projects import WORDS, new_desk, parish

LOOKS = [1.0, 0.5, 0.5, 0.25, 0.25, 0.1]


@pytest.fixture
def desk(tmp_path):
    with new_desk(tmp_path / "shelf", parish(), WORDS, indexed=True) as opened:
        opened.background.stop()
        opened.store.run("PRAGMA synchronous = OFF")
        yield opened


def ids(results):
    return [hit.id for hit in results.hits]


def test_interchanged_neighbours_show_how_likely_positions_are_looked_at(desk):
    plain = ids(search_desk(desk, "honey hive", QueryOptions(k=6)))
    begin_experiment(desk, "swaps", "ada")
    rng, orders = np.random.default_rng(0), set()
    for turn in range(1500):
        results = search_desk(desk, "honey hive", QueryOptions(k=6), f"person {turn}")
        shown = ids(results)
        assert sorted(shown) == sorted(plain)
        assert [hit.rank for hit in results.hits] == list(range(1, 7))
        moved = [abs(plain.index(id_) - at) for at, id_ in enumerate(shown)]
        assert max(moved) <= 1
        orders.add(tuple(shown))
        for id_, look in zip(shown, LOOKS, strict=True):
            if rng.random() < look * (0.9 if id_ in plain[:3] else 0.6):
                log_click(desk.store, results.impression, id_)
    assert len(orders) > 8
    looks = estimated_propensities(desk.store)
    assert looks == pytest.approx(LOOKS, rel=0.3)
    assert looks.tolist() == list(click_report(desk.store).looks)
    assert "looked at, by position: 1.00" in show_clicks(desk).note


def test_with_few_clicks_positions_are_not_known_and_it_says_so(desk):
    begin_experiment(desk, "swaps", "ada")
    for turn in range(12):
        search_desk(desk, "honey hive", QueryOptions(k=6), f"person {turn}")
        report = click_report(desk.store)
        assert (report.looks, bool(report.unknown)) == ((), True)


def test_why_positions_are_not_known_is_told_while_neighbours_are_interchanged(desk):
    begin_experiment(desk, "swaps", "ada")
    search_desk(desk, "honey hive", QueryOptions(k=6, page=1, model="dph"), "ada")
    note = show_clicks(desk).note
    assert "interchanges neighbours, and mixes no orders" in note
    assert "those of the command line do not" in note
    search_desk(desk, "honey hive", QueryOptions(k=6), "ada")
    note = show_clicks(desk).note
    assert "command line" not in note
    assert "no two orders" not in note


def test_pages_and_questions_of_ones_own_are_as_before(desk):
    begin_experiment(desk, "swaps", "ada")
    for options in (
        QueryOptions(k=6, page=2),
        QueryOptions(k=6, model="dph"),
        QueryOptions(k=6, ranker="none"),
    ):
        assert search_desk(desk, "honey hive", options).marks == ()


def test_a_rival_that_is_gone_is_said_and_nothing_is_mixed(desk):
    desk.change_settings({"search.log": "named", "search.experiment": "7"}, "ada")
    results = search_desk(desk, "honey", QueryOptions())
    assert "no other order is mixed in: there is no ranker 7" in results.note
    assert read_impressions(desk.store)[-1].marks == ()
    with pytest.raises(Mistake, match="use no, swaps, model, words or the number"):
        begin_experiment(desk, "ghost", "ada")


def test_mixed_lists_are_fair_whole_and_fit_together_over_pages(desk):
    a = search_desk(desk, "honey hive bee", QueryOptions(k=8))
    b = replace(a, hits=a.hits[::-1], ranker=2)
    long = _mixed(a, b, 5)
    assert sorted(ids(long)) == sorted(ids(a))
    half = [replace(each, hits=each.hits[:4]) for each in (a, b)]
    assert ids(_mixed(*half, 5)) == ids(long)[:4]
    assert long.order == "bm25 | ranker 2"
    firsts = [_mixed(a, b, seed).marks[0] for seed in range(400)]
    assert 150 < firsts.count("a") < 250
