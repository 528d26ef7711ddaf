"""Parts → HTML. Everything that was written by someone else is escaped.

`Look` says how: with charts that are drawn in the browser, or as still pictures for paper. Knows
single parts, nothing about the page around them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from mindshare.report.parts import (
    Attached,
    Bullets,
    Code,
    ColouredText,
    Column,
    Details,
    Facts,
    Formula,
    Heading,
    NumberTable,
    Paragraph,
    Part,
    Picture,
)

ROWS = 400  # of a table
_NARROW = 420  # of a picture that leaves room for words at its side
_PRINTED = 180  # tokens of a prompt on paper
_KINDS = 12  # colours that the style sheet knows


@dataclass(frozen=True)
class Look:
    """How parts are written."""

    level: int = 3  # of headings inside of a section
    rows: int = ROWS
    still: bool = False  # pictures instead of charts, nothing folded away: for paper
    vector: bool = True  # still pictures as SVG, which needs the charts' font; or as PNG
    unscripted: Callable[[Picture], str] | None = None  # a PNG in base64 where no script runs
    spec_id: Callable[[Picture], str] = lambda picture: f"spec-{picture.name}"
    file_name: Callable[[Path], str] = lambda path: path.name


def parts_html(parts: Sequence[Part], look: Look) -> str:
    return "\n".join(part_html(part, look) for part in parts)


def part_html(part: Part, look: Look) -> str:
    match part:
        case Heading():
            name = f' id="{escape(part.name)}"' if part.name else ""
            return f"<h{look.level}{name}>{escape(part.text)}</h{look.level}>"
        case Paragraph():
            return f"<p>{escape(part.text)}</p>"
        case Bullets():
            return _bullets(part)
        case Formula():
            return (
                f'<div class="formula scroll" role="group" aria-label="Formula">{part.mathml}</div>'
            )
        case NumberTable():
            return _table(part, look)
        case Picture():
            return _picture(part, look)
        case ColouredText():
            return _tokens(part, look)
        case Code():
            return f"<pre><code>{escape(part.text.rstrip())}</code></pre>"
        case Attached():
            return _attached(part, look)
        case Facts():
            return _facts(part)
        case Details():
            return _details(part, look)


def _bullets(part: Bullets) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in part.items) + "</ul>"


def _facts(part: Facts) -> str:
    pairs = (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in part.items)
    return f"<dl>{''.join(pairs)}</dl>"


def _details(part: Details, look: Look) -> str:
    """On paper everything is open, but for further prompts and for tables that are too long."""
    if look.still and all(isinstance(one, ColouredText) for one in part.parts):
        return ""
    if look.still and all(_too_long(one, look) for one in part.parts):
        return parts_html(part.parts, look)  # a line each, which needs no heading
    opened = " open" if look.still else ""
    return (
        f"<details{opened}><summary>{escape(part.summary)}</summary>"
        f'<div class="inside">{parts_html(part.parts, look)}</div></details>'
    )


def _attached(part: Attached, look: Look) -> str:
    """A link that saves the file: it is inside of the page."""
    if look.still:
        return f"<p>{escape(part.name)} stands beside this report.</p>"
    content = base64.b64encode(part.text.encode()).decode()
    name = escape(part.name)
    kind = "data:text/plain;charset=utf-8;base64"
    return f'<p><a download="{name}" href="{kind},{content}">Save {name}</a></p>'


def _picture(picture: Picture, look: Look) -> str:
    """A narrow one has its words at its side, a wide one below."""
    drawn = _still(picture, vector=look.vector) if look.still else _chart(picture, look)
    wide = " wide" if picture.size[0] > _NARROW else ""
    words = parts_html(picture.beside, look)
    return f'<div class="shown{wide}">{drawn}<div class="words">{words}</div></div>'


def _chart(picture: Picture, look: Look) -> str:
    width, height = picture.size
    return (
        f'<figure><div class="paper scroll" role="group" aria-label="{escape(picture.title)}">'
        f'<div class="chart" role="img" aria-label="{escape(picture.alt)}" '
        f'data-spec="{escape(look.spec_id(picture))}" '
        f'style="--wide:{width}px;height:{height}px"><div aria-hidden="true"></div></div>'
        f"<noscript>{_unscripted(picture, look)}</noscript></div></figure>"
    )


def _unscripted(picture: Picture, look: Look) -> str:
    if look.unscripted is None:
        return "<p>Charts are drawn by a script. The numbers of this one are in the page.</p>"
    return (
        f'<img width="{picture.size[0]}" height="{picture.size[1]}" alt="{escape(picture.alt)}" '
        f'src="data:image/png;base64,{look.unscripted(picture)}">'
    )


def _still(picture: Picture, *, vector: bool) -> str:
    """The drawn file as an image: the ids of an SVG can't meet those of others."""
    file, kind = (picture.svg, "svg+xml") if vector else (picture.png, "png")
    content = base64.b64encode(file.read_bytes()).decode()
    return (
        f'<figure><img width="{picture.size[0]}" height="{picture.size[1]}" '
        f'alt="{escape(picture.alt)}" src="data:image/{kind};base64,{content}"></figure>'
    )


def _table(part: NumberTable, look: Look) -> str:
    if _too_long(part, look):
        where = "the tables of the results"  # a piece of it would be of no use on paper
        if part.csv is not None:
            where = f"{escape(look.file_name(part.csv))} beside this report"
        return f"<p>{escape(part.caption)}: {len(part.rows):,} rows, in {where}.</p>"
    shown = part.rows[: look.rows]
    head = "".join(_head(column) for column in part.columns)
    body = "\n".join(f"<tr>{_row(row, part.columns)}</tr>" for row in shown)
    return (
        f'<div class="numbers scroll" role="group" aria-label="{escape(part.caption)}"><table>'
        f"<caption>{escape(part.caption)}{_cut(part, len(shown), look)}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _too_long(part: Part, look: Look) -> bool:
    return look.still and isinstance(part, NumberTable) and len(part.rows) > look.rows


def _cut(part: NumberTable, shown: int, look: Look) -> str:
    """What is not in the page, and where it is."""
    if part.csv is not None:
        name = escape(look.file_name(part.csv))
        where = f'<a href="{name}">{name}</a>, beside this report, has all digits and columns'
        if shown == len(part.rows):
            return f". {where}." if not look.still else ""
        return f". The first {shown:,} of {len(part.rows):,} rows; {where}."
    return "" if shown == len(part.rows) else f". The first {shown:,} of {len(part.rows):,} rows."


def _head(column: Column) -> str:
    tip = f' title="{escape(column.definition)}"' if column.definition else ""
    return f'<th scope="col"{"" if column.numeric else _WORD}{tip}>{escape(column.name)}</th>'


_WORD = ' class="word"'


def _row(row: Sequence[str], columns: Sequence[Column]) -> str:
    """The first cell names the row."""
    cells = []
    for i, (cell, column) in enumerate(zip(row, columns, strict=True)):
        word = "" if column.numeric else _WORD
        tag, scope = ("th", ' scope="row"') if i == 0 else ("td", "")
        cells.append(f"<{tag}{scope}{word}>{escape(cell)}</{tag}>")
    return "".join(cells)


def _tokens(part: ColouredText, look: Look) -> str:
    shown = part.tokens[:_PRINTED] if look.still else part.tokens
    kinds = {colour.name: i % _KINDS for i, colour in enumerate(part.legend)}
    style = ";".join(_variables(kinds[c.name], c.colour) for c in part.legend)
    legend = "".join(
        f'<li><span class="k{kinds[c.name]}">{escape(c.name)}</span> {escape(c.note)}</li>'
        for c in part.legend
    )
    spans = "".join(
        f'<span class="k{kinds[kind]}">{escape(text)}</span>' if kind in kinds else escape(text)
        for text, kind in shown
    )
    left_out = part.left_out + len(part.tokens) - len(shown)
    rest = f"\n… and {left_out:,} more tokens" if left_out else ""
    label = f'<p class="label">{escape(part.label)}</p>' if part.label else ""
    return (
        f'{label}<div class="prompt" style="{style}">'
        f'<ul class="legend">{legend}</ul><p class="tokens">{spans}{rest}</p></div>'
    )


def _variables(i: int, colour: str) -> str:
    """Ground, ink and line of one kind of token."""
    if colour == "#ffffff":  # plain: as the page is, light or dark
        return f"--k{i}:transparent;--i{i}:inherit;--l{i}:transparent"
    return f"--k{i}:{colour};--i{i}:{ink_on(colour)};--l{i}:rgb(0 0 0 / .45)"


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on it."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"
