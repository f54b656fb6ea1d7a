"""A crawl from the command line: import, index, PageRank, search."""

import json

import pytest

from crawls import SITE, TEXTS, record, town, write

pytestmark = pytest.mark.needs("resiliparse")


@pytest.fixture
def shelf(run, tmp_path):
    write(tmp_path / "crawl.warc.gz", town())
    assert run("init", "shelf")[0] == 0
    code, out, err = run("import", "crawl.warc.gz", "--project", "shelf")
    assert (code, err) == (0, "")
    assert "passed over: 1 not HTML, 1 redirected, 1 HTTP 404, 1 damaged" in " ".join(
        out.split()
    )
    code, out, err = run("index", "--project", "shelf")
    assert (code, err) == (0, "")
    assert "anchor" in out
    return "shelf"


def found(run, shelf, *words):
    code, out, err = run("search", "--project", shelf, "--json", *words)
    assert (code, err) == (0, "")
    return [hit["id"] for hit in json.loads(out)]


def test_pages_are_ranked_by_the_links_between_them(run, shelf):
    code, out, err = run("pagerank", "--project", shelf, "--json")
    assert (code, err) == (0, "")
    ranks = {row["id"]: row["probability"] for row in json.loads(out)}
    assert set(ranks) == {SITE + path for path in [*TEXTS, "/mead"]}
    assert ranks[SITE + "/"] > ranks[SITE + "/bees"] > ranks[SITE + "/club"]
    assert ranks[SITE + "/honey"] > ranks[SITE + "/mead"]  # one link is a redirect's


def test_a_page_is_found_by_what_others_call_it(run, shelf):
    assert found(run, shelf, "anchor:cake") == [SITE + "/honey"]
    assert found(run, shelf, "anchor:opening") == [SITE + "/library"]


def test_scripts_and_frames_are_not_found(run, shelf):
    assert found(run, shelf, "wasps OR imprint") == []


def test_links_move_pages_up(run, shelf):
    plain = found(run, shelf, "market hall")
    assert set(plain) == {SITE + "/honey", SITE + "/map"}
    prior = found(run, shelf, "market hall", "--prior", "pagerank:100")
    assert prior == [SITE + "/map", SITE + "/honey"]


def test_a_crawl_is_indexed_outside_a_project(run, tmp_path):
    write(tmp_path / "crawl.warc.gz", town())
    code, out, err = run("index", "crawl.warc.gz", "--to", "found")
    assert (code, err) == (0, "")
    assert "passed over" in out
    code, out, err = run("search", "cake", "--index", "found", "--json")
    assert (code, err) == (0, "")
    assert f"{SITE}/honey" in out


def test_a_damaged_crawl_is_one_line(run, tmp_path):
    write(tmp_path / "crawl.warc", [*town()[:4], b"x\r\n\r\n", record(SITE, b"")])
    assert run("init", "shelf")[0] == 0
    code, out, err = run("import", "crawl.warc", "--project", "shelf")
    assert (code, out) == (2, "")
    assert err.startswith("classmark: crawl.warc: after record 4, at byte ")
    assert err.count("\n") == 1
