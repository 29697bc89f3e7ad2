"""Charts of studies: means and spreads are those of the rows, and what is drawn can be told."""

from __future__ import annotations

import json
from itertools import pairwise
from statistics import fmean

import pytest

from shoal.reports.charts.theme import COLOUR, PALETTE, draw_svg, join_title, tabulate_chart
from shoal.studies.pages.axes import TITLE, arrange_in_two_lines
from shoal.studies.pages.bars import draw_bars
from shoal.studies.pages.dots import draw_dots
from shoal.studies.pages.grid import draw_grid
from shoal.studies.pages.lines import draw_lines
from shoal.studies.pages.series_style import STEPS, TONES

WORDS = {"title": "What was found", "about": "Lines: what is drawn."}


def measured():
    return [
        {
            "data": data,
            "method": method,
            "k": k,
            "seed": seed,
            "hit": base / k + seed + 3 * (method == "b"),
        }
        for data, base in (("adult", 50.0), ("ipums", 90.0))
        for method in ("b", "a")
        for k in (10, 5)
        for seed in (0, 1, 2)
    ]


def values(spec):
    return spec["data"]["values"]


def drawn_text(spec) -> str:
    return draw_svg(spec)


@pytest.mark.parametrize("draw", [draw_lines, draw_bars])
def test_means_and_spreads_are_those_of_the_rows(draw):
    spec = draw(measured(), x="k", y="hit", by="method", panel="data", unit=" %", **WORDS)
    heads, rows = tabulate_chart(spec)
    assert heads == ("data", "method", "k", "hit", "Least", "Most", "Measurements")
    assert len(rows) == 8
    for data, method, k, mean, least, most, runs in rows:
        own = [
            row["hit"]
            for row in measured()
            if (row["data"], row["method"], str(row["k"])) == (data, method, str(k))
        ]
        assert (mean, least, most, runs) == (pytest.approx(fmean(own)), min(own), max(own), 3)
    assert join_title(spec) == "What was found"
    assert [one["title"]["text"] for one in spec["concat"]] == [["adult"], ["ipums"]]


def test_one_run_has_no_band_and_no_spread_in_its_table():
    rows = [row for row in measured() if row["seed"] == 0 and row["data"] == "adult"]
    spec = draw_lines(rows, x="k", y="hit", by="method", **WORDS)
    assert tabulate_chart(spec)[0] == ("method", "k", "hit")
    assert not [one for one in spec["layer"] if one["mark"]["type"] == "area"]
    again = draw_lines(measured(), x="k", y="hit", by="method", **WORDS)
    assert [one for one in again["layer"] if one["mark"]["type"] == "area"]


def test_what_was_not_measured_is_left_out():
    rows = [
        {"k": 5, "hit": None},
        {"k": None, "hit": 4.0},
        {"k": 10, "hit": float("nan")},
        {"k": 20, "hit": 7.0},
    ]
    for draw in (draw_lines, draw_bars, draw_dots):
        assert [one["mean"] for one in values(draw(rows, x="k", y="hit", by="", **WORDS))] == [7.0]
        assert join_title(draw(rows[:3], x="k", y="hit", by="", **WORDS)) == "Nothing was measured"


def test_numbers_are_in_their_order_and_say_what_they_are_of():
    spec = draw_lines(
        measured(), x="seed", y="hit", by="k", labels={"k": "k", "seed": "run"}, **WORDS
    )
    line = next(one for one in spec["layer"] if one["mark"]["type"] == "line")
    assert line["encoding"]["color"]["scale"]["domain"] == ["k = 5", "k = 10"]
    assert spec["encoding"]["x"]["axis"]["title"] == "run"
    beside = draw_bars(measured(), x="k", y="hit", by="", **WORDS)
    assert beside["encoding"]["x"]["scale"]["domain"] == ["5", "10"]


def test_series_differ_in_colour_and_in_shape():
    rows = [{"k": k, "hit": k + i, "method": f"m{i}"} for k in (1, 2) for i in range(9)]
    spec = draw_lines(rows, x="k", y="hit", by="method", **WORDS)
    points = next(one for one in spec["layer"] if one["mark"]["type"] == "point")
    line = next(one for one in spec["layer"] if one["mark"]["type"] == "line")
    colours, shapes = (points["encoding"][key]["scale"]["range"] for key in ("color", "shape"))
    dashes = line["encoding"]["strokeDash"]["scale"]["range"]
    looks = {(c, s, tuple(d)) for c, s, d in zip(colours, shapes, dashes, strict=True)}
    assert len(looks) == 9
    assert len(set(colours[:6])) == len(set(shapes[:6])) == 6


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """As WCAG 2 has it, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_lines_and_marks_stand_off_the_page_in_light_and_in_dark():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for tone in (*TONES, *STEPS):
        for mode in (0, 1):
            assert contrast(PALETTE[tone][mode], PALETTE["paper"][mode]) >= 3, (tone, mode)


def test_text_stands_off_the_page_in_light_and_in_dark():
    drawn = draw_bars(
        measured(),
        x="k",
        y="hit",
        by="method",
        **WORDS,
        theirs=[{"k": 5, "hit": 4, "said": "theirs"}],
    )
    words = [
        one for one in drawn["layer"] if one["mark"] != "bar" and one["mark"]["type"] == "text"
    ]
    front = {one["mark"]["color"] for one in words if "stroke" not in one["mark"]}
    names = [name for name, colour in COLOUR.items() if colour in front]
    assert sorted(names) == ["ink", "quiet"]
    for name in names:
        for mode in (0, 1):
            assert contrast(PALETTE[name][mode], PALETTE["paper"][mode]) >= 4.5, (name, mode)


def test_tones_are_in_order_where_the_series_are_numbers():
    def tones(values):
        rows = [{"k": 1, "hit": 2.0, "by": value} for value in values]
        spec = draw_lines(rows, x="k", y="hit", by="by", **WORDS)
        point = next(one for one in spec["layer"] if one["mark"]["type"] == "point")
        return point["encoding"]["color"]["scale"]["range"]

    assert tones([9, 5, 7]) == [COLOUR["step-1"], COLOUR["step-3"], COLOUR["step-6"]]
    assert tones(["a = b", "c = d", "e = f"]) == [COLOUR[one] for one in TONES[:3]]
    assert tones([True, False]) == [COLOUR[one] for one in TONES[:2]]


@pytest.mark.parametrize("draw", [draw_lines, draw_bars])
def test_large_numbers_that_are_nearly_alike_stay_apart(draw):
    rows = [
        {"x": 1234567 + i, "by": 7654321 + j, "panel": 2345678 + j, "y": float(10 * i + j)}
        for i in (0, 1)
        for j in (0, 1)
    ]
    spec = draw(rows, x="x", y="y", by="by", panel="panel", **WORDS)
    assert sorted(one["mean"] for one in values(spec)) == [0, 1, 10, 11]
    assert {one["by"] for one in values(spec)} == {"by = 7,654,321", "by = 7,654,322"}
    assert len(spec["concat"]) == 2


def test_runs_that_do_not_differ_have_no_band():
    rows = [{"k": k, "hit": 4.0, "seed": seed} for k in (1, 2) for seed in (0, 1)]
    for draw, mark in ((draw_lines, "area"), (draw_bars, "rule")):
        spec = draw(rows, x="k", y="hit", by="", **WORDS)
        kinds = [
            one["mark"] if one["mark"] == "bar" else one["mark"]["type"] for one in spec["layer"]
        ]
        assert mark not in kinds
        assert tabulate_chart(spec)[0][-1] == "Measurements"


def test_every_tick_of_a_crowded_axis_is_told():
    told = arrange_in_two_lines(
        ["10", "20", "25", "33", "50", "100"], [0, 0.3, 0.4, 0.52, 0.7, 1], 140
    )
    assert [line[-1] for line in told] == ["10", "20", "25", "33", "50", "100"]
    assert [len(line) for line in told] == [1, 1, 2, 1, 1, 1]
    rows = [{"x": x, "y": 1.0, "p": p} for x in (10, 20, 25, 33, 100) for p in "abc"]
    drawn = drawn_text(draw_lines(rows, x="x", y="y", by="", panel="p", log_x=True, **WORDS))
    assert drawn.count(">25<") == 3


def test_words_of_the_paper_do_not_lie_on_each_other():
    rows = [{"k": k, "hit": float(k)} for k in range(0, 101, 10)]
    theirs = [{"k": 10, "hit": y, "said": "paper: nearly"} for y in (40, 41, 42, 90)]
    spec = draw_lines(rows, x="k", y="hit", by="", theirs=theirs, **WORDS)
    (words,) = (
        one["data"]["values"]
        for one in spec["layer"]
        if one["mark"]["type"] == "text" and "stroke" not in one["mark"]
    )
    height, (low, high) = spec["height"], spec["encoding"]["y"]["scale"]["domain"]
    at = sorted(height * (1 - (one["mean"] - low) / (high - low)) + one["dy"] for one in words)
    assert len(at) == 4
    assert all(after - before >= 14.9 for before, after in pairwise(at))
    assert next(one["dy"] for one in words if one["mean"] == 90) == 0


def test_a_papers_figure_inside_a_bar_is_edged_and_told_above_it():
    rows = [{"x": x, "y": 8.0, "by": by} for x in "ab" for by in "cd"]
    spec = draw_bars(
        rows, x="x", y="y", by="by", theirs=[{"x": "a", "y": 3, "by": "d", "said": "3!"}], **WORDS
    )
    strokes = [
        one["mark"]
        for one in spec["layer"]
        if one["mark"] != "bar" and one["mark"]["type"] == "tick"
    ]
    assert [mark["color"] for mark in strokes] == [COLOUR["paper"], COLOUR["ink"]]
    assert strokes[0]["thickness"] > strokes[1]["thickness"]
    (word,) = spec["layer"][-1]["data"]["values"]
    assert (word["top"], word["mean"]) == (8.0, 3.0)


def test_a_long_title_is_folded():
    spec = draw_lines(measured(), x="k", y="hit", by="", title="words and words " * 9, about="a")
    assert len(spec["title"]) > 1
    assert max(map(len, spec["title"])) <= TITLE


def test_nothing_is_drawn_at_the_foot_of_a_logarithmic_scale_and_told_as_it_is():
    rows = [{"m": m, "checks": c, "verifier": "v"} for m, c in ((1, 0), (2, 30), (3, 900))]
    spec = draw_lines(rows, x="m", y="checks", by="verifier", log_y=True, **WORDS)
    assert [one["at"] for one in values(spec)] == [2.0, 30.0, 900.0]
    assert [row[-1] for row in tabulate_chart(spec)[1]] == [0.0, 30.0, 900.0]
    assert spec["encoding"]["y"]["scale"]["domain"] == [2.0, 1000.0]
    assert ">0</text>" in drawn_text(spec)  # the foot is called what it is


def test_the_papers_figures_stand_in_their_panel_with_their_words():
    theirs = [
        {"k": 5, "hit": 12, "method": "a", "data": "adult", "said": "paper: about 12 %"},
        {"k": 5, "hit": 200, "said": "everywhere"},
    ]
    spec = draw_lines(measured(), x="k", y="hit", by="method", panel="data", theirs=theirs, **WORDS)
    first, second = (json.dumps(one) for one in spec["concat"])
    assert "paper: about 12 %" in first
    assert "everywhere" in first
    assert "paper: about 12 %" not in second
    assert "everywhere" in second
    low, high = spec["concat"][0]["encoding"]["y"]["scale"]["domain"]
    assert low <= 12
    assert high >= 200
    # One panel alone is drawn without its name, and still has them.
    alone = [row for row in measured() if row["data"] == "adult"]
    for draw in (draw_lines, draw_bars):
        one = draw(alone, x="k", y="hit", by="method", panel="data", theirs=theirs, **WORDS)
        drawn = drawn_text(one)  # over a bar in as many lines as it is narrow
        assert "paper: about 12 %" in drawn or ("paper: about<" in drawn and ">12 %<" in drawn)


def test_every_row_is_a_dot_and_the_diagonal_ends_alike():
    rows = [{"real": i, "estimated": 2.0 * i, "by": "e"} for i in range(1, 40)]
    spec = draw_dots(rows, x="real", y="estimated", by="by", diagonal=True, **WORDS)
    assert len(values(spec)) == 39
    scales = [spec["encoding"][axis]["scale"]["domain"] for axis in ("x", "y")]
    assert scales[0] == scales[1]
    assert "the same" in drawn_text(spec)
    # Where one is far smaller than the other it has a scale of its own, and the line stays in it.
    flat = draw_dots(
        [{**row, "estimated": 90.0 + row["real"] / 9} for row in rows] + rows[:3],
        x="estimated",
        y="real",
        by="by",
        diagonal=True,
        **WORDS,
    )
    ends = [flat["encoding"][axis]["scale"]["domain"] for axis in ("x", "y")]
    line = flat["layer"][0]["data"]["values"]
    assert all(low <= one["x"] == one["mean"] <= high for one in line for low, high in ends)
    logs = draw_dots(rows, x="real", y="estimated", by="", log_x=True, log_y=True, **WORDS)
    assert logs["encoding"]["x"]["scale"]["type"] == "log"
    assert "the same" not in drawn_text(logs)


def test_a_table_is_printed_with_rows_set_off():
    rows = [
        {"race": "black", "zip": "0213*", "k": 2, "alone": False},
        {"race": None, "zip": "0214*", "k": 0.3333333, "alone": True},
    ]
    spec = draw_grid(
        rows, columns={"race": "Race", "zip": "ZIP", "k": "k"}, marked="alone", **WORDS
    )
    heads, told = tabulate_chart(spec)
    assert heads == ("Race", "ZIP", "k", "Set off")
    assert told == (("black", "0213*", "2", ""), ("–", "0214*", "0.333", "yes"))
    drawn = drawn_text(spec)
    assert all(f">{text}<" in drawn for text in ("Race", "0213*", "0214*", "0.333"))
    assert "Set off" not in tabulate_chart(draw_grid(rows, columns=["race"], **WORDS))[0]
    assert join_title(draw_grid([], columns=["race"], **WORDS)) == "The table has no rows"


EVIL = ["<b>&\"'", "a.b[0]", "datum['x']", "\x00null", "日本", "x" * 90]


@pytest.mark.parametrize("draw", [draw_lines, draw_bars])
def test_names_are_text_and_never_markup_or_expressions(draw):
    rows = [
        {evil: name, "by": evil, "panel": name, "y": 1.5}
        for name in ("a", EVIL[0])
        for evil in EVIL[:1]
    ]
    drawn = drawn_text(draw(rows, x=EVIL[0], y="y", by="by", panel="panel", **WORDS))
    assert "<b>" not in drawn
    every = [{"x": evil, "by": evil, "y": 2.5} for evil in EVIL]
    spec = draw(every, x="x", y="y", by="by", **WORDS)
    assert len(values(spec)) == len(EVIL)
    assert "datum[" in drawn_text(spec)  # as text


def test_a_printed_table_is_text():
    rows = [{"x": evil, EVIL[1]: evil} for evil in EVIL]
    drawn = drawn_text(draw_grid(rows, columns=["x", EVIL[1]], title=EVIL[0], about=EVIL[0]))
    assert "<b>" not in drawn
    assert all(text in drawn for text in ("&lt;b&gt;", "a.b[0]", "日本"))


def test_every_kind_of_axis_can_be_drawn():
    text = [{**row, "k": f"k = {row['k']}"} for row in measured()]
    for spec in (
        draw_lines(text, x="k", y="hit", by="method", **WORDS),
        draw_lines(
            measured(), x="k", y="hit", by="method", panel="seed", log_x=True, unit=" s", **WORDS
        ),
        draw_bars(text, x="k", y="hit", by="method", panel="seed", **WORDS),
        draw_bars([{"x": 1, "y": -3.0}, {"x": 2, "y": 0}], x="x", y="y", by="", **WORDS),
        draw_lines([{"x": 1, "y": 0}], x="x", y="y", by="", log_y=True, **WORDS),
    ):
        assert drawn_text(spec).startswith("<svg")
        assert json.dumps(spec, allow_nan=False)
