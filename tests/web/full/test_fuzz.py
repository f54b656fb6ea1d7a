"""Generated calls: whatever is sent, the answer is one that is documented."""

import os
from itertools import count
from random import Random

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from classmark.web.guard.gate import Doors
from classmark.web.serve import create_app
from classmark.web.serve_projects import create_projects_app
from classmark.workbench.projects import Projects
from classmark.workbench.team.desk import Desk
from classmark.workbench.team.people import add_token
from projects import new_parish

FULL = os.environ.get("CLASSMARK_PROMISES") == "full"
CALLS = 10_000 if FULL else 300
DESCRIPTION = "/api/v1/openapi.json"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
MANNER = settings(
    derandomize=False,  # every round has a seed
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
ENDLESS = (
    "/events", "/train", "/evaluate", "/rebuild", "/index", "/backup", "/report",
    "/prune", "/propose", "/rankers", "/tune",
)  # fmt: skip
REAL = {
    "document": ["new-0", "new-1", "bees-1", "bread-2"],
    "category": ["bees", "bread", "birds"],
    "into": ["candles"],
    "name": ["parish", "new"],
    "examples": [["bees-1"], ["bread-1", "bread-2"]],
    "assign": [["bees"], ["bread", "candles"]],
}


@pytest.fixture(scope="module", params=["a project", "the projects of a folder"])
def fuzzed(request, tmp_path_factory):
    """The application over a project, or over several, with an admin's token."""
    folder = tmp_path_factory.mktemp("fuzz")
    several = Projects(folder)
    new_parish(folder / "parish")
    place = folder / "parish" if request.param == "a project" else several.server
    with Desk(place) as desk:
        with desk.writing() as project:
            _, secret = add_token(project.store, "fuzz", "admin")
        doors, headers = Doors(frozenset({"testserver", "localhost"})), {}
        headers["Authorization"] = f"Bearer {secret}"
        if place == several.server:
            yield create_projects_app(several, desk, doors), headers
        else:
            yield create_app(desk, doors), headers


@pytest.fixture(scope="module")
def api(fuzzed):
    app, headers = fuzzed
    found = schemathesis.openapi.from_asgi(DESCRIPTION, app, headers=dict(headers))
    return found.exclude(path_regex=f"({'|'.join(ENDLESS)})$")


@pytest.mark.parametrize("mode", GenerationMode, ids=str)
def test_every_answer_is_documented(api, fuzzed, mode):
    """As many calls as are promised, in rounds: some calls have few forms to try."""
    _, headers = fuzzed
    operations = [found.ok() for found in api.get_all_operations()]
    wanted, made = CALLS // 2, 0
    for turn in count():
        each = max(1, (wanted - made) // len(operations))
        for at, operation in enumerate(operations):

            @seed(turn * len(operations) + at)
            @settings(MANNER, max_examples=each)
            @given(case=operation.as_strategy(generation_mode=mode))
            def asked(case):
                nonlocal made
                made += 1
                _with_real_names(case)
                case.call_and_validate(headers=headers, checks=CHECKS)

            asked()
        if made >= wanted:
            break


def _with_real_names(case):
    """Half of the names are some that the project has."""
    random = Random(repr(case.body))  # noqa: S311 (no secret)
    for values in (case.body, case.path_parameters, case.query):
        if isinstance(values, dict):
            for name in values.keys() & REAL.keys():
                if random.random() < 0.5:
                    values[name] = random.choice(REAL[name])
