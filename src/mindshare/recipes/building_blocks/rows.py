"""A sample → one JSON Lines row: chat messages, spans, the answer; and rows → a file.

The rows are what `mindshare … --data` reads: the prompt ends where the answer would begin. Spans
of the user's message: `start_map`, `target_map`, `maps` (both), `question`; `system` is all of the
system message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mindshare.errors import OutputError
from mindshare.prompts import Prompt
from mindshare.recipes.building_blocks.actions import ACTIONS
from mindshare.recipes.building_blocks.samples import Sample, draw

_NAMES = list(ACTIONS)
SYSTEM = (
    "You see a map before and after one action. Name the action: "
    f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}."
)
QUESTION = "Which action was it?"


def row(sample: Sample) -> dict[str, Any]:
    """Everything about a sample; `messages` and `spans` are the prompt, `answer` the solution."""
    start = draw(sample.start, sample.size, "#")
    target = draw(sample.target, sample.size, "*")
    user, spans = _located(
        ("", "Start:\n"),
        ("start_map", start),
        ("", "\nTarget:\n"),
        ("target_map", target),
        ("", "\n"),
        ("question", QUESTION),
    )
    return {
        "id": sample.id,
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}],
        "spans": {
            "system": [[0, 0, len(SYSTEM)]],
            "maps": spans["start_map"] + spans["target_map"],
            **spans,
        },
        "answer": sample.action,
        "shape": sample.shape,
        "size": sample.size,
        "row": sample.row,
        "column": sample.column,
    }


def prompt(sample: Sample) -> Prompt:
    """The sample as a prompt, spans included."""
    content = row(sample)
    return Prompt.from_chat(
        content["messages"], content["spans"], id=content["id"], answer=content["answer"]
    )


def write_rows(samples: Iterable[Sample], path: Path) -> Path:
    """A JSON Lines file; an existing one is never touched."""
    text = "".join(json.dumps(row(sample)) + "\n" for sample in samples)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(
            f"{path} exists already", next_step="choose another folder or remove the file"
        ) from None
    except OSError as error:
        raise OutputError(f"can't write {path}: {error.strerror}") from error
    return path


def _located(*parts: tuple[str, str]) -> tuple[str, dict[str, list[list[int]]]]:
    """Named pieces of the user's message → its text and where each named piece stands."""
    text = ""
    spans: dict[str, list[list[int]]] = {}
    for name, piece in parts:
        if name:
            spans[name] = [[1, len(text), len(text) + len(piece)]]
        text += piece
    return text, spans
