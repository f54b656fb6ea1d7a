"""Suggest, decide, take back, look back: as a program does it."""

from classmark.workbench.files.documents import put_document

TEXT = "the keeper smokes the hive for honey and comb"


def test_suggestions_have_paths_probabilities_and_reasons(reader):
    answer = reader.post("/suggest", {"text": TEXT, "top": 2, "why": 3})
    assert answer.status_code == 200
    first, _ = answer.json()["suggestions"]
    assert first["category"] == "bees"
    assert first["path"] == ["Nature", "Bees"]
    assert first["rank"] == 1
    assert first["probability"] is None, "too few decisions to know"
    assert 0 < len(first["favour"]) <= 3
    plain = reader.post("/suggest", {"text": TEXT, "top": 1}).json()["suggestions"][0]
    assert plain["favour"] == plain["against"] == {}


def test_a_document_is_suggested_for_as_its_text_is(reader, desk):
    text = desk.store.document("new-0").text
    by_id = reader.post("/suggest", {"document": "new-0"}).json()
    assert by_id == reader.post("/suggest", {"text": text}).json()
    assert reader.post("/suggest", {"document": "none"}).status_code == 404


def test_a_batch_is_answered_as_one_by_one(reader):
    texts = [TEXT, "knead the dough for the oven"]
    items = [{"text": text} for text in texts] + [{"document": "new-3"}]
    batch = reader.post("/suggest/batch", {"items": items, "top": 3}).json()["items"]
    alone = [reader.post("/suggest", {**item, "top": 3}).json() for item in items]
    assert batch == alone


def test_what_is_unlikely_can_be_left_out(reader, sure):
    asked = {"text": TEXT, "top": 4}
    found = sure.post("/suggest", asked).json()["suggestions"]
    likely = [each["probability"] for each in found]
    assert likely == sorted(likely, reverse=True)
    assert found[0]["calibrated_on"] >= 50
    kept = sure.post("/suggest", {**asked, "min_probability": likely[0]}).json()
    assert len(kept["suggestions"]) == likely.count(likely[0]) < 4
    refused = reader.post("/suggest", {**asked, "min_probability": 0.5})
    assert refused.status_code == 400


def test_a_text_or_a_document_is_asked_for(reader):
    for asked in ({}, {"text": TEXT, "document": "new-0"}):
        answer = reader.post("/suggest", asked)
        assert answer.status_code == 400
        assert "one of them" in answer.json()["error"]["remedy"]
    assert reader.post("/suggest", {"text": TEXT, "topp": 1}).status_code == 400


def test_a_body_is_read_alike_with_and_without_its_charset(reader):
    bodies = {b'{"text": "a hive"}': 200, b'{"text": "a hive", "top": 0}': 400}
    bodies, path = bodies | {b"{": 400, b"1": 400}, "/api/v1/suggest"
    for body, status in bodies.items():
        whole, named = (
            reader.http.post(path, content=body, headers={"Content-Type": kind})
            for kind in ("application/json", "application/json; charset=utf-8")
        )
        assert whole.status_code == named.status_code == status
        assert whole.json() == named.json()


def test_a_decision_is_on_disk_and_what_is_next_is_told(ada, desk):
    saved = ada.post("/decide", {"document": "new-2", "assign": ["bees"]})
    assert saved.status_code == 200
    told = saved.json()
    assert told["document"] == "new-2"
    assert told["said"] == "new-2: assign bees"
    assert told["next"] not in (None, "new-2")
    assert desk.store.labels()["new-2"] == {"bees": 1.0}
    (line,) = ada.get("/history", document="new-2").json()["lines"]
    assert (line["who"], line["act"], line["category"]) == ("ada", "assign", "bees")
    assert line["rank"] == 1
    assert line["number"] == told["number"]


def test_what_the_expert_saw_is_logged_as_it_was_sent(ada):
    seen = {"bees": {"model": "mine", "rank": 7, "score": 0.5}}
    ada.post("/decide", {"document": "new-2", "assign": ["bees"], "seen": seen})
    (line,) = ada.get("/history", document="new-2").json()["lines"]
    assert (line["model"], line["rank"], line["score"]) == ("mine", 7, 0.5)


def test_everything_that_can_be_said(ada, desk):
    said = {
        "document": "new-0",
        "assign": ["bread"],
        "primary": ["candles"],
        "reject": ["bees"],
        "unsure": ["birds"],
        "over": [["bread", "bees"]],
        "note": "both",
    }
    assert ada.post("/decide", said).status_code == 200
    found = ada.get("/documents/new-0").json()
    assert found["labels"] == {"bread": 1.0, "candles": 2.0}
    assert found["primary"] == ["candles"]
    assert found["rejected"] == ["bees"]
    assert found["unsure"] == ["birds"]
    (preferred,) = found["preferences"]
    assert preferred == {"winner": "bread", "loser": "bees", "weight": 1.0}
    assert desk.store.record("new-0").labels["candles"] == 2.0


def test_two_on_one_document_lose_nothing(ada, bo):
    version = bo.get("/sheet/new-1").json()["version"]
    assert ada.get("/sheet/new-1").json()["version"] == version
    first = {"document": "new-1", "assign": ["candles"], "version": version}
    assert ada.post("/decide", first).status_code == 200
    refused = bo.post("/decide", {**first, "assign": ["bread"]})
    assert refused.status_code == 409
    told = refused.json()
    assert told["theirs"][0]["who"] == "ada"
    assert told["theirs"][0]["category"] == "candles"
    assert "meanwhile" in told["error"]["message"]
    now = bo.get("/sheet/new-1").json()["version"]
    again = {**first, "assign": ["bread"], "version": now}
    assert bo.post("/decide", again).status_code == 200


def test_undo_and_redo_without_limit(ada, desk):
    def labels():
        return set(desk.store.labels().get("new-0", {}))

    ada.post("/decide", {"document": "new-0", "assign": ["bread", "bees"]})
    ada.post("/decide", {"document": "new-0", "assign": ["birds"]})
    assert labels() == {"bread", "bees", "birds"}
    assert ada.post("/undo", {}).status_code == 200
    assert labels() == {"bread", "bees"}
    ada.post("/undo", {})
    assert labels() == set()
    assert ada.post("/undo", {}).status_code == 400
    ada.post("/redo")
    ada.post("/redo")
    assert labels() == {"bread", "bees", "birds"}
    assert ada.post("/redo").status_code == 400


def test_a_range_is_looked_at_then_taken_back(ada, desk):
    numbers = [
        ada.post("/decide", {"document": f"new-{at}", "assign": ["bees"]}).json()
        for at in range(3)
    ]
    span = {"first": numbers[0]["number"], "last": numbers[-1]["number"]}
    looked = ada.post("/undo/preview", span).json()
    assert len(looked["acts"]) == 3
    assert "new-1" in desk.store.labels()
    assert ada.post("/undo/range", span).json()["changes"] == looked["changes"]
    assert not {"new-0", "new-1", "new-2"} & desk.store.labels().keys()


def test_an_act_is_corrected(ada):
    made = ada.post("/decide", {"document": "new-0", "assign": ["bees"]}).json()
    said = {"number": made["number"], "category": "birds"}
    assert ada.post("/correct", said).status_code == 200
    assert ada.get("/documents/new-0").json()["labels"] == {"birds": 1.0}


def test_next_skip_and_note(ada, bo):
    mine = ada.get("/next").json()["document"]
    theirs = bo.get("/next").json()["document"]
    assert mine
    assert mine != theirs
    after = ada.post("/skip", {"document": mine}).json()["next"]
    assert after not in (mine, None)
    noted = ada.post("/note", {"document": mine, "text": "ask Bo"})
    assert noted.status_code == 200
    (note,) = ada.get(f"/sheet/{mine}").json()["notes"]
    assert (note["who"], note["note"]) == ("ada", "ask Bo")


def test_the_inbox_and_ones_own_order(ada):
    found = ada.get("/inbox", order="random", words="hive").json()
    assert found["total"] == len(found["rows"]) > 0
    assert all(row["state"] == "undecided" for row in found["rows"])
    chosen = {"order": "random", "words": "hive"}
    assert ada.put("/inbox", chosen).status_code == 200
    assert ada.get("/next").json()["document"] in {row["id"] for row in found["rows"]}


def test_the_log_is_read_in_pages_and_by_what_is_asked(ada):
    for at in range(4):
        ada.post("/decide", {"document": f"new-{at}", "assign": ["bees"]})
    first = ada.get("/history", who="ada", top=3).json()
    rest = ada.get("/history", who="ada", top=3, before=first["older"]).json()
    numbers = [line["number"] for page in (first, rest) for line in page["lines"]]
    assert numbers == sorted(numbers, reverse=True)
    assert len(numbers) == 4
    assert rest["older"] is None
    assert ada.get("/history", since="soon").status_code == 400


def test_guesses_are_offered_and_accepted(ada, sure):
    assert ada.get("/accept", least=0.01).status_code == 400, "not calibrated"
    assert sure.post("/learn").json() == {"learned": True}
    offer = sure.get("/accept", least=0.01).json()
    assert offer["total"] >= len(offer["guesses"]) >= 2
    taken = {"guesses": offer["guesses"][:2], "least": 0.01}
    wrong = {**offer["guesses"][1], "category": "none"}
    half = {**taken, "guesses": [offer["guesses"][0], wrong]}
    assert sure.post("/accept", half).status_code == 400
    accepted = sure.post("/accept", taken).json()
    assert len(accepted["numbers"]) == 2, "nothing was written of the one before"
    again = sure.post("/accept", taken).json()
    assert again["numbers"] == []
    assert len(again["left"]) == 2


def test_people_who_differ_are_told_and_settled(ada, bo):
    ada.post("/decide", {"document": "new-0", "assign": ["bread"]})
    assert "new-0" in bo.get("/second-readings").json()["documents"]
    bo.post("/decide", {"document": "new-0", "assign": ["bees"], "remove": ["bread"]})
    (differ,) = bo.get("/disagreements").json()["disagreements"]
    assert differ["document"] == "new-0"
    assert {each["who"] for each in differ["opinions"]} == {"ada", "bo"}
    agreed = bo.get("/agreement").json()
    assert agreed["documents"] == 1
    assert agreed["pairs"][0]["same"] == 0
    settled = {"document": "new-0", "primary": ["bread"], "note": "talked it over"}
    assert ada.post("/settle", settled).status_code == 200
    assert ada.get("/disagreements").json() == {"disagreements": []}
    assert ada.get("/documents/new-0").json()["labels"] == {"bread": 2.0}


def test_progress_and_calibration(ada):
    ada.post("/decide", {"document": "new-2", "assign": ["bees"]})
    found = ada.get("/progress").json()
    assert found["decisions"] == 1
    assert found["documents"] == 48
    assert found["hint"] is None
    assert ada.get("/calibration").json()["documents"] >= 0


def test_a_classifier_takes_back_only_their_own(ada, bo, admin, desk):
    document, name = bo.get("/next").json()["document"], next(iter(desk.categories))
    said = bo.post("/decide", {"document": document, "assign": [name]}).json()
    number = said["number"]
    assert ada.post("/undo", {"number": number}).status_code == 403
    answer = ada.post("/undo/range", {"first": number, "last": number})
    assert answer.status_code == 403
    assert "only an admin" in answer.json()["error"]["remedy"]
    assert name in desk.store.record(document).labels
    assert admin.post("/undo", {"number": number}).status_code == 200
    assert name not in desk.store.record(document).labels


def test_an_empty_text_in_a_batch_has_no_suggestions_and_stops_no_other(reader, desk):
    with desk.writing() as project:
        put_document(project, "blank", {"text": " "})
    items = [{"text": " "}, {"text": "smoke in the hive"}, {"text": ""}]
    items.append({"document": "blank"})
    answer = reader.post("/suggest/batch", {"items": items, "top": 1})
    assert answer.status_code == 200, answer.text
    sizes = [len(item["suggestions"]) for item in answer.json()["items"]]
    assert sizes == [0, 1, 0, 0]
    assert reader.post("/suggest", {"text": " "}).status_code == 400


def test_what_refuses_a_batch_is_named_by_its_place(reader):
    items = [{"text": "smoke in the hive"}, {"document": "nobody"}]
    answer = reader.post("/suggest/batch", {"items": items})
    assert answer.status_code == 404
    assert "'nobody'" in answer.json()["detail"]
    answer = reader.post("/suggest/batch", {"items": [*items, {"words": "x"}]})
    assert answer.status_code == 400
    assert "body.items.2" in answer.json()["detail"]
