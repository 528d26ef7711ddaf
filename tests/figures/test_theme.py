from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise

import pytest

from mindshare.errors import SelectionError
from mindshare.figures.colours import (
    INK,
    OTHER,
    PALETTES,
    PAPER,
    ColourScale,
    class_colours,
    series_colours,
)
from mindshare.figures.theme import (
    WIDTHS,
    PanelGrid,
    Style,
    every,
    number_axis,
    text_width,
    wrapped,
)
from mindshare.measures import MEASURES

SEED = PALETTES["seed"]
RED, BLUE, GREY = SEED.classes[:3]


def test_the_published_colours() -> None:
    assert class_colours(("hash", "star", "space"), SEED) == {
        "hash": RED,
        "star": BLUE,
        "space": GREY,
    }
    assert class_colours(("a", "b", "c"), SEED) == {"a": RED, "b": BLUE, "c": GREY}


@pytest.mark.parametrize("labels", ["zero-based", "one-based"])
def test_axes_of_some_layers_have_labels(labels: str) -> None:
    """Multiples where layers follow one another; else every so many of those that are there."""
    style = Style(labels=labels)
    layers = range(1, 30, 2)
    for step, labelled, gap in ((40, 15, 1), (15, 8, 2), (9, 3, 5)):
        odd = number_axis(layers, step, style)["values"]
        assert len(odd) == labelled
        assert set(odd) <= {style.number(n) for n in layers}
        every_layer = number_axis(range(30), step, style)["values"]
        assert len(every_layer) == 30 / gap
        assert all(n % gap == 0 for n in every_layer)
    assert number_axis([7], 1, style)["values"] == [style.number(7)]


def test_whitespace_is_grey_wherever_it_stands() -> None:
    found = class_colours(("Whitespace", "hash", "star", "digit"), SEED)
    assert found["Whitespace"] == GREY
    assert (found["hash"], found["star"]) == (RED, BLUE)
    assert found["digit"] not in (RED, BLUE, GREY)


@pytest.mark.parametrize("name", PALETTES)
def test_no_two_classes_or_lines_look_alike(name: str) -> None:
    classes = [*"abcdefgh", "other", "sink_slot"]
    assert len(set(class_colours(classes, PALETTES[name]).values())) == len(classes)
    assert class_colours(classes, PALETTES[name])["other"] == OTHER
    assert len(set(series_colours("abcdefgh", PALETTES[name]).values())) == 8


def _half(colour: str) -> str:
    """Half way to white."""
    return "#" + "".join(f"{(int(colour[i : i + 2], 16) + 255) // 2:02x}" for i in (1, 3, 5))


@pytest.mark.parametrize("name", PALETTES)
def test_neighbours_can_be_told_apart_in_grey(name: str) -> None:
    """The first three classes, the first two lines, and the two ends of a difference."""
    palette = PALETTES[name]

    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    ends = (palette.minus_to_plus[0], palette.minus_to_plus[-1])
    halves = [_half(colour) for colour in ends]  # +0.5 and −0.5 of a scale from −1 to 1
    for group in (palette.classes[:3], palette.series[:2], ends, halves):
        grey = sorted(lightness(colour) for colour in group)
        assert min(b - a for a, b in pairwise(grey)) > 0.07, group


def test_too_many_classes_are_refused() -> None:
    with pytest.raises(SelectionError, match="9 classes are more than can be told apart"):
        class_colours("abcdefghi", SEED)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"palette": "sede"}, "did you mean 'seed'"),
        ({"labels": "one_based"}, "did you mean 'one-based'"),
        ({"width": "collumn"}, "did you mean 'column'"),
    ],
)
def test_an_unknown_word_is_named_with_its_neighbour(wrong: dict, hint: str) -> None:
    with pytest.raises(SelectionError, match=hint):
        Style(**wrong)


def test_lines_fit_and_words_stay_whole() -> None:
    text = "the quick brown fox jumps over the lazy dog and p\xa0<\xa00.05 is kept together"
    lines = wrapped(text, 90)
    assert " ".join(lines) == text
    assert max(text_width(line) for line in lines) <= 90
    assert any("p\xa0<\xa00.05" in line for line in lines)


def test_a_name_that_is_too_long_breaks_behind_its_hyphens() -> None:
    lines = wrapped("HuggingFaceTB/SmolLM2-135M-Instruct, layer 1", 110)
    assert lines[0].endswith(("/", "-"))
    assert "".join(lines).replace(" ", "") == "HuggingFaceTB/SmolLM2-135M-Instruct,layer1"


@pytest.mark.parametrize(
    ("text", "ems"), [("iiii", 0.888), ("MM", 1.666), ("é", 0.556), ("e\u0301", 0.556)]
)
def test_widths_are_those_of_the_font(text: str, ems: float) -> None:
    assert text_width(text, 10) == pytest.approx(10 * ems)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("panels", [1, 2, 3, 4, 5, 7, 12])
def test_panels_fill_rows_that_fit(panels: int, width: str) -> None:
    grid = PanelGrid.of(panels, Style(width=width))
    rows = grid.rows(range(panels))
    assert [n for row in rows for n in row] == list(range(panels))
    assert len(rows[0]) <= (2 if width == "column" else 4)
    assert grid.columns * (grid.panel_width + PanelGrid.EXTENT) <= 96 * WIDTHS[width]


def test_labels_are_thinned_to_round_numbers() -> None:
    assert [every(x) for x in (1.2, 1.0, 0.6, 0.3, 0.01)] == [1, 1, 2, 5, 100]


# Colour scales.


def test_half_and_double_are_as_far_from_1() -> None:
    shade = ColourScale.around([0.5, 1.2], 1.0)
    assert (shade.low, shade.high) == (0.5, 2.0)
    assert shade.ramp(SEED) == {"domain": [-1, 0, 1], "range": list(SEED.minus_to_plus)}
    assert shade.place(0.5) == -shade.place(2.0)
    assert shade.place(0) == shade.place(0.001) == -1  # beyond the ends, at the end


def test_differences_have_white_0_in_the_middle() -> None:
    ramp = ColourScale.around([-0.1, 0.4], 0.0).ramp(SEED)
    assert ramp["domain"] == [-0.4, 0.0, 0.4]
    assert ramp["range"][1] == PAPER


def test_a_share_of_the_numbers_can_decide_how_far_colours_reach() -> None:
    values = [1.1] * 95 + [16.0] * 5
    assert ColourScale.around(values, 1.0).high == 16
    robust = ColourScale.around(values, 1.0, share=0.95)
    assert robust.high == pytest.approx(1.1)
    assert robust.outside(values) == 5


@pytest.mark.parametrize("values", [[], [1.0], [0.0]])
def test_a_scale_is_never_empty(values: list[float]) -> None:
    shade = ColourScale.around(values, 1.0)
    assert (shade.low, shade.high) == (0.5, 2.0)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("values", [[], [0.3, 0.9], [0.0, 2.5]])
def test_colours_run_as_the_registry_says(name: str, values: list[float]) -> None:
    measure = MEASURES[name]
    shade = ColourScale.of(measure, values)
    assert shade.low < shade.high
    assert shade.outside([v for v in values if v or not shade.log2]) == 0
    diverging = measure.scale == "diverging"
    assert shade.middle == (measure.neutral if diverging else None)
    assert shade.log2 == (diverging and measure.neutral == 1.0)
    assert shade.falling == (measure.scale == "falling")
    if measure.scale == "zero":
        assert shade.low == 0


@pytest.mark.parametrize("far", [0.01, 0.2, 0.5, 1, 3, 8])
def test_ratios_are_written_as_round_numbers(far: float) -> None:
    shade = ColourScale(2.0**-far, 2.0**far, 1.0, log2=True)
    ticks = shade.encoding(SEED, title="x", length=100)["legend"]["values"]
    assert 0.0 in ticks
    assert all(abs(tick) <= far + 1e-9 for tick in ticks)
    assert all(f"{2**tick:.4g}" == f"{2**tick:.10g}" or abs(tick) > 3 for tick in ticks)


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize(
    "shade", [ColourScale(-1, 1, 0.0), ColourScale(0, 1), ColourScale(0, 1, falling=True)]
)
def test_the_ink_can_be_read_everywhere(name: str, shade: ColourScale) -> None:
    """Contrast as the WCAG counts it, at least 3 for large signs, on every colour of the ramp."""
    palette = PALETTES[name]
    scale = shade.ramp(palette)

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        lit = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * lit[0] + 0.7152 * lit[1] + 0.0722 * lit[2]

    for place, colour in zip(scale["domain"], scale["range"], strict=True):
        light, ink = luminance(colour), luminance(shade.ink(place, palette))
        contrast = (max(light, ink) + 0.05) / (min(light, ink) + 0.05)
        assert contrast >= 3, (place, colour)
    assert {shade.ink(place, SEED) for place in shade.ramp(SEED)["domain"]} == {INK, PAPER}


@pytest.mark.parametrize(
    "field",
    [{"width": 3.4}, {"width": []}, {"palette": {"h": "#fff"}}, {"palette": ["#fff"]},
     {"font_size": "x"}, {"label": {"h": 3}}, {"label": 3}, {"colour": {"h": 3}}, {"title": 3},
     {"labels": {}}],
    ids=str,
)  # fmt: skip
def test_a_value_of_another_type_is_told_by_its_name(field: dict[str, object]) -> None:
    (name,) = field
    words = {"labels": "label layers", "font_size": "font_size"}.get(name, name)
    with pytest.raises(SelectionError, match=words) as caught:
        Style(**field)  # type: ignore[arg-type]
    assert caught.value.allowed


@pytest.mark.parametrize("field", ["title", "subtitle", "y_title", "label"])
def test_a_text_that_no_picture_holds_is_refused(field: str) -> None:
    """To draw it would take minutes."""
    for length, fits in ((1_000, True), (1_001, False)):
        text = "x" * length
        with nullcontext() if fits else pytest.raises(SelectionError, match="1,001 characters"):
            Style(**{field: {"h": text} if field == "label" else text})
