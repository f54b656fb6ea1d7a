"""Figures of a running server for monitoring, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi.responses import PlainTextResponse

from classmark.web import fields
from classmark.web.guard.auth import Reader
from classmark.web.guard.traffic import metric, process_lines
from classmark.workbench.team.desk import Desk

api = fields.calls("metrics")
FORMAT = "text/plain; version=0.0.4; charset=utf-8"
DOCUMENTED: fields.Documented = {
    200: {"content": {"text/plain": {}}, "description": "one figure on each line"}
}


@api.get("/metrics", response_class=PlainTextResponse, responses=DOCUMENTED)
def metrics(me: Reader) -> PlainTextResponse:
    """Requests, their times, the project's documents, jobs and the process."""
    traffic = me.request.app.state.traffic
    lines = [*traffic.lines(), *project_lines(me.desk), *process_lines(traffic)]
    return PlainTextResponse("\n".join(lines) + "\n", media_type=FORMAT)


def project_lines(desk: Desk) -> Iterator[str]:
    """How many documents and acts there are, and which work runs."""
    state, model = desk.state, desk.models.current()
    gauges = {
        "documents": ("In the project.", len(state.ids)),
        "documents_decided": ("With a label.", len(state.labels)),
        "categories": ("In the taxonomy.", len(desk.categories)),
        "acts": ("In the log of decisions.", state.upto),
        "jobs_running": ("Long work that runs now.", len(desk.jobs.running())),
        "model_number": ("In service; 0: none.", int(model.name) if model else 0),
    }
    for name, (about, value) in gauges.items():
        yield from metric(f"classmark_{name}", "gauge", about, {"": value})
