"""Figures as SVG: places, labels, hostile text, nothing to draw, the same bytes."""

import math
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from defusedxml.ElementTree import fromstring

from classmark.evaluation.figures import (
    learning_curves,
    learning_panel,
    power_laws,
    rank_curves,
    sweep_curve,
)
from classmark.figures import (
    FONT,
    HUES,
    Axis,
    Figure,
    Panel,
    Series,
    require_svg,
    svg,
    text_width,
    write_figure,
)
from classmark.problems import Mistake

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('x')</script> & \"quoted\" \x00\x1b\ud800 分類"


def drawn(figure):
    return fromstring(svg(figure))


def one(series, x=None, y=None, **options):
    panel = Panel(series, x or Axis("across"), y or Axis("up"))
    return Figure("A title", [panel], **options)


def texts(root):
    return {element.text: element for element in root.iter(f"{SVG}text")}


def place(element, *names):
    return tuple(float(element.get(name)) for name in names)


def tick_lines(root, axis):
    """From a tick's label to its place, as told by the labels' positions."""
    anchor, name, shift = {"x": ("middle", "x", 0), "y": ("end", "y", 4.5)}[axis]
    return {
        float(element.text.replace("−", "-").replace(",", "")): float(element.get(name))
        - shift
        for element in root.iter(f"{SVG}text")
        if element.get("text-anchor") == anchor and element.text[-1:].isdigit()
    }


def lines(root, color):
    return [
        [tuple(map(float, pair.split(","))) for pair in element.get("points").split()]
        for element in root.iter(f"{SVG}polyline")
        if element.get("stroke") == color
    ]


def boxes(root):
    """The rectangles that texts cover, turned ones left out."""
    found = {}
    for element in root.iter(f"{SVG}text"):
        if element.get("transform"):
            continue
        x, y = place(element, "x", "y")
        size = float(element.get("font-size", FONT))
        width = text_width(element.text, size)
        anchor = element.get("text-anchor", "start")
        left = x - width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
        found[element.text, x, y] = (left, y - 0.8 * size, left + width, y + 0.2 * size)
    return found


def assert_readable(root):
    """No text upon another, none outside the drawing."""
    width, height = place(root, "width", "height")
    for left, top, right, bottom in boxes(root).values():
        assert left >= 0
        assert top >= 0
        assert right <= width
        assert bottom <= height
    for (one_text, a), (other, b) in combinations(boxes(root).items(), 2):
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart, (one_text, other)


def test_the_file_says_what_it_is(tmp_path):
    write_figure(one([Series("a", [(0, 0), (1, 1)])]), tmp_path / "new" / "plot.svg")
    text = (tmp_path / "new" / "plot.svg").read_text(encoding="utf-8")
    root = fromstring(text.encode())
    assert text.startswith("<?xml")
    assert root.tag == f"{SVG}svg"
    assert (root.get("role"), root.get("aria-label")) == ("img", "A title")
    assert root.find(f"{SVG}title").text == "A title"
    width, height = root.get("width"), root.get("height")
    assert root.get("viewBox") == f"0 0 {width} {height}"
    assert {"A title", "across", "up"} <= set(texts(root))


@pytest.mark.parametrize("log", [False, True])
def test_points_stand_where_the_ticks_say(log):
    points = [(1, 0.01), (10, 0.5), (100, 1)] if log else [(0, 5), (2, 20), (4, 10)]
    series = Series("", points, HUES[2], dots=3)
    root = drawn(one([series], Axis("x", log=log), Axis("y", log=log)))
    across, up = tick_lines(root, "x"), tick_lines(root, "y")
    circles = [
        place(element, "cx", "cy")
        for element in root.iter(f"{SVG}circle")
        if element.get("fill") == HUES[2]
    ]
    assert len(circles) == 3
    assert lines(root, HUES[2]) == [circles]
    checked = 0
    for (x, y), (cx, cy) in zip(points, circles, strict=True):
        for value, ticks, at in ((x, across, cx), (y, up, cy)):
            if value in ticks:
                assert at == pytest.approx(ticks[value], abs=0.11)
                checked += 1
    assert checked >= 5


def test_values_that_have_no_place_cut_the_line():
    values = [1.0, 2.0, math.nan, 3.0, 4.0, 0.0, 5.0, math.inf]
    series = Series("a", list(enumerate(values, 1)))
    root = drawn(one([series], y=Axis("y", log=True), labels="end"))
    assert [len(run) for run in lines(root, HUES[0])] == [2, 2]
    assert len(list(root.iter(f"{SVG}circle"))) == 1  # 5.0 stands alone


def test_the_ends_of_an_axis_are_those_named_unless_values_lie_beyond():
    line = Series("", [(0, 0.2), (1, 1.5)])
    root = drawn(one([line], x=Axis("x", low=0, high=1), y=Axis("y", low=0, high=1)))
    up = tick_lines(root, "y")
    assert up[0] == max(up.values())
    assert 1.5 in up
    frame = lines(root, "#d9d5cb")[0]
    (run,) = lines(root, HUES[0])
    assert [run[0][0], run[-1][0]] == pytest.approx([frame[0][0], frame[1][0]])
    assert all(place[1] > 0 for place in run)


@pytest.mark.parametrize("side", ["start", "end"])
def test_labels_stand_beside_their_lines_and_not_upon_another(side):
    series = [
        Series(f"line {n}", [(0, 1 + n / 1e4), (1, 2 - n / 1e4)], HUES[n % 6])
        for n in range(8)
    ]
    root = drawn(one(series, labels=side))
    assert_readable(root)
    for n in range(8):
        label = texts(root)[f"line {n}"]
        assert label.get("fill") == HUES[n % 6]
        first, last = lines(root, HUES[n % 6])[0]
        near = first[0] if side == "start" else last[0]
        assert abs(float(label.get("x")) - near) < 12


def test_labels_without_room_beside_the_lines_are_a_legend():
    long = [
        Series(f"a very long name of a learner {n}" * 2, [(0, n)]) for n in range(3)
    ]
    many = [Series(f"line {n}", [(0, n), (1, n)], HUES[n % 6]) for n in range(30)]
    for series in (long, many):
        root = drawn(one(series, labels="end"))
        assert_readable(root)
        assert {entry.name for entry in series} <= set(texts(root))


def test_long_texts_are_cut_to_the_drawing():
    title = "x" * 500
    root = drawn(Figure(title, [Panel([Series("y" * 500, [(0, 1)])], Axis(), Axis())]))
    assert_readable(root)
    assert root.find(f"{SVG}title").text == title


def test_hostile_text_is_text():
    series = Series(HOSTILE, [(0, 1), (1, 2)])
    axes = Axis(HOSTILE), Axis(HOSTILE)
    figure = Figure(HOSTILE, [Panel([series], *axes, HOSTILE)], labels="end")
    root = drawn(figure)
    assert not list(root.iter(f"{SVG}script"))
    clean = HOSTILE.replace("\x00", "�").replace("\x1b", "�").replace("\ud800", "�")
    assert root.get("aria-label") == root.find(f"{SVG}title").text == clean
    assert clean in texts(root)
    svg(figure).encode()


def test_nothing_to_draw_is_an_empty_frame():
    for series in ([], [Series("none", [])], [Series("none", [(math.nan, 1)])]):
        for log in (False, True):
            root = drawn(one(series, Axis("x", log=log), Axis("y", log=log)))
            assert "none" not in texts(root)
            assert "x" in texts(root)
    assert drawn(Figure("No panels", [])).find(f"{SVG}title") is not None


@pytest.mark.parametrize("value", [0.0, 1.0, -3.5, 1e-12, 1e12])
def test_a_single_point_is_seen_inside_the_frame(value):
    root = drawn(one([Series("alone", [(value, value)])]))
    (circle,) = [c for c in root.iter(f"{SVG}circle") if c.get("r") == "2.5"]
    width, height = place(root, "width", "height")
    x, y = place(circle, "cx", "cy")
    assert 0 < x < width
    assert 0 < y < height


def test_a_long_level_curve_takes_few_bytes():
    curve = [(n, min(1.0, n / 50)) for n in range(100_000)]
    assert len(svg(one([Series("a", curve)]))) < 6000


def test_equal_data_give_equal_bytes():
    rng = np.random.default_rng(0)
    points = [tuple(pair) for pair in rng.random((50, 2))]
    assert svg(one([Series("a", points)])) == svg(one([Series("a", list(points))]))


def test_panels_share_a_legend_only_if_their_names_are_the_same():
    def panel(*names):
        return Panel([Series(name, [(0, 1), (1, 2)]) for name in names], Axis(), Axis())

    shared = drawn(Figure("t", [panel("a", "b")] * 4, columns=3, size=(300, 240)))
    own = drawn(Figure("t", [panel("a"), panel("b")], columns=2, size=(300, 240)))
    words = [element.text for element in shared.iter(f"{SVG}text")]
    assert (words.count("a"), words.count("b")) == (1, 1)
    assert {"a", "b"} <= set(texts(own))
    for root in (shared, own):
        assert_readable(root)


def test_only_svg_is_written(tmp_path):
    require_svg(tmp_path / "a.svg")
    with pytest.raises(Mistake, match=r"a\.png: a plot is SVG: .* ends in \.svg"):
        write_figure(one([]), tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_every_kind_of_curve_is_readable(tmp_path):
    rounds = [1, 10, 100, 1000]
    curves = {
        name: (rounds, [0.5, 0.4, 0.2, 0.1]) for name in ("plm", "mmp", "rocchio")
    }
    path = tmp_path / "plot.svg"
    panels = [learning_panel(f"loss {n}", curves, log=n > 1) for n in range(1, 6)]
    for draw in (
        lambda: rank_curves({"plm": [0.9, 1.0], "mmp": [0.9, 1.0]}, path, "Ranks"),
        lambda: power_laws(curves, path, "Laws"),
        lambda: sweep_curve(curves, path, "Sweep", ("b", "map")),
        lambda: learning_curves(panels, path, "Learning"),
    ):
        draw()
        root = fromstring(path.read_bytes())
        assert_readable(root)
        said = " ".join(texts(root))
        assert all(name in said for name in ("plm", "mmp"))


def test_a_power_law_has_its_slope_and_a_lone_point_none(tmp_path):
    sizes = np.array([1e3, 1e4, 1e5, 0.0])
    series = {"falling": (sizes, 1e6 / (sizes + (sizes == 0))), "alone": ([1], [2])}
    power_laws(series, tmp_path / "laws.svg", "Laws")
    words = texts(fromstring((tmp_path / "laws.svg").read_bytes()))
    assert {"falling: slope −1.00", "alone"} <= set(words)


def test_a_sweep_has_a_ring_at_the_best(tmp_path):
    sweep_curve({"": ([0, 1, 2], [3, 5, 4])}, tmp_path / "s.svg", "S", ("b", "map"))
    root = fromstring((tmp_path / "s.svg").read_bytes())
    (ring,) = [c for c in root.iter(f"{SVG}circle") if c.get("fill") == "none"]
    dots = [place(c, "cx", "cy") for c in root.iter(f"{SVG}circle") if c is not ring]
    assert place(ring, "cx", "cy") == min(dots, key=lambda dot: dot[1])
    sweep_curve({"a": ([], [])}, tmp_path / "none.svg", "None", ("b", "map"))


def test_commands_draw_without_matplotlib(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from pathlib import Path\n"
        "from classmark.workbench.learning import evaluate, stream\n"
        "from classmark.workbench.search import rankers, tune\n"
        "from classmark.workbench.categories import report\n"
        "from classmark.workbench.examples import screening\n"
        "from classmark.evaluation.figures import rank_curves\n"
        "rank_curves({'plm': [0.5, 1.0]}, Path(sys.argv[1]), 'Ranks')\n"
    )
    path = tmp_path / "ranks.svg"
    subprocess.run([sys.executable, "-c", code, path], check=True)  # noqa: S603
    assert path.exists()
