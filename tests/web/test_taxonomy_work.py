"""The taxonomy described, pruned for a trial, and daughters proposed and accepted."""

import pytest

from web.conftest import program

SPLIT = {"category": "bees", "clusters": 2}


def finished(caller, desk, path, body=None):
    """Begin some work, and read the job when it has ended."""
    begun = caller.post(path, body)
    assert begun.status_code == 202, begun.text
    assert "result" not in begun.json()
    desk.jobs.wait(60)
    return caller.get(f"/jobs/{begun.json()['id']}").json()


def test_the_taxonomy_is_described_by_a_job(admin, reader, desk):
    job = finished(admin, desk, "/categories/report")
    assert (job["state"], job["mistake"]) == ("done", "")
    result = job["result"]
    assert result["leaves"] == 4
    assert result["documents"] == 40
    assert {row["what"] for row in result["table"]["rows"]} >= {"categories", "work"}
    assert reader.get(f"/jobs/{job['id']}").json() == job
    assert "result" not in reader.get("/jobs").json()["jobs"][0]


def test_a_pruned_tree_is_tried_and_the_taxonomy_stays(admin, desk):
    before = dict(desk.categories)
    job = finished(admin, desk, "/categories/prune", {"policy": "bound", "share": 0.5})
    assert job["state"] == "done"
    assert job["result"]["trained"] + job["result"]["tested"] == 40
    assert job["said"] == job["result"]["said"]
    assert desk.categories == before


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("prune", {"share": 1.5}),
        ("prune", {"policy": "none"}),
        ("prune", {"policy": "meta:/etc/passwd"}),
        ("prune", {"base": "trees"}),
        ("prune", {"policies": "bound"}),
        ("propose", {"category": "bees", "clusters": 1}),
        ("propose", {"category": "bees", "method": "guess"}),
        ("accept", {"category": "bees", "number": 0}),
    ],
)
def test_what_is_out_of_bounds_is_refused(admin, desk, path, body):
    assert admin.post(f"/categories/{path}", body).status_code == 400
    assert not list(desk.jobs)


def test_daughters_are_proposed_accepted_and_taken_back(admin, reader, desk):
    job = finished(admin, desk, "/categories/propose", SPLIT)
    assert job["said"] == "2 subcategories are proposed for Bees"
    proposals = reader.get("/categories/proposals/bees").json()["proposals"]
    assert [each["number"] for each in proposals] == [1, 2]
    documents = [id_ for each in proposals for id_ in each["documents"]]
    assert sorted(documents) == sorted(f"bees-{at}" for at in range(10))
    assert "digest" not in proposals[0]
    body = {"category": "bees", "number": 1, "id": "hives", "label": "Hives"}
    made = admin.post("/categories/accept", body)
    assert made.status_code == 201, made.text
    assert desk.categories["hives"].parents == ("bees",)
    labels = desk.store.labels()
    assert {next(iter(labels[id_])) for id_ in proposals[0]["documents"]} == {"hives"}
    assert admin.get("/history").json()["lines"][0]["who"] == "ada"
    again = admin.post("/categories/accept", body | {"id": "others"})
    assert again.status_code == 400
    assert "POST /categories/propose again" in again.json()["error"]["remedy"]
    admin.post("/undo", {"number": made.json()["numbers"][0]})
    assert "hives" not in desk.categories


def test_what_is_not_there_is_named(admin, desk):
    for path, body in (("propose", {}), ("accept", {"number": 1})):
        ghosts = admin.post(f"/categories/{path}", {"category": "ghosts"} | body)
        assert ghosts.status_code == 404
    assert admin.get("/categories/proposals/ghosts").status_code == 404
    assert admin.get("/categories/proposals/bees").json() == {"proposals": []}
    nothing = admin.post("/categories/accept", {"category": "bees", "number": 1})
    assert nothing.status_code == 400
    assert nothing.json()["error"]["remedy"] == "call POST /categories/propose"
    job = finished(admin, desk, "/categories/propose", {"category": "nature"})
    assert "no document is in 'nature' itself" in job["mistake"]


def test_the_page_describes_the_tree_and_tries_a_simpler_one(client, desk):
    assert "Analyse the tree" in client.get("/taxonomy").text
    for form in ("/taxonomy/report", "/taxonomy/prune"):
        begun = client.post(form, data={}, follow_redirects=False)
        assert begun.headers["location"] == "/taxonomy"
    desk.jobs.wait(60)
    page = client.get("/taxonomy").text
    assert "A category with subcategories has" in page
    assert "held-out error" in page
    part = client.get("/taxonomy/jobs/taxonomy report")
    assert "data-jobs" in part.text
    assert "<html" not in part.text


def test_the_page_proposes_daughters_and_makes_one_a_category(client, desk):
    assert "Propose subcategories" in client.get("/taxonomy?at=bees").text
    for odd in ({"clusters": "1"}, {"clusters": "x"}, {"category": ""}):
        form = {"category": "bees"} | odd
        assert client.post("/taxonomy/propose", data=form).status_code == 400
    form = {"category": "bees", "clusters": "2"}
    begun = client.post("/taxonomy/propose", data=form, follow_redirects=False)
    assert begun.headers["location"] == "/taxonomy?at=bees"
    desk.jobs.wait(60)
    page = client.get("/taxonomy?at=bees").text
    assert page.count("Create category") == 2
    form = {"category": "bees", "number": "2", "new": "hives", "label": "Hives"}
    made = client.post("/taxonomy/accept", data=form)
    assert "saved" in made.text
    assert "hives" in desk.categories
    again = client.post("/taxonomy/accept", data=form)
    assert again.status_code == 400
    assert "Not saved" in again.text


def test_readers_are_shown_results_and_no_buttons(app, desk, client):
    client.post("/taxonomy/report")
    desk.jobs.wait(60)
    reader = program(app, desk, "rea", "reader").http
    page = reader.get("/taxonomy").text
    assert "A category with subcategories has" in page
    assert "Analyse the tree" not in page
