"""What tokens receive, by position → panels of lines, the inserted run shaded.

A `Profile` is one version of a prompt in one head. Every panel has its own vertical scale, from 0,
which neither pale tokens set nor one that is far above all others. Where a number is missing a line
breaks, and above 5,000 points it is thinned. Draws what is in the tables and computes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mindshare.errors import require_all_known
from mindshare.figures.captions import visible
from mindshare.figures.colours import FAINT, INK, version_colours
from mindshare.figures.selection import Row, pick
from mindshare.figures.theme import (
    TEXT,
    PanelGrid,
    Spec,
    Style,
    channel,
    coloured,
    layer,
    legend,
    text_width,
    tooltip,
    wrapped,
)
from mindshare.measures import MEASURES
from mindshare.naming import WITHOUT
from mindshare.tables import DEFINITIONS, SCHEMAS

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Head = tuple[int | None, int | None]  # layer, head; None: the mean over them
MOST_POINTS = 5_000  # of a line; above, each stretch gives its lowest and its highest
_STRETCHES = 1_000  # of a line that is thinned
_HEIGHT = 124
_RUN = "inserted tokens"
_SHADE = "#dddddd"
_PALE = 0.4
_FAR = 5  # times the next: a token that much above all others is cut off


@dataclass(frozen=True)
class ProfileOptions(Style):
    """What to draw and how."""

    width: str = "page"
    few: int = 5  # keys with fewer queries are drawn pale
    drop_first: bool = False  # leave the first token out
    panel_title: str | None = None  # e.g. "{model} Layer {layer} Head {head}"
    legends: str = "above"  # one for all panels, or "inside" each of them
    shade: bool = True  # the inserted run
    run_label: str | None = None  # what stands in it; None: what was inserted
    whole_first: bool = False  # the whole sequence has the first colour, not that of its version

    def __post_init__(self) -> None:
        super().__post_init__()
        require_all_known([self.legends], ("above", "inside"), "place of legends")

    def titled(self, model: str, head: Head, usual: str) -> str:
        """The title of a panel."""
        if self.panel_title is None:
            return usual
        layer_, head_ = (None if n is None else self.number(n) for n in head)
        return self.panel_title.format(model=self.word(model), layer=layer_, head=head_)


# ── what the tokens of a prompt receive ──────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Profile:
    """What the tokens of one version receive in one head, in the order of their positions."""

    condition: str
    rows: Sequence[Row]  # with a `position`, which the horizontal axis shows

    @cached_property
    def position(self) -> Integers:
        return np.array([row["position"] for row in self.rows], np.int64)

    @cached_property
    def received(self) -> Floats:
        """NaN where no query counts."""
        return np.array([row["received"] for row in self.rows], np.float64)

    @cached_property
    def n_queries(self) -> Integers:
        return np.array([row["n_queries"] or 0 for row in self.rows], np.int64)

    @property
    def total(self) -> float:
        return float(np.nansum(self.received))


def _profile(condition: str, rows: Iterable[Row], *, drop: bool) -> Profile:
    """`drop`: without the token at position 0."""
    ordered = sorted(rows, key=lambda row: int(row["position"]))
    return Profile(condition, [row for row in ordered if row["position"] or not drop])


def whole_profile(
    sequence: pa.Table, places: pa.Table, condition: str, head: Head, *, drop: bool
) -> Profile:
    """Every token of one version; both tables are of one prompt."""
    rows = pick(sequence, "sequence", condition=condition, layer=head[0], head=head[1]).to_pylist()
    place = _by_position(places, condition)
    return _profile(condition, [place[row["position"]] | row for row in rows], drop=drop)


def aligned_profiles(
    aligned: pa.Table, places: pa.Table, condition: str, head: Head, *, drop: bool
) -> tuple[Profile, Profile]:
    """The original tokens without and with the insertion, at the same positions."""
    rows = pick(aligned, "aligned", condition=condition, layer=head[0], head=head[1]).to_pylist()
    place = _by_position(places, WITHOUT)

    def version(name: str, ending: str) -> Profile:
        numbers = {n: f"{n}_{ending}" for n in ("received", "n_queries")}
        return _profile(
            name,
            [
                row
                | place[row["position_without"]]
                | {n: row[column] for n, column in numbers.items()}
                for row in rows
            ],
            drop=drop,
        )

    return version(WITHOUT, "without"), version(condition, "with")


def _by_position(places: pa.Table, condition: str) -> dict[int, Row]:
    rows = pick(places, "places", condition=condition).to_pylist()
    return {row["position"]: row for row in rows}


def inserted_run(places: pa.Table, condition: str) -> tuple[int, int] | None:
    """First and last position of the tokens that hold an inserted character."""
    rows = _by_position(places, condition).items()
    inside = [position for position, row in rows if row["part"] == "inserted"]
    return (min(inside), max(inside)) if inside else None


_TYPES: dict[str, pa.DataType] = {
    "model": pa.string(),
    **{name: SCHEMAS["sequence"].field(name).type for name in SCHEMAS["sequence"].names[:5]},
    **{n: SCHEMAS["places"].field(n).type for n in ("token", "part", "position_without")},
    "received": pa.float32(),
    "n_queries": pa.int64(),
}


def profile_table(profiles: Iterable[Profile], model: str, about: Mapping[str, str]) -> pa.Table:
    """A row for each token of each profile."""
    definitions = {name: {"definition": DEFINITIONS[name]} for name in _TYPES}
    schema = pa.schema([pa.field(n, t, metadata=definitions[n]) for n, t in _TYPES.items()], about)
    rows = [{**row, "model": model} for one in profiles for row in one.rows]
    return pa.Table.from_pylist(rows, schema=schema)


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────


def strokes(profile: Profile, *, few: int) -> Iterator[tuple[Integers, bool]]:
    """Indices of points that are joined, and whether they are pale (fewer than `few` queries).

    Strokes that meet share a point, so that the line breaks only where a number is missing.
    """
    there = np.flatnonzero(~np.isnan(profile.received))
    gaps = np.flatnonzero((np.diff(there) != 1) | (np.diff(profile.position[there]) != 1))
    pale = profile.n_queries < few
    for piece in np.split(there, gaps + 1):
        if len(piece) == 1:
            yield piece, bool(pale[piece[0]])
        steps = pale[piece[:-1]] | pale[piece[1:]]
        bounds = [0, *(np.flatnonzero(steps[1:] != steps[:-1]) + 1).tolist(), len(steps)]
        for a, b in itertools.pairwise(bounds if len(steps) else []):
            yield _thinned(piece[a : b + 1], profile), bool(steps[a])


def _thinned(points: Integers, profile: Profile) -> Integers:
    """The ends, and of each stretch the lowest and the highest."""
    if len(profile.position) <= MOST_POINTS or len(points) <= 2 * _STRETCHES:
        return points
    stretches = np.array_split(points, _STRETCHES)
    lowest = [s[np.argmin(profile.received[s])] for s in stretches]
    highest = [s[np.argmax(profile.received[s])] for s in stretches]
    return np.unique([points[0], *lowest, *highest, points[-1]])


@dataclass(frozen=True)
class ProfilePanel:
    """What one panel shows: label of a line → its profile, and where the insertion is."""

    lines: Mapping[str, Profile]
    title: str
    x_title: str = "Token position"
    runs: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # of a line: first, last
    run_label: str = ""  # what stands in the run
    same_tokens: bool = True  # the lines have the same tokens at the same positions
    titled: bool = True  # else the title stands in the description only
    first: int = 0  # the colour of its first line

    def top(self, few: int) -> tuple[float, int | None]:
        """The highest number that the scale shows, and the position that is cut off there.

        Means of few queries set no scale, nor does one token that is far above all others.
        """
        every: list[tuple[float, int]] = []
        solid: list[tuple[float, int]] = []
        for line in self.lines.values():
            for value, at, n in zip(line.received, line.position, line.n_queries, strict=True):
                if not np.isnan(value):
                    every.append((float(value), int(at)))
                    solid += every[-1:] if n >= few else []
        counted = solid if any(value for value, _ in solid) else every
        highest, at = max(counted, default=(0.0, 0))
        next_ = max((value for value, place in counted if place != at), default=0.0)
        return (next_, at) if highest > _FAR * next_ > 0 else (highest or 1.0, None)


def profiles_view(stacks: Sequence[Sequence[ProfilePanel]], options: ProfileOptions) -> Spec:
    """Panels in rows; those of several `stacks` stand below one another, pair by pair."""
    inside = options.legends == "inside"
    colour = _colour([panel for stack in stacks for panel in stack], options)
    grid = PanelGrid.of(len(stacks[0]), options, titled=inside)
    y_title = MEASURES["received"].title if options.y_title is None else options.y_title
    views: list[list[Spec]] = []
    for row in (row for rows in zip(*map(grid.rows, stacks), strict=True) for row in rows):
        views.append([])
        for i, panel in enumerate(row):
            own = _colour_inside(panel, options) if inside else colour
            title = y_title if inside or not i else None
            views[-1].append(_panel(grid, panel, own, options, title))
    return grid.view(views, colours="independent" if inside else "shared")


def _colour(panels: Sequence[ProfilePanel], options: ProfileOptions) -> Spec:
    """One scale and one legend for all panels, the run among them."""
    lines = panels[0].lines
    colours = version_colours([profile.condition for profile in lines.values()], options.colours)
    drawn = dict(zip(lines, options.tinted(colours).values(), strict=True))
    drawn |= {_RUN: _SHADE} if any(panel.runs for panel in panels) else {}
    return coloured("series", drawn, legend({label: label for label in drawn}, options.pixels))


def _colour_inside(panel: ProfilePanel, options: ProfileOptions) -> Spec:
    """The panel's own lines, named in its corner."""
    series = options.colours.series[panel.first : panel.first + len(panel.lines)]
    names = [profile.condition for profile in panel.lines.values()]
    colours = dict(zip(names, series, strict=True))
    own = panel.first == 0 and len(names) == 1  # of a whole sequence that is not its version's
    drawn = (colours if own else options.tinted(colours)).values()
    look = {"orient": "top-right", "direction": "vertical", "offset": 2, "symbolType": "stroke"}
    look |= {"padding": 1, "rowPadding": 0, "values": list(panel.lines)}
    shown = legend({label: label for label in panel.lines}, options.pixels, **look)
    by_label = dict(zip([*panel.lines, _RUN], [*drawn, _SHADE], strict=True))
    return coloured("series", by_label, {**shown, "columns": 1})


def _panel(
    grid: PanelGrid, panel: ProfilePanel, colour: Spec, options: ProfileOptions, y_title: str | None
) -> Spec:
    width, few, inside = grid.panel_width, options.few, options.legends == "inside"
    positions = {int(i) for p in panel.lines.values() for i in p.position} or {0}
    low, high = min(positions) - 0.5, max(positions) + 0.5
    top, cut = panel.top(few)
    x_axis = {"title": panel.x_title, "tickCount": max(2, round(width / 42))}
    x_axis |= {"format": ",d", "tickMinStep": 1}
    y_axis: Spec = {"title": y_title, "tickCount": 4, "format": "~g"}
    x_scale = {"domain": [low, high], "nice": False, "zero": False}
    # Room above the lines for the name of the run, and for a legend inside.
    room = 1.16 if panel.run_label or cut is not None else 1.04
    room += 0.16 * len(panel.lines) if inside else 0
    y_scale = {"domain": [0, top * room], "nice": False}
    # A label at the very top would lift this panel's title above those of its neighbours.
    near = {"test": f"datum.value > {top * room * (1 - TEXT / 2 / _HEIGHT)}", "value": "top"}
    y_axis["labelBaseline"] = {"condition": near, "value": "middle"}
    return grid.panel(
        _HEIGHT,
        panel.title if panel.titled else "",
        channel("x", scale=x_scale, axis=x_axis),
        channel("y", scale=y_scale, axis=y_axis),
        *_run_layers(panel, (low, high), width, colour, below=20 if inside else 4),
        *_line_layers(panel, colour, few=few),
        *([] if cut is None else [_cut_off(panel, cut, (low, high))]),
        _hover(panel, width / (high - low)),
    )


def _cut_off(panel: ProfilePanel, at: int, ends: tuple[float, float]) -> Spec:
    """The numbers of the token that is cut off, beside where its lines leave the panel."""
    found = [p.received[p.position == at] for p in panel.lines.values()]
    numbers = [f"{x:.2g}" for one in found for x in one if not np.isnan(x)]
    late = at > sum(ends) / 2
    words = [f"{', '.join(numbers)} ↑" if late else f"↑ {', '.join(numbers)}"]
    look: Spec = {"fontSize": TEXT, "color": INK, "baseline": "top"}
    look |= {"align": "right" if late else "left", "dx": -5 if late else 5}
    text = {"y": {"value": 2}, "text": channel("words", "nominal")}
    return layer("text", text, values=[{"x": at, "words": words[0]}], **look)


def _run_layers(
    panel: ProfilePanel, ends: tuple[float, float], width: float, colour: Spec, *, below: int
) -> list[Spec]:
    """Shade, dashed ends, and the name where it fits, so many pixels below the top."""
    low, high = ends
    spans: list[Spec] = [
        {"x": max(first - 0.5, low), "x2": min(last + 0.5, high), "series": _RUN}
        for first, last in dict.fromkeys(panel.runs.values())
        if last > low and first < high
    ]
    if not spans:
        return []
    full: Spec = {"y": {"value": 0}, "y2": {"value": "height"}}
    edges = [{"x": edge} for edge in sorted({s[end] for s in spans for end in ("x", "x2")})]
    shaded = {"x2": {"field": "x2"}, **full, "color": colour}
    dashed: Spec = {"color": "#777777", "strokeDash": [3, 2], "strokeWidth": 0.8}
    layers = [
        layer("rect", shaded, values=spans, opacity=0.75 if len(spans) == 1 else 0.45),
        layer("rule", full, values=edges, **dashed),
    ]
    span = spans[0]
    room = (span["x2"] - span["x"]) * width / (high - low)
    words = wrapped(panel.run_label, room - 6)
    if panel.run_label and max(map(text_width, words)) <= room - 6:
        name = [{"x": (span["x"] + span["x2"]) / 2, "words": "\n".join(words)}]
        at = {"y": {"value": below}, "text": channel("words", "nominal")}
        look: Spec = {"fontSize": TEXT, "color": FAINT, "baseline": "top", "lineBreak": "\n"}
        layers.append(layer("text", at, values=name, **look))
    return layers


def _line_layers(panel: ProfilePanel, colour: Spec, *, few: int) -> list[Spec]:
    """Pale stretches lie below; a point without neighbours is a dot."""
    most = max(len(p.position) for p in panel.lines.values())
    thick = 1.5 if most <= 200 else 1.1 if most <= 800 else 0.8
    joined: list[Spec] = []
    single: list[Spec] = []
    for label, profile in panel.lines.items():
        for stroke, (points, pale) in enumerate(strokes(profile, few=few)):
            same = {"series": label, "stroke": stroke, "opacity": _PALE if pale else 1}
            (joined if len(points) > 1 else single).extend(
                {"x": int(profile.position[i]), "y": float(f"{profile.received[i]:.7g}"), **same}
                for i in points
            )
    joined.sort(key=lambda row: row["opacity"])  # stable: points stay in order
    encoding = {"color": colour, "opacity": channel("opacity", scale=None)}
    line: Spec = {"strokeJoin": "round", "strokeWidth": thick, "tooltip": None, "clip": True}
    detail = {"detail": channel("stroke", "nominal")}
    dot: Spec = {"size": 9, "tooltip": None, "clip": True}
    lines = [layer("line", encoding | detail, values=joined, **line)] if joined else []
    dots = [layer("circle", encoding, values=single, **dot)] if single else []
    return lines + dots


def _hover(panel: ProfilePanel, step: float) -> Spec:
    """Transparent rules over the tokens, which carry the tooltips."""
    rows: dict[int, Spec] = {}
    fields = {"x": "position"} | ({"token": "token"} if panel.same_tokens else {})
    for i, (label, profile) in enumerate(panel.lines.items()):
        token = "token" if panel.same_tokens else f"token{i}"
        fields |= {} if panel.same_tokens else {token: f"token, {label}"}
        fields |= {f"received{i}": label, f"queries{i}": "… mean of queries"}
        drawn = {int(at) for points, _ in strokes(profile, few=0) for at in points}
        for at in sorted(drawn):
            row = rows.setdefault(int(profile.position[at]), {"x": int(profile.position[at])})
            row[token] = visible(profile.rows[at]["token"])
            row[f"received{i}"] = f"{profile.received[at]:.4g}"
            row[f"queries{i}"] = f"{profile.n_queries[at]:,}"
    values = [dict.fromkeys(fields, "–") | rows[x] for x in sorted(rows)]
    encoding = {"y": {"value": 0}, "y2": {"value": "height"}, "tooltip": tooltip(fields)}
    thick = round(max(step, 1.0), 1)
    return layer("rule", encoding, values=values, opacity=0, strokeWidth=thick)
