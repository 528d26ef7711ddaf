"""Every text of a chart but its title: caption, definition and description (for who can't see it).

Made from the drawn rows, from what the table says about itself and from the registry of measures,
so that a new measure needs no text of its own. A chart kind adds only what its marks mean.

    summary_figure(view, data, Encoding(…))     charts of tables over prompts: bars, maps, lines
    prompt_figure(view, table, …, Encoding(…))  charts of one prompt's tokens: profiles, text
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from mindshare.facts.cells import hidden_together, study_of
from mindshare.facts.words import PAIR, asked, count, listed, together
from mindshare.figures.colours import FAINT, ColourScale
from mindshare.figures.figure import Figure
from mindshare.figures.render import printed
from mindshare.figures.selection import Row, Selection
from mindshare.figures.theme import (
    BOLD,
    SCHEMA,
    TEXT,
    TITLE,
    Spec,
    Style,
    balanced,
    config,
    wrapped,
)
from mindshare.measures import MEASURES, Measure
from mindshare.naming import WITHOUT
from mindshare.tables import DEFINITIONS, DEPTH, ONE_BASED, QUERIES, defined, metadata, one_based

Parts = Iterable[str | None]  # sentences; None: nothing to say
CAPTION_WORDS = 25
LISTED, _EACH = 12, 6  # layers, or heads, that are listed at length; numbers of a line
_TESTED = ("difference", "p_family")
_UNBROKEN = 16  # characters of a name that is kept in one line
_LATER = {"all": "later tokens", "both": "later tokens", "original": "later original tokens"}
_VISIBLE = {" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """What a chart's marks mean; all else is said by its table and by the registry."""

    name: Sequence[str]  # of its files
    title: str
    kind: str = ""  # of marks; with `axes` and the numbers of the series the description
    axes: str = ""
    series: Mapping[str, Sequence[Row]] = field(default_factory=dict)  # label → rows [+ `where`]
    interval: str = ""  # the mark that shows one: Whisker, Band
    whose: str = ""  # interval it is
    measures: Sequence[Measure] = ()  # if they are not only the table's own
    shown: Sequence[str] = ()  # of one prompt, begins the caption: `prompt: p1`
    marks: Sequence[str | None] = ()  # explain the picture: in the caption if they fit, described
    facts: Parts = ()  # go into the definition
    details: Parts = ()  # … into the description
    legends: str = "middle"  # where they stand above the picture


def summary_figure(
    view: Spec, data: Selection, chart: Encoding, table: pa.Table | None = None
) -> Figure:
    """A chart over prompts with its words; `table`: if it is not what was selected."""
    table = data.table if table is None else table
    return _figure(view, chart, data.style, table, *summary_words(data, chart))


def summary_words(data: Selection, chart: Encoding) -> tuple[str, str, str]:
    """Caption, definition and description of a chart over prompts."""
    measures = chart.measures or [data.measure]
    interval, of = chart.interval, f", of {chart.whose}" if chart.whose else ""
    intervals = f"{interval}s" if interval else "Intervals (not drawn)"
    stated = f"{intervals}: {_interval(data)}{of}" if data.has_intervals else "No intervals"
    drawn = f"{interval}: {_level(data)} interval{of.replace(',', '')}." if interval else None
    short = f"{data.measure.title}: {data.measure.short}." if len(measures) == 1 else None
    marks = [_below(data), *chart.marks]
    reserved = _reservations(data, intervals=bool(interval))
    caption = [_first_sentence(data, measures), drawn, *reserved, *marks, short]
    described = [
        f"{chart.kind} of {_subject(data, measures)}, over {prompts_words(data)}. {chart.axes}.",
        *(_series_words(data, label, rows) for label, rows in chart.series.items()),
        *chart.details,
        *marks,
    ]
    facts = [stated, *_reservations(data), *_tests(data), *chart.facts]
    return _fitted(caption), _definition(data, facts, measures), " ".join(filter(None, described))


def prompt_figure(
    view: Spec, table: pa.Table, style: Style, about: Mapping[str, str] | None, chart: Encoding
) -> Figure:
    """A chart of what one prompt's tokens receive, with its words."""
    about, known = about or {}, metadata(table)
    caption = _fitted([_facts_sentence(_asked(about, known), chart.shown, style), *chart.marks])
    definition = _define(["received"], chart.facts, style, about, known, _queries(about, known))
    description = " ".join(filter(None, [*chart.details, *chart.marks]))
    return _figure(view, chart, style, table, caption, definition, description)


def _figure(
    view: Spec,
    chart: Encoding,
    style: Style,
    table: pa.Table,
    caption: str,
    definition: str,
    description: str,
) -> Figure:
    """A view under its title and caption; the one place where both are put into a picture."""
    spec = {
        "$schema": SCHEMA,
        "description": description,
        **_heading(chart.title, caption, style),
        **view,
        "config": config(legends=chart.legends),
        "usermeta": printed(style),
    }
    name, title = style.name or file_name(*chart.name), style.title or chart.title
    table = one_based(table) if style.labels == ONE_BASED else table
    return Figure(name, spec, table, title, definition, description)


def _heading(title: str, caption: str, style: Style) -> Spec:
    """Title and caption, those of one's own, or none."""
    title = title if style.title is None else style.title
    caption = caption if style.subtitle is None else style.subtitle
    if style.bare or not (title or caption):
        return {}
    place: Spec = {"anchor": "start", "frame": "bounds", "offset": 8}
    lines = wrapped(caption, style.pixels) if caption else []
    if not title:  # an empty one would take a line
        look = {"fontSize": TEXT, "fontWeight": "normal", "color": FAINT}
        return {"title": {"text": lines, **look, **place}}
    below = {"subtitle": lines} if lines else {}
    return {"title": {"text": balanced(title, style.pixels, TITLE * BOLD), **below, **place}}


# ── captions ──────────────────────────────────────────────────────────────────────────────────────


def _first_sentence(data: Selection, measures: Sequence[Measure]) -> str:
    """Which numbers are shown: queries, if all measures depend on them, heads and prompts."""
    effects = all(measure.level == "effect" for measure in measures)
    said = "hidden from" if effects else "attention of"
    queries = None if data.queries is None else f"{said} {asked(data.queries)}"
    if queries is None and all("received" in measure.needs for measure in measures):
        queries = _asked(data.about, data.metadata)
    # A map shows by itself that it has each head.
    heads = [] if len(data.heads) > 1 else [heads_words(data)]
    return _facts_sentence(queries, [*heads, prompts_words(data)], data.style)


def _facts_sentence(queries: str | None, facts: Sequence[str], style: Style) -> str:
    based = [] if style.labels == "zero-based" else [f"numbers {style.labels}"]
    text = "; ".join([*([queries] if queries else []), *facts, *based])
    return f"{text[0].upper()}{text[1:]}."


def _fitted(parts: Parts) -> str:
    """The first sentence, and of the others those that fit into a short caption."""
    caption = ""
    for part in filter(None, parts):
        if not caption or len(f"{caption} {part}".split(" ")) <= CAPTION_WORDS:
            caption = f"{caption} {part}".lstrip(" ")
    return caption


# ── definitions ───────────────────────────────────────────────────────────────────────────────────


def _definition(data: Selection, facts: Parts, measures: Sequence[Measure]) -> str:
    """How the numbers of a table over prompts were made."""
    known = data.metadata
    study = study_of(known)
    rules = "; ".join(f"{name} = {rule}" for name, rule in study.get("classes") or ())
    rules = data.about.get("classes", rules)
    policy = data.about.get("policy", study.get("policy", "priority"))
    classes = f"Token classes (policy: {policy}): {rules}" if rules else None
    return _define(
        [measure.name for measure in measures],
        [
            f"Heads: {heads_words(data, most=LISTED)}",
            classes,
            f"Mean over {prompts_words(data)}",
            *facts,
        ],
        data.style,
        {k: v for k, v in data.about.items() if k not in ("classes", "policy", "heads")},
        known,
        data.queries,
    )


def _define(
    measures: Sequence[str],
    facts: Parts,
    style: Style,
    about: Mapping[str, str],
    known: Mapping[str, str],
    queries: str | None,
) -> str:
    """The measures and what they rest on, then the facts, then what the caller knows."""
    names = list(dict.fromkeys(measures))
    for measure in names:  # grows while it is walked
        names += [more for more in MEASURES[measure].needs if more not in names]
    if queries is None and "received" in names:
        queries = _queries(about, known)
    parts = [f"{MEASURES[one].heading}: {defined(one, known)}" for one in names]
    parts.append("A[i,j] is the attention that query token i gives to key token j, after softmax")
    if any("A'" in DEFINITIONS[one] for one in names):
        parts.append("A' is the same with the insertion")
    parts += [f"Query set Q: {queries}"] if queries else []
    parts += [*filter(None, facts), f"Layers and heads are labelled {style.labels}"]
    parts += [f"{key.capitalize()}: {text}" for key, text in about.items() if key != "queries"]
    return " ".join(f"{part.rstrip('.')}." for part in parts)


# ── descriptions ──────────────────────────────────────────────────────────────────────────────────


def _subject(data: Selection, measures: Sequence[Measure]) -> str:
    """`mass of hash, b minus a`: what the numbers are, in a sentence."""
    who = f" in {listed(data.models)}" if not data.is_difference else f", {whose(data)}"
    return f"{listed([_lower(measure.title) for measure in measures])}{in_common(data)}{who}"


def _series_words(data: Selection, label: str, rows: Sequence[Row]) -> str:
    """Of few rows each number, else `Highest 0.3 (layer 1, head 2), lowest …, mean …`"""
    lead = f"{label}: " if label else ""
    known = [row for row in rows if row[data.value] is not None]
    hidden = heads_words(data) if hidden_together(data.metadata) else ""

    def at(row: Row) -> str:
        where = row.get("where") or hidden
        where = where or cell_words(row["layer"], row["head"], data.style)
        return f"{number(row[data.value])} ({where})"

    if not known:
        return f"{lead}No prompt has this number."
    if len(known) <= _EACH:
        return f"{lead}{', '.join(map(at, known))}."
    ranked = sorted(known, key=lambda row: float(row[data.value]))
    mean = number(sum(row[data.value] for row in known) / len(known))
    return f"{lead}Highest {at(ranked[-1])}, lowest {at(ranked[0])}, mean {mean}."


def axis_words(noun: str, numbers: Sequence[int | None], style: Style) -> str:
    """`30 layers (0 to 29, zero-based)`"""
    labels = ["mean" if n is None else str(style.number(n)) for n in numbers]
    ends = f"{labels[0]} to {labels[-1]}" if len(labels) > LISTED else listed(labels)
    return f"{count(len(labels), noun)} ({ends}, {style.labels})"


def colour_words(scale: ColourScale) -> str:
    """`from 0 (light) to 0.4 (dark)`"""
    low, high = (number(end, percent=scale.percent) for end in (scale.low, scale.high))
    if scale.middle is None:
        first, last = ("dark", "light") if scale.falling else ("light", "dark")
        return f"from {low} ({first}) to {high} ({last})"
    doublings = ", by doublings" if scale.log2 else ""
    return f"from {low} (blue) over {scale.middle:g} (white) to {high} (orange){doublings}"


# ── phrases ───────────────────────────────────────────────────────────────────────────────────────


def axis_title(data: Selection, usual: str | None = None, *, own: bool = True) -> str:
    """`Entropy (nats)`, `Difference in mass`; or the title of one's own, unless it is of many."""
    if own and data.style.y_title is not None:
        return data.style.y_title
    unit = data.measure.unit
    title = (usual or data.measure.title) + (f" ({unit})" if unit not in ("", "ratio") else "")
    return f"Difference in {_lower(title)}" if data.is_difference else title


def in_common(data: Selection) -> str:
    """` of hash`, ` with “/ ×55”`: what all rows have in common."""
    classes, conditions = data.values("class"), data.values("condition")
    parts = [f" of {classes[0]}"] if len(classes) == 1 and classes[0] else []
    parts += [f" with {condition_label(conditions[0], data.style)}"] if len(conditions) == 1 else []
    return "".join(parts)


def whose(data: Selection) -> str:
    if data.is_difference:
        return "{} minus {}".format(*data.models)
    return f": {data.models[0]}" if len(data.models) == 1 else ""


def prompts_words(data: Selection) -> str:
    """How many prompts the numbers are means of."""
    rows = [row for row in data.table.to_pylist() if row["n_prompts"]]
    counts: list[int] = [row["n_prompts"] for row in rows] or [0]
    low, high = min(counts), max(counts)
    every = max([row["n_prompts"] + (row.get("n_absent") or 0) for row in rows], default=high)
    counted = f"{high:,}" if low == high else f"{low:,} to {high:,}"
    of = f" of {every:,}" if every > high or low < high else ""
    units = {row.get("n_groups") or row["n_prompts"] for row in rows} or {0}
    # Groups, or equal prompts, count as one.
    alike = f" that count as {max(units):,}" if of == "" and max(units) < high else ""
    return f"{counted}{of} prompt{'' if max(every, high) == 1 else 's'}{alike}"


def heads_words(data: Selection, *, most: int = PAIR) -> str:
    """How the heads were reduced, as the table or the caller knows it; so many are named."""
    if hidden := hidden_together(data.metadata):
        counted = data.style.number
        return together([(counted(layer), counted(head)) for layer, head in hidden], most=most)
    if data.heads == [None]:
        both = cell_words(None, None, data.style)
        return data.about.get("heads", both if data.layers == [None] else "mean over the heads")
    if len(data.heads) > 1:
        return "each head by itself"
    return f"head {data.style.number(data.heads[0])}"  # type: ignore[arg-type]  # not the mean


def pale_words(few: int) -> str | None:
    return f"Pale: fewer than {few} queries." if few > 0 else None


def _level(data: Selection) -> str:
    """`95 %`, not to be broken"""
    return f"{100 * float(data.metadata.get('mindshare.confidence', '0.95')):.4g}\xa0%"


def _below(data: Selection) -> str | None:
    """Which way is a loss, where the registry says it."""
    measure = data.measure
    if data.is_difference or not measure.below or measure.neutral is None:
        return None
    return f"Below {measure.neutral:g}: {measure.below}."


def _interval(data: Selection) -> str:
    known = data.metadata
    units = "groups of prompts" if known.get("mindshare.unit") == "group" else "prompts"
    return f"{_level(data)} {known.get('mindshare.interval', 'interval')} over {units}"


def _reservations(data: Selection, *, intervals: bool = True) -> Iterator[str]:
    """Which classes some prompts lack, and whether few prompts make the intervals approximate."""
    rows = [row for row in data.drawn if row.get("low") is not None]
    if intervals and not all(row.get("reliable", True) for row in rows):
        yield "Intervals approximate: few prompts."
    lacking = {
        row["class"]: f"{row['n_prompts']:,} of {row['n_prompts'] + row['n_absent']:,}"
        for row in data.drawn
        if row.get("n_absent") and row.get("class")
    }
    if lacking:
        yield f"Prompts that have the class: {', '.join(f'{k} {v}' for k, v in lacking.items())}."


def _tests(data: Selection) -> Iterator[str]:
    """What a difference is, how it was tested, and which layers of the models were compared."""
    if data.is_difference:
        yield from (f"{name.capitalize()}: {DEFINITIONS[name]}" for name in _TESTED)
        yield from [data.metadata[DEPTH]] if DEPTH in data.metadata else []


def _queries(about: Mapping[str, str], known: Mapping[str, str]) -> str | None:
    """The query set of what tokens receive, and which of its queries count, exactly."""
    found = _query_set(about, known)
    if found is None:
        return None
    words, near = found
    counted = {None: "", 0: ", i > j", -1: ", i ≥ j"}.get(near, f", i > j + {near}")
    every = {"all": "every token", "both": "every token", "original": "the original tokens"}
    return f"{every.get(words, words)}{counted}"


def _asked(about: Mapping[str, str], known: Mapping[str, str]) -> str | None:
    """The same in plain words: `attention from later tokens`."""
    found = _query_set(about, known)
    if found is None:
        return None
    words, near = found
    if near is None or words not in _LATER:
        return f"attention of {asked(words)}"
    itself = {0: "", -1: " and from itself"}.get(near, f", from {(near or 0) + 1} behind on")
    return f"attention from {_LATER[words]}{itself}"


def _query_set(about: Mapping[str, str], known: Mapping[str, str]) -> tuple[str, int | None] | None:
    """As the caller calls it, or as the table's own study says, which also says what is near."""
    study = study_of(known)
    if "queries" in about or not isinstance(study.get("queries"), str):
        return (about["queries"], study.get("near")) if "queries" in about else None
    return known.get(QUERIES, study["queries"]), int(study.get("near", 0))


_OWN = (WITHOUT, "random sentence")  # how names of conditions begin that are no inserted text


def condition_label(condition: str, style: Style) -> str:
    """The label of a condition; inserted text gets quotes, so that it ends somewhere."""
    if condition in style.label or condition.startswith(_OWN):
        return style.word(condition)
    name = condition.replace(" ", "\u00a0") if len(condition) <= _UNBROKEN else condition
    return f"“{name}”"


def cell_words(layer: int | None, head: int | None, style: Style) -> str:
    """`layer 1, head 8`, not to be broken within; a mean over the heads of a layer goes unsaid."""
    if layer is None:
        return "mean over layers and heads" if head is None else "mean of the layers"
    where = f"layer\xa0{style.number(layer)}"
    return where if head is None else f"{where}, head\xa0{style.number(head)}"


def number(value: float, *, percent: bool = False) -> str:
    """Three significant digits: `0.0312`, or `3.12 %`, not to be broken."""
    return f"{100 * value:.3g}\xa0%" if percent else f"{value:.3g}"


def visible(token: str) -> str:
    """The token with every space, line end and control character as a mark."""
    return "".join(_VISIBLE.get(c) or (c if c.isprintable() else escaped(c)) for c in token)


def escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def file_name(*words: str) -> str:
    """Words of any kind → letters, digits, `_` and `-`."""
    return "_".join(re.sub(r"[^\w-]+", "_", word).strip("_") or "x" for word in words)


def _lower(text: str) -> str:
    return f"{text[0].lower()}{text[1:]}"
