"""A Vega-Lite spec → PNG, SVG, PDF and the script that draws it in a browser.

Drawn by vl-convert, without a browser and without the network; loaded when the first picture is
asked for. Knows nothing about what is drawn.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import Any

SCALE = 3  # PNG: 288 pixels an inch at the printed size


def png(spec: dict[str, Any], *, scale: float = SCALE) -> bytes:
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_png(spec, scale=scale, allowed_base_urls=[])
    return _smaller(drawn)


def _smaller(drawn: bytes) -> bytes:
    """The same pixels, compressed well: a quarter of the size."""
    chunks, pixels = [], b""
    for kind, content in _chunks(drawn):
        if kind != b"IDAT":
            chunks.append((kind, content))
            continue
        if not pixels:
            chunks.append((kind, b""))  # all pixels go where the first of them stood
        pixels += content
    packed = zlib.compress(zlib.decompress(pixels), 9)
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


def pdf(spec: dict[str, Any]) -> bytes:
    """The same page every time, but not the same bytes: its fonts are written in any order."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_pdf(spec, allowed_base_urls=[])
    return drawn


def svg(spec: dict[str, Any], *, title: str, description: str) -> str:
    """With a title and a description that screen readers find."""
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    start, rest = drawn.split(">", 1)
    words = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    return f'{start} role="img">{words}{rest}'


@cache
def script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; defines `vegaEmbed`."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")
