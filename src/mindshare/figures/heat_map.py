"""Layers × heads of any measure → a map, one cell per head. Layer 0 is at the bottom.

A `summary` or `response_summary` gives how much, a `contrast` how much more or less. Colours run as
the registry says: light at 0, light at 1, or white where nothing happens. Maps of one table share
their colours, so that models and conditions can be compared. A difference fills its cell only where
it is significant. Symbols stand only on cells that matter: the largest significant differences, or
each head's label. Computes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.facts import evidence
from mindshare.facts.words import count, listed
from mindshare.figures.captions import (
    Encoding,
    axis_title,
    axis_words,
    colour_words,
    summary_figure,
)
from mindshare.figures.colours import GRADIENT, INK, NOTHING, PAPER, ColourScale
from mindshare.figures.figure import Figure, redrawable
from mindshare.figures.selection import Row, Selection, select, significant
from mindshare.figures.theme import (
    Spec,
    Style,
    channel,
    layer,
    legend,
    number_axis,
    text_width,
    tooltip,
)
from mindshare.figures.titles import summary_title
from mindshare.stats import RESTING, meanings, thresholds_of

# Labels as strokes in a square from −1 to 1: characters sit higher or lower by font.
SHAPES = {
    "smoothed": "M-1,0.25C-0.65,-0.75,-0.3,-0.5,0,0C0.3,0.5,0.65,0.75,1,-0.25",
    "sharpened": "M-0.85,0.55L0,-0.6L0.85,0.55",
    "amplified": "M-0.85,0L0.85,0M0,-0.85L0,0.85",
    "damped": "M-0.85,0L0.85,0",
    "reconfigured": "M-0.7,-0.7L0.7,0.7M0.7,-0.7L-0.7,0.7",
    "unchanged": "M-0.08,0L0.08,0",
    "resting": "M0.6,0A0.6,0.6,0,1,1,-0.6,0A0.6,0.6,0,1,1,0.6,0",
}
SIGNS = {"more": SHAPES["amplified"], "less": SHAPES["damped"]}
TOP = 10  # differences that are marked
_AXIS_ROOM = 50  # pixels for the y axis and its title
_WIDEST, _HIGHEST, _LOWEST, _TALLEST = 56, 22, 7, 360  # pixels of a cell; of the whole map
_SMALLEST, _SYMBOL = 7.5, 8.0  # pixels of a cell that can hold a symbol; of a symbol
_CHANCE = 0.45  # of a cell's sides: what a difference fills that may be chance


@dataclass(frozen=True)
class HeadMapOptions(Style):
    """What to draw and how."""

    model: str | None = None  # needed only if the table has several
    symbols: bool = True  # where cells are large enough


@redrawable(HeadMapOptions)
def head_map(
    table: pa.Table,
    token_class: str | None = None,
    options: HeadMapOptions | None = None,
    *,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """One class in every head of one model, or the difference between two models.

    A measure of heads (entropy, distance, …) has no class.
    """
    options = options or HeadMapOptions()
    data = select(table, options, about).only("class", [token_class])
    kind = "head_map_difference" if data.is_difference else "head_map"
    name = [kind, data.measure.name, *([token_class] if token_class else [])]
    return _figure(data, options, name, options.model, data.numbers)


@redrawable(HeadMapOptions)
def response_map(
    summary: pa.Table,
    measure: str,
    options: HeadMapOptions | None = None,
    *,
    model: str | None = None,
    condition: str | None = None,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """One response number in every head; model and condition only if the table has several."""
    options = options or HeadMapOptions()
    data = select(summary, options, about, measure=measure)
    one = data.single("condition", condition, "a map")
    name = ["map", measure, one.values("condition")[0]]
    return _figure(one, options, name, model or options.model, data.numbers)


def _figure(
    data: Selection,
    options: HeadMapOptions,
    name: Sequence[str],
    model: str | None,
    numbers: Sequence[float],
) -> Figure:
    """`numbers` are of all models and conditions in the table: their maps share their colours."""
    if not data.is_difference:
        data = data.single("model", model, "a map")
    if None in data.heads or None in data.layers:
        raise SelectionError(
            "a map needs every layer and head by itself, and this table has their mean",
            next_step="measure and summarise without a mean over heads or layers",
        )
    around_0 = data.is_difference
    scale = ColourScale.around(numbers, 0.0) if around_0 else ColourScale.of(data.measure, numbers)
    cells = _Cells(data, options, scale)
    return summary_figure(_view(cells), data, _encoding(cells, name))


@dataclass(frozen=True)
class _Cells:
    """The rows to draw, and the layout and symbols that follow from them."""

    data: Selection
    options: HeadMapOptions
    scale: ColourScale

    @cached_property
    def layers(self) -> list[int]:
        return [n for n in self.data.layers if n is not None]

    @cached_property
    def heads(self) -> list[int]:
        return [n for n in self.data.heads if n is not None]

    @property
    def width(self) -> float:
        """Pixels of a cell."""
        return round(min(_WIDEST, (self.options.pixels - _AXIS_ROOM) / len(self.heads)), 2)

    @property
    def height(self) -> float:
        return round(max(_LOWEST, min(_HIGHEST, _TALLEST / len(self.layers))), 2)

    @cached_property
    def all_zero(self) -> bool:
        return self.data.is_difference and not any(self.data.numbers)

    @cached_property
    def significant(self) -> list[Row] | None:
        """The differences that findings call differences; None: so few prompts can show none."""
        units = [row.get("n_groups") or row["n_prompts"] for row in self.data.drawn]
        if not self.data.is_difference or max(units, default=0) < evidence.FEWEST:
            return None
        return [row for row in self.data.drawn if significant(self.data, row)]

    @cached_property
    def labels(self) -> dict[str, int]:
        """Label → number of heads, in the order of the shapes; unknown labels come last."""
        counts = Counter(() if self.data.is_difference else self.marks.values())
        order = dict.fromkeys([*SHAPES, *counts])
        return {label: counts[label] for label in order if counts[label]}

    @cached_property
    def marks(self) -> dict[tuple[int, int], str]:
        """(layer, head) → its label; of differences the sign, of the largest significant ones."""
        if not self.data.is_difference:
            return {(r["layer"], r["head"]): r["label"] for r in self.data.rows if r.get("label")}
        top = sorted(self.significant or [], key=lambda row: -abs(row["difference"]))[:TOP]
        return {(r["layer"], r["head"]): "more" if r["difference"] > 0 else "less" for r in top}

    @cached_property
    def shapes(self) -> dict[str, str]:
        """The symbols that are drawn: name → path."""
        if not self.options.symbols or min(self.width, self.height) < _SMALLEST:
            return {}
        drawn = set(self.marks.values())
        return {name: path for name, path in (SHAPES | SIGNS).items() if name in drawn}

    def is_resting(self, row: Row) -> bool:
        """Without a number because the head gives these tokens next to nothing."""
        return row[self.data.value] is None and row.get("label") == RESTING


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────


def _view(cells: _Cells) -> Spec:
    layers, heads, options = cells.layers[::-1], cells.heads, cells.options  # from the top
    height = cells.height * len(layers)
    bottom = f"Layer ({options.number(layers[-1])} at the bottom)"
    title = bottom if text_width(bottom) <= height else "Layer"
    upright = number_axis(layers, cells.height, options, upright=True)
    return {
        "width": cells.width * len(heads),
        "height": height,
        "view": {"stroke": "#bbbbbb", "fill": NOTHING},  # shows where there is no number
        "data": {"values": [v for row in cells.data.rows if (v := _value(cells, row))]},
        "encoding": {
            "x": _axis("head", heads, "Head", number_axis(heads, cells.width, options), options),
            "y": _axis("layer", layers, title, upright, options),
        },
        "layer": [*_rects(cells), *([_symbols(cells)] if cells.shapes else [])],
    }


def _axis(name: str, numbers: list[int], title: str, labels: Spec, style: Style) -> Spec:
    domain = [style.number(n) for n in numbers]
    scale = {"domain": domain, "paddingInner": 0, "paddingOuter": 0}
    axis = {"title": title, "domain": False, **labels}
    return channel(name, "ordinal", scale=scale, axis=axis)


def _value(cells: _Cells, row: Row) -> Row | None:
    """The table's own numbers, the place on the scale of colours, the symbol and its ink."""
    data = cells.data
    names = ["layer", "head", data.value, "low", "high", "n_prompts"]
    names += [name for name in ("p_family", "label") if name in row]
    value: Row = {name: row[name] for name in names} | cells.options.place(row)
    mark = cells.marks.get((row["layer"], row["head"]))
    value |= {"mark": mark} if mark in cells.shapes else {}
    if row[data.value] is not None:
        if cells.significant is not None:
            value["significant"] = row in cells.significant
        place = cells.scale.place(row[data.value])
        return {**value, "place": place, "ink": cells.scale.ink(place, cells.options.colours)}
    return {**value, "ink": INK} if cells.is_resting(row) else None


def _rects(cells: _Cells) -> list[Spec]:
    """Cells with their edges; where differences were tested, those that may be chance are small."""
    data = cells.data
    title = axis_title(data)
    room = cells.options.pixels - 2 * _AXIS_ROOM
    colour = cells.scale.encoding(cells.options.colours, title=title, length=room)
    line = "#e2e2e2" if cells.scale.middle is not None else "white"  # white cells need an edge
    texts = {"layer": "layer", "head": "head"}
    texts |= {"label": "label"} if cells.labels else {}
    numbers = {data.value: title, "low": "low", "high": "high"}
    numbers |= {"p_family": "p_family"} if data.is_difference else {}
    coloured = {"color": {**colour, "legend": None} if cells.all_zero else colour}
    told = {"tooltip": tooltip(texts, numbers | {"n_prompts": "prompts"})}
    there, edge = "isValid(datum.place)", Spec(stroke=line, strokeWidth=0.4)
    if cells.significant is None:
        return [layer("rect", coloured | told, where=there, **edge)]
    small = Spec(width={"band": _CHANCE}, height={"band": _CHANCE})
    return [
        layer("rect", told, where=there, fill=PAPER, **edge),
        layer("rect", coloured | told, where="datum.significant", **edge),
        layer("rect", coloured | told, where="datum.significant === false", **small),
    ]


def _symbols(cells: _Cells) -> Spec:
    side = min(min(cells.width, cells.height) * 0.62, _SYMBOL)
    scale = {"domain": list(cells.shapes), "range": list(cells.shapes.values())}
    counts = {label: f"{label} {n:,}" for label, n in cells.labels.items() if label in cells.shapes}
    look: Spec = {"symbolStrokeColor": INK, "symbolStrokeWidth": 1.5, "symbolSize": 55, "offset": 2}
    shown = legend(counts, cells.options.pixels - _AXIS_ROOM, **look) if counts else None
    encoding = {
        "shape": channel("mark", "nominal", scale=scale, legend=shown),
        "stroke": channel("ink", "nominal", scale=None),
    }
    stroke: Spec = {"strokeWidth": 1.5, "strokeCap": "round", "tooltip": None, "opacity": 1}
    size = round(side * side, 1)
    return layer("point", encoding, where="isValid(datum.mark)", size=size, filled=False, **stroke)


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def _encoding(cells: _Cells, name: Sequence[str]) -> Encoding:
    data, options = cells.data, cells.options
    thresholds = thresholds_of(data.metadata)
    empty = len(data.rows) - len(data.drawn)
    resting = sum(cells.is_resting(row) for row in data.rows)
    share = f"under {100 * thresholds.floor:g}\xa0% of attention on these tokens"
    facts, details = [], []
    if data.is_difference:
        facts += [f"Full cells: p_family < {evidence.ALPHA:g}; marked: the {TOP} largest of them"]
    if cells.labels:
        known = meanings(thresholds)
        rules = "; ".join(f"{label} = {known[label]}" for label in cells.labels if label in known)
        facts.append(f"Labels, by thresholds on these numbers: {rules}")
        counts = [f"{n:,} {label}" for label, n in cells.labels.items()]
        details.append(f"Heads by label: {listed(counts)}.")
    if empty:
        rest = f", {resting:,} because the head rests" if resting else ""
        stay = "stays" if empty == 1 else "stay"
        details.append(f"{count(empty, 'cell')} without a number {stay} grey{rest}.")
    colours = "white at 0" if cells.all_zero else colour_words(cells.scale)
    return Encoding(
        name=name,
        title=summary_title(data, data.drawn, by="layer and head"),
        kind="Map",
        axes=f"Vertical, from the bottom: {axis_words('layer', cells.layers, options)}; "
        f"horizontal: {count(len(cells.heads), 'head')}. Colour: {colours}",
        series={} if cells.all_zero else {"": data.drawn},
        marks=[f"Grey: not compared, {share}." if resting else None, _symbol_words(cells)],
        facts=facts,
        details=details,
        legends="start" if cells.width * len(cells.heads) <= GRADIENT else "middle",
    )


def _symbol_words(cells: _Cells) -> str | None:
    if cells.all_zero:
        return "All differences are exactly 0."
    if cells.data.is_difference:
        if cells.significant is None:
            return "Too few prompts for a test."
        if not cells.significant:
            return "Small cells: all may be chance."
        largest = "; + and –: the largest significant" if cells.shapes else ""
        return f"Full cells: significant; small ones may be chance{largest}."
    if cells.labels and cells.options.symbols and not cells.shapes:
        return "Cells are too small for symbols of labels."
    return "Symbols: the head's label." if cells.shapes else None
