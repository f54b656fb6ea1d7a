"""The examples of "Adding to Classmark" run, and say what the page says."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

import classmark as cm
from classmark.formats import READERS
from classmark.measures import MEASURES

PAGE = (Path(__file__).parent.parent / "docs" / "extending.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(autouse=True)
def entries_are_taken_out_again():
    saved = [(each, dict(each)) for each in (cm.LOSSES, cm.MODELS, READERS, MEASURES)]
    yield
    for registry, before in saved:
        registry.clear()
        registry.update(before)


def test_the_examples_print_what_the_page_shows(tmp_path):
    assert len(EXAMPLES) == 5
    names = {"folder": tmp_path}
    for code, shown in EXAMPLES:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(code, "extending.md", "exec"), names)  # noqa: S102, our own words
        assert printed.getvalue() == shown
