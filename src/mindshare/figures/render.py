"""A Vega-Lite spec → PNG, SVG, PDF and the script that draws it in a browser.

Drawn by vl-convert, without a browser and without the network; loaded when the first picture is
asked for. Knows nothing about what is drawn.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

SCALE = 3  # PNG: 288 pixels an inch at the printed size
_DEFINED = re.compile(r'<(?:linearGradient|radialGradient|clipPath)[^>]* id="([^"]+)"')
_TAG, _NAMED = re.compile(r"<[^>]+>"), re.compile(r'( id="|url\(#)([^")]+)(["\)])')
_LEVEL = 6  # of compression: 9 takes five times as long for files 7 % smaller


@dataclass(frozen=True)
class Drawn:
    """A chart drawn once, as the SVG that every other picture is made from."""

    bare: str

    def svg(self, *, title: str, description: str) -> str:
        """With a title and a description that screen readers find."""
        start, rest = self.bare.split(">", 1)
        words = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
        return f'{start} role="img">{words}{rest}'

    def png(self, *, scale: float = SCALE) -> bytes:
        import vl_convert

        pixels: bytes = vl_convert.svg_to_png(self.bare, scale=scale)
        return _smaller(pixels)

    def pdf(self) -> bytes:
        """The same page every time, but not the same bytes: its fonts are written in any order."""
        import vl_convert

        page: bytes = vl_convert.svg_to_pdf(self.bare)
        return page


def draw(spec: dict[str, Any]) -> Drawn:
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    return Drawn(_renumbered(drawn))


def _renumbered(svg: str) -> str:
    """Vega counts gradients and clips over all charts of a process; here each chart's own."""
    names = dict.fromkeys(_DEFINED.findall(svg))
    new = {old: f"{old.rstrip('0123456789')}{i}" for i, old in enumerate(names)}

    def tag(found: re.Match[str]) -> str:
        return _NAMED.sub(lambda m: m[1] + new.get(m[2], m[2]) + m[3], found[0])

    return _TAG.sub(tag, svg) if new else svg


def png(spec: dict[str, Any], *, scale: float = SCALE) -> bytes:
    return draw(spec).png(scale=scale)


def _smaller(drawn: bytes) -> bytes:
    """The same pixels, compressed well: about a quarter of the size."""
    chunks, pixels = [], b""
    for kind, content in _chunks(drawn):
        if kind != b"IDAT":
            chunks.append((kind, content))
            continue
        if not pixels:
            chunks.append((kind, b""))  # all pixels go where the first of them stood
        pixels += content
    packed = zlib.compress(zlib.decompress(pixels), _LEVEL)
    whole = ((kind, packed if kind == b"IDAT" else content) for kind, content in chunks)
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


@cache
def script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; defines `vegaEmbed`."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")
