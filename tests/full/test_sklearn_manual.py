"""What the manual for scikit-learn's users shows, runs."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "sklearn.md").read_text()


def test_the_python_runs_and_says_what_it_should(capsys):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(block, "sklearn.md", "exec"), names)  # noqa: S102, our own words
    shown = capsys.readouterr().out
    assert shown.startswith("['nature']")
    assert "nan" not in shown
    assert "this Rocchio is not fitted: call fit first" in shown
    assert shown.endswith("True\n")
