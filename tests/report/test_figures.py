"""Figures of a reproduction: every style, the same bytes, names that say whose numbers they are."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest
import reproduced as made_up

from airqueue.plots.parts import FORMATS
from airqueue_papers.drawing import draw
from airqueue_papers.figure_work import figure, inputs
from airqueue_papers.picture import Panel, PaperFigure, Series

BEGINNINGS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}


def svg(*series, stacked=False, panels=1, **axes):
    panel = Panel("title", "x", "y", series, **axes)
    (content,) = draw(PaperFigure("p", "P", (panel,) * panels), "svg", stacked=stacked)
    return content.decode()


def words(content):
    """Return what is written in a picture: Matplotlib says it beside the outlines."""
    return re.findall(r"<!-- (.*?) -->", content)


def size(content):
    return [float(each) for each in ET.fromstring(content).get("viewBox").split()[2:]]


def test_every_format_is_drawn_and_the_same_each_time():
    picture = PaperFigure("p", "P", (Panel("", "x", "y", made_up.pictures()[1].panels[0].series),))
    first, second = draw(picture, *FORMATS), draw(picture, *FORMATS)
    assert first == second
    for content, file_format in zip(first, FORMATS, strict=True):
        assert content.startswith(BEGINNINGS[file_format])


def test_panels_stand_side_by_side_or_are_stacked():
    series = Series("a", (1.0, 2.0), (3.0, 4.0))
    wide, high = size(svg(series, panels=2)), size(svg(series, panels=2, stacked=True))
    assert wide[0] > 2 * wide[1]
    assert high[1] > high[0]


def test_the_papers_numbers_are_named_as_such():
    ours = Series("50 packets", (1.0, 2.0), (3.0, 4.0))
    theirs = Series("50 packets", (1.0,), (3.5,), style="points", printed=True)
    assert {"50 packets", "50 packets, printed"} <= set(words(svg(ours, theirs)))


def test_the_papers_numbers_are_hollow():
    theirs = Series("theirs", (1.0, 2.0), (3.0, 4.0), style="points", printed=True)
    ours = Series("ours", (1.0, 2.0), (3.0, 4.0), style="points")
    assert "stroke: #6b6b6b" in svg(theirs)
    assert not re.search(r'style="fill: #6b6b6b', svg(theirs))
    assert "#6b6b6b" not in svg(ours)


def test_bars_of_one_colour_are_told_apart():
    def bars(count):
        return [Series(str(n), ("x",), (1.0,), style="bars") for n in range(count)]

    assert "<pattern" not in svg(*bars(6))
    assert "<pattern" in svg(*bars(7))


def test_one_series_needs_no_legend():
    assert "only" not in words(svg(Series("only", (1.0, 2.0), (3.0, 4.0))))


def test_words_are_categories_in_their_order():
    written = words(svg(Series("a", ("low", "high"), (1.0, 2.0), style="bars")))
    assert written.index("low") < written.index("high")


def test_long_categories_are_all_written():
    names = tuple(f"long-category-{n}" for n in range(9))
    assert set(names) <= set(words(svg(Series("a", names, (1.0,) * 9, style="bars"))))


def test_very_long_categories_stand_upright_and_make_the_figure_higher():
    names = tuple(f"802.11n, mac80211, CWmin {n} at the access point" for n in range(7))
    series = Series("a", names, (1.0,) * 7, style="bars")
    high, plain = svg(series), svg(Series("a", tuple("abcdefg"), (1.0,) * 7, style="bars"))
    assert size(high)[1] > size(plain)[1] + 72
    assert "CWmin 6 at the access point" in words(high) or "rotate(-90)" in high


def test_words_on_one_axis_with_numbers_are_one_set_of_categories():
    series = Series("a", ("1", "many"), (1.0, 2.0)), Series("b", (1.0, "many"), (1.0, None))
    assert "many" in words(svg(*series))


@pytest.mark.parametrize("style", ["line", "points", "bars", "steps", "band"])
def test_gaps_and_missing_intervals_are_drawn_as_such(style):
    gaps = Series(
        "a", (1.0, 2.0, 3.0), (1.0, None, 2.0), (0.5, None, None), (1.5, None, 2.5), style
    )
    nothing = Series("b", (1.0, 2.0), (None, None), style=style)
    assert "nan" not in svg(gaps, nothing).lower()


@pytest.mark.parametrize("style", ["line", "points", "bars", "steps", "band"])
def test_logarithmic_axes_have_plain_numbers(style):
    x = (10.0, 20.0, 50.0, 100.0, 1000.0)
    content = svg(
        Series("a", x, (0.001, 0.02, 0.3, 4.0, 50.0), style=style), log_x=True, log_y=True
    )
    assert {"10", "100", "1000", "0.01", "0.1", "1"} <= set(words(content))
    assert not any("^" in word or "mathdefault" in word for word in words(content))


def test_many_decades_have_powers_of_ten():
    written = words(svg(Series("a", (1.0, 2.0), (1e-9, 1.0)), log_y=True))
    assert {"10⁻⁶", "1"} <= set(written) or {"10⁻⁷", "1"} <= set(written)


def test_a_logarithmic_axis_leaves_zero_out():
    assert "1" in words(svg(Series("a", (1.0, 2.0, 3.0), (0.0, 1.0, 10.0)), log_y=True))


def test_ticks_of_a_logarithmic_axis_do_not_touch():
    x = (90.0, 95.0, 100.0, 105.0, 1000.0)
    written = words(svg(Series("a", x, (1.0,) * 5), log_x=True))
    assert {"90", "1000"} <= set(written)
    assert "95" not in written


@pytest.mark.parametrize("zero", [True, False])
def test_the_vertical_axis_begins_at_zero_unless_told_otherwise(zero):
    written = words(svg(Series("a", (1.0, 2.0), (100.0, 110.0)), zero=zero))
    numbers = [float(word) for word in written if re.fullmatch(r"[0-9.]+", word)]
    assert (0.0 in numbers) is zero


@pytest.mark.parametrize("log_x", [True, False])
@pytest.mark.parametrize("style", ["line", "points", "bars", "steps", "band"])
def test_the_axes_hold_what_is_drawn(style, log_x):
    series = [
        Series(name, (100.0, 200.0, 900.0), (20.0, 30.0, 70.0), (10.0,) * 3, (80.0,) * 3, style)
        for name in "ab"
    ]
    found = [float(word) for word in words(svg(*series, log_x=log_x)) if word.isdecimal()]
    assert {20.0, 40.0, 60.0} <= set(found)
    assert max(found) >= 800.0


def test_an_interval_below_zero_does_not_move_the_axis():
    series = Series("a", (1.0, 2.0), (1.0, 2.0), (-5.0, 1.0), (7.0, 3.0))
    assert not any(word.startswith("−") for word in words(svg(series)))


def test_a_dollar_begins_no_formula():
    content = svg(Series("$x_1$", (1.0,), (1.0,)), Series("b", (1.0,), (2.0,)))
    assert "$x_1$" in "".join(words(content)).replace("\\", "")


def test_what_is_not_finite_is_a_gap_and_words_stay_words():
    numbers = Series("a", (1.0, 2.0), (float("nan"), 2.0), (float("-inf"), 1.0), (3.0, 4.0))
    named = Series("b", ("low", "high"), (1.0, None), style="bars", printed=True)
    picture = PaperFigure(
        "p", "P", (Panel("t", "x", "y", (numbers,)), Panel("u", "x", "y", (named,)))
    )
    described = json.loads(json.dumps(inputs(picture), allow_nan=False))
    assert described["panels"][0]["series"][0]["y"] == [None, 2.0]
    assert described["panels"][0]["series"][0]["low"] == [None, 1.0]
    files = figure(described)
    assert files["svg"].encode() == draw(picture, "svg")[0]
    assert {"low", "high"} <= set(words(files["narrow"]))


def test_a_panel_without_any_series_is_drawn():
    assert "title" in words(svg())


def test_the_legend_shows_the_marks_of_points_however_many_there_are():
    x = tuple(float(k) for k in range(60))
    drawn = svg(Series("points", x, x, style="points"), Series("line", x, x))
    legend = drawn[drawn.index('<g id="legend_1">') :]
    assert len(re.findall(r'<use xlink:href="#m[0-9a-f]+"', legend)) == 1
