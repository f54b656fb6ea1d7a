"""Settings: shown with their meaning, changed as a whole or not at all."""

import re

import pytest

from classmark.text import Analyzer, languages
from classmark.workbench.settings import Settings, read_settings
from classmark.workbench.settings_form import form_fields
from classmark.workbench.settings_words import analyzer_of, language_of_analyzer
from classmark.workbench.team.jobs import JOB_WORDS, WORKS


def test_every_setting_is_explained():
    form = form_fields(Settings("Shelf")).values()
    settings = [setting for group in form for setting in group]
    assert all(setting.says.endswith(".") for setting in settings)
    assert all(s.value in s.choices for s in settings if s.choices)


def test_a_change_is_written_noted_and_seen(client, desk):
    sent = {"name": "Shelf <b>", "learning.C": "0.5", "text.fields": "title, text"}
    sent |= {"learning.rare": "yes", "search.log": "named", "learning.min_df": "2"}
    answer = client.post("/settings", data=sent)
    assert answer.status_code == 200
    assert "saved: Name of the project" in answer.text
    assert "Shelf &lt;b&gt;" in client.get("/settings").text
    found = read_settings(desk.folder)
    assert found.name == "Shelf <b>"
    assert (found.learning.C, found.learning.rare, found.learning.min_df) == (
        0.5,
        True,
        2,
    )
    assert found.text.fields == ("title", "text")
    assert found.search.log == "named"
    events = desk.store.run("SELECT what FROM events").fetchall()
    assert ("settings",) in [tuple(row) for row in events]


def test_what_is_shown_can_be_sent_back_unchanged(client, desk):
    before = (desk.folder / "classmark.toml").read_bytes()
    shown = client.get("/settings").text
    sent = dict(
        re.findall(r'<input type="text" id="([\w.]+)"[^>]* value="([^"]*)"', shown)
    )
    assert sent["name"] == "Parish notes"
    assert "no changes" in client.post("/settings", data=sent).text
    assert (desk.folder / "classmark.toml").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("name", "", "1 to 200"),
        ("name", "two\nlines", "1 to 200"),
        ("learning.C", "much", "a number"),
        ("learning.C", "-1", "0 or more"),
        ("learning.C", "nan", "0 or more"),
        ("learning.min_df", "1.5", "a whole number"),
        ("learning.learner", "oracle", "plm"),
        ("learning.memory", "lots", "memory"),
        ("text.analyzer", "nonsense", "nonsense"),
        ("search.log", "everything", "anonymous"),
    ],
)
def test_what_cannot_be_used_changes_nothing(client, desk, name, value, said):
    before = (desk.folder / "classmark.toml").read_bytes()
    answer = client.post("/settings", data={"learning.center": "7", name: value})
    assert answer.status_code == 400
    assert said in answer.text
    assert (desk.folder / "classmark.toml").read_bytes() == before


def test_a_look_is_kept_in_the_browser(client):
    assert 'data-theme="system"' in client.get("/settings/me").text
    answer = client.post("/settings/theme", data={"theme": "dark"})
    assert 'data-theme="dark"' in answer.text
    client.cookies.delete("theme")
    client.cookies.set("theme", '"><script>')
    assert 'data-theme="system"' in client.get("/settings/me").text
    assert client.post("/settings/theme", data={"theme": "pink"}).status_code == 400


def test_the_model_and_the_keys_are_shown(client):
    assert "model in service" in client.get("/settings/model").text
    assert "Shift+U" in client.get("/settings/me").text


@pytest.mark.parametrize("work", [work.name for work in WORKS])
def test_long_work_is_started_and_told(client, desk, work):
    answer = client.post("/settings/jobs", data={"work": work})
    assert f"{JOB_WORDS[work]}: started" in answer.text
    desk.jobs.wait(60)
    (job,) = desk.jobs
    assert (job.state, job.mistake) == ("done", "")
    shown = client.get("/settings/jobs").text
    assert job.said
    assert job.said in shown.replace("&#39;", "'")


def test_unknown_work_is_refused(client):
    assert client.post("/settings/jobs", data={"work": "dance"}).status_code == 400


def test_a_language_is_chosen_by_its_name(client, desk):
    page = client.get("/settings").text
    assert '<option value="english" selected>English</option>' in page
    client.post("/settings", data={"text.language": "german"})
    analyzer = "words|lower|stop(german)|snowball(german)"
    assert read_settings(desk.folder).text.analyzer == analyzer
    client.post("/settings", data={"text.analyzer": "words|lower|length(3)"})
    page = client.get("/settings").text
    assert '<option value="custom" selected>as set under Advanced</option>' in page
    client.post("/settings", data={"text.language": "custom", "name": "Again"})
    assert read_settings(desk.folder).text.analyzer == "words|lower|length(3)"
    answer = client.post("/settings", data={"text.language": "klingon"})
    assert answer.status_code == 400


def test_the_first_settings_speak_in_words_and_the_others_are_folded(client):
    page = client.get("/settings").text
    first, _, rest = page.partition('<details class="advanced">')
    assert "in fewer than 3 documents" in first
    assert "Ignore rare words" in first
    assert "words|lower" not in first
    assert "words|lower" in rest
    assert "learning.C" in rest


@pytest.mark.parametrize("name", [*languages(), "any"])
def test_every_language_has_an_analyzer(name):
    analyzer = analyzer_of(name)
    assert str(Analyzer.parse(analyzer)) == analyzer
    assert language_of_analyzer(analyzer) == name


def test_every_choice_of_a_setting_is_called_by_words(client):
    form = form_fields(Settings("shelf"))
    chosen = [each for group in form.values() for each in group if each.choices]
    assert len(chosen) > 10
    yes_no = {"yes", "no"}
    for one in chosen:
        assert {*one.choices} - one.words.keys() <= yes_no, one.name
    page = client.get("/settings").text
    assert ">lbfgs<" not in page
    assert ">dom-dme<" not in page


def test_the_model_in_use_is_called_by_the_words_of_the_form(client):
    page = client.get("/settings/model").text
    shown, programs = page.split("For programs")
    assert "preference learning (plm)" in shown
    assert "words|lower" not in shown
    assert "<code>words|lower|stop(english)|snowball(english)</code>" in programs
    german = {"accept-language": "de"}
    assert "Englisch" in client.get("/settings/model", headers=german).text
