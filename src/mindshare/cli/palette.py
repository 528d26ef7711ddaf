"""Token classes become colours: the same class has the same colour in text, legend and table."""

from __future__ import annotations

from collections.abc import Sequence

# Two shades of each, so that neighbouring tokens of one class stay apart. Text and background are
# both set: they are readable on dark and on light terminals.
_SHADES = (
    ("black on #ffaf5f", "black on #d7875f"),
    ("black on #5fd7ff", "black on #5fafd7"),
    ("black on #afd787", "black on #87af5f"),
    ("black on #ffafd7", "black on #d787af"),
    ("black on #ffff87", "black on #d7d75f"),
    ("black on #d7afff", "black on #af87d7"),
    ("black on #87ffd7", "black on #5fd7af"),
)
_OTHER = ("#dadada on #303030", "#dadada on #444444")


def class_shades(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Two rich styles per class; the last name is `other`, in grey."""
    shades = {name: _SHADES[i % len(_SHADES)] for i, name in enumerate(names)}
    return {**shades, "other": _OTHER, "sink_slot": _OTHER}
