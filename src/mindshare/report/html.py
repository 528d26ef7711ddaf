"""A document → one HTML page that needs nothing else and asks for nothing from outside.

    page(document)               charts drawn in the browser as they come into view
    paper(document)              still pictures, nothing folded away, no script

The page is kept under three megabytes: charts' data are packed, long tables are cut and say so.
Where scripts do not run, a picture stands for each chart, as long as there is room.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from html import escape
from pathlib import Path

from mindshare.report.html_parts import ROWS, Look, parts_html
from mindshare.report.parts import Chapter, Document, Heading, Picture, Section
from mindshare.report.script import DRAWING, EARLY
from mindshare.report.style import STYLE

LIMIT = 3_000_000  # bytes
FINDINGS = "findings"
# Rows of a table, are the charts' data packed, are there still pictures: until the page fits.
_CUTS = (
    *((ROWS, False, True), (ROWS, True, True), (120, True, True)),
    *((120, True, False), (30, True, False)),
)
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
    stills = {id(picture): small_png(picture) for picture in document.pictures()}
    made = ""
    for rows, packed, still in _CUTS:
        specs = [_spec(p, ids[id(p)], packed=packed) for p in document.pictures()]
        unscripted = (lambda picture: stills[id(picture)]) if still else None
        made = _page(document, replace(look, rows=rows, unscripted=unscripted), specs)
        if len(made.encode()) < LIMIT:
            break
    return made


def small_png(picture: Picture) -> str:
    """The drawn chart at the size of a screen, in base64."""
    return _small(picture.svg.read_text(encoding="utf-8"))


@lru_cache(maxsize=64)
def _small(svg: str) -> str:
    from mindshare.figures.render import Drawn

    return base64.b64encode(Drawn(svg).png(scale=1)).decode()


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
<noscript><style>.chart {{ display: none; }}</style></noscript>
{"" if look.still else f"<script>{EARLY}</script>"}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<div class="page">
<header>
<div class="tools"><button id="theme" type="button" hidden>Dark colours</button></div>
<h1>{title}</h1>
</header>
{_contents(document, still=look.still)}
<main id="content" tabindex="-1">
{_findings(document)}{_body(document, look)}
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


def _contents(document: Document, *, still: bool) -> str:
    """Chapters, sections and charts; the sections of several chapters are folded away."""
    names = anchors(document)
    lists = [
        "".join(_entry(names[i, j], section) for j, section in enumerate(chapter.sections))
        for i, chapter in enumerate(document.chapters)
    ]
    inside = lists[0]
    if len(document.chapters) > 1:
        inside = "".join(
            _link(names[i, None], chapter.title, _sublist(lists[i], folded=not still))
            for i, chapter in enumerate(document.chapters)
        )
    first = _link(FINDINGS, "Findings") if document.findings else ""
    kind = ' class="printed"' if still else ""
    return f'<nav aria-label="Contents"{kind}><ol>{first}{inside}</ol></nav>'


def _entry(name: str, section: Section) -> str:
    charts = [p for p in section.parts if isinstance(p, Heading) and p.name]
    inside = "".join(_link(chart.name, chart.text) for chart in charts)
    return _link(name, section.title, f"<ol>{inside}</ol>" if inside else "")


def _sublist(links: str, *, folded: bool) -> str:
    inside = f"<ol>{links}</ol>"
    return f"<details><summary>Sections</summary>{inside}</details>" if folded else inside


def _link(name: str, title: str, inside: str = "") -> str:
    return f'<li><a href="#{escape(name)}">{escape(title)}</a>{inside}</li>'


def _findings(document: Document) -> str:
    if not document.findings:
        return ""
    items = "".join(f"<li>{escape(one)}</li>" for one in document.findings)
    opened = f'<section aria-labelledby="{FINDINGS}"><h2 id="{FINDINGS}">Findings</h2>'
    return f"{opened}\n<ol>{items}</ol></section>\n"


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
