"""The contact sheet: every kind of chart at 17 and 8.5 cm, in grey, and to colour-blind readers.

    make docs && make contact

Drawn from the results of the gallery's examples. Colours are changed in the SVG itself: greys by
luminance, deficiencies by the matrices of Machado, Oliveira and Fernandes (2009), complete ones, in
linear light. Refuses text below six points.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mindshare.figures import Figure, render, saved_figure
from mindshare.folders import read_folder
from mindshare.report.writing import find_browser

HERE = Path(__file__).parent
WORK = HERE / "_build" / "work"
SHEET = HERE / "figures" / "contact_sheet.jpg"
KINDS = {  # title → results, figure
    "Token classes by layer, grouped": ("pair", "class_bars_mass"),
    "Token classes by layer": ("difference", "class_bars_mass"),
    "Two shares by layer": ("two", "class_bars_share"),
    "Difference by layer": ("difference", "difference_in_mass_by_layer_Tuned_minus_smollm2"),
    "Difference by head": ("heads", "head_map_mass_star_Tuned_minus_smollm2"),
    "One class by head": ("heads", "head_map_mass_star_Tuned"),
    "Response by head": ("run", "map_amplitude"),
    "Profiles": ("run", "profiles"),
    "Two insertions": ("run", "panel"),
    "Lines by layer": ("run", "retained_by_layer"),
    "Sweep": ("sweep", "sweep"),
    "Gains and losses in the text": ("run", "text"),
    "Looked at, carried, used": ("used", "looked_at_carried_used_delta_logprob"),
    "Mass against effect": ("heads-used", "mass_against_delta_logprob_star_Tuned"),
    "Parts": ("parts", "parts"),
    "Attention in the text": ("parts", "text"),
    "Parts of two wordings": ("wordings", "parts"),
}
SEEN = {
    "grey": [[0.2126, 0.7152, 0.0722]] * 3,
    "no red cones": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
WIDE, NARROW = "17cm", "8.5cm"
PIXELS = {WIDE: 643, NARROW: 321}  # on paper, at 96 an inch
LEAST = 6  # points
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b|rgb\((\d+), ?(\d+), ?(\d+)\)")
_SIZE = re.compile(r'font-size="([\d.]+)px"')


def seen(svg: str, matrix: list[list[float]]) -> str:
    """The same picture with every colour as such an eye sees it."""

    def changed(match: re.Match[str]) -> str:
        text = match[0]
        parts = [match[i] for i in (1, 2, 3)] if match[1] else None
        rgb = [int(x) for x in parts] if parts else [int(text[i : i + 2], 16) for i in (1, 3, 5)]
        light = np.array(rgb) / 255
        light = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
        light = np.clip(np.array(matrix) @ light, 0, 1)
        light = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
        return "#" + "".join(f"{round(float(x) * 255):02x}" for x in light)

    return _COLOUR.sub(changed, svg)


def smallest(figure: Figure, svg: str) -> float:
    """Points of the smallest text in print."""
    wide = float(re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+)', svg)[1])  # type: ignore[index]
    inches = figure.source.arguments["options"].inches  # type: ignore[union-attr]
    return min(float(size) for size in _SIZE.findall(svg)) * inches * 72 / wide


def drawn(results: str, name: str, width: str) -> str:
    tables, manifest = read_folder(WORK / results, of_figures=True)
    entry = manifest["figures"][name]
    figure = saved_figure(WORK / results, name, entry, tables, {"width": width})
    svg = render.draw(figure.spec).bare
    least = smallest(figure, svg)
    if least < LEAST - 0.01:
        raise SystemExit(f"{name} at {width} has text of {least:.1f} pt")
    print(f"{results}/{name}, {width}: smallest text {least:.1f} pt")
    return svg


def cell(svg: str, width: str) -> str:
    # As pixels, so that the text has the font that it was laid out in.
    data = base64.b64encode(render.Drawn(svg).png(scale=1)).decode()
    return f'<td><img width="{PIXELS[width]}" src="data:image/png;base64,{data}"></td>'


def page(rows: Mapping[str, tuple[str, str]]) -> str:
    heads = ["17 cm", "8.5 cm", *SEEN]
    head = "".join(f"<th>{word}</th>" for word in heads)
    body = ""
    for title, (results, name) in rows.items():
        wide, narrow = (drawn(results, name, width) for width in (WIDE, NARROW))
        cells = [cell(wide, WIDE), cell(narrow, NARROW)]
        cells += [cell(seen(narrow, matrix), NARROW) for matrix in SEEN.values()]
        body += f'<tr><th colspan="{len(heads)}">{title}</th></tr><tr>{"".join(cells)}</tr>'
    look = (
        "body{margin:8px;font:14px sans-serif}th{text-align:left}td{vertical-align:top;padding:4px}"
    )
    return f"<!doctype html><style>{look}</style><table><tr>{head}</tr>{body}</table>"


def main() -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(find_browser()), args=["--no-sandbox"])
        sheet = browser.new_page(viewport={"width": 2340, "height": 900})
        sheet.set_content(page(KINDS))
        sheet.wait_for_load_state("networkidle")
        sheet.screenshot(path=str(SHEET), full_page=True, type="jpeg", quality=80)
        browser.close()
    print(f"{SHEET.relative_to(HERE.parent)}: {SHEET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
