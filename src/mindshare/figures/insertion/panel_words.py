"""Names → where they stand in a panel: its title, and the name of a run of tokens.

Knows words and pixels, nothing about numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mindshare.figures.theme import INK, LABEL, SMALL, text_width, wrapped

LINE = 11  # height of a line of text in a run
_MOST_LINES = 3
_BOLD = LABEL * 1.12  # bold is wider, and a browser may have a wider font


@dataclass(frozen=True)
class RunLabel:
    """Where the name of a run stands, in pixels."""

    lines: list[str]
    x: float
    align: str
    across: bool = False  # over the ends of the run, where dashes would cross the words

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + 8


def run_label(words: str, width: float, left: float, right: float) -> RunLabel:
    """In the run if the words fit, else beside it where there is more room, else across it."""

    def fit(room: float) -> list[str] | None:
        lines = wrapped(words, room, SMALL)
        widest = max(text_width(line, SMALL) for line in lines)
        return lines if widest <= room and len(lines) <= _MOST_LINES else None

    inside = fit(right - left - 4)
    if inside:
        return RunLabel(inside, (left + right) / 2, "center")
    after = width - right >= left
    beside = fit((width - right if after else left) - 6)
    if beside:
        return RunLabel(beside, right + 4 if after else left - 4, "left" if after else "right")
    lines = wrapped(words, width - 8, SMALL)[:_MOST_LINES]
    half = max(text_width(line, SMALL) for line in lines) / 2 + 2
    middle = min(max((left + right) / 2, half), width - half)
    return RunLabel(lines, middle, "center", across=True)


def column_titles(names: Sequence[tuple[str, str]], width: float) -> list[tuple[str, ...]]:
    """(`MODEL`, `Layer 1 Head 8`) each: all in one line if they fit, else all with a break."""
    if all(text_width(" ".join(pair), _BOLD) <= width for pair in names):
        return [(" ".join(pair),) for pair in names]
    return [(*broken(model, width), *wrapped(where, width, _BOLD)) for model, where in names]


def broken(name: str, width: float) -> list[str]:
    """A long name in lines, cut behind its hyphens."""
    lines = [""]
    for part in _parts(name):
        if lines[-1] and text_width(lines[-1] + part, _BOLD) > width:
            lines.append("")
        lines[-1] += part
    return [line.strip() for line in lines]


def title_layer(lines: Sequence[str], width: float) -> dict[str, Any]:
    """Above the panel, always as high; a title of Vega's own gives way to labels of the axis."""
    mark = {"type": "text", "baseline": "bottom", "align": "center", "lineHeight": LABEL + 2}
    mark |= {"fontSize": LABEL, "fontWeight": "bold", "color": INK, "tooltip": None}
    return {
        "data": {"values": [{"words": list(lines)}]},
        "mark": mark,
        "encoding": {
            "x": {"value": round(width / 2, 1)},
            "y": {"value": -5 - (len(lines) - 1) * (LABEL + 2)},  # of the first line
            "text": {"field": "words", "type": "nominal"},
        },
    }


def _parts(name: str) -> Sequence[str]:
    """Where a name may be broken: behind hyphens, slashes, underscores and spaces."""
    parts = [""]
    for character in name:
        parts[-1] += character
        if character in "-/_ ":
            parts.append("")
    return [part for part in parts if part]
