"""Token classes become colours: the same class has the same colour in text, legend and table."""

from __future__ import annotations

from collections.abc import Sequence

# Two shades of each, so that neighbouring tokens of one class stay apart. These are the sixteen
# colours every terminal has, text and background both set: readable on dark and on light.
_SHADES = (
    ("black on yellow", "black on bright_yellow"),
    ("black on cyan", "black on bright_cyan"),
    ("black on magenta", "black on bright_magenta"),
    ("black on green", "black on bright_green"),
    ("white on blue", "black on bright_blue"),
    ("white on red", "black on bright_red"),
)
_OTHER = ("default", "underline")


def class_shades(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Two rich styles per class; `other` and what learned sinks take have no colour."""
    shades = {name: _SHADES[i % len(_SHADES)] for i, name in enumerate(names)}
    return {**shades, "other": _OTHER, "sink_slot": _OTHER}
