"""Evaluation as a page, suggestions for a pasted text, rankers compared, a rebuild."""

import re

from classmark.workbench.learning.evaluate import last_evaluation


def finished(desk, name):
    """Wait for the last job of a name."""
    job = desk.jobs.last(name)
    job.thread.join(120)
    job = desk.jobs.last(name)
    assert job.state == "done", job.mistake
    return job


def test_learners_are_measured_shown_and_chosen_on_a_page(client, desk):
    assert client.get("/api/v1/evaluation").status_code == 404
    empty = client.get("/progress/evaluation")
    assert "No evaluation yet" in empty.text
    form = {"learners": ["plm", "rocchio"], "folds": "2"}
    assert client.post("/progress/evaluation", data=form).status_code == 200
    finished(desk, "evaluation")
    page = client.get("/progress/evaluation").text
    assert "2-fold cross-validation" in page
    assert "Average rank of the last correct category" in page
    assert 'id="precision-by-rank"' in page
    assert "rocchio: by category" in page
    rows = last_evaluation(desk)["categories"]["plm"]
    assert {row["category"] for row in rows} == {"bread", "candles", "bees", "birds"}
    assert sum(row["documents"] for row in rows) == 40
    answer = client.get("/api/v1/evaluation").json()
    assert [row["learner"] for row in answer["rows"]] == ["plm", "rocchio"]
    assert answer["categories"]["plm"] == rows
    learner = desk.settings.learning.learner
    other = "rocchio" if learner != "rocchio" else "plm"
    assert f'name="learner" value="{other}"' in page
    client.post("/progress/evaluation/use", data={"learner": other})
    finished(desk, "train")
    assert desk.settings.learning.learner == other
    wrong = client.post("/progress/evaluation/use", data={"learner": "oracle"})
    assert wrong.status_code == 400


def test_precision_recall_and_f1_of_categories_are_those_of_the_counts(client, desk):
    client.post("/progress/evaluation", data={"learners": ["rocchio"], "folds": "2"})
    finished(desk, "evaluation")
    for row in last_evaluation(desk)["categories"]["rocchio"]:
        p, r = row["precision"], row["recall"]
        if p and r:
            assert abs(row["f1"] - 2 * p * r / (p + r)) < 1e-12


def test_a_pasted_text_gets_suggestions_with_reasons(client, desk):
    before = len(desk.state.ids)
    text = "the queen leaves the hive with a swarm"
    page = client.post("/suggest", data={"text": text, "top": "3"}).text
    found = re.findall(r'href="/taxonomy\?at=(\w+)"', page)
    assert found[0] == "bees"
    assert len(found) == 3
    assert re.search(r"for:.*?<b>\w+</b>", page, re.DOTALL)
    assert text in page
    assert len(desk.state.ids) == before
    empty = client.post("/suggest", data={"text": "  "})
    assert empty.status_code == 400
    assert "text is empty" in empty.text


def test_the_log_is_learned_again_from_the_page(client, desk):
    page = client.get("/settings/model").text
    assert 'value="rebuild"' in page
    client.post("/settings/jobs", data={"work": "rebuild"})
    assert finished(desk, "rebuild").said


def test_no_ranker_is_compared_with_nothing(client):
    form = {"queries": "q1 honey", "qrels": "q1 0 bees-1 1"}
    refused = client.post("/settings/search/compare", data=form)
    assert refused.status_code == 400
    assert "no ranker is chosen" in refused.text
    missing = client.post("/settings/search/compare", data={**form, "rankers": ["9"]})
    assert missing.status_code == 404
