"""What a drawn figure looks like from outside: sizes of PNGs, words and places in SVGs."""

from __future__ import annotations

import re
import struct
from xml.etree import ElementTree

from mindshare.figures import Figure, render

_SVG = "{http://www.w3.org/2000/svg}"


def png_size(content: bytes) -> tuple[int, int]:
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def drawn(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(
        render.draw(figure.spec).svg(title=figure.title, description=figure.description)
    )


def words(svg: ElementTree.Element) -> list[str]:
    """Every text in the picture."""
    return ["".join(text.itertext()) for text in svg.iter(f"{_SVG}text")]


def size(svg: ElementTree.Element) -> tuple[float, float]:
    _, _, width, height = (float(x) for x in svg.attrib["viewBox"].split())
    return width, height


def places(svg: ElementTree.Element) -> list[tuple[str, float, float]]:
    """(text, x, y) of every text's anchor, in the picture's own pixels."""
    found: list[tuple[str, float, float]] = []

    def walk(node: ElementTree.Element, x: float, y: float) -> None:
        moved = re.match(r"translate\(([-\d.e]+),\s*([-\d.e]+)\)", node.get("transform", ""))
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        if node.tag == f"{_SVG}text":
            found.append(("".join(node.itertext()), x, y))
        for child in node:
            walk(child, x, y)

    walk(svg, 0.0, 0.0)
    return found


def assert_fits(figure: Figure, inches: float, *, spare: float = 1.02) -> None:
    """As wide as promised, hardly scaled, nothing cut off, and no text too small to be read."""
    svg = drawn(figure)
    width, height = size(svg)
    assert svg.attrib["width"] == f"{inches:.5g}in"
    assert width <= 96 * inches * spare
    assert min(float(found) for found in re.findall(r'font-size="([\d.]+)px"', _text(svg))) >= 12
    for text, x, y in places(svg):
        assert -0.5 <= x <= width + 0.5, text
        assert -0.5 <= y <= height + 0.5, text
        assert "…" not in text, text


def _text(svg: ElementTree.Element) -> str:
    return ElementTree.tostring(svg, encoding="unicode")


def panels(figure: Figure) -> list[list[dict]]:
    """Rows of panels."""
    return [row["hconcat"] for row in figure.spec["vconcat"]]


def marks(panel: dict, kind: str) -> list[dict]:
    return [layer for layer in panel["layer"] if layer["mark"]["type"] == kind]


def caption(figure: Figure) -> str:
    return " ".join(figure.spec["title"]["subtitle"])


def compiled(figure: Figure) -> dict:
    """The Vega that the Vega-Lite compiles to; nothing in it may be warned about."""
    import altair
    import vl_convert

    altair.Chart.from_dict(figure.spec)  # checked against the schema of Vega-Lite
    return vl_convert.vegalite_to_vega(figure.spec)
