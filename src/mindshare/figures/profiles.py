"""What each token receives, by position → panels of lines, the inserted run shaded.

profile_grid   one column per head: above, the original tokens without and with an insertion; below,
               the whole sequence with it
family_panel   one panel per model: two insertions in one head each

Every panel has its own vertical scale, from 0; a version of the prompt has one colour everywhere.
Where late tokens average few queries a line is pale, where a number is missing it breaks, and above
5,000 points it is thinned. Draws what is in the tables and computes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.figures.captions import (
    Encoding,
    cell_words,
    condition_label,
    count,
    listed,
    number,
    pale_words,
    prompt_figure,
    visible,
)
from mindshare.figures.colours import FAINT, series_colours
from mindshare.figures.figure import Figure, redrawable
from mindshare.figures.selection import (
    WITHOUT,
    Floats,
    Head,
    Integers,
    Profile,
    aligned_profiles,
    inserted_run,
    metadata,
    pick,
    profile_table,
    whole_profile,
)
from mindshare.figures.theme import (
    TEXT,
    Grid,
    Spec,
    Style,
    channel,
    check_word,
    layer,
    legend,
    text_width,
    tooltip,
    wrapped,
)

Tables = tuple[pa.Table, pa.Table]  # sequence, places
MOST_POINTS = 5_000  # of a line; above, each stretch gives its lowest and its highest
_STRETCHES = 1_000  # of a line that is thinned
_MOST_HEADS, _MOST_MODELS = 24, 12
_HEIGHT = 124
_RUN = "inserted tokens"
_SHADE = "#dddddd"
_PALE = 0.4
_OWN_SCALE = "Each panel has its own scale."


@dataclass(frozen=True)
class ProfileOptions(Style):
    """What to draw and how."""

    width: str = "page"
    few: int = 5  # keys with fewer queries are drawn pale
    drop_first: bool | Collection[str] = False  # leave the first token out; or of these models
    columns: int | None = None  # panels in a row; None: as many as fit
    panel_title: str | None = None  # e.g. "{model} Layer {layer} Head {head}"
    legends: str = "above"  # one for all panels, or "inside" each of them
    shade: bool = True  # the inserted run
    run_label: str | None = None  # what stands in it; None: what was inserted
    whole_first: bool = False  # the whole sequence has the first colour, not that of its version

    def __post_init__(self) -> None:
        super().__post_init__()
        check_word(self.legends, ("above", "inside"), "place of legends")

    def titled(self, model: str, head: Head, usual: str) -> str:
        """The title of a panel."""
        if self.panel_title is None:
            return usual
        layer_, head_ = (None if n is None else self.number(n) for n in head)
        return self.panel_title.format(model=self.word(model), layer=layer_, head=head_)

    def drops(self, model: str) -> bool:
        return self.drop_first if isinstance(self.drop_first, bool) else model in self.drop_first


@redrawable
def profile_grid(
    aligned: pa.Table,
    sequence: pa.Table,
    places: pa.Table,
    options: ProfileOptions | None = None,
    *,
    model: str,
    prompt: str,
    condition: str,
    heads: Sequence[Head],
    about: Mapping[str, str] | None = None,
) -> Figure:
    """What each token receives in some heads of one model, without and with the insertion."""
    options = options or ProfileOptions()
    if condition == WITHOUT:
        raise SelectionError(
            "the grid compares a condition with 'without', so it can't be 'without' itself",
            next_step="name the insertion",
        )
    if not 1 <= len(heads) <= _MOST_HEADS:
        raise SelectionError(f"{len(heads)} heads in one grid", allowed=f"1 to {_MOST_HEADS}")
    aligned = pick(aligned, "aligned", prompt=prompt, condition=condition)
    sequence = pick(sequence, "sequence", prompt=prompt, condition=condition)
    places = pick(places, "places", prompt=prompt)
    label = options.label.get(condition, f"with {condition_label(condition, options)}")
    run_label = options.word(condition) if options.run_label is None else options.run_label
    drop, run = options.drops(model), inserted_run(places, condition)
    uppers, lowers, profiles = [], [], []
    for head in heads:
        without, with_ = aligned_profiles(aligned, condition, head, drop=drop)
        whole = whole_profile(sequence, places, condition, head, drop=drop)
        title = options.titled(model, head, cell_words(*head, options).capitalize())
        pair = {options.word(WITHOUT): without, label: with_}
        uppers.append(_Panel(pair, title, "Token position (without)"))
        lowers.append(
            _Panel(
                {label: whole},
                title if options.panel_title else f"{title}, all tokens",
                "Token position (with)",
                runs={label: run} if run else {},
                run_label=run_label,
                titled=options.panel_title is not None,
                first=0 if options.whole_first else 1,
            )
        )
        profiles += [without, whole]
    table = profile_table(profiles, places, model, prompt).replace_schema_metadata(
        metadata(sequence)
    )
    chart = _grid_encoding([*uppers, *lowers], options, places, (model, prompt, condition), label)
    return prompt_figure(_view([uppers, lowers], options), table, options, about, chart)


def _grid_encoding(
    panels: Sequence[_Panel],
    options: ProfileOptions,
    places: pa.Table,
    names: tuple[str, str, str],
    label: str,
) -> Encoding:
    model, prompt, condition = names
    pairs = [panel.lines.values() for panel in panels if len(panel.lines) == 2]
    heads = count(len(pairs), "head")
    original = pick(places, "places", condition=WITHOUT)["position"].to_pylist()
    partners = set(pick(places, "places", condition=condition)["position_without"].to_pylist())
    lost = sum(at not in partners for at in original)
    gap = f"Gap: {count(lost, 'token')} split differently next to the insertion." if lost else None
    less = sum(with_.total < without.total for without, with_ in pairs)
    word, n = ("less", less) if 2 * less >= len(pairs) else ("more", len(pairs) - less)
    inserted = "Nothing is inserted in this condition."
    if run := inserted_run(places, condition):
        inserted = (
            f"The inserted run ({count(run[1] - run[0] + 1, 'token')}, positions {run[0]:,} to "
            f"{run[1]:,}) is shaded grey between dashed lines."
        )
    dropped, pale = _dropped([model], options), pale_words(options.few)
    return Encoding(
        name=["profiles", condition],
        title=f"Tokens receive {word} {label} in {n} of {heads}: {model}",
        shown=[f"prompt: {prompt}"],
        marks=[dropped, gap, pale, _OWN_SCALE],
        facts=[
            "Upper panels: the original tokens that have the same characters and the same id in "
            "both versions, at their position in the version without",
            f"Lower panels: every token of the version {label}",
            *(pale, dropped),
        ],
        details=[
            f"Line charts of {heads} of {model}, two for each: above, what the "
            f"original tokens of prompt {prompt} receive without (blue) and {label} (orange); "
            "below, what every token receives with it.",
            f"{len(original) - lost:,} of {count(len(original), 'original token')} stand in both "
            "versions.",
            *(gap, inserted, *_panel_words(panels), dropped),
        ],
    )


@redrawable
def family_panel(
    sequences: Mapping[str, Tables],
    options: ProfileOptions | None = None,
    *,
    prompt: str,
    conditions: tuple[str, str],
    heads: Mapping[str, Head],
    about: Mapping[str, str] | None = None,
) -> Figure:
    """One prompt under two conditions, in one head of every model.

    Every model has its own head, scale and tokenizer: panels are compared by shape, never token by
    token.
    """
    options = options or ProfileOptions()
    _check_family(sequences, options, heads)
    labels = [condition_label(name, options) for name in conditions]
    panels, tables = [], []
    for model, (sequence, places) in sequences.items():
        head, drop = heads[model], options.drops(model)
        try:
            sequence = pick(sequence, "sequence", prompt=prompt)
            places = pick(places, "places", prompt=prompt)
            profiles = [whole_profile(sequence, places, c, head, drop=drop) for c in conditions]
        except SelectionError as error:
            raise SelectionError(
                error.what, where=model, allowed=error.allowed, next_step=error.next_step
            ) from error
        lines = dict(zip(labels, profiles, strict=True))
        runs = {
            label: run
            for label, name in zip(labels, conditions, strict=True)
            if (run := inserted_run(places, name)) and options.shade
        }
        title = options.titled(model, head, f"{model}, {cell_words(*head, options)}")
        panels.append(_Panel(lines, title, runs=runs, same_tokens=False))
        rows = profile_table(profiles, places, model, prompt)
        tables.append(rows.replace_schema_metadata(metadata(sequence)))
    chart = _family_encoding(panels, options, list(sequences), prompt, conditions)
    return prompt_figure(_view([panels], options), pa.concat_tables(tables), options, about, chart)


def _family_encoding(
    panels: Sequence[_Panel],
    options: ProfileOptions,
    models: Sequence[str],
    prompt: str,
    conditions: tuple[str, str],
) -> Encoding:
    first, second = (condition_label(name, options) for name in conditions)
    who = f": {models[0]}" if len(models) == 1 else ""
    dropped, pale = _dropped(models, options), pale_words(options.few)
    return Encoding(
        name=["panel", *conditions],
        title=f"Attention that tokens receive with {first} and with {second}{who}",
        shown=[f"prompt: {prompt}"],
        marks=[dropped, pale, _OWN_SCALE],
        facts=[
            f"One head per model: {'; '.join(panel.title for panel in panels)}",
            "Every token of a version stands at its own position; models cut the text differently, "
            "so the same position is not the same text",
            *(pale, dropped),
        ],
        details=[
            f"Line charts of {count(len(models), 'model')}, one head each: what every token of "
            f"prompt {prompt} receives with {first} (blue) and with {second} (orange), by "
            "position. The inserted tokens are shaded grey between dashed lines.",
            *(*_panel_words(panels), dropped),
        ],
    )


def _dropped(models: Sequence[str], options: ProfileOptions) -> str | None:
    dropping = [model for model in models if options.drops(model)]
    which = f" of {listed(dropping)}" if 0 < len(dropping) < len(models) else ""
    return f"First token{which} not drawn." if dropping else None


def _check_family(
    sequences: Mapping[str, Tables], options: ProfileOptions, heads: Mapping[str, Head]
) -> None:
    if not 1 <= len(sequences) <= _MOST_MODELS:
        raise SelectionError(
            f"{len(sequences)} models in one panel", allowed=f"1 to {_MOST_MODELS}"
        )
    for model in sequences:
        if model not in heads:
            raise SelectionError(
                f"no head is chosen for {model}", next_step=f"heads={{{model!r}: (layer, head), …}}"
            )
    for model in () if isinstance(options.drop_first, bool) else options.drop_first:
        if model not in sequences:
            raise SelectionError(
                f"drop_first names {model!r}, which is not drawn", allowed=", ".join(sequences)
            )


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
class _Panel:
    """What one panel shows: label of a line → its profile, and where the insertion is."""

    lines: Mapping[str, Profile]
    title: str
    x_title: str = "Token position"
    runs: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # of a line: first, last
    run_label: str = ""  # what stands in the run
    same_tokens: bool = True  # the lines have the same tokens at the same positions
    titled: bool = True  # else the title stands in the description only
    first: int = 0  # the colour of its first line


def _view(stacks: Sequence[Sequence[_Panel]], options: ProfileOptions) -> Spec:
    """Panels in rows; those of several `stacks` stand below one another, pair by pair."""
    inside = options.legends == "inside"
    colour = _colour([panel for stack in stacks for panel in stack], options)
    grid = Grid.of(len(stacks[0]), options, most=options.columns, titled=inside)
    rows = [row for rows in zip(*map(grid.rows, stacks), strict=True) for row in rows]
    y_title = "Attention received" if options.y_title is None else options.y_title
    views: list[list[Spec]] = []
    for row in rows:
        views.append([])
        for i, panel in enumerate(row):
            own = _colour_inside(panel, options) if inside else colour
            title = y_title if inside or not i else None
            views[-1].append(_panel(grid, panel, own, options, title))
    return grid.view(views, colours="independent" if inside else "shared")


def _colour(panels: Sequence[_Panel], options: ProfileOptions) -> Spec:
    """One scale and one legend for all panels, the run among them."""
    lines = panels[0].lines
    colours = series_colours([profile.condition for profile in lines.values()], options.colours)
    drawn = dict(zip(lines, options.tinted(colours).values(), strict=True))
    drawn |= {_RUN: _SHADE} if any(panel.runs for panel in panels) else {}
    shown = legend({label: label for label in drawn}, options.pixels)
    scale = {"domain": list(drawn), "range": list(drawn.values())}
    return channel("series", "nominal", scale=scale, legend=shown)


def _colour_inside(panel: _Panel, options: ProfileOptions) -> Spec:
    """The panel's own lines, named in its corner."""
    series = options.colours.series[panel.first : panel.first + len(panel.lines)]
    names = [profile.condition for profile in panel.lines.values()]
    colours = dict(zip(names, series, strict=True))
    own = panel.first == 0 and len(names) == 1  # of a whole sequence that is not its version's
    colours = colours if own else options.tinted(colours)
    scale = {"domain": [*panel.lines, _RUN], "range": [*colours.values(), _SHADE]}
    look = {"orient": "top-right", "direction": "vertical", "offset": 2, "symbolType": "stroke"}
    look |= {"padding": 1, "rowPadding": 0, "values": list(panel.lines)}
    shown = legend({label: label for label in panel.lines}, options.pixels, **look)
    return channel("series", "nominal", scale=scale, legend={**shown, "columns": 1})


def _panel(
    grid: Grid, panel: _Panel, colour: Spec, options: ProfileOptions, y_title: str | None
) -> Spec:
    width, few, inside = grid.panel_width, options.few, options.legends == "inside"
    positions = {int(i) for p in panel.lines.values() for i in p.position} or {0}
    low, high = min(positions) - 0.5, max(positions) + 0.5
    # Means of few queries set no scale: where they rise above it, they are cut off at the top.
    solid = [p.received[p.n_queries >= few] for p in panel.lines.values()]
    every = [p.received for p in panel.lines.values()]
    top = max(map(_highest, solid)) or max(map(_highest, every)) or 1.0
    x_axis = {"title": panel.x_title, "tickCount": max(2, round(width / 42))}
    x_axis |= {"format": ",d", "tickMinStep": 1}
    y_axis: Spec = {"title": y_title, "tickCount": 4, "format": "~g"}
    x_scale = {"domain": [low, high], "nice": False, "zero": False}
    # Room above the lines for the name of the run, and for a legend inside.
    room = 1.16 if panel.run_label else 1.04
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
        _hover(panel, width / (high - low)),
    )


def _highest(received: Floats) -> float:
    return float(np.nanmax(received, initial=0.0))


def _run_layers(
    panel: _Panel, ends: tuple[float, float], width: float, colour: Spec, *, below: int
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


def _line_layers(panel: _Panel, colour: Spec, *, few: int) -> list[Spec]:
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
    return [
        *([layer("line", encoding | detail, values=joined, **line)] if joined else []),
        *(
            [layer("circle", encoding, values=single, size=9, tooltip=None, clip=True)]
            if single
            else []
        ),
    ]


def _hover(panel: _Panel, step: float) -> Spec:
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
            row[token] = visible(profile.tokens[at])
            row[f"received{i}"] = f"{profile.received[at]:.4g}"
            row[f"queries{i}"] = f"{profile.n_queries[at]:,}"
    values = [dict.fromkeys(fields, "–") | rows[x] for x in sorted(rows)]
    encoding = {"y": {"value": 0}, "y2": {"value": "height"}, "tooltip": tooltip(fields)}
    thick = round(max(step, 1.0), 1)
    return layer("rule", encoding, values=values, opacity=0, strokeWidth=thick)


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def _panel_words(panels: Sequence[_Panel]) -> Iterator[str]:
    """`… highest 0.175 at position 15 (·cat), sum 0.91, inside the run 0.01 to 0.02`"""
    for panel in panels:
        parts = []
        for label, profile in panel.lines.items():
            there = np.flatnonzero(~np.isnan(profile.received))
            if not len(there):
                parts.append(f"{label} no number")
                continue
            i = there[np.argmax(profile.received[there])]
            parts.append(
                f"{label} highest {number(profile.received[i])} at position "
                f"{profile.position[i]:,} ({visible(profile.tokens[i])}), "
                f"sum {number(profile.total)}"
            )
            first, last = panel.runs.get(label, (0, -1))
            inside = there[(profile.position[there] >= first) & (profile.position[there] <= last)]
            if len(inside):
                low, high = profile.received[inside].min(), profile.received[inside].max()
                parts[-1] += f", inside the run {number(low)} to {number(high)}"
        yield f"{panel.title}: {'; '.join(parts)}."
    if max(len(p.position) for panel in panels for p in panel.lines.values()) > MOST_POINTS:
        yield "Of each stretch of these long lines the lowest and the highest token are drawn."
