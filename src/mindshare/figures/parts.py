"""What each part of a prompt gets → bars, one per part, with a line where even attention would end.

Several wordings of a prompt, or models, stand side by side in every part; of two, the difference is
written at the right. Draws what is in the tables and computes that difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from mindshare.facts.parts import FIRST, percent
from mindshare.facts.sentences import name
from mindshare.figures.captions import Encoding, listed, summary_figure
from mindshare.figures.colours import FAINT, INK, OTHER, series_colours
from mindshare.figures.figure import Figure, redrawable
from mindshare.figures.selection import UNNAMED, Row, Selection, select
from mindshare.figures.theme import TEXT, Spec, Style, channel, layer, legend, text_width, tooltip
from mindshare.measures import MEASURES
from mindshare.tables import DEFINITIONS

REST = {FIRST: "first token", "other": "other", "sink_slot": "learned sink"}
_BAR, _GAP = 17, 9  # pixels of a bar, and between parts
_VALUE = 46  # pixels for a written share
_LONGEST = 0.42  # of the width: what the names of parts may take


@dataclass(frozen=True)
class PartBarsOptions(Style):
    """What to draw and how."""

    parts: Mapping[str, str] = field(default_factory=dict)  # class → what the part is called


@redrawable
def part_bars(
    summary: pa.Table,
    expected: pa.Table,
    options: PartBarsOptions | None = None,
    *,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """The mass of each part and of what is no part, once per wording or model.

    `summary` and `expected` are means of these measures over the same layers and heads.
    """
    options = options or PartBarsOptions()
    rows = [row for row in expected.to_pylist() if row["mean"] is not None]
    even = {(row["model"], row["class"]): row["mean"] for row in rows}
    bars = _PartBars(select(summary, options, about), even, options)
    return summary_figure(_view(bars), bars.data, _encoding(bars), table=_table(bars))


@dataclass(frozen=True)
class _PartBars:
    data: Selection
    even: Mapping[tuple[str, str], float]
    options: PartBarsOptions

    @property
    def series(self) -> list[str]:
        return self.data.models

    @property
    def parts(self) -> dict[str, str]:
        """Class → what it is called: the parts in the order of the prompt, then the rest."""
        drawn = {row["class"] for row in self.data.drawn}
        rest = [FIRST, *UNNAMED]
        named = [c for c in self.options.parts if c in drawn] or sorted(drawn.difference(rest))
        labels = {c: self.options.parts.get(c, c) for c in named}
        return labels | {c: REST[c] for c in rest if c in drawn}

    @property
    def mass(self) -> dict[tuple[str, str], float]:
        return {(row["model"], row["class"]): row["mean"] for row in self.data.drawn}

    def difference(self, part: str) -> float | None:
        """Of two: the second minus the first, where both have the part."""
        pair = [self.mass.get((one, part)) for one in self.series]
        if len(pair) != 2 or pair[0] is None or pair[1] is None:
            return None
        return pair[1] - pair[0]

    def rows(self) -> list[Row]:
        """One per part and series, in drawing order."""
        keys = [(part, one) for part in self.parts for one in self.series]
        return [
            {
                "part": self.parts[part],
                "series": one,
                "mass": self.mass[one, part],
                "expected": self.even.get((one, part)),
                "rest": part in REST,
                "shown": percent(self.mass[one, part]),
            }
            for part, one in keys
            if (one, part) in self.mass
        ]


_SCHEMA = pa.schema(
    [
        pa.field(name, kind, metadata={"definition": text})
        for name, kind, text in (
            ("model", pa.string(), DEFINITIONS["model"] + ", or of the wording"),
            ("class", pa.string(), DEFINITIONS["class"]),
            ("part", pa.string(), "what the part is called"),
            ("mass", pa.float64(), DEFINITIONS["mass"]),
            ("expected", pa.float64(), DEFINITIONS["expected"]),
            ("difference", pa.float64(), "mass of the second minus mass of the first"),
        )
    ]
)


def _table(bars: _PartBars) -> pa.Table:
    """What is drawn: a row per part and series, of two with the difference."""
    names = {label: part for part, label in bars.parts.items()}
    rows = [
        {**row, "model": row["series"], "class": part, "difference": bars.difference(part)}
        for row in bars.rows()
        for part in [names[row["part"]]]
    ]
    columns = [{name: row[name] for name in _SCHEMA.names} for row in rows]
    return pa.Table.from_pylist(columns, schema=_SCHEMA)


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────


def _view(bars: _PartBars) -> Spec:
    rows, labels, several = bars.rows(), list(bars.parts.values()), len(bars.series) > 1
    names = min(max(map(text_width, labels)) + 4, _LONGEST * bars.options.pixels)
    written = _VALUE * (2 if _differs(bars) else 1)
    width = bars.options.pixels - names - written - 10
    axis: Spec = {"title": None, "ticks": False, "labelLimit": names, "domain": False}
    y: Spec = channel("part", "nominal", sort=labels, axis={**axis, "labelPadding": 6})
    y["scale"] = {"paddingInner": _GAP / (_GAP + _BAR * len(bars.series)), "paddingOuter": 0.1}
    beside: Spec = {"y": y}
    if several:
        beside["yOffset"] = channel("series", "nominal", sort=bars.series)
    layers = [
        layer("bar", {**beside, "x": _x(), **_colour(bars), "tooltip": _tooltip()}),
        layer(
            "tick",
            {**beside, "x": channel("expected"), "tooltip": _tooltip()},
            color=INK,
            thickness=1.6,
            size=_BAR,
        ),
        layer(
            "text",
            {**beside, "x": channel("end"), "text": channel("shown", "nominal")},
            align="left",
            dx=4,
            color=INK,
            fontSize=TEXT,
        ),
    ]
    if _differs(bars):
        layers.append(_differences(bars, y, width))
    values = [row | {"end": _end(row, rows, width)} for row in rows]
    height = len(labels) * (_GAP + _BAR * len(bars.series))
    return {"data": {"values": values}, "width": width, "height": height, "layer": layers}


def _end(row: Row, rows: Sequence[Row], width: float) -> float:
    """Where the share is written: behind the bar, or behind the line if that is in the way."""
    mass, even = row["mass"], row["expected"] or 0.0
    longest = max(max(one["mass"], one["expected"] or 0.0) for one in rows)
    room = (text_width(row["shown"]) + 10) / width * longest
    return float(even if mass - 0.02 * longest < even < mass + room else mass)


def _x() -> Spec:
    title = "Attention share"
    axis = {"title": title, "tickCount": 4, "grid": True, "labelFlush": False}
    axis |= {"labelExpr": "format(100 * datum.value, 'd') + ' %'"}
    return channel("mass", axis=axis, scale={"nice": False})


def _colour(bars: _PartBars) -> Spec:
    if len(bars.series) > 1:
        colours = bars.options.tinted(series_colours(bars.series, bars.options.colours))
        scale = {"domain": list(colours), "range": list(colours.values())}
        shown = legend({name: name for name in bars.series}, bars.options.pixels)
        pale = {"condition": {"test": "datum.rest", "value": 0.4}, "value": 1}
        return {"color": channel("series", "nominal", scale=scale, legend=shown), "opacity": pale}
    rest: Spec = {"test": "datum.rest", "value": OTHER}
    return {"color": {"condition": rest, "value": bars.options.colours.series[0]}}


def _tooltip() -> list[Spec]:
    return tooltip({"part": "part", "series": "of"}, {"mass": "mass", "expected": "if even"})


def _differs(bars: _PartBars) -> bool:
    return any(bars.difference(part) is not None for part in bars.parts)


def _differences(bars: _PartBars, y: Spec, width: float) -> Spec:
    """The difference of each part, in a column at the right."""
    values = [
        {"part": label, "text": points(difference)}
        for part, label in bars.parts.items()
        if (difference := bars.difference(part)) is not None
    ]
    encoding: Spec = {"y": y, "text": channel("text", "nominal")}
    encoding["x"] = {"value": width + 2 * _VALUE}
    look: Spec = {"align": "right", "color": FAINT, "fontSize": TEXT}
    return layer("text", encoding, values=values, **look)


def points(difference: float) -> str:
    """`+4.1`, `−0.3`: percentage points."""
    text = f"{100 * difference:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def _encoding(bars: _PartBars) -> Encoding:
    two = _differs(bars)
    first, second = (bars.series * 2)[:2]
    named = ("part", "series") if len(bars.series) > 1 else ("part",)
    each = [f"{', '.join(row[n] for n in named)}: {row['shown']}" for row in bars.rows()]
    marks = ["Line: if attention were even. Other: template, blank lines."]
    marks += [f"Right: {second} minus {first}, in points."] if two else []
    return Encoding(
        name=["parts"],
        title=_title(bars),
        kind="Horizontal bars",
        axes="One bar per part of the prompt, from the top as they follow one another; then what "
        f"is in no part. Side by side: {listed(bars.series)}",
        marks=marks,
        facts=["A line marks the mass that even attention over the visible tokens would give"],
        details=[f"{'; '.join(each)}."],
        measures=[MEASURES["mass"], MEASURES["expected"]],
    )


def _title(bars: _PartBars) -> str:
    parts = [part for part in bars.parts if part not in REST]
    gaps = {p: d for p in parts if (d := bars.difference(p)) is not None}
    if gaps:
        part = max(gaps, key=lambda p: abs(gaps[p]))
        more = "more" if gaps[part] > 0 else "less"
        first, second = bars.series
        return f"{second} gives {name(bars.parts[part])} {more} attention than {first}"
    if len(bars.series) > 1 or len(parts) < 2:
        return f"Attention to each part of the prompt: {listed(bars.series)}"
    top = max(parts, key=lambda p: bars.mass[bars.series[0], p])
    return f"{name(bars.parts[top])} gets the most attention of {len(parts)} parts"
