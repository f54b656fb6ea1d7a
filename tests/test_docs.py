"""The manual cannot lie: what it lists is what there is."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def test_the_commands_page_is_what_the_commands_say():
    spec = importlib.util.spec_from_file_location("pages", DOCS / "make_commands.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (DOCS / "commands.md").read_text()
    assert written == module.pages(), "run python docs/make_commands.py"


def test_every_measure_is_documented():
    from classmark.measures.retrieval import MEASURES

    page = (DOCS / "measures.md").read_text()
    missing = [name for name in MEASURES if f"`{name}" not in page]
    assert not missing


def test_every_reader_is_documented_with_its_test_file():
    from classmark.formats import READERS

    page = (DOCS / "formats.md").read_text()
    missing = [name for name in READERS if f"`{name}`" not in page]
    assert not missing


def test_every_tutorial_is_linked_and_its_page_is_in_the_manual():
    page = (DOCS / "tutorials.md").read_text()
    linked = set(re.findall(r"\]\((tutorials/[\w-]+\.ipynb)\)", page))
    assert linked == {f"tutorials/{path.name}" for path in DOCS.glob("tutorials/*")}
    assert "\ntutorials\n" in (DOCS / "index.md").read_text()
    assert "docs/tutorials.md" in (DOCS.parent / "README.md").read_text()


def test_pages_link_only_to_pages_that_exist():
    for page in DOCS.glob("*.md"):
        for target in re.findall(r"\]\(([\w/.-]+\.md)\)", page.read_text()):
            assert (DOCS / target).exists(), f"{page.name}: {target}"


ROOT = DOCS.parent
STATUS = re.compile(r"done|done, differs: \S.*|cannot be had: \S.*")


def seed_rows():
    """The rows of docs/seeds.md: item, places and status."""
    page = (DOCS / "seeds.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line[1:-1].split(" | ")] for line in lines]
    return [row for row in rows if row[0] != "item"]


def seed_places(kind):
    """What stands in backticks in the rows' second or third column and is of a kind."""
    places = [
        place for row in seed_rows() for cell in row[1:] for place in in_code(cell)
    ]
    return [place for place in places if kind_of(place) == kind]


def in_code(cell):
    return re.findall(r"`([^`]+)`", cell)


def kind_of(place):
    if place.startswith("classmark "):
        return "command"
    if place.startswith("cm."):
        return "call"
    return "test" if "::" in place else "file" if "." in place else "word"


def test_every_item_of_the_five_documents_has_a_place_and_a_status():
    rows = seed_rows()
    assert len(rows) > 280
    for item, *cells in rows:
        assert len(cells) == 2, item
        assert in_code(cells[0]), item
        assert STATUS.fullmatch(cells[1]), (item, cells[1])
        assert not re.search("missing|pending", cells[1]), (item, cells[1])


def test_what_is_done_of_the_five_documents_has_a_test_or_a_benchmark():
    for item, places, status in seed_rows():
        kinds = {kind_of(place) for place in in_code(places)}
        measured = "benchmarks/" in places or "benchmarks.md" in places
        assert status.startswith("cannot") or "test" in kinds or measured, item


def test_files_and_tests_of_the_five_documents_exist():
    for place in seed_places("file") + seed_places("test"):
        path, _, name = place.partition("::")
        own = [ROOT / path, ROOT / "src" / "classmark" / path]
        files = [file for file in own if file.is_file()]
        assert files, place
        if name:
            assert f"\ndef {name}(" in files[0].read_text(), place


def test_calls_of_the_five_documents_exist():
    import inspect
    from functools import reduce

    import classmark

    for place in seed_places("call"):
        name, _, rest = place.removeprefix("cm.").partition("(")
        call = reduce(getattr, name.split("."), classmark)
        for parameter in re.findall(r"(\w+)=", rest):
            assert parameter in inspect.signature(call).parameters, place


def test_commands_of_the_five_documents_have_the_options_shown():
    import typer

    from classmark.cli.main import app
    from reproductions import PAPERS

    root = typer.main.get_command(app)
    for place in seed_places("command"):
        words = place.split()[1:]
        command = root
        while hasattr(command, "commands"):
            assert words[0] in command.commands, place
            command = command.commands[words.pop(0)]
        params = command.get_params(typer.Context(command))
        options = {name for one in params for name in one.opts}
        for word in words:
            assert not word.startswith("--") or word in options, (place, word)
        if command.name == "reproduce":
            assert words[0] in PAPERS, place


OF_THE_WORKBENCH = (
    "desk engineer finding history importing inbox like owner pages projects "
    "researcher review search workbench"
)


def names_of_buttons(page):
    """What is in bold within a line, or in italics, and begins with a capital.

    What ends with a point begins a paragraph; an arrow leads from page to page.
    """
    text = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    bold = r"(?<=[^\n*-] )\*\*([A-Z][^*\n]{1,60})\*\*(?!\*)"
    italic = r"(?<!\*)\*([A-Z][^*\n]{1,60})\*(?!\*)"
    named = re.findall(bold, text) + re.findall(italic, text)
    parts = [part.strip(" …") for name in named for part in name.split("→")]
    return [part for part in parts if part[-1] not in ".?"]


@pytest.mark.needs("babel")
def test_buttons_that_the_manual_names_are_on_the_pages():
    from babel.messages.pofile import read_po

    template = ROOT / "src" / "classmark" / "locale" / "classmark.pot"
    with template.open("rb") as file:
        texts = {m.id if isinstance(m.id, str) else m.id[0] for m in read_po(file)}
    texts |= {text.partition(" <")[0].removesuffix(" …") for text in texts}
    named = [
        (name, page)
        for page in OF_THE_WORKBENCH.split()
        for name in names_of_buttons((DOCS / f"{page}.md").read_text())
    ]
    assert len(named) > 50
    missing = [pair for pair in named if pair[0] not in texts]
    assert not missing
