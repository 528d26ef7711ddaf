"""An adapter folder → its model card, every figure read from the files beside it.

`training.json` is written by the training, `accuracy.json` by `building-blocks accuracy --out`.
"""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import fill
from typing import Any

from mindshare.errors import OutputError
from mindshare.recipes.building_blocks.accuracy import Score, in_words
from mindshare.recipes.building_blocks.actions import ACTIONS
from mindshare.recipes.building_blocks.samples import GRIDS, TEST_SHARE
from mindshare.recipes.building_blocks.shapes import SHAPES
from mindshare.recipes.finetune.train import LOG

ACCURACY = "accuracy.json"


def card(folder: Path) -> str:
    """Markdown: what it is, how it was made, how good it is."""
    training, measured = _read(folder / LOG), _read(folder / ACCURACY)
    return "\n".join([_head(folder.name), _training(training), _accuracy(measured)])


def write_card(folder: Path) -> Path:
    path = folder / "README.md"
    path.write_text(card(folder), encoding="utf-8")
    return path


def _head(name: str) -> str:
    about = f"""A LoRA adapter for SmolLM2-135M-Instruct (Apache-2.0, and so is the adapter) that
        names the action between two ASCII maps: a shape drawn in `#` before, in `*` after. It
        exists to be compared with its base: where do the two look? Load it with
        `mindshare.load("{name}")`."""
    data = f"""Synthetic, made by `mindshare-recipes building-blocks data`: {len(SHAPES)} shapes on
        square grids of {", ".join(map(str, GRIDS))} cells, {len(ACTIONS)} actions
        ({", ".join(ACTIONS)}), equally frequent. Moves shift by one cell; turns, double and half
        keep the upper left corner. A turn by 45 degrees is left out: on a grid of characters it
        would be another shape. {100 * TEST_SHARE:.0f} % of all (shape, position) pairs are held
        out, whatever the grid or the action; duplicates are excluded."""
    return f"# {name}\n\n{_filled(about)}\n\n## Data\n\n{_filled(data)}\n"


def _training(log: dict[str, Any]) -> str:
    settings, tail = log["settings"], log["losses"][-25:]
    text = f"""Loss on the answer only. {settings["steps"]:,} steps of {settings["batch"]} samples,
        LoRA of rank {settings["rank"]} (alpha {settings["alpha"]}) on all linear layers, AdamW,
        learning rate {settings["learning_rate"]:g} after {settings["warmup"]} steps of warm-up with
        a cosine down to a tenth, seed {settings["seed"]}. {log["seconds"] / 60:.0f} minutes on two
        CPU cores. Mean loss of the last {len(tail)} steps: {sum(tail) / len(tail):.3f} a token.
        Weights are stored in bfloat16. {log.get("note", "")}"""
    return f"## Training\n\n{_filled(text)}\n"


def _accuracy(measured: dict[str, Any]) -> str:
    models = measured["models"]
    head = [
        "action",
        "n",
        *(f"{name}, {way}" for name in models for way in ("exact", "among nine")),
    ]
    rows = [head, ["---"] * len(head)]
    for action in [*ACTIONS, "all"]:
        scores = [
            Score(**models[name][way][action]) for name in models for way in ("exact", "choice")
        ]
        rows.append([action, str(scores[0].n), *map(in_words, scores)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    text = f"""{measured["samples"]} held-out maps (seed {measured["seed"]}), greedy decoding, 95 %
        Wilson intervals. Exact: the answer is the action and nothing else. Among nine: only the
        nine actions can be said; guessing gives {100 / len(ACTIONS):.1f} %. Measured again by
        `mindshare-recipes building-blocks accuracy`."""
    return f"## Accuracy on held-out maps\n\n{_filled(text)}\n\n{table}\n"


def _filled(text: str) -> str:
    return fill(" ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False)


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OutputError(
            f"{path} can't be read ({type(error).__name__})",
            next_step="train the adapter, then run `mindshare-recipes building-blocks accuracy`",
        ) from error
    return content
