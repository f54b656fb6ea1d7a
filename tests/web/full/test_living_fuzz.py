"""Generated calls on one living project: what was answered is used by later calls."""

import os
from collections import Counter, defaultdict
from random import Random

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from classmark.web.guard.gate import Doors
from classmark.web.serve import create_app
from classmark.workbench.project import Project, info
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import add_token
from projects import new_parish

FULL = os.environ.get("CLASSMARK_PROMISES") == "full"
CALLS = 10_000 if FULL else 900
SEED = int(os.environ.get("CLASSMARK_SEED", "1"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
LONG = (
    "/train", "/evaluate", "/rebuild", "/index", "/backup", "/learn", "/import",
    "/report", "/prune", "/propose", "/rankers", "/tune",
)  # fmt: skip
OFTEN = ("/decide", "/undo", "/redo", "/correct", "/accept", "/like", "/categories")
POOLS = {  # where the value of a field or parameter is taken from: names in answers
    "document": ("document", "id"),
    "documents": ("document", "id"),
    "category": ("id", "category"),
    "categories": ("id", "category"),
    "assign": ("id", "category"),
    "reject": ("id", "category"),
    "into": ("id",),
    "parent": ("id",),
    "parents": ("id",),
    "below": ("id",),
    "branch": ("id",),
    "over": ("id",),
    "examples": ("document", "id"),
    "after": ("id", "document"),
    "number": ("number",),
    "numbers": ("number",),
    "first": ("number",),
    "last": ("number",),
    "before": ("number",),
    "impression": ("impression", "number"),
    "version": ("version",),
    "token": ("token", "id"),
    "name": ("name",),
    "who": ("who", "name"),
    "words": ("title", "name", "said"),
    "query": ("title", "name", "said"),
    "text": ("title", "text", "said"),
}


class Living:
    """A project that is called, and what it has answered so far."""

    def __init__(self, random, never):
        self.random, self.never = random, never
        self.pools = defaultdict(list)

    def remember(self, answer, room, name=""):
        """Put everything that an answer names into the pools."""
        if isinstance(answer, dict):
            for key, value in answer.items():
                self.remember(value, room, key)
        elif isinstance(answer, list):
            for value in answer[:20]:
                self.remember(value, room, name)
        elif isinstance(answer, str | int) and answer not in {*self.never, ""}:
            for pool in (self.pools[name], self.pools[room, name]):
                pool.append(answer)
                del pool[:-200]

    def one(self, room, name):
        """Something that was answered, or the name of nothing."""
        return self.random.choice(self.pools[room, name] or ["nothing"])

    def filled(self, value, room, name=""):
        """Three quarters of the values, with such as were answered."""
        if isinstance(value, dict):
            known = {
                self.filled(key, room, "category") if name == "seen" else key: inner
                for key, inner in value.items()
            }
            return {key: self.filled(inner, room, key) for key, inner in known.items()}
        if isinstance(value, list):
            if name in POOLS and not value:
                value = [""] * self.random.randint(0, 2)
            return [self.filled(inner, room, name) for inner in value]
        if name not in POOLS or self.random.random() < 0.25:
            return value
        pools = [self.pools[room, known] for known in POOLS[name]]
        if not any(pools) or self.random.random() < 0.3:
            pools = [self.pools[known] for known in POOLS[name]]
        fitting = [
            known
            for pool in pools
            for known in pool
            if value is None or type(known) is type(value)
        ]
        return self.random.choice(fitting) if fitting else value


def sensible(path, living):
    """A body as a person's program would send it, of what was answered before."""
    random, one = living.random, living.one
    document, category = one("documents", "id"), one("categories", "id")
    other, text = one("categories", "id"), one("documents", "text")
    number = one("history", "number")
    new = {"id": f"n{random.randrange(10**9)}", "label": random.choice(["=A", "<b>"])}
    said = random.choice(["assign", "primary", "reject", "unsure", "remove"])
    act = random.choice(["move", "merge", "retire", "rename", "add"])
    bodies = {
        "/api/v1/decide": {"document": document, said: [category], "version": None},
        "/api/v1/correct": {"number": number, "category": category},
        "/api/v1/undo/range": {"first": number, "last": number},
        "/api/v1/suggest": random.choice([{"text": text}, {"document": document}]),
        "/api/v1/suggest/batch": {"items": [{"text": text}, {"document": document}]},
        "/api/v1/suggest/why": {"document": document, "category": category},
        "/v1/projects/{project_id}/suggest": {"text": text, "limit": 3},
        "/v1/projects/{project_id}/suggest-batch": {"documents": [{"text": text}]},
        "/v1/projects/{project_id}/learn": [
            {"text": text, "subjects": [{"uri": category}]}
        ],
        "/api/v1/search": {"query": str(text).split(" ")[-1]},
        "/api/v1/click": {
            "impression": one("search", "impression"), "document": document
        },
        "/api/v1/like": {
            "examples": [document, one("documents", "id")],
            "screening": random.random() < 0.2,
        },
        "/api/v1/like/{number}/mark": {
            "marks": {document: random.choice(["yes", "no", "maybe", ""])}
        },
        "/api/v1/categories": new | {"parent": random.choice([None, category])},
        "/api/v1/categories/split": {
            "category": category, "new": new, "documents": [document]
        },
        "/api/v1/categories/merge": {"category": category, "into": other},
        "/api/v1/categories/move": {"category": category, "under": other},
        "/api/v1/categories/preview": {
            "act": act, "category": category, "to": other, **new
        },
        "/api/v1/categories/propose": {"category": category},
        "/api/v1/categories/accept": {"category": category, "number": 1},
        "/api/v1/place": {"documents": [document]},
        "/api/v1/rankers/service": {"number": random.choice([None, 1])},
        "/api/v1/pagerank": {"links": [["a", "b"]]},
        "/api/v1/tune": {
            "queries": {"1": text}, "qrels": {"1": {document: 1}},
            "parameters": {"b": [0.3, 0.6]},
        },
        "/api/v1/label": {"documents": [document], "category": category},
        "/api/v1/categories/outline": {"outline": f"{new['id']}\n  below it"},
        "/api/v1/settle": {"document": document, "labels": [category]},
        "/api/v1/meaning": {"source": random.choice(["none", "own"])},
        "/api/v1/settings": {"settings": {"learning.c": random.choice(["1", "x"])}},
    }  # fmt: skip
    return bodies.get(path)


LINES = b'{"id": "in-%d", "text": "honey in the oven", "labels": ["bees"]}\n'


def made_sensible(case, path, living):
    """Let a call be one that may succeed."""
    body = sensible(path, living)
    if body is not None:
        case.body = body
    if path.endswith(("/import", "/uploads")) and case.method == "POST":
        case.body = LINES % living.random.randrange(100)
        case.media_type = "application/octet-stream"
        case.query = {"name": "a.jsonl"} if "{token}" not in path else {}
    names = {"project_id": ("projects", "project_id"), "name": ("export", "name")}
    if "{name}" in path and "/texts/" in path:
        names["name"] = "like", "name"
    for name, pool in names.items():
        if name in (case.path_parameters or {}):
            case.path_parameters[name] = living.one(*pool)


def generated(operation, mode, number, start):
    """So many calls of an operation."""
    cases = []

    @seed(start)
    @settings(
        max_examples=max(2, number),
        derandomize=False,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def collect(case):
        cases.append(case)

    collect()
    return cases


def room_of(path):
    """What a call is about: the first part of its address."""
    return path.removeprefix("/api").removeprefix("/v1").split("/")[1]


def weight_of(path):
    if path.endswith(LONG):
        return 0.15
    return 3 if any(word in path for word in OFTEN) else 1


def test_a_living_project_answers_everything(tmp_path):
    folder = new_parish(tmp_path / "parish")
    with Desk(folder) as desk:
        with desk.writing() as project:
            own, secret = add_token(project.store, "fuzz", "admin")
        doors = Doors(frozenset({"testserver", "localhost"}))
        headers = {"Authorization": f"Bearer {secret}"}
        api = schemathesis.openapi.from_asgi(
            "/api/v1/openapi.json", create_app(desk, doors), headers=dict(headers)
        ).exclude(path_regex="/events$")
        living = Living(Random(SEED), {own, secret})  # noqa: S311 (no secret)
        statuses, failures = call_many(api, headers, living)
        acts = [entry.seq for entry in desk.store.log()]
    assert not failures, "\n\n".join(f"{k}: {v}" for k, v in failures.items())
    done = {call for call, status in statuses if status < 300}
    share = 0.8 if FULL else 0.5
    never = {call for call, _ in statuses} - done
    assert len(never) < (1 - share) * len(done), (sorted(never), statuses)
    assert acts == sorted(acts)
    with Project(folder) as project:
        info(project, check=True)
    with Desk(folder) as desk:
        assert [entry.seq for entry in desk.store.log()] == acts


def call_many(api, headers, living):
    """Make the calls, in an order by chance, each as the answers so far suggest.

    Return how often each call had which status, and the first failure of each.
    """
    statuses, failures = Counter(), {}
    operations = [found.ok() for found in api.get_all_operations()]
    weights = [weight_of(operation.path) for operation in operations]
    each = 2 + CALLS // len(operations)
    for path in ("/documents", "/categories", "/history"):
        (first,) = [o for o in operations if o.label == f"GET /api/v1{path}"]
        answer = first.Case().call(headers=headers)
        living.remember(answer.json(), path[1:])
    living.pools["export", "name"] += ["documents.csv", "taxonomy.csv", "backup.zip"]
    cases = [
        generated(operation, GenerationMode.POSITIVE, each, SEED + at)
        for at, operation in enumerate(operations)
    ]
    random = living.random
    for _ in range(CALLS):
        (at,) = random.choices(range(len(operations)), weights)
        path = operations[at].path
        case, room = random.choice(cases[at]), room_of(path)
        case.path_parameters = living.filled(case.path_parameters or {}, room)
        case.query = living.filled(case.query or {}, room)
        if isinstance(case.body, dict | list):
            case.body = living.filled(case.body, room)
        if random.random() < 0.5:
            made_sensible(case, path, living)
        answer = case.call(headers=headers)
        statuses[operations[at].label, answer.status_code] += 1
        try:
            case.validate_response(answer, headers=headers, checks=CHECKS)
        except (FailureGroup, Failure) as failure:
            failures.setdefault((operations[at].label, answer.status_code), failure)
        is_json = answer.headers.get("content-type", [""])[0] == "application/json"
        if answer.status_code < 300 and is_json and answer.content:
            living.remember(answer.json(), room)
    return statuses, failures
