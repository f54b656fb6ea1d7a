"""What administrators see of requests: health, log, metrics."""

import logging
import re

import pytest

from classmark.problems import Mistake
from classmark.web.guard.traffic import ACCESS, BOUNDS, Traffic, log_requests
from classmark.web.readiness import Readiness
from classmark.web.serve import create_app, health


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "access.log"
    before = ACCESS.handlers, ACCESS.propagate, ACCESS.level
    log_requests(str(path))
    yield path
    for handler in ACCESS.handlers:
        handler.close()
    ACCESS.handlers, ACCESS.propagate = before[:2]
    ACCESS.setLevel(before[2])


def values(text, name):
    """What the text format says of a metric: label → value."""
    lines = re.findall(rf"^{name}(\{{.*\}})? (\S+)$", text, flags=re.MULTILINE)
    return {labels: float(value) for labels, value in lines}


def test_health_is_told_to_everybody_at_any_name(stranger):
    answer = stranger.get("/healthz", headers={"host": "10.0.0.7"})
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_health_says_in_a_word_what_is_wrong(desk, monkeypatch):
    readiness = Readiness()
    app = create_app(desk, readiness=readiness)
    with readiness.preparing("loading"):
        assert health(app) == "starting"
    assert health(app) == ""
    app.state.is_over = lambda: True
    assert health(app) == "stopping"
    app.state.is_over = lambda: False

    def broken(*_, **__):
        raise Mistake("the database is away")

    monkeypatch.setattr(type(desk.store), "last_event", broken)
    assert health(app) == "unavailable"


def test_bad_health_is_a_503(app, stranger):
    app.state.is_over = lambda: True
    answer = stranger.get("/healthz")
    assert (answer.status_code, answer.json()) == (503, {"status": "stopping"})


def test_a_line_tells_when_who_and_how_long_and_no_text(log, client, stranger):
    client.get("/search", params={"q": "secret words"})
    stranger.get("/decide")
    stranger.get("/healthz")
    lines = log.read_text().splitlines()
    assert "secret" not in log.read_text()
    found = [re.fullmatch(LINE, line) for line in lines]
    assert all(found), lines
    asked = [match["what"] for match in found]
    assert "GET /search 200" in asked
    assert "GET /decide 303" in asked
    assert not any("healthz" in what for what in asked)
    assert {match["who"] for match in found} > {"-"}


LINE = (
    r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00 \S+ (?P<who>\S+) "
    r"(?P<what>[A-Z]+ /\S* \d{3}) [\d.]+ms"
)


def test_an_address_cannot_forge_a_line(log, stranger):
    stranger.get("/decide/a%0Ab%20c%22")
    lines = log.read_text().splitlines()
    assert "a%0Ab%20c%22" in lines[0]
    assert all(re.fullmatch(LINE, line) for line in lines)


def test_a_log_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(Mistake, match=r"--access-log .* cannot be written"):
        log_requests(str(tmp_path / "no" / "folder" / "log"))


def test_metrics_need_a_token(stranger, reader):
    assert stranger.get("/api/v1/metrics").status_code == 401
    assert reader.get("/metrics").status_code == 200


def test_metrics_count_requests_by_route(client, reader, desk):
    before = len(desk.state.ids)
    for _ in range(3):
        client.get("/history")
    client.get("/no/such/page")
    text = reader.get("/metrics").text
    counts = values(text, "classmark_requests_total")
    assert counts['{method="GET",route="/history",status="200"}'] == 3
    assert counts['{method="GET",route="other",status="404"}'] == 1
    times = values(text, "classmark_request_seconds_bucket")
    assert times['{route="/history",le="+Inf"}'] == 3
    assert values(text, "classmark_documents") == {"": before}
    assert values(text, "process_resident_memory_bytes")[""] > 1e6


def test_buckets_are_cumulative():
    traffic = Traffic()
    for seconds in (0.001, 0.2, 99.0):
        traffic.note("GET", "/a", 200, seconds)
    shown = values("\n".join(traffic.lines()), "classmark_request_seconds_bucket")
    assert list(shown.values()) == [1] * 5 + [2] * (len(BOUNDS) - 5) + [3]


def test_labels_are_escaped():
    traffic = Traffic()
    traffic.note("GET", 'a"b\\c\nd', 200, 0.1)
    line = next(x for x in traffic.lines() if x.startswith("classmark_requests_total{"))
    assert r'route="a\"b\\c\nd"' in line


def test_without_a_log_nothing_is_written(client):
    assert not ACCESS.isEnabledFor(logging.INFO) or ACCESS.handlers
    assert client.get("/history").status_code == 200
