"""The manual cannot lie: what it lists is what there is."""

import importlib.util
import re
from pathlib import Path

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


def test_pages_link_only_to_pages_that_exist():
    for page in DOCS.glob("*.md"):
        for target in re.findall(r"\]\(([\w/.-]+\.md)\)", page.read_text()):
            assert (DOCS / target).exists(), f"{page.name}: {target}"
