"""What every kind of chart promises: true sizes in print, fonts inside, text that can be read."""

from __future__ import annotations

import re
import zlib
from functools import cache

import altair
import pytest

from mindshare.figures import Figure, render
from mindshare.figures.figure import CHARTS
from mindshare.figures.theme import Style

from .drawing import assert_fits, drawn, panels, words
from .kinds import KINDS

WIDTHS = ("8.5cm", "17cm", "column", "page")
CENTIMETRES = {"8.5cm": 8.5, "17cm": 17.0, "column": 3.4 * 2.54, "page": 7.0 * 2.54}
_STREAM = re.compile(rb"stream\r?\n(.*?)endstream", re.DOTALL)


@cache
def figure(kind: str, width: str) -> Figure:
    return KINDS[kind](width=width)


def pdf_objects(page: bytes) -> bytes:
    """The file with every compressed stream unpacked: fonts may be described inside one."""
    unpacked = [page]
    for stream in _STREAM.findall(page):
        try:
            unpacked.append(zlib.decompressobj().decompress(stream))
        except zlib.error:  # not compressed
            continue
    return b"\n".join(unpacked)


def test_every_chart_function_is_among_them() -> None:
    drawn_by = {figure(kind, "17cm").source.chart for kind in KINDS}  # type: ignore[union-attr]
    assert drawn_by == set(CHARTS)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_print_is_as_wide_as_promised_with_its_fonts_inside(kind: str, width: str) -> None:
    picture = render.draw(figure(kind, width).spec)
    svg = picture.svg(title="", description="")
    (inches,) = re.findall(r'^<svg[^>]* width="([\d.]+)in"', svg)
    assert float(inches) * 2.54 == pytest.approx(CENTIMETRES[width], abs=0.001)
    objects = pdf_objects(picture.pdf())
    box = re.search(rb"/MediaBox ?\[([^\]]*)\]", objects)
    assert box is not None
    left, _, right, _ = (float(x) for x in box[1].split())
    assert (right - left) / 72 * 2.54 == pytest.approx(CENTIMETRES[width], abs=0.005)
    described = len(re.findall(rb"/Type ?/FontDescriptor", objects))
    embedded = len(re.findall(rb"/FontFile[23]? ", objects))
    assert described == embedded >= 1


@pytest.mark.parametrize("width", ["8.5cm", "17cm"])
@pytest.mark.parametrize("kind", KINDS)
def test_text_is_at_least_six_points_and_nothing_is_cut_off(kind: str, width: str) -> None:
    svg = render.draw(figure(kind, width).spec).bare
    (units,) = re.findall(r'^<svg[^>]* viewBox="[-\d.]+ [-\d.]+ ([\d.]+)', svg)
    points = Style(width=width).inches * 72 / float(units)  # of a unit of the picture
    smallest = min(float(size) for size in re.findall(r'font-size="([\d.]+)px"', svg))
    assert smallest * points >= 6
    assert_fits(figure(kind, width), Style(width=width).inches)


@pytest.mark.parametrize("kind", KINDS)
def test_altair_gets_one_kind_of_chart_that_draws_the_same_picture(kind: str) -> None:
    one = figure(kind, "17cm")
    chart = one.to_altair()
    assert type(chart) is altair.VConcatChart
    assert len(chart.vconcat) == len(one.spec.get("vconcat", [1]))
    again = Figure("again", chart.to_dict(), one.table, one.title, "", one.description)
    assert sorted(words(drawn(again))) == sorted(words(drawn(one)))
    assert drawn(again).get("width") == drawn(one).get("width")
    renamed = chart.properties(title="Mine").to_dict()
    assert renamed["title"] == "Mine"


def test_models_share_the_scales_of_what_is_used_and_classes_keep_their_colours() -> None:
    rows = panels(figure("use_lines", "17cm"))
    assert [len(row) for row in rows] == [2, 2, 2]
    for row in rows:
        domains = [panel["encoding"]["y"]["scale"]["domain"] for panel in row]
        assert domains[0] == domains[1]
        values = [v for panel in row for v in panel["data"]["values"]]
        # Of what is never below 0 there is no room for intervals that are.
        lows = [v["low"] if row is rows[2] else v["mean"] for v in values]
        assert domains[0][0] == min(0, *lows)
        assert domains[0][1] >= max(v["high"] for v in values)
    line = next(one for one in rows[0][0]["layer"] if one["mark"]["type"] == "line")
    colours = line["encoding"]["color"]["scale"]
    bars = figure("bars_all_layers", "17cm").spec
    segments = bars["spec"]["layer"][0]["encoding"]["color"]["scale"]
    assert colours == segments
