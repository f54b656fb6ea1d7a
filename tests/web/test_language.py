"""Every text of a page is in the catalogues, and pages speak the language asked for."""

import ast
import io
import json
import re
import tomllib
from pathlib import Path

import pytest

from classmark.language import (
    CATALOGUES,
    as_stored,
    codes,
    in_language,
    joined,
    percent,
    preferred,
    restored,
    whole,
)
from classmark.language import _ as _text
from classmark.problems import refusal
from classmark.web.render import THEME_NAMES, THEMES, environment
from classmark.workbench.results import WorkResult
from classmark.workbench.settings import Settings
from classmark.workbench.settings_form import form_fields
from classmark.workbench.settings_words import (
    LABELS,
    LANGUAGE_NAMES,
    language_choices,
)

ROOT = Path(__file__).parents[2]
KEYWORDS = {  # and those of gettext
    "N_": None, "refusal": None, "_setting": (2,), "track": (2,),
}  # fmt: skip
PLACES = re.compile(r"%\(\w+\)[srd]|%%|\{\w+\}|<[^>]+>")
OTHERS = [code for code in codes() if code != "en"]


@pytest.fixture(scope="module")
def texts():
    """Every text that the sources mark for translation."""
    from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["babel"]
    mappings = settings["mappings"]
    methods = [(each["pattern"], each["method"]) for each in mappings]
    options = {
        each["pattern"]: {k: v for k, v in each.items() if k != "method"}
        for each in mappings
    }
    keywords = {**DEFAULT_KEYWORDS, **KEYWORDS}
    folder = ROOT / "src" / "classmark"
    return {
        text for _, _, text, *_ in extract_from_dir(folder, methods, options, keywords)
    }


def catalogue(path):
    from babel.messages import pofile

    with path.open("rb") as file:
        return pofile.read_po(file)


@pytest.mark.needs("babel")
def test_the_template_of_the_catalogues_has_every_text(texts):
    template = catalogue(CATALOGUES / "classmark.pot")
    assert len(texts) > 1000
    assert {message.id for message in template if message.id} == texts


@pytest.mark.needs("babel")
@pytest.mark.parametrize("code", OTHERS)
def test_every_text_is_translated_and_keeps_its_placeholders(texts, code):
    translated = catalogue(CATALOGUES / code / "LC_MESSAGES" / "classmark.po")
    assert {message.id for message in translated if message.id} == texts
    for message in translated:
        ids = message.id if message.pluralizable else (message.id,)
        strings = message.string if message.pluralizable else (message.string,)
        assert all(strings), message.id
        assert not message.fuzzy, message.id
        for string in strings:
            most = set().union(*(PLACES.findall(each) for each in ids))
            assert set(PLACES.findall(string)) <= most, string
        assert set(PLACES.findall(strings[-1])) == set(PLACES.findall(ids[-1]))


@pytest.mark.needs("babel")
@pytest.mark.parametrize("code", OTHERS)
def test_the_compiled_catalogue_is_made_of_the_written_one(code):
    from babel.messages.mofile import write_mo

    written = CATALOGUES / code / "LC_MESSAGES" / "classmark.po"
    compiled = io.BytesIO()
    write_mo(compiled, catalogue(written))
    assert written.with_suffix(".mo").read_bytes() == compiled.getvalue()


def test_names_that_are_made_elsewhere_are_marked_here():
    assert [theme.capitalize() for theme in THEMES] == list(THEME_NAMES)
    marked = {*LANGUAGE_NAMES, "English", "Several, or another one"}
    assert set(language_choices().values()) == marked


def test_every_setting_is_called_by_words():
    """Its name in the file is no word that could be translated."""
    for group in form_fields(Settings("shelf")).values():
        assert not {each.name for each in group} - LABELS.keys()


def test_templates_write_no_text_without_marking_it():
    """What stands between tags is translated, but for names and signs."""
    wrong = []
    for name in environment().list_templates(["html"]):
        text = environment().loader.get_source(environment(), name)[0]
        text = re.sub(r"\{% trans\b.*?endtrans %\}", "", text)
        text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", "", text, flags=re.DOTALL)
        text = re.sub(r"<(kbd|code|title)\b[^>]*>[^<]*</\1>", "", text)
        shown = re.findall(r">([^<>]*[A-Za-z]{3}[^<>]*)<", text)
        shown += re.findall(ATTRIBUTES, text)
        texts = {each.strip() for each in shown} - KEPT
        wrong += [f"{name}: {each}" for each in texts]
    assert not wrong


def test_what_a_page_reports_is_marked():
    """What the next page says after a form is a text of the catalogues, or made of."""
    wrong = []
    for path in (ROOT / "src" / "classmark" / "web").glob("**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "saved":
                bare = isinstance(node.value, ast.JoinedStr | ast.Constant)
                if bare and re.search("[A-Za-z]{3}", ast.unparse(node.value)):
                    wrong.append(f"{path.name}: {ast.unparse(node.value)}")
    assert not wrong


ERRORS = {
    "Mistake", "Missing", "Unavailable", "UnreadableFile", "refuse", "leave_out",
    "MalformedQuery", "malformed", "RefusedRequest",
}  # fmt: skip
ROOMS = ("web", "workbench", "formats", "index/asking.py", "index/query_language.py")
NOT_ON_PAGES = {  # whose errors no page shows, and why
    "web/annif.py": "Annif's calls, for programs",
    "web/serve.py": "the start of the server",
    "web/serve_projects.py": "the start of the server",
    "web/guard/capacity.py": "the start of the server",
    "web/guard/gate.py": "the start of the server, and what no browser sends",
    "web/guard/traffic.py": "the start of the server",
    "workbench/collections.py": "the command line",
    "workbench/settings_file.py": "files that people edit by hand",
    "workbench/projects.py": "folders, named on the command line",
    "workbench/settings.py": "files that people edit by hand, and calls",
    "workbench/learning/options.py": "the command line",
    "workbench/learning/stream.py": "the command line",
    "workbench/search/runs.py": "the command line",
    "workbench/store/postgres.py": "the start of the server",
    "workbench/store/schema.py": "a damaged store: whoever runs the server mends it",
    "workbench/store/sqlite.py": "a damaged store: whoever runs the server mends it",
    "workbench/team/desk.py": "the start of the server",
    **dict.fromkeys(
        (f"formats/{name}.py" for name in (
            "arff", "feature_lines", "judged_runs", "reuters", "svmlight",
            "test_collections", "vectors", "weights",
        )),
        "formats of experiments, imported from the command line",
    ),
    "formats/pages.py": "crawls, imported from the command line",
    "formats/taxonomies.py": "what a format cannot write, and parsers of RDF",
    "formats/archive.py": "limits of the library",
}  # fmt: skip


def test_errors_that_pages_show_are_texts_of_the_catalogues():
    """None is a bare text: each is made by ``refusal``, ``_`` or of such texts."""
    wrong, source = [], ROOT / "src" / "classmark"
    for room in ROOMS:
        for path in (
            (source / room).rglob("*.py") if "." not in room else [source / room]
        ):
            name = path.relative_to(source).as_posix()
            if name in NOT_ON_PAGES:
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                called = getattr(node, "func", None)
                kind = getattr(called, "id", getattr(called, "attr", ""))
                if isinstance(node, ast.Call) and kind in ERRORS:
                    bare = [
                        each for each in node.args
                        if isinstance(each, ast.Constant | ast.JoinedStr | ast.BinOp)
                    ]  # fmt: skip
                    texts = [ast.unparse(each) for each in bare]
                    wrong += [
                        f"{name}: {t}" for t in texts if re.search("[a-z]{3} ", t)
                    ]
    assert not wrong
    assert all((source / name).is_file() for name in NOT_ON_PAGES)


def test_errors_are_in_the_language_and_with_the_names_of_whoever_reads_them(client):
    german = {"accept-language": "de"}
    for path, said in (
        ("/decide/nobody", "gibt kein"),
        ("/search?q=bees AND", "Anfrage, Zeichen 9: "),
    ):
        shown = client.get(path, headers=german).text
        assert said in shown
    refused = client.post("/settings/jobs", data={"work": "sing"}, headers=german)
    assert "die Aufgabe &#39;sing&#39; ist unbekannt" in refused.text


def test_results_of_jobs_are_in_the_language_of_whoever_reads_them(client, desk):
    def work(_):
        share = percent(0.035, 1)
        return WorkResult(_text("%(n)s-fold cross-validation", n=share), {})

    with in_language("de"):
        desk.jobs.start("evaluate", work, "ada").wait(20)
        desk.jobs.start("train", _fails, "ada").wait(20)
    english = client.get("/settings/jobs").text
    german = client.get("/settings/jobs", headers={"accept-language": "de"}).text
    assert "3.5 %-fold cross-validation" in english
    assert "there is no act 7: see the numbers in the history" in english
    assert "3,5 %-fache Kreuzvalidierung" in german
    assert "7: die Nummern stehen im Verlauf" in german
    said = [job["said"] for job in client.get("/api/v1/jobs").json()["jobs"]]
    assert "3.5 %-fold cross-validation" in said


def _fails(_):
    raise refusal(
        "there is no act %(number)s: see the numbers in the history", number=7
    )


def test_what_a_file_keeps_is_in_the_language_of_whoever_reads_it():
    note = joined(_text("%(n)s-fold cross-validation", n=5), whole(1234), percent(0.5))
    read = json.loads(json.dumps(as_stored(note)))
    assert str(restored(read)) == "5-fold cross-validation; 1,234; 50 %"
    with in_language("de"):
        assert str(restored(read)) == "5-fache Kreuzvalidierung; 1.234; 50 %"
    assert restored("as it was written") == as_stored("as it was written")


ATTRIBUTES = r'\b(?:alt|aria-label|placeholder|title)="([^"<>]*[A-Za-z]{3}[^"<>]*)"'
KEPT = {"Classmark", "ndcg@10", "title=2", "q1 salt road"} | {
    f".{kinds}"
    for kinds in (
        "csv .tsv .xlsx", "jsonl", "ris .nbib .enw .bib", "docx .pdf .txt", "zip",
        "tsv .csv", "ttl .rdf .nt", "preferences.csv",
    )
}  # fmt: skip


def heading(client, **headers):
    page = client.get("/inbox", headers=headers).text
    return re.search(r'lang="(\w+)"', page)[1], re.search(r"<h1>(.*?)</h1>", page)[1]


def test_a_person_chooses_then_the_project_then_the_browser(client, desk):
    german = {"accept-language": "de-AT,en;q=0.5"}
    assert heading(client) == ("en", "Inbox")
    assert heading(client, **german) == ("de", "Eingang")
    desk.change_settings({"language": "de"}, "ada")
    assert heading(client) == ("de", "Eingang")
    chosen = client.post("/settings/language", data={"language": "en"})
    assert chosen.status_code == 200
    assert heading(client, **german) == ("en", "Inbox")
    client.post("/settings/language", data={"language": ""})
    assert heading(client) == ("de", "Eingang")
    assert client.post("/settings/language", data={"language": "x"}).status_code == 400


def test_calls_are_answered_in_english(client, desk):
    desk.change_settings({"language": "de"}, "ada")
    wrong = client.get("/api/v1/nothing").json()["error"]["message"]
    assert "There is no such page" in wrong
    settings = client.get("/api/v1/settings").json()["settings"]
    assert {"language", "learning.learner"} <= {each["name"] for each in settings}
    assert not any("Gilt ab" in each["says"] for each in settings)


def test_what_somebody_wrote_is_text_in_every_language(client, desk):
    desk.change_settings({"language": "de"}, "ada")
    found = client.get("/taxonomy/find", params={"q": "<b>xylophone %(words)s"})
    assert "„&lt;b&gt;xylophone %(words)s“" in found.text


def test_remedies_are_in_the_language_of_the_page(client, desk):
    desk.change_settings({"language": "de"}, "ada")
    refused = client.post("/history/undo", data={"number": 99_999})
    assert "Verlauf" in refused.text.partition("<main")[2].partition("</main")[0]


def test_what_is_refused_before_a_page_is_made_is_in_the_language_of_the_page(
    client, desk
):
    desk.change_settings({"language": "de"}, "ada")
    large = client.post("/inbox/start", content=b"x" * (3 << 20))
    assert large.status_code == 413
    assert "nicht auf einmal gesendet" in large.text
    strange = client.post("/inbox/start", headers={"origin": "https://elsewhere.org"})
    assert "Eine Seite anderer Herkunft" in strange.text


@pytest.mark.parametrize(
    ("accepted", "code"),
    [
        ("", ""),
        ("de", "de"),
        ("en;q=0.1,de;q=0", "en"),
        ("x,de;q=nan", "de"),
        (";", ""),
    ],
)
def test_a_browser_may_send_anything(accepted, code):
    assert preferred(accepted) == code


def test_an_unknown_language_is_english():
    with in_language("../../etc"):
        assert "Inbox" in environment().from_string("{{ _('Inbox') }}").render()
