"""Rankers learned from the click log, and what is left of a training."""

import re
from xml.etree import ElementTree as ET

import pytest

from classmark.datasets import load
from classmark.problems import Mistake
from classmark.workbench.project import Project
from classmark.workbench.search.clicks import (
    estimated_propensities,
    log_click,
    log_impression,
)
from classmark.workbench.search.rankers import open_ranker, page
from classmark.workbench.search.train_ranker import (
    RankerTraining,
    evaluate_ranker,
    train_ranker,
)
from classmark.workbench.search.tune import Judgments
from projects import new_library

SESSIONS = 400
CLICKS = RankerTraining(prices=(0.01,), clicks="clicked-over-skipped")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    library = load("library")
    folder = new_library(tmp_path_factory.mktemp("clicked") / "lib", indexed=True)
    with Project(folder) as opened:
        for query, shown, clicked in library.train.sessions[:SESSIONS]:
            scored = [(id_, -float(at)) for at, id_ in enumerate(shown)]
            number = log_impression(opened, library.queries[query], scored)
            for id_, yes in zip(shown, clicked, strict=True):
                if yes:
                    log_click(opened.store, number, id_)
        yield opened


@pytest.fixture(scope="module")
def trained(project):
    return train_ranker(project, Judgments(), CLICKS)


def test_clicks_teach_a_ranker(project, trained):
    """Judged by people, it is about as good as what showed the lists or better."""
    facts = open_ranker(project, trained.number).facts
    assert facts["from"] == "clicks"
    assert facts["taught"] + facts["held"] == len(load("library").queries)
    assert "judged by clicks, which favour what was shown" in trained.table.note
    judged = evaluate_ranker(project, Judgments(dataset="library"), [trained.number])
    rows = {row["order"]: row for row in judged.rows}
    found = rows[f"ranker {trained.number}"]
    assert found["ndcg@10"] > rows["in service"]["ndcg@10"] - 0.02


def test_importance_sums_to_one_and_follows_the_weights(project, trained):
    ranker = open_ranker(project, trained.number)
    importance = dict(ranker.facts["importance"])
    assert sum(importance.values()) == pytest.approx(1.0)
    assert set(importance) == set(ranker.names)
    assert list(importance.values()) == sorted(importance.values(), reverse=True)
    nothing = {n for n, w in zip(ranker.names, ranker.weights, strict=True) if not w}
    assert all(importance[name] == 0.0 for name in nothing)


def test_the_guard_sees_that_some_clicks_teach_the_reverse(project):
    """Over skipped ones above, every preference is against the order shown."""
    wish = RankerTraining(prices=(0.01,), clicks="skip-above")
    found = train_ranker(project, Judgments(), wish)
    rows = {row["order"]: row for row in found.table.rows}
    assert rows["learned"]["ndcg@10"] < rows["in service"]["ndcg@10"]
    assert not found.used


def test_clicks_may_count_by_the_chance_of_a_look(project, trained):
    looks = estimated_propensities(project.store)
    assert looks[0] == 1.0
    assert looks[-1] < 0.7
    wish = RankerTraining(prices=(0.01,), clicks="clicked-over-skipped", weighed=True)
    weighed = open_ranker(project, train_ranker(project, Judgments(), wish).number)
    assert list(weighed.weights) != list(open_ranker(project, trained.number).weights)


def test_trees_have_no_price(project):
    wish = RankerTraining("lambdamart", prices=(0.01,), clicks="skip-above")
    with pytest.raises(Mistake, match="lambdamart has no C: leave C out"):
        train_ranker(project, Judgments(), wish)


def test_only_some_learners_take_clicks(project):
    wish = RankerTraining("listnet", prices=(0.01,), clicks="skip-above")
    with pytest.raises(Mistake, match="listnet learns from grades only"):
        train_ranker(project, Judgments(), wish)
    with pytest.raises(Mistake, match="strategy"):
        train_ranker(project, Judgments(), RankerTraining(clicks="guess"))


def test_what_was_learned_from_is_not_evaluated(project, trained):
    taught = open_ranker(project, trained.number).facts["queries taught"]
    library = load("library")
    texts = dict(zip(library.queries.values(), library.queries, strict=True))
    lines = [
        f"{at} {document} {grade:g}"
        for at, text in enumerate(taught)
        for document, grade in library.qrels[texts[text]].items()
    ]
    folder = project.folder
    (folder / "q.tsv").write_text("\n".join(lines))
    rows = [f'{{"id": "{at}", "text": "{text}"}}' for at, text in enumerate(taught)]
    (folder / "q.jsonl").write_text("\n".join(rows))
    given = Judgments(folder / "q.jsonl", folder / "q.tsv")
    with pytest.raises(Mistake, match="all these queries were used"):
        evaluate_ranker(project, given, [trained.number])


def test_pages_escape_what_they_show():
    facts = {
        "number": 1,
        "learner": "<svm>",
        "from": "judgments",
        "C": 0.1,
        "measure": "map",
        "seed": 0,
        "taught": 3,
        "held": 2,
        "means": {"learned": {"map": 0.5}, "in service": {"map": 0.25}},
        "chances": {"in service": {"map": 0.5}},
        "queries": [
            {"query": "1", "text": "a < b & c", "learned": 0.5, "in service": 0.25},
            {"query": "2", "text": "long " * 20, "learned": 0.1, "in service": 0.2},
        ],
        "importance": [["title.f1", 0.75], ["title.f2", 0.25]],
        "notes": ["<b>"],
    }
    text = page(facts)
    assert "a &lt; b &amp; c" in text
    assert "&lt;svm&gt;" in text
    assert "<b>" not in text
    assert "better for" not in text
    assert "Better than what was in service for 1 queries, worse for 1" in text
    assert "75.0%" in text
    drawn = re.findall("<svg.*?</svg>", text, flags=re.DOTALL)
    assert len(drawn) == 3
    for each in drawn:
        ET.fromstring(each)  # noqa: S314 (our own)
