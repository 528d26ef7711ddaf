"""A document → one HTML page that needs nothing else and asks for nothing from outside.

    page(document)               charts drawn in the browser as they come into view
    paper(document)              still pictures, nothing folded away, no script

The page is kept under three megabytes: charts' data are packed, long tables are cut and say so.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from mindshare.report.html_parts import ROWS, Look, parts_html
from mindshare.report.parts import Chapter, Document, Picture, Section
from mindshare.report.script import DRAWING, EARLY
from mindshare.report.style import STYLE

LIMIT = 3_000_000  # bytes
# Rows of a table, and whether the charts' data are packed, until the page fits.
_CUTS = ((ROWS, False), (ROWS, True), (120, True), (30, True))
Names = Callable[[Path], str]
_PRINTED = 40  # rows of a table on paper; longer ones are named only
# The page itself forbids its browser to load anything.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "img-src data:"
)


def page(document: Document, *, file_name: Names = lambda path: path.name) -> str:
    """The whole page; `file_name` says what the files beside it are called."""
    ids = {id(picture): f"spec-{i}" for i, picture in enumerate(document.pictures(), 1)}
    look = Look(file_name=file_name, spec_id=lambda picture: ids[id(picture)])
    made = ""
    for rows, packed in _CUTS:
        specs = [_spec(p, ids[id(p)], packed=packed) for p in document.pictures()]
        made = _page(document, replace(look, rows=rows), specs)
        if len(made.encode()) < LIMIT:
            break
    return made


def paper(
    document: Document, *, file_name: Names = lambda path: path.name, vector: bool = True
) -> str:
    """The page to be printed; `vector` pictures need the font that charts are laid out in."""
    return _page(document, Look(rows=_PRINTED, still=True, vector=vector, file_name=file_name), [])


def _page(document: Document, look: Look, specs: Sequence[str]) -> str:
    title = escape(document.title)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="generator" content="mindshare">
<meta name="description" content="{escape(document.summary)}">
<title>{title}</title>
<style>{STYLE}</style>
{"" if look.still else f"<script>{EARLY}</script>"}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<div class="page">
<header>
<div class="tools"><button id="theme" type="button" hidden>Dark colours</button></div>
<h1>{title}</h1>
</header>
{_contents(document)}
<main id="content" tabindex="-1">
{_body(document, look)}
</main>
</div>
{"" if look.still else _scripts(specs)}
</body>
</html>
"""


def _scripts(specs: Sequence[str]) -> str:
    from mindshare.figures.render import script

    bundle = f"<script>{script()}</script>\n" if specs else ""
    return "\n".join([*specs, f"{bundle}<script>{DRAWING}</script>"])


def _spec(picture: Picture, name: str, *, packed: bool) -> str:
    """The chart's data and marks, as JSON or as gzip of it."""
    text = json.dumps(picture.spec, ensure_ascii=False, separators=(",", ":"))
    if packed:
        text = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
        return f'<script type="text/plain" data-packed id="{name}">{text}</script>'
    safe = text.replace("<", "\\u003c")  # no word of it may end the script
    return f'<script type="application/json" id="{name}">{safe}</script>'


def anchors(document: Document) -> dict[tuple[int, int | None], str]:
    """(chapter, section or None) → a name for links, each once"""
    found: dict[tuple[int, int | None], str] = {}
    several = len(document.chapters) > 1
    for i, chapter in enumerate(document.chapters):
        if several:
            found[i, None] = f"results-{i + 1}"
        for j, section in enumerate(chapter.sections):
            word = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-")
            found[i, j] = f"{word}-{i + 1}" if several else word
    return found


def _contents(document: Document) -> str:
    names = anchors(document)
    lists = [
        "".join(_link(names[i, j], section.title) for j, section in enumerate(chapter.sections))
        for i, chapter in enumerate(document.chapters)
    ]
    if len(document.chapters) > 1:
        inside = "".join(
            f'<li><a href="#{names[i, None]}">{escape(chapter.title)}</a><ol>{lists[i]}</ol></li>'
            for i, chapter in enumerate(document.chapters)
        )
    else:
        inside = "".join(lists)
    return f'<nav aria-label="Contents"><ol>{inside}</ol></nav>'


def _link(name: str, title: str) -> str:
    return f'<li><a href="#{name}">{escape(title)}</a></li>'


def _body(document: Document, look: Look) -> str:
    names = anchors(document)
    if len(document.chapters) == 1:
        return _sections(document.chapters[0], 0, names, look, level=2)
    return "\n".join(
        f'<section class="chapter" aria-labelledby="{names[i, None]}">'
        f'<h2 id="{names[i, None]}">{escape(chapter.title)}</h2>\n'
        f"{_sections(chapter, i, names, look, level=3)}</section>"
        for i, chapter in enumerate(document.chapters)
    )


def _sections(
    chapter: Chapter,
    i: int,
    names: dict[tuple[int, int | None], str],
    look: Look,
    *,
    level: int,
) -> str:
    """The sections of a chapter; landmarks only where no other is called the same."""
    inner, landmarks = replace(look, level=level + 1), level == 2
    return "\n".join(
        _section(section, names[i, j], inner, landmark=landmarks)
        for j, section in enumerate(chapter.sections)
    )


def _section(section: Section, name: str, look: Look, *, landmark: bool) -> str:
    level = look.level - 1
    named = f' aria-labelledby="{name}"' if landmark else ""
    return (
        f'<section{named}><h{level} id="{name}">{escape(section.title)}</h{level}>\n'
        f"{parts_html(section.parts, look)}\n</section>"
    )
