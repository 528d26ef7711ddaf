"""A Vega-Lite spec → PNG, SVG, PDF, the script that draws it in a browser, and a page around it.

Drawn by vl-convert (imported with the first picture), without a browser and without the network:
nothing is fetched, neither by us nor by the pages.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from mindshare.figures.theme import INCH, Style
from mindshare.tables import DEFINITIONS, defined, metadata

if TYPE_CHECKING:
    import pyarrow as pa
    from jinja2 import Template

    from mindshare.figures.figure import Figure

SCALE = 3  # PNG: 288 pixels an inch
_LEVEL = 6  # of compression: 9 takes five times as long for files 7 % smaller
_VIEW = re.compile(r' width="[\d.]+" height="[\d.]+" viewBox="0 0 ([\d.]+) ([\d.]+)"')
_PAPER = re.compile(r'<rect width="[^"]+" height="[^"]+" fill="white"/>')  # Vega's background
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SIDE = re.compile(r'( (?:width|height)=)"([\d.]+)"')
_DEFINED = re.compile(r'<(?:linearGradient|radialGradient|clipPath)[^>]* id="([^"]+)"')
_TAG, _NAMED = re.compile(r"<[^>]+>"), re.compile(r'( id="|url\(#)([^")]+)(["\)])')


@dataclass(frozen=True)
class Drawn:
    """A chart drawn once, as the SVG that every other picture is made from."""

    bare: str

    def svg(self, *, title: str, description: str) -> str:
        """With a title and a description that screen readers find."""
        start, rest = self.bare.split(">", 1)
        # In inches: some programs take a pixel for a point.
        start = _SIDE.sub(lambda m: f'{m[1]}"{float(m[2]) / INCH:.5g}in"', start)
        title, description = (escape(_drawable(text)) for text in (title, description))
        words = f"<title>{title}</title><desc>{description}</desc>"
        return f'{start} role="img">{words}{rest}'

    def png(self, *, scale: float = SCALE) -> bytes:
        import vl_convert

        pixels: bytes = vl_convert.svg_to_png(self.bare, scale=scale)
        return _repacked(pixels, per_inch=scale * INCH)

    def pdf(self) -> bytes:
        """The same page every time, but not the same bytes: its fonts are written in any order."""
        import vl_convert

        start, rest = self.bare.split(">", 1)
        # A unit of the SVG becomes a point of the page, of which an inch has 72.
        points = _SIDE.sub(lambda m: f'{m[1]}"{float(m[2]) * 72 / INCH:.6g}"', start)
        page: bytes = vl_convert.svg_to_pdf(f"{points}>{rest}")
        return page


def printed(style: Style) -> dict[str, Any]:
    """What a spec says about its size: pixels of the picture, and units of the layout in them."""
    return {"mindshare": {"pixels": round(style.inches * INCH, 3), "units": round(style.units, 3)}}


def draw(spec: dict[str, Any]) -> Drawn:
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(_drawable(spec), allowed_base_urls=[])
    size = (spec.get("usermeta") or {}).get("mindshare")
    return Drawn(_fitted(_renumbered(drawn), **size) if size else _renumbered(drawn))


def _drawable(part: Any) -> Any:
    """The spec with marks for characters that XML has none for: the renderer ends the process."""
    if isinstance(part, str):
        return _NOT_XML.sub(lambda m: chr(0x2400 + ord(m[0])) if m[0] < " " else "\ufffd", part)
    if isinstance(part, dict):
        return {_drawable(key): _drawable(value) for key, value in part.items()}
    return [_drawable(one) for one in part] if isinstance(part, list) else part


def _fitted(svg: str, *, pixels: float, units: float) -> str:
    """As wide as promised: with room on both sides, or smaller if the chart is wider."""
    if not (view := _VIEW.search(svg)):
        return svg
    width, height = float(view[1]), float(view[2])
    left = min(0.0, round((width - units) / 2, 2))
    scale = pixels / (width - 2 * left)
    box = f"{left:g} 0 {width - 2 * left:.6g} {height:g}"
    size = f' width="{pixels:g}" height="{height * scale:.6g}" viewBox="{box}"'
    area = f'x="{left:g}" width="{width - 2 * left:.6g}" height="{height:g}"'
    paper = f'<rect {area} fill="white"/>'
    return _PAPER.sub(paper, svg.replace(view[0], size, 1), count=1)


def _renumbered(svg: str) -> str:
    """Vega counts gradients and clips over all charts of a process; here each chart's own."""
    names = dict.fromkeys(_DEFINED.findall(svg))
    new = {old: f"{old.rstrip('0123456789')}{i}" for i, old in enumerate(names)}

    def tag(match: re.Match[str]) -> str:
        return _NAMED.sub(lambda m: m[1] + new.get(m[2], m[2]) + m[3], match[0])

    return _TAG.sub(tag, svg) if new else svg


def _repacked(drawn: bytes, *, per_inch: float) -> bytes:
    """The same pixels at about a quarter of the size, and how large they are in print."""
    chunks = list(_chunks(drawn))
    pixels = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))
    metre = round(per_inch / 0.0254)
    whole = [
        *[(kind, content) for kind, content in chunks if kind == b"IHDR"],
        (b"pHYs", struct.pack(">IIB", metre, metre, 1)),
        *[(k, content) for k, content in chunks if k not in (b"IHDR", b"pHYs", b"IDAT", b"IEND")],
        (b"IDAT", zlib.compress(pixels, _LEVEL)),
        (b"IEND", b""),
    ]
    return drawn[:8] + b"".join(
        struct.pack(">I", len(x)) + kind + x + struct.pack(">I", zlib.crc32(kind + x))
        for kind, x in whole
    )


def _chunks(drawn: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(kind, content) of each chunk of a PNG."""
    at = 8
    while at < len(drawn):
        (size,) = struct.unpack(">I", drawn[at : at + 4])
        yield drawn[at + 4 : at + 8], drawn[at + 8 : at + 8 + size]
        at += size + 12


def csv_bytes(table: pa.Table) -> bytes:
    import pyarrow as pa
    from pyarrow import csv

    content = pa.BufferOutputStream()
    csv.write_csv(table, content)
    return bytes(content.getvalue().to_pybytes())


def parquet_bytes(table: pa.Table) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = pa.BufferOutputStream()
    pq.write_table(table.combine_chunks(), content, compression="zstd")
    return bytes(content.getvalue().to_pybytes())


@cache
def script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; defines `vegaEmbed`."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")


# ── a page that needs nothing else ────────────────────────────────────────────────────────────────

_WIDTH, _USUAL = re.compile(r'<svg[^>]* width="([\d.]+)in"'), 326
_LARGER = 1.4  # charts are drawn for print; on a screen they may be larger, but never smaller


def page(figure: Figure, *, picture: str) -> str:
    """Picture, definition, description, numbers; where scripts run, the chart has tooltips."""
    match = _WIDTH.match(picture)
    width = round(float(match[1]) * INCH) if match else _USUAL
    known = metadata(figure.table)
    columns = [
        (
            f.name,
            "word" if str(f.type) == "string" else "",
            f.name in DEFINITIONS and defined(f.name, known),
        )
        for f in figure.table.schema
    ]
    return _template().render(
        figure=figure,
        picture=picture,
        drawn=f"{width:g}",
        shown=f"{_LARGER * width:g}",
        columns=columns,
        rows=figure.table.to_pylist(),
        spec=json.dumps(figure.spec, ensure_ascii=False).replace("<", "\\u003c"),
        script=script(),
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    def shown(value: Any) -> str:
        if value is None:
            return "–"
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    loader = PackageLoader("mindshare.figures", ".")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.filters["shown"] = shown
    return environment.get_template("page.html.j2")
