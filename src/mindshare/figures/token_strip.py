"""A number per token → the prompt's own text, every token on a colour.

The number is what a token receives, from a `received` table; or what an original token gains or
loses by an insertion, from an `aligned` table: white stays, blue loses, orange gains. A line end is
shown and ends the line; a token that the insertion splits differently is outlined. Draws what is in
the table; computes the change and where a token stands.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.facts.words import count, listed
from mindshare.figures.captions import (
    Encoding,
    cell_words,
    colour_words,
    condition_label,
    escaped,
    number,
    pale_words,
    prompt_figure,
    visible,
)
from mindshare.figures.colours import FAINT, GRADIENT, INK, NOTHING, PAPER, ColourScale
from mindshare.figures.figure import Figure, redrawable
from mindshare.figures.selection import Row, pick
from mindshare.figures.theme import TEXT, Spec, Style, channel, layer, text_width, tooltip
from mindshare.measures import MEASURES
from mindshare.naming import WITHOUT
from mindshare.tables import DEFINITIONS

NEWLINE, TAB = "¶", "→"
LEGEND, RECEIVED = "Received with / without", MEASURES["received"].title
_REACH = 0.95  # share of the tokens that colours reach; a single outlier fades no others
_LINE, _BOX = 20, 17  # pixels: from line to line, height of a box
_BLANK = 0.45  # em: width of a box without characters
_PALE = 0.45
_NAMED = 5  # tokens that the description names at each end


@dataclass(frozen=True)
class TokenStripOptions(Style):
    """What to draw and how."""

    width: str = "page"
    few: int = 5  # keys with fewer queries are drawn pale
    drop_first: bool = False  # the first token gets no colour
    positions: tuple[int, int] | None = None  # first and one past the last; None: all


@redrawable(TokenStripOptions)
def text_strip(
    aligned: pa.Table,
    options: TokenStripOptions | None = None,
    *,
    model: str,
    prompt: str,
    condition: str,
    places: pa.Table | None = None,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """What each token of a prompt gains or loses by the insertion, in the text itself.

    `aligned` has the mean over layers and heads; `places` the text of tokens that the insertion
    splits differently, which are `…` without it.
    """
    options = options or TokenStripOptions()
    rows = pick(aligned, "aligned", prompt=prompt, condition=condition, layer=None, head=None)
    changes = {row["position_without"]: _change(row) for row in rows.to_pylist()}
    # Without places, `…` stands for the tokens that have no partner.
    texts = dict(zip(*(rows[n].to_pylist() for n in ("position_without", "token")), strict=True))
    original: list[Row] = [
        {"position": i, "token": texts.get(i, "…"), "start": 0, "stop": 0}
        for i in range(max(texts) + 1)
    ]
    if places is not None:
        original = pick(places, "places", prompt=prompt, condition=WITHOUT).to_pylist()
    tokens = _tokens(original, changes, options)
    # Tokens that are pale or not coloured do not decide how far colours reach.
    solid = [t.change for t in tokens if t.change is not None and not t.pale]
    scale = ColourScale.around([x for x in solid if math.isfinite(x)], 1.0, share=_REACH)
    fields = {"without": "received without"}
    fields |= {"with": f"received with {condition_label(condition, options)}", "change": LEGEND}
    fields |= {"queries": "mean of queries (the fewer)"}
    view = _view(tokens, scale, options, LEGEND, fields)
    where = cell_words(None, None, options)
    chart = _change_encoding(tokens, scale, options, (model, prompt, condition), where)
    return prompt_figure(view, rows, options, about, chart)


@redrawable(TokenStripOptions)
def received_strip(
    received: pa.Table,
    tokens: pa.Table,
    options: TokenStripOptions | None = None,
    *,
    model: str,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """What each token of one prompt receives, in the text itself.

    Both tables are of one prompt, one query set and one layer and head, or the mean of them. The
    first token, where many heads rest, does not decide how far the colours reach. The table drawn
    is `received` with the text of each token and `model`, or the wording, as it is called.
    """
    options = options or TokenStripOptions()
    got = {
        row["position"]: {"change": row["received"], "n_queries": row["n_queries"] or 0}
        for row in received.to_pylist()
    }
    shown = _tokens(tokens.to_pylist(), got, options)
    solid = sorted(t.change for t in shown if t.change is not None and not t.pale and t.position)
    reach = solid[math.ceil(_REACH * len(solid)) - 1] if solid else 1.0
    scale = ColourScale(0.0, reach or 1.0, percent=True)
    fields = {"change": "received", "queries": "mean of queries"}
    view = _view(shown, scale, options, RECEIVED, fields)
    layer, head, queries = (received[name][0].as_py() for name in ("layer", "head", "queries"))
    where = cell_words(layer, head, options)
    chart = _received_encoding(shown, scale, options, (model, where), last=max(got))
    table = _named(received, tokens, model)
    return prompt_figure(view, table, options, {"queries": str(queries), **(about or {})}, chart)


def _named(received: pa.Table, tokens: pa.Table, model: str) -> pa.Table:
    """With the model first, and the text of each token behind its position."""
    texts = dict(zip(tokens["position"].to_pylist(), tokens["token"].to_pylist(), strict=True))
    words = pa.array([texts[position] for position in received["position"].to_pylist()])
    models = pa.array([model] * received.num_rows)
    about = {"definition": DEFINITIONS["token"]}
    at = received.column_names.index("position") + 1
    named = received.add_column(at, pa.field("token", pa.string(), metadata=about), words)
    about = {"definition": DEFINITIONS["model"] + ", or of the wording"}
    return named.add_column(0, pa.field("model", pa.string(), metadata=about), models)


# ── tokens ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Token:
    """One original token; None: no such number."""

    position: int
    text: str
    continues: bool  # more bytes of the character that the token before it began
    matched: bool = False
    pale: bool = False
    n_queries: int = 0  # the fewer of both versions
    change: float | None = None  # what its colour says; inf: from nothing to something
    without: float | None = None
    with_: float | None = None


def _tokens(
    places: Sequence[Row], numbers: Mapping[int, Row], options: TokenStripOptions
) -> list[_Token]:
    """The tokens at the places that are shown; those without a row of numbers have no partner."""
    tokens = []
    before = (0, 0)  # characters of the token before
    for place in sorted(places, key=lambda row: int(row["position"])):
        position, span = place["position"], (place["start"], place["stop"])
        continues = span == before and span[0] < span[1]
        before = span
        known = dict(numbers.get(position, {}))
        if options.drop_first and position == 0:
            known["change"] = None
        pale = known.get("change") is not None and known["n_queries"] < options.few
        matched = position in numbers
        tokens.append(_Token(position, place["token"], continues, matched, pale, **known))
    first, stop = options.positions or (0, len(tokens))
    shown = [token for token in tokens if first <= token.position < stop]
    if not shown:
        raise SelectionError(
            f"there are no tokens from {first} to {stop}", allowed=f"0 to {len(tokens)}"
        )
    return shown


def _change(row: Row) -> Row:
    """What an original token gets with / without the insertion, if it gets anything."""
    without, with_ = row["received_without"], row["received_with"]
    change = None
    if None not in (without, with_) and max(without, with_) > 0:
        change = with_ / without if without else math.inf
    n = min(row["n_queries_without"] or 0, row["n_queries_with"] or 0)
    return {"without": without, "with_": with_, "n_queries": n, "change": change}


# ── where characters stand ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Box:
    """A token, or a part of it, in pixels."""

    token: int  # which of the tokens
    text: str
    x: float
    line: int
    width: float


def flow(texts: Sequence[str], width: float, size: float = TEXT) -> list[Box]:
    """Texts of tokens → boxes in lines that fit; words stay whole if they fit into a line.

    A token becomes several boxes if it holds a line end or is longer than a line.
    """
    boxes: list[Box] = []
    x, line = 0.0, 0

    def box_width(text: str) -> float:
        return text_width(text, size) or _BLANK * size

    for word, ends in _line_parts(texts):
        if x and x + sum(box_width(text) for _, text in word) > width:
            x, line = 0.0, line + 1
        for token, part in word:
            for text in _cut(part, width, size):
                if x and x + box_width(text) > width:
                    x, line = 0.0, line + 1
                boxes.append(Box(token, text, round(x, 2), line, round(box_width(text), 2)))
                x += box_width(text)
        if ends:
            x, line = 0.0, line + 1
    return boxes


def _line_parts(texts: Sequence[str]) -> Iterator[tuple[list[tuple[int, str]], bool]]:
    """Parts of tokens up to the next space or line end, and whether a line ends there."""
    word: list[tuple[int, str]] = []
    for token, text in enumerate(texts):
        if text[:1].isspace() and word:
            yield word, False
            word = []
        lines = text.split("\n")
        for line in lines[:-1]:
            yield [*word, (token, _drawable(line + "\n"))], True
            word = []
        if lines[-1] or len(lines) == 1:
            word.append((token, _drawable(lines[-1])))
    if word:
        yield word, False


def _cut(text: str, width: float, size: float) -> Iterator[str]:
    """Pieces that fit into a line."""
    while len(text) > 1 and text_width(text, size) > width:
        n = 1
        while n < len(text) and text_width(text[: n + 1], size) <= width:
            n += 1
        yield text[:n]
        text = text[n:]
    yield text


def _drawable(text: str) -> str:
    """Characters that a picture can show; spaces that no drawing collapses."""
    shown = {" ": "\u00a0", "\t": TAB, "\n": NEWLINE}

    def drawn(c: str) -> str:
        printable = c.isprintable() or unicodedata.category(c) in ("Cf", "Zs")
        return shown.get(c) or (c if printable else escaped(c))

    return "".join(map(drawn, text))


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────


def _view(
    tokens: Sequence[_Token],
    scale: ColourScale,
    options: TokenStripOptions,
    title: str,
    fields: Mapping[str, str],
) -> Spec:
    """`title` of the colours; `fields` of the values → what they are called in a tooltip."""
    boxes = flow(["" if token.continues else token.text for token in tokens], options.pixels)
    area: Spec = {"x": _pixel("x"), "x2": {"field": "x2"}, "y": _pixel("y"), "y2": {"field": "y2"}}
    named = tooltip({"token": "token", "position": "position"})
    title = title if options.y_title is None else options.y_title
    coloured = {
        "color": scale.encoding(options.colours, title=title, length=GRADIENT),
        "opacity": channel("opacity", scale=None),
        "tooltip": [*named, *tooltip(fields)],
    }
    edge: Spec = {"stroke": "#dddddd", "strokeWidth": 0.4}
    layers = [layer("rect", area | coloured, where="datum.kind === 'change'", **edge)]
    for kind, fill, stroke in (("nothing", NOTHING, None), ("unmatched", PAPER, INK)):
        look: Spec = {"strokeWidth": 0.9, "fill": fill, "stroke": stroke}
        where = f"datum.kind === '{kind}'"
        layers.append(layer("rect", area | {"tooltip": named}, where=where, **look))
    text = {
        "x": _pixel("at"),
        "y": _pixel("middle"),
        "text": channel("text", "nominal"),
        "fill": channel("ink", "nominal", scale=None),
        "size": {"value": TEXT},
    }
    layers.append(layer("text", text, align="left", baseline="middle", tooltip=None))
    return {
        "width": options.pixels,
        "height": (1 + max((box.line for box in boxes), default=0)) * _LINE,
        "data": {"values": [_value(tokens[box.token], box, scale, options) for box in boxes]},
        "layer": layers,
    }


def _pixel(name: str) -> Spec:
    return channel(name, scale=None, axis=None)


def _value(token: _Token, box: Box, scale: ColourScale, options: TokenStripOptions) -> Spec:
    # Leading spaces are not drawn but stepped over: Vega trims what it draws.
    ahead = box.text[: len(box.text) - len(box.text.lstrip())]

    def shown(value: float | None) -> str:
        if value is not None and scale.percent:
            return number(value, percent=True)
        return "–" if value is None else f"{value:.4g}"

    value: Spec = {
        "x": box.x,
        "at": round(box.x + text_width(ahead), 2),
        "x2": round(box.x + box.width, 2),
        "y": box.line * _LINE,
        "y2": box.line * _LINE + _BOX,
        "middle": box.line * _LINE + _BOX / 2 + 0.5,
        "text": box.text.strip(),
        "room": round(text_width(box.text.strip()), 2),  # where a font is wider, it is squeezed
        "kind": "nothing" if token.matched else "unmatched",
        "ink": FAINT if token.pale else INK,
        "opacity": _PALE if token.pale else 1,
        "token": visible(token.text),
        "position": token.position,
        "without": shown(token.without),
        "with": shown(token.with_),
        "change": shown(token.change),
        "queries": f"{token.n_queries:,}" if token.matched else "–",
    }
    if token.change is not None:
        value |= {"kind": "change", "place": scale.place(token.change)}
        if not token.pale:
            value["ink"] = scale.ink(value["place"], options.colours)
    return value


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def _change_encoding(
    tokens: Sequence[_Token],
    scale: ColourScale,
    options: TokenStripOptions,
    names: tuple[str, str, str],
    where: str,
) -> Encoding:
    model, prompt, condition = names
    label = condition_label(condition, options)
    changes = [(t.change, t) for t in tokens if t.change is not None]
    gain = sorted(((x, t) for x, t in changes if x > 1), key=lambda pair: -pair[0])
    lose = sorted(((x, t) for x, t in changes if x < 1), key=lambda pair: pair[0])
    unmatched = sum(not token.matched for token in tokens)
    beyond = scale.outside([x for x, _ in changes])
    outside = f"{count(beyond, 'token')} beyond the ends of the colours." if beyond else None
    word, n = ("lose", len(lose)) if len(lose) >= len(gain) else ("gain", len(gain))
    outlined = f"Outlined: {count(unmatched, 'token')} split differently."
    return Encoding(
        name=["text", condition],
        title=f"With {label}, {n} of {count(len(changes), 'token')} {word} attention: {model}",
        shown=[where, f"prompt: {prompt}"],
        marks=[outlined if unmatched else None, *_marks(tokens, options, outside)],
        facts=[
            f"Colour: {LEGEND.lower()} the insertion, for each original token",
            f"Shown: {where}",
        ],
        details=[
            f"The text of prompt {prompt}, {count(len(tokens), 'token')} one after the other, each "
            f"on a colour: {LEGEND.lower()} {label} in {model}, {where}, {colour_words(scale)}.",
            f"Tokens that gain: {len(gain):,}, that lose: {len(lose):,}." if changes else None,
            _extreme_words("Most gained", gain, scale),
            _extreme_words("Most lost", lose, scale),
        ],
        legends="start",
    )


def _received_encoding(
    tokens: Sequence[_Token],
    scale: ColourScale,
    options: TokenStripOptions,
    names: tuple[str, str],
    *,
    last: int,
) -> Encoding:
    """`names`: the model; the layer and head. `last`: position of the prompt's last token."""
    model, where = names
    got = sorted(((t.change, t) for t in tokens if t.change is not None), key=lambda p: -p[0])
    most = [(x, t) for x, t in got if t.position and not t.pale]
    above = [t for x, t in got if most and x > most[0][0]]  # not in the title: it says so
    left = ["the first token"] if any(t.position == 0 for t in above) else []
    left += ["pale tokens"] if any(t.pale and t.position for t in above) else []
    besides = f"besides {listed(left)}, " if left else ""
    claim = f"{besides}{_which(most[0][1], tokens, last)} receives most" if most else "received"
    first = any(t.position == 0 and t.change and t.change >= scale.high for t in tokens)
    return Encoding(
        name=["text", model],
        title=f"{claim[0].upper()}{claim[1:]}: {model}",
        shown=[where],
        marks=[
            f"Darkest: {'first token, ' if first else ''}top 5\u00a0%.",
            *_marks(tokens, options),
        ],
        facts=[f"Colour: {RECEIVED.lower()} by each token", f"Shown: {where}"],
        details=[
            f"The text of a prompt, {count(len(tokens), 'token')} one after the other, each on a "
            f"colour: {RECEIVED.lower()} in {model}, {where}, {colour_words(scale)}.",
            _extreme_words(f"Most{f', {besides}'.rstrip(', ')}", most, scale),
        ],
        legends="start",
    )


def _which(token: _Token, tokens: Sequence[_Token], last: int) -> str:
    """`“the”`, as it is drawn; of several, which one it is."""
    text = visible(token.text).strip("·").replace("↵", NEWLINE)
    if token.position == last:
        return f"the last token (“{text}”)"
    alike = sum(other.text.strip() == token.text.strip() for other in tokens)
    return f"“{text}”" + (f" at position {token.position:,}" if alike > 1 else "")


def _marks(
    tokens: Sequence[_Token], options: TokenStripOptions, outside: str | None = None
) -> list[str | None]:
    """What grey, pale and ¶ mean, where they are there."""
    missing = any(token.matched and token.change is None for token in tokens)
    return [
        "Grey: no number." if missing else None,
        pale_words(options.few) if any(token.pale for token in tokens) else None,
        outside,
        f"{NEWLINE}: line end." if any("\n" in token.text for token in tokens) else None,
    ]


def _extreme_words(
    lead: str, changes: Sequence[tuple[float, _Token]], scale: ColourScale
) -> str | None:
    named = ", ".join(
        f"{visible(token.text)} at position {token.position:,} "
        f"({number(change, percent=scale.percent) if math.isfinite(change) else 'from 0'})"
        for change, token in changes[:_NAMED]
    )
    return f"{lead}: {named}." if named else None
