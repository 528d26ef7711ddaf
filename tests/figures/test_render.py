from __future__ import annotations

import re
import struct
import subprocess
import sys
import zlib
from dataclasses import replace

import pytest

from mindshare.figures import Figure, class_bars, head_map, render

from .drawing import png_size
from .samples import contrasted, reading


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = "import sys, mindshare.figures, mindshare.stats\n"
    code += "print([m for m in ('torch', 'altair', 'vl_convert', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_scale_is_the_sharpness() -> None:
    spec = class_bars(reading()).spec
    one, three = (png_size(render.draw(spec).png(scale=scale)) for scale in (1, 3))
    assert abs(three[0] - 3 * one[0]) <= 6


def test_a_smaller_file_has_the_same_pixels() -> None:
    import vl_convert

    spec = {k: v for k, v in class_bars(reading()).spec.items() if k != "usermeta"}
    drawn = vl_convert.vegalite_to_png(spec, scale=2, allowed_base_urls=[])
    ours = render.draw(spec).png(scale=2)
    pixels, kinds = [], []
    for picture in (drawn, ours):
        chunks = list(render._chunks(picture))
        pixels.append(zlib.decompress(b"".join(x for kind, x in chunks if kind == b"IDAT")))
        kinds.append({kind for kind, _ in chunks})
    assert pixels[0] == pixels[1]
    assert kinds[1] == kinds[0] | {b"pHYs"}
    assert len(ours) < len(drawn) / 2


def test_pictures_have_their_size_in_print() -> None:
    drawn = render.draw(class_bars(reading()).spec)
    inches = float(re.search(r'width="([\d.]+)"', drawn.bare)[1]) / 96
    assert inches == pytest.approx(3.4, rel=1e-4)
    content = dict(render._chunks(drawn.png()))
    metre, _, unit = struct.unpack(">IIB", content[b"pHYs"])
    assert (round(metre * 0.0254), unit) == (288, 1)
    width = float(re.search(rb"/MediaBox ?\[0 0 ([\d.]+)", drawn.pdf())[1])
    assert width == pytest.approx(72 * inches, rel=1e-4)


@pytest.mark.parametrize("figure", [class_bars(reading()), head_map(contrasted(4, 3), "star")])
def test_the_paper_is_white_from_edge_to_edge(figure: Figure) -> None:
    bare = render.draw(figure.spec).bare
    view = [float(x) for x in re.search(r'viewBox="([^"]+)"', bare)[1].split()]
    paper = re.search(r'<rect ([^>]*)fill="white"/>', bare)[1]
    sides = {name: float(x) for name, x in re.findall(r'(x|width|height)="([\d.-]+)"', paper)}
    assert view[0] < 0  # room on both sides
    assert [sides["x"], sides["width"], sides["height"]] == [view[0], *view[2:]]


def test_a_chart_does_not_depend_on_those_drawn_before_it() -> None:
    spec = head_map(contrasted(4, 3), "star").spec  # its legend is a gradient with a name
    first, again = render.draw(spec), render.draw(spec)
    assert first == again
    assert 'id="gradient_0"' in first.bare
    assert "url(#gradient_0)" in first.bare


def test_only_names_are_renumbered() -> None:
    svg = '<clipPath id="clip7"/><g clip-path="url(#clip7)"/><text>url(#clip7) id="clip7"</text>'
    assert render._renumbered(svg) == (
        '<clipPath id="clip0"/><g clip-path="url(#clip0)"/><text>url(#clip7) id="clip7"</text>'
    )


def test_the_words_for_screen_readers_are_escaped() -> None:
    svg = render.draw(class_bars(reading()).spec).svg(title="a < b", description="c & d")
    assert "<title>a &lt; b</title><desc>c &amp; d</desc>" in svg


def test_characters_that_xml_lacks_are_drawn_as_marks() -> None:
    """The renderer ends the whole process where it meets one, so it runs in one of its own."""
    code = """
from xml.dom.minidom import parseString
from mindshare.figures import class_bars, render
from tests.figures.samples import reading
spec = class_bars(reading()).spec
odd = "a\\x1b[31m\\x00\\ud800\\uffff"
drawn = render.draw(spec | {"title": odd})
drawn.png(), drawn.pdf()
print(ascii(parseString(drawn.svg(title=odd, description=odd)).toxml()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count(r"a\u241b[31m\u2400\ufffd\ufffd") >= 3  # the title, as text and twice


def test_the_script_can_stand_in_a_page() -> None:
    assert "</script" not in render.script()
    assert "window.vegaEmbed" in render.script()


# The page.


def test_the_page_says_everything_that_is_known() -> None:
    figure = class_bars(reading())
    text = render.page(figure, picture='<svg class="marks" width="1.25in">the picture</svg>')
    for part in ("the picture</svg>", figure.title, "0.055", "vegaEmbed", "--drawn: 120px"):
        assert part in text, part
    assert text.partition("</table>")[0].count("<tr>") == 25
    assert 'title="mean of the measure over the prompts"' in text  # of the column
    assert "<td>–</td>" in render.page(class_bars(reading(n_prompts=1)), picture="")  # no interval


def test_words_cannot_break_out_of_the_page() -> None:
    figure = class_bars(reading())
    nasty = "</script><script>alert(1)</script>"
    bad = replace(figure, title=nasty, definition=nasty, spec={**figure.spec, "name": nasty})
    assert "<script>alert" not in render.page(bad, picture="")
