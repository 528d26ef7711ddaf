"""The registry of measures as docs/measures.md: `python docs/measures.py`, or `make tables`."""

from __future__ import annotations

from pathlib import Path

from mindshare.measures import MEASURES, at_level, letters

PAGE = Path(__file__).with_suffix(".md")
LEVELS = {
    "class": "What queries give to a class of tokens, by layer and head",
    "head": "How queries attend, by layer and head",
    "key": "What one token receives, by layer and head",
    "prompt": "By prompt",
    "effect": "What an answer loses when a class of tokens is hidden",
    "response": "What an insertion does to a head",
    "phase": "Before, inside and after an insertion",
}
INTRODUCTION = """# The measures

`A` is the attention exactly as the model uses it: after RoPE, QK-norm, soft-capping, windows and
learned sinks. Each column of each table carries its definition. In brackets: what charts and
sentences call it. This page is written from the registry, `src/mindshare/measures.py`, by
`make tables`.
"""


def page() -> str:
    parts = [INTRODUCTION]
    for level, title in LEVELS.items():
        parts.append(f"## {title}\n")
        for name in at_level(level):
            measure = MEASURES[name]
            unit = f" Unit: {measure.unit}." if measure.unit else ""
            neutral = "" if measure.neutral is None else f" No effect: {measure.neutral:g}."
            called = f" ({measure.called})" if measure.called else ""
            parts.append(f"**`{name}`**{called}: {measure.short}.{unit}{neutral}\n")
            parts.append(f"> {measure.definition}\n\n```math\n{measure.latex}\n```\n")
        parts.append(f"{letters(at_level(level))}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
