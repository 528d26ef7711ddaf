"""Numbers and choices → the sentences beside a chart: its definition, its caption, its words.

Every sentence is made from the table it stands beside. Knows the words of the measures and what a
table says about itself, nothing about marks or colours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mindshare.figures.selection import Shown
from mindshare.figures.theme import Style
from mindshare.table import DEFINITIONS


def number(value: float) -> str:
    """Three significant digits."""
    return f"{value:.3g}"


def count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def layer_word(layer: int | None, style: Style) -> str:
    return "mean of the layers" if layer is None else f"layer {style.number(layer)}"


def head_word(head: int | None, style: Style) -> str:
    return "mean over the heads" if head is None else f"head {style.number(head)}"


def heads_word(shown: Shown, style: Style, about: Mapping[str, str]) -> str:
    """How the heads were reduced, as the table or the caller knows it."""
    if shown.heads == [None]:
        return about.get("heads", "mean over the heads")
    return "each head by itself" if len(shown.heads) > 1 else head_word(shown.heads[0], style)


def prompts_word(shown: Shown) -> str:
    """Of the numbers that are there."""
    counts: list[int] = [n for n in shown.table["n_prompts"].to_pylist() if n] or [0]
    low, high = min(counts), max(counts)
    return count(high, "prompt") if low == high else f"{low:,} to {high:,} prompts"


def has_intervals(shown: Shown) -> bool:
    return bool(shown.table["low"].null_count < shown.table.num_rows)


def level(shown: Shown) -> str:
    """`95 %`, not to be broken"""
    return f"{100 * float(shown.about.get('mindshare.confidence', '0.95')):.4g}\xa0%"


def interval_word(shown: Shown) -> str:
    about = shown.about
    how = about.get("mindshare.interval", "interval")
    resamples = int(about.get("mindshare.resamples", "0"))
    units = "groups of prompts" if about.get("mindshare.unit") == "group" else "prompts"
    return (
        f"{level(shown)} {how} over {units} "
        f"({resamples:,} resamples, seed {about.get('mindshare.seed', 'unknown')})"
    )


def definition(
    shown: Shown, *, about: Mapping[str, str], style: Style, marks: Sequence[str]
) -> str:
    """How the numbers were made; `marks` says what the chart adds to them."""
    rules = {**_rules(shown.about), **about}
    parts = [
        f"{shown.measure.capitalize()}: {DEFINITIONS[shown.measure]}",
        "A[i,j] is the attention that query token i gives to key token j, after softmax",
        f"Query set Q: {shown.queries}",
        f"Heads: {heads_word(shown, style, about)}",
    ]
    if "classes" in rules:
        policy = f" (policy: {rules['policy']})" if "policy" in rules else ""
        parts.append(f"Token classes{policy}: {rules['classes']}")
    parts.append(f"Mean over {prompts_word(shown)}")
    parts += marks
    parts.append(f"Layers and heads are labelled {style.labels}")
    known = ("classes", "policy", "heads")
    parts += [f"{key.capitalize()}: {text}" for key, text in about.items() if key not in known]
    return " ".join(f"{part.rstrip('.')}." for part in parts)


def _rules(metadata: Mapping[str, str]) -> dict[str, str]:
    """The class rules and their policy, if the table carries its study."""
    study: dict[str, Any] = json.loads(metadata.get("mindshare.definition", "{}"))
    rules = [f"{name} = {rule}" for name, rule in study.get("classes", ())]
    if not rules:
        return {}
    return {"classes": "; ".join(rules), "policy": str(study.get("policy", "priority"))}


def caption(shown: Shown, *, about: Mapping[str, str], style: Style, marks: str = "") -> str:
    """The definition in one line or two, to stand in the picture itself."""
    short = {
        "mass": "Mass: attention to the class's tokens, mean over the query set",
        "share": "Share: mass / mass of all named classes",
        "density": "Density: mass / number of tokens in the class",
        "expected": "Expected: mass under uniform attention over the visible tokens",
        "lift": "Lift: mass / mass under uniform attention; 1 = no preference",
    }[shown.measure]
    parts = [f"queries: {shown.queries}", heads_word(shown, style, about), prompts_word(shown)]
    if style.labels != "zero-based":
        parts.append(f"numbers {style.labels}")
    return f"{short} ({'; '.join(parts)}).{f' {marks}' if marks else ''}"
