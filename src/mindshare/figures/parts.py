"""What each part of a prompt gets → bars, one per part, with a line where even attention would end.

Several wordings of a prompt, or models, stand side by side in every part; of two, the difference is
written at the right, where the text is the same. Draws what is in the tables and computes that
difference, and the lift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from mindshare.facts.parts import (
    FIRST,
    change_claim,
    claim_as_title,
    extreme_claim,
    most_changed,
    percent,
)
from mindshare.facts.words import listed
from mindshare.figures.captions import Encoding, summary_figure
from mindshare.figures.colours import FAINT, INK, OTHER, series_colours
from mindshare.figures.figure import Figure, redrawable
from mindshare.figures.selection import Row, Selection, select
from mindshare.figures.theme import (
    TEXT,
    Spec,
    Style,
    channel,
    coloured,
    layer,
    legend,
    text_width,
    tooltip,
)
from mindshare.measures import MEASURES
from mindshare.naming import UNNAMED
from mindshare.tables import DEFINITIONS

REST = {FIRST: "first token", "other": "other", "sink_slot": "learned sink"}
_BAR, _GAP = 17, 9  # pixels of a bar, and between parts
_VALUE = 46  # pixels for a written share
_LONGEST = 0.42  # of the width: what the names of parts may take


@dataclass(frozen=True)
class PartBarsOptions(Style):
    """What to draw and how."""

    parts: Mapping[str, str] = field(default_factory=dict)  # class → what the part is called
    reworded: tuple[str, ...] = ()  # classes whose text differs: no difference is written


@redrawable(PartBarsOptions)
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
    table = pa.table({n: [row[n] for row in bars.rows] for n in _SCHEMA.names}, schema=_SCHEMA)
    return summary_figure(_view(bars), bars.data, _encoding(bars), table=table)


@dataclass(frozen=True)
class _PartBars:
    data: Selection
    even: Mapping[tuple[str, str], float]
    options: PartBarsOptions

    @cached_property
    def parts(self) -> dict[str, str]:
        """Class → what it is called: the parts in the order of the prompt, then the rest."""
        drawn = {row["class"] for row in self.data.drawn}
        rest = [FIRST, *UNNAMED]
        named = [c for c in self.options.parts if c in drawn] or sorted(drawn.difference(rest))
        labels = {c: self.options.parts.get(c, c) for c in named}
        labels |= {c: REST[c] for c in rest if c in drawn}
        return labels | {c: text for c, text in self.options.label.items() if c in labels}

    @property
    def series(self) -> list[str]:
        """What the models or wordings are called."""
        return [self.options.word(model) for model in self.data.models]

    @cached_property
    def mass(self) -> dict[tuple[str, str], float]:
        return {(row["model"], row["class"]): row["mean"] for row in self.data.drawn}

    def lift(self, model: str, part: str) -> float | None:
        """Attention for its length."""
        mass, even = self.mass.get((model, part)), self.even.get((model, part))
        return mass / even if mass is not None and even else None

    def lifts(self, model: str) -> dict[str, float]:
        """Those of the parts."""
        found = {part: self.lift(model, part) for part in self.parts if part not in REST}
        return {part: lift for part, lift in found.items() if lift is not None}

    def difference(self, part: str) -> float | None:
        """Of two: the second minus the first, where both have the part in the same words."""
        if part in self.options.reworded:
            return None
        pair = [self.mass.get((one, part)) for one in self.data.models]
        if len(pair) != 2 or pair[0] is None or pair[1] is None:
            return None
        return pair[1] - pair[0]

    @cached_property
    def beside(self) -> dict[str, str]:
        """Part → what is written at the right."""
        gaps = {part: self.difference(part) for part in self.parts}
        shown = {part: points(gap) for part, gap in gaps.items() if gap is not None}
        two = len(self.data.models) == 2
        return shown | {part: "new text" for part in self.options.reworded if two and part in gaps}

    @cached_property
    def rows(self) -> list[Row]:
        """One per part and series, in drawing order."""
        keys = [(part, one) for part in self.parts for one in self.data.models]
        return [
            {
                "model": one,
                "class": part,
                "part": self.parts[part],
                "mass": self.mass[one, part],
                "expected": self.even.get((one, part)),
                "lift": self.lift(one, part),
                "difference": self.difference(part),
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
            ("lift", pa.float64(), DEFINITIONS["lift"]),
            (
                "difference",
                pa.float64(),
                "mass of the second minus mass of the first; null where the text differs",
            ),
        )
    ]
)


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────


def _view(bars: _PartBars) -> Spec:
    labels, models = list(bars.parts.values()), bars.data.models
    names = min(max(map(text_width, labels)) + 4, _LONGEST * bars.options.pixels)
    width = bars.options.pixels - names - _VALUE * (2 if bars.beside else 1) - 10
    step = _GAP + _BAR * len(models)
    scale = {"paddingInner": _GAP / step, "paddingOuter": 0.1}
    axis: Spec = {"title": None, "ticks": False, "labelLimit": names, "domain": False}
    axis |= {"labelPadding": 6}
    place: Spec = {"y": channel("part", "nominal", sort=labels, scale=scale, axis=axis)}
    values = [
        row | {"end": end} for row, end in zip(bars.rows, _ends(bars.rows, width), strict=True)
    ]
    beside = {"yOffset": channel("model", "nominal", sort=models)} if len(models) > 1 else {}
    tips = tooltip(
        {"part": "part", "model": "of"},
        {"mass": MEASURES["mass"].word, "expected": "if even", "lift": MEASURES["lift"].word},
    )
    bar = {**place, **beside, "tooltip": tips}
    written: Spec = {"align": "left", "dx": 4, "color": INK, "fontSize": TEXT}
    text = {**place, **beside, "x": channel("end"), "text": channel("shown", "nominal")}
    even: Spec = {"color": INK, "thickness": 1.6, "size": _BAR}
    layers = [
        layer("bar", {**bar, "x": _x(), **_colour(bars)}),
        layer("tick", {**bar, "x": channel("expected")}, **even),
        layer("text", text, **written),
    ]
    if bars.beside:  # in a column at the right
        at = {"x": {"value": width + 2 * _VALUE}, "text": channel("points", "nominal")}
        shown = [{"part": bars.parts[p], "points": text} for p, text in bars.beside.items()]
        written = {"align": "right", "color": FAINT, "fontSize": TEXT}
        layers.append(layer("text", place | at, values=shown, **written))
    height = len(labels) * step
    return {"data": {"values": values}, "width": width, "height": height, "layer": layers}


def _ends(rows: Sequence[Row], width: float) -> list[float]:
    """Where each share is written: behind its bar; in a column at the right where the line for
    even attention would stand in the way of one, whose number it would seem to be.
    """
    longest = max(max(row["mass"], row["expected"] or 0.0) for row in rows)
    spread = [(row["mass"], row["expected"] or 0.0, text_width(row["shown"])) for row in rows]
    hit = any(
        mass - 0.02 * longest < even < mass + (wide + 10) / width * longest
        for mass, even, wide in spread
    )
    return [longest if hit else mass for mass, _, _ in spread]


def _x() -> Spec:
    axis = {"title": MEASURES["mass"].title, "tickCount": 4, "grid": True, "labelFlush": False}
    axis |= {"labelExpr": "format(100 * datum.value, 'd') + ' %'"}
    return channel("mass", axis=axis, scale={"nice": False})


def _colour(bars: _PartBars) -> Spec:
    models = bars.data.models
    if len(models) > 1:
        colours = bars.options.tinted(series_colours(models, bars.options.colours))
        shown = legend(dict(zip(models, bars.series, strict=True)), bars.options.pixels)
        pale = {"condition": {"test": "datum.rest", "value": 0.4}, "value": 1}
        return {"color": coloured("model", colours, shown), "opacity": pale}
    rest: Spec = {"test": "datum.rest", "value": OTHER}
    return {"color": {"condition": rest, "value": bars.options.colours.series[0]}}


def points(difference: float) -> str:
    """`+4.1`, `−0.3`: percentage points."""
    text = f"{100 * difference:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def _encoding(bars: _PartBars) -> Encoding:
    models = bars.data.models
    marks = ["Right: {1} minus {0}, in points.".format(*bars.series)] if bars.beside else []
    marks += ["Line: even attention. Other: template, blank lines."]
    return Encoding(
        name=["parts"],
        title=_title(bars),
        kind="Horizontal bars",
        axes="One bar per part of the prompt, from the top as they follow one another; then what "
        f"is in no part. Side by side: {listed(bars.series)}",
        marks=marks,
        series={
            model if len(models) > 1 else "": [
                {**row, "mean": row["mass"], "where": row["part"]}
                for row in bars.rows
                if row["model"] == model
            ]
            for model in models
        },
        measures=[MEASURES["mass"], MEASURES["expected"]],
    )


def _title(bars: _PartBars) -> str:
    models, lifts = bars.data.models, [bars.lifts(model) for model in bars.data.models]
    if len(models) == 1 and len(lifts[0]) > 1:
        return claim_as_title(extreme_claim(lifts[0], bars.parts))
    if len(models) == 2:
        part = most_changed(lifts[0], lifts[1], bars.options.reworded)
        if part is not None:
            ends = [(model, one[part]) for model, one in zip(bars.series, lifts, strict=True)]
            return claim_as_title(change_claim(bars.parts[part], *ends))
    return f"Attention to each part of the prompt: {listed(bars.series)}"
