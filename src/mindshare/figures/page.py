"""A figure → one HTML page that needs nothing else: picture, definition, description, numbers.

The drawn SVG stands in the page; where scripts run it is replaced by the same chart with tooltips.
The chart's own title is the one that is seen, the page's is for screen readers. The page loads
nothing from outside. Knows nothing about chart kinds.
"""

from __future__ import annotations

import json
import re
from html import escape
from typing import TYPE_CHECKING, Any

from mindshare.table import DEFINITIONS, defined

if TYPE_CHECKING:
    import pyarrow as pa

    from mindshare.figures.figure import Figure

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
h2 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
p { max-width: 46rem; margin: .3rem 0; overflow-wrap: anywhere; }
#chart { display: block; margin: 0; overflow-x: auto; }
#chart svg { display: block; overflow: visible; height: auto;
  width: max(var(--drawn), min(var(--shown), 100%)); }
.numbers { overflow: auto; max-height: 32rem; border: 1px solid #ddd; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #eee;
  white-space: nowrap; }
th { position: sticky; top: 0; background: #f6f6f6; }
.word { text-align: left; }
"""
_WIDTH, _USUAL = re.compile(r'<svg[^>]* width="([\d.]+)"'), 338
_LARGER = 1.6
# Words that were laid out one after the other keep their room where the browser's font is wider.
FIT_WORDS = """
const fitWords = (chart) => chart.querySelectorAll("text").forEach((word) => {
  const room = word.__data__?.datum?.room;
  if (!room || word.getComputedTextLength() <= room) return;
  word.setAttribute("textLength", room);
  word.setAttribute("lengthAdjust", "spacingAndGlyphs");
});
"""
_EMBED = f"""{FIT_WORDS}
vegaEmbed("#chart", JSON.parse(document.getElementById("spec").textContent),
  {{actions: false, renderer: "svg"}}).then(() => fitWords(document.getElementById("chart")));
"""


def page(figure: Figure, *, picture: str, script: str) -> str:
    """The whole page; `picture` is the drawn SVG, `script` defines `vegaEmbed`."""
    spec = json.dumps(figure.spec, ensure_ascii=False).replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(figure.title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(figure.title)}</h1>
<figure id="chart" style="{_size(picture)}">{picture}</figure>
<h2>What is measured</h2>
<p>{escape(figure.definition)}</p>
<h2>What the picture shows</h2>
<p>{escape(figure.description)}</p>
<h2>The numbers</h2>
<div class="numbers" tabindex="0">{numbers(figure.table)}</div>
<script type="application/json" id="spec">{spec}</script>
<script>{script}</script>
<script>{_EMBED}</script>
</body>
</html>
"""


def _size(picture: str) -> str:
    """Charts are drawn for print; on a screen they are larger, but never smaller."""
    found = _WIDTH.match(picture)
    width = float(found[1]) if found else _USUAL
    return f"--drawn: {width:g}px; --shown: {_LARGER * width:g}px"


def numbers(table: pa.Table) -> str:
    """The table as HTML; the definition of each column is its tooltip."""
    wordy = {f.name for f in table.schema if str(f.type) == "string"}
    about = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    tips = {name: defined(name, about) for name in table.column_names if name in DEFINITIONS}
    head = "".join(_cell("th", name, name in wordy, tips.get(name)) for name in table.column_names)
    rows = (
        "".join(_cell("td", _shown(value), name in wordy) for name, value in row.items())
        for row in table.to_pylist()
    )
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _cell(tag: str, text: str, word: bool, tip: str | None = None) -> str:
    kind = ' class="word"' if word else ""
    title = f' title="{escape(tip)}"' if tip else ""
    return f"<{tag}{kind}{title}>{escape(text)}</{tag}>"


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
