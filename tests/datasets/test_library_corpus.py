"""The embedded corpus keeps what its description promises."""

import importlib.util
import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from classmark.datasets import load
from classmark.datasets.library import (
    library_arrivals,
    library_categories,
    library_folder,
    library_records,
)
from classmark.formats.jsonl import json_lines
from classmark.formats.records import PRIMARY

ROOT = Path(__file__).parents[2]
FOLDER_BYTES = 1_000_000


@pytest.fixture(scope="module")
def library():
    return load("library")


@pytest.fixture(scope="module")
def records():
    return list(library_records())


@pytest.fixture(scope="module")
def log():
    return [row for _, row in json_lines(library_folder() / "clicks.jsonl")]


def test_the_folder_is_small():
    files = [path for path in library_folder().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < FOLDER_BYTES


def test_there_are_enough_records_of_the_right_length(records):
    assert len(records) >= 320
    assert len({record.id for record in records}) == len(records)
    assert len({record.document.fields["title"] for record in records}) == len(records)
    lengths = {r.id: len(r.document.fields["text"].split()) for r in records}
    assert not {name: n for name, n in lengths.items() if not 40 <= n <= 120}


def test_no_sentence_is_used_twice(records):
    sentences = Counter(
        " ".join(words)
        for record in records
        for sentence in re.split(r"[.!?]+", record.document.fields["text"])
        if len(words := re.findall(r"[\w'’-]+", sentence.lower())) > 3
    )
    assert [sentence for sentence, n in sentences.items() if n > 1] == []


def test_the_tree_has_three_levels_and_scope_notes(library):
    tree = library.taxonomy
    leaves = tree.leaves
    assert len(leaves) >= 40
    assert len(tree.levels) == 3
    assert set(tree.levels[2]) == set(leaves)
    notes = {category.id: category.note for category in library_categories()}
    assert set(notes) == set(tree)
    assert not [name for name in leaves if not notes[name].strip()]


def test_each_record_has_one_primary_leaf_and_few_others(library, records):
    leaves = set(library.taxonomy.leaves)
    for record in records:
        assert set(record.labels) <= leaves, record.id
        assert list(record.labels.values()).count(PRIMARY) == 1, record.id
        assert len(record.labels) <= 4, record.id


def test_the_categories_have_a_long_tail(library, records):
    primaries = Counter(next(iter(record.labels)) for record in records)
    assert set(primaries) == set(library.taxonomy.leaves)
    assert max(primaries.values()) >= 5 * min(primaries.values())


def test_the_parts_share_out_the_records(library, records):
    train, test = set(library.train.ids), set(library.test.ids)
    assert not train & test
    assert train | test == {record.id for record in records}


def test_queries_are_many_and_different(library):
    assert len(library.queries) >= 30
    assert len(set(library.queries.values())) == len(library.queries)
    assert all(1 <= len(text.split()) <= 8 for text in library.queries.values())


def test_each_query_is_judged_with_grades(library, records):
    known = {record.id for record in records}
    assert set(library.qrels) == set(library.queries)
    for query, grades in library.qrels.items():
        assert set(grades) <= known, query
        assert set(grades.values()) <= {0, 1, 2, 3}, query
        assert sum(grade >= 2 for grade in grades.values()) >= 3, query
        assert sum(grade == 0 for grade in grades.values()) >= 5, query


def test_answers_to_a_query_are_spread_over_categories(library, records):
    primary = {record.id: next(iter(record.labels)) for record in records}
    homes = [
        len({primary[item] for item, grade in grades.items() if grade >= 2})
        for grades in library.qrels.values()
    ]
    assert min(homes) == 1
    assert sum(n >= 3 for n in homes) >= 10


def test_links_resolve_and_say_where_they_lead(library, records):
    known = {record.id for record in records}
    assert len(library.links) >= 200
    for link in library.links:
        assert {link.source, link.target} <= known, link
        assert link.source != link.target, link
        assert 1 <= len(link.anchor.split()) <= 8, link
    assert len({link[:2] for link in library.links}) == len(library.links)
    assert max(Counter(link.source for link in library.links).values()) <= 3


def test_the_click_log_says_it_is_simulated(log):
    assert len(log) >= 1_000
    assert all(row["simulated"] is True for row in log)


def test_clicks_are_on_shown_records_of_known_queries(library, records, log):
    known = {record.id for record in records}
    assert {row["query"] for row in log} == set(library.queries)
    for row in log:
        assert len(set(row["shown"])) == len(row["shown"]) == 10
        assert set(row["clicked"]) <= set(row["shown"]) <= known
    days = [date.fromisoformat(row["date"]) for row in log]
    assert days == sorted(days)


def test_sessions_are_the_lines_of_the_log(library, log):
    sessions = library.train.sessions
    assert [s.query for s in sessions] == [row["query"] for row in log]
    clicked = [
        {item for item, hit in zip(s.shown, s.clicked, strict=True) if hit}
        for s in sessions
    ]
    assert clicked == [set(row["clicked"]) for row in log]


def test_people_click_what_is_good_and_what_is_high(library, log):
    shown, clicked = Counter(), Counter()
    first = last = 0
    for row in log:
        grades = library.qrels[row["query"]]
        shown.update(grades.get(item, 0) for item in row["shown"])
        clicked.update(grades.get(item, 0) for item in row["clicked"])
        first += row["shown"][0] in row["clicked"]
        last += row["shown"][-1] in row["clicked"]
    rates = [clicked[grade] / shown[grade] for grade in range(4)]
    assert rates == sorted(rates)
    assert rates[3] > 5 * rates[0] > 0
    assert first > 5 * last > 0


def test_the_simulation_writes_the_same_log_again():
    path = ROOT / "benchmarks" / "simulate_library_clicks.py"
    spec = importlib.util.spec_from_file_location("simulate_library_clicks", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    folder = library_folder()
    assert script.simulate(folder) == (folder / "clicks.jsonl").read_text("utf-8")


def test_new_arrivals_wait_without_labels_and_are_written_for_the_purpose(records):
    arrivals = list(library_arrivals())
    assert len(arrivals) >= 40
    assert not [record.id for record in arrivals if record.labels or record.links]
    ids = {record.id for record in (*records, *arrivals)}
    titles = {record.document.fields["title"] for record in (*records, *arrivals)}
    assert len(ids) == len(titles) == len(records) + len(arrivals)
    lengths = {r.id: len(r.document.fields["text"].split()) for r in arrivals}
    assert not {name: n for name, n in lengths.items() if not 40 <= n <= 120}
    test_no_sentence_is_used_twice([*records, *arrivals])


def test_new_arrivals_are_of_no_part():
    assert not [record.id for record in library_arrivals() if "part" in record.meta]
