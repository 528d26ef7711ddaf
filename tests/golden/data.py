"""The prompts of the golden journeys, as rows of a JSON Lines file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_MAPS = (
    *(" ##\n **", " ####\n  **", " # #\n ** **", " ##\n\n *", " ##  ##\n  ** *"),
    *(" #\n ****\n *", " ## ##\n **", " ###\n * *", " ##\n ##\n **", " #\n\n **"),
)
TEXT = "Look:\n## #\n ** *\nWhich way, the up?"
MARKED = "Look:\n<<map>>## #\n ** *<</map>>\nWhich way, the up?"


def rows() -> list[dict[str, Any]]:
    """Ten maps with a span; two of them are of one group, and one is of another kind."""
    found = []
    for number, drawn in enumerate(_MAPS):
        way = "up" if number % 2 else "down"
        found.append(
            {
                "name": f"p{number}",
                "question": f"Map:{drawn}\nWhich way, the {way}?",
                "spans": {"map": [4, 4 + len(drawn)]},
                "batch": f"g{number % 9}",
                "kind": "odd" if number == 4 else "map",
                "level": number,
            }
        )
    return found


def write(path: Path, *, first: int | None = None) -> Path:
    lines = (json.dumps(row) + "\n" for row in rows()[:first])
    path.write_text("".join(lines), encoding="utf-8")
    return path
