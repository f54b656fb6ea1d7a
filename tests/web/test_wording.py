"""Pages and calls say what to do in their own words, not in the command line's."""

import ast
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import classmark
from classmark.problems import Mistake
from classmark.web.serve import create_app
from classmark.web.wording import CALLS, PAGES, WORDS
from projects import TREE, new_desk, parish
from web.conftest import ADDRESS, csrf_of, program

COMMANDS = re.compile(
    r"(?<![\w-])--[a-zA-Z]|\bclassmark (?![a-z ]+ ranker|query|vectors|votes|places"
    r"|project\b|categories|top-down)[a-z]+"
)
SOURCE = Path(classmark.__file__).parent
# what only the command line reaches, or the start of the server
ALONE = (
    "cli/", "client.py", "machines/", "datasets/", "web/wording.py", "web/serve.py",
    "workbench/collections.py", "formats/weights.py", "workbench/files/backup.py",
    "workbench/categories/build.py", "workbench/learning/stream.py",
    "workbench/learning/options.py", "workbench/search/runs.py",
)  # fmt: skip
ALONE_IN = {
    "workbench/categories/report.py": {"--policy meta:", "--meta goes with"},
    "workbench/categories/propose.py": {"to take one: classmark", "NUMBER ["},
    "web/serve_projects.py": {"--annif "},
    "web/guard/traffic.py": {"--access-log "},
    "workbench/learning/models.py": {"classmark names"},
    "web/guard/gate.py": {"--behind-proxy ", "--role admin", "--certificate", "--name"},
    "workbench/deciding/decide.py": {"--over "},
    "workbench/deciding/history.py": {"classmark undo NUMBER"},
    "workbench/deciding/queue.py": {"--to"},
    "workbench/deciding/similar.py": {"--alike is "},
    "workbench/deciding/suggest.py": {"--text or --document"},
    "workbench/examples/like.py": {"--file ", "an online search", "none yet"},
    "workbench/examples/screening.py": {"--yes, --no or --skip", "none yet"},
    "workbench/examples/searches.py": {"classmark like --ex", "classmark screen"},
    "workbench/learning/fit.py": {"--select chooses"},
    "workbench/search/index.py": {"name it with --project ", "index FILE --to "},
    "workbench/search/rankers.py": {"none yet"},
    "workbench/search/tune.py": {
        "--dataset NAME, or a project", "--queries FILE and ", "--hybrid needs",
    },
    "workbench/search/search.py": {
        "--model", "--weight", "--feedback", "--prior", "--ranker needs", "--workers",
        "--set", "--hybrid needs",
    },
}  # fmt: skip


def strings(tree):
    """Texts of a module but its docstrings; whether each is worded by the place."""
    described = (ast.Module, ast.FunctionDef, ast.ClassDef)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, described)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    marked = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "worded"
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        text = getattr(node, "value", None)
        if isinstance(node, ast.Constant) and isinstance(text, str):
            yield "" if id(node) in docs else text, id(node) in marked


def test_every_command_that_people_are_told_has_words_of_pages_and_calls():
    told, unmarked = set(), []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for text, marked in strings(ast.parse(path.read_text())):
            if COMMANDS.search(text) and not name.startswith(ALONE):
                if marked:
                    told.add(text)
                elif not any(part in text for part in ALONE_IN.get(name, ())):
                    unmarked.append((name, text))
    assert not unmarked
    assert told == set(WORDS)


def test_words_of_pages_and_calls_name_no_command():
    for words in (PAGES, CALLS):
        for command, told in words.items():
            assert not COMMANDS.search(told)
            named = set(re.findall(r"{\w+}", told))
            assert named <= set(re.findall(r"{\w+}", command))


FORMS = [
    ("/decide/new-0", {"act": "accept"}),
    ("/decide", {"act": "undo"}),
    ("/history/undo", {"number": "999999"}),
    ("/taxonomy/change", {"act": "merge", "category": "bees", "to": "ghosts"}),
    ("/like", {"category": "birds", "name": "x"}),
    ("/like", {"category": "ghosts"}),
    ("/like", {}),
    ("/settings/people", {"name": "ada", "role": "reader", "password": "x" * 12}),
    ("/settings/jobs", {"work": "train"}),
    ("/settings/jobs", {"work": "evaluate"}),
]
PLACES = [
    "/search?q=bees&set=k1",
    "/search?q=bees&set=model=x",
    "/search?q=bees&weights=title",
    "/search?q=bees&weights=title=x",
    "/search?q=bees&prior=pagerank",
    "/search?q=bees&ranker=1",
    "/search?q=bees&ranker=1&model=bm25",
    '/search?q="bees hum"',
    "/choice?document=new-0&category=ghosts",
    "/settings/model",
    "/files", "/enter", "/search", "/like", "/taxonomy",
]  # fmt: skip
BODIES = [
    ("/decide", {"document": "new-0"}),
    ("/decide", {"document": "new-0", "assign": ["ghosts"]}),
    ("/undo", {}),
    ("/undo", {"number": 999999}),
    ("/suggest", {"text": "bees"}),
    ("/search", {"query": "bees"}),
    ("/search", {"query": "bees", "prior": "pagerank"}),
    ("/search", {"query": "bees", "ranker": "1", "model": "bm25"}),
    ("/search", {"query": "bees", "parameters": {"model": "x"}}),
    ("/like", {"category": "birds"}),
    ("/like", {"examples": []}),
    ("/categories/merge", {"category": "bees", "into": "ghosts"}),
    ("/users", {"name": "ada", "role": "reader", "password": "x" * 12}),
    ("/users", {"name": "ada", "role": "reader", "password": "x" * 12}),
    ("/train", None),
    ("/evaluate", None),
    ("/rebuild", None),
    ("/click", {"impression": 9, "document": "new-0"}),
]


@pytest.fixture(params=["bare", "stocked"])
def server(request, tmp_path):
    """A browser, a program and the desk: of a project with nothing, or with all."""
    full = request.param == "stocked"
    documents = parish(decided=full, waiting=True)
    if not full:
        documents = [record for record in documents if record.id.startswith("new")]
    with new_desk(tmp_path / "p", documents, TREE, trained=full, indexed=full) as desk:
        app = create_app(desk)
        with TestClient(app, base_url=ADDRESS) as browser:
            browser.post("/enter", data={"code": app.state.doors.code})
            browser.headers["X-CSRF"] = csrf_of(app, browser)
            yield browser, program(app, desk, "ada", "admin"), desk


def test_no_answer_speaks_of_commands(server):
    browser, caller, desk = server
    answers = [browser.post(path, data=form) for path, form in FORMS]
    desk.jobs.wait(60)
    answers += [browser.get(path) for path in PLACES]
    texts = [re.sub(r"<[^>]+>", " ", answer.text) for answer in answers]
    refused = sum('role="alert"' in answer.text for answer in answers)
    for path, body in BODIES:
        called = caller.post(path, body)
        refused += '"error"' in called.text
        texts.append(called.text)
    desk.jobs.wait(60)
    texts += [caller.get("/jobs").text, browser.get("/settings/model").text]
    assert refused >= 18
    wrong = [COMMANDS.search(text) for text in texts]
    assert not [m.string[max(0, m.start() - 80) : m.end() + 20] for m in wrong if m]


def test_the_command_line_speaks_of_commands_still(tmp_path):
    told = pytest.raises(Mistake, match="run classmark train")
    with new_desk(tmp_path / "p") as desk, told:
        desk.require_model()
