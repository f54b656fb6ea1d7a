"""Tables fit the screen, and say what they leave out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classmark.cli import output
from classmark.cli.output import columns_of, lay_out
from classmark.workbench.results import Column, Table

NAMES = ["learner", "wrong", "a long heading", "id", "note"]
cells = st.one_of(
    st.none(),
    st.integers(-(10**9), 10**9),
    st.floats(-1e6, 1e6),
    st.text(max_size=60),
    st.sampled_from(["蜂蜜と花粉について" * 4, "naïve café", "\x1b[31mred\x1b[0m"]),
)
tables = st.lists(
    st.fixed_dictionaries(dict.fromkeys(NAMES, cells)), min_size=1, max_size=5
)


def shown(capsys, monkeypatch, table, width=100, **options):
    monkeypatch.setenv("COLUMNS", str(width))
    output.show_table(table, **options)
    out = capsys.readouterr().out
    assert all(len(line) <= width for line in out.splitlines())
    return out


def wide(count=12, rows=2):
    row = {"name": "bees"} | {f"measure {i}": i / 7 for i in range(count)}
    return Table("Wide", [row] * rows)


@given(tables, st.integers(60, 120), st.booleans())
def test_no_line_is_wider_than_the_screen(rows, width, everything):
    from rich.cells import cell_len

    for line in lay_out(Table("T", rows), width, everything=everything)[0]:
        assert cell_len(line) <= width
        assert "\x1b" not in line


def test_the_last_columns_are_left_out_and_named(capsys, monkeypatch):
    out = shown(capsys, monkeypatch, wide())
    assert "measure 6" in out
    assert "4 columns left out (measure 8, measure 9, measure 10, measure 11)" in out
    assert "--all or --json" in out
    assert "left out" not in shown(capsys, monkeypatch, wide(), 160)


def test_every_column_is_below_the_first_where_all_are_asked_for(capsys, monkeypatch):
    out = shown(capsys, monkeypatch, wide(), 80, everything=True)
    assert all(f"measure {i}" in out for i in range(12))
    assert out.count("bees") == 4
    assert "--all" not in out


def test_one_row_that_is_too_wide_stands_upright(capsys, monkeypatch):
    out = shown(capsys, monkeypatch, wide(rows=1), 60)
    assert "  measure 11  1.5714\n" in out
    assert "left out" not in out


def test_long_texts_are_cut_and_whole_with_all(capsys, monkeypatch):
    text = "what belongs here and what does not " * 5
    rows = [{"id": "nature.animals.insects", "n": 1, "scope note": text.strip()}] * 2
    out = shown(capsys, monkeypatch, Table("Taxonomy", rows), 80)
    assert "nature.animals.insects" in out, "the widest text is cut first"
    assert "…" in out
    assert "texts that end in … go on: --all or --json" in out
    out = shown(capsys, monkeypatch, Table("Taxonomy", rows), 80, everything=True)
    assert "…" not in out
    assert out.count("what") == 20
    columns = [Column("scope note", wrap=True)]
    assert "…" not in shown(capsys, monkeypatch, Table("T", rows, "", columns), 80)


def test_columns_have_headings_numbers_and_an_order():
    rows = [{"learner": "plm", "tested": 204, "one_error": 0.1078}] * 2
    columns = [
        Column("learner"),
        Column("one_error", "wrong at\nthe top", ".1%", "least"),
        Column("tested", brief=False),
    ]
    table = Table("Evaluation", rows, "", columns, "measures")
    first, second, _, third, _ = lay_out(table, 80)[0]
    assert first.split() == ["wrong", "at"]
    assert second.split() == ["learner", "the", "top"]
    assert third.split() == ["plm", "10.8", "%"]
    assert [column.name for column in columns_of(table)] == [
        "learner", "one_error", "tested",
    ]  # fmt: skip


def test_what_is_not_shown_is_counted(capsys, monkeypatch):
    rows = [{"learner": "plm", "loss1": 0.5}, {"learner": "mmp", "loss1": 0.7}]
    columns = [Column("loss1", meaning="the first of them", brief=False)]
    table = Table("Evaluation", rows, "a note", columns, "measures")
    out = shown(capsys, monkeypatch, table, remedy="classmark evaluate --all")
    assert "a note\n  1 more measure: classmark evaluate --all\n" in out
    out = shown(capsys, monkeypatch, table, everything=True)
    assert "loss1: the first of them" in out
    assert "more measure" not in out


@pytest.mark.parametrize(("best", "value"), [("least", "0.5000"), ("greatest", "0.7")])
def test_the_best_value_is_bold_on_a_terminal(monkeypatch, best, value):
    rows = [{"learner": "plm", "loss": 0.5}, {"learner": "mmp", "loss": 0.7}]
    table = Table("T", rows, "", [Column("learner"), Column("loss", best=best)])
    assert not any("\x1b" in line for line in lay_out(table, 80)[0])
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    (marked,) = (line for line in lay_out(table, 80)[0] if "\x1b[1m" in line)
    assert value in marked


def test_sentences_are_wrapped_and_paths_are_not_parted(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    path = "/very/long/" + "folder/" * 12 + "plot.svg"
    output.tell(f"a sentence of some length, and then the plot: {path} there", "  ")
    assert path in capsys.readouterr().out
    output.tell("x" * 53 + " and 92 % likely")
    assert "and\n92 % likely" in capsys.readouterr().out
    output.tell(output.parts_of({f"term{i}": 0.5 for i in range(20)}), " = ")
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert all(line.startswith("   ") for line in lines[1:])
    assert all(line.endswith("+0.500") for line in lines)


def test_without_a_terminal_there_are_100_columns(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("os.get_terminal_size", refuse)
    assert output.screen_width() == 100


def refuse(*_):
    raise OSError
