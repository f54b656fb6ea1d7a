"""One decision, from the key press to disk and to the ranker, enters few files."""

import sys
from pathlib import Path

import classmark
from classmark.web.decide import DecisionForm, _accept

ROOT = f"{Path(classmark.__file__).parent}/"
FUNCTION = 1  # a flag of a function's code, which modules and classes lack
MOST = 18  # of web and workbench; the engine below them is another twenty


def files_entered(work):
    """The files of Classmark in which ``work`` calls a function, in order."""
    files = {}

    def profile(frame, event, _):
        name = frame.f_code.co_filename
        is_ours = name.startswith(ROOT) and frame.f_code.co_flags & FUNCTION
        if event == "call" and is_ours:
            files.setdefault(name.removeprefix(ROOT))

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(files)


def test_a_decision_is_written_and_learned_through_few_files(desk, client):
    client.get("/decide/new-0")
    assert desk.learned(30)
    desk.background.stop()
    form = DecisionForm(act="accept", assign=["bread"])
    written = files_entered(lambda: _accept(desk, "new-0", form, "ada"))
    learned = files_entered(desk.service.learn)
    assert desk.service.upto == desk.state.upto
    files = dict.fromkeys([*written, *learned])
    above = [name for name in files if name.startswith(("web/", "workbench/"))]
    assert len(above) <= MOST, above
