from __future__ import annotations

import subprocess
import sys

from mindshare.figures import class_bars, render

from .drawing import png_size
from .samples import reading


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = "import sys, mindshare.figures, mindshare.stats\n"
    code += "print([m for m in ('torch', 'altair', 'vl_convert', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_scale_is_the_sharpness() -> None:
    spec = class_bars(reading()).spec
    one, three = (png_size(render.png(spec, scale=scale)) for scale in (1, 3))
    assert abs(three[0] - 3 * one[0]) <= 6


def test_the_words_for_screen_readers_are_escaped() -> None:
    svg = render.svg(class_bars(reading()).spec, title="a < b", description="c & d")
    assert "<title>a &lt; b</title><desc>c &amp; d</desc>" in svg


def test_the_script_can_stand_in_a_page() -> None:
    assert "</script" not in render.script()
    assert "window.vegaEmbed" in render.script()
