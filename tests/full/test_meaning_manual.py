"""The page on meaning: its Python runs, with the extra's own table."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent.parent / "docs" / "meaning.md").read_text()


@pytest.mark.needs("wordllama")
def test_the_python_runs(capsys):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(block, "meaning.md", "exec"), names)  # noqa: S102, our own words
    *suggestions, stored, first, second, third = capsys.readouterr().out.splitlines()
    assert len(suggestions) == 3
    assert all(
        re.fullmatch(r".+: [+-]\d+\.\d\d words, [+-]\d+\.\d\d meaning", line)
        for line in suggestions
    )
    assert stored.startswith("610 vectors, ")
    for hit in (first, second, third):
        assert re.fullmatch(r".+: \d\.\d\d words, \d\.\d\d meaning", hit)
