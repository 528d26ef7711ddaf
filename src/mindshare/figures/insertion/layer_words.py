"""What lines by layer draw → their title, caption, definition and description.

Every sentence is made from the drawn numbers. Knows nothing about marks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindshare.figures.insertion import version_words
from mindshare.figures.insertion.curves import Curve
from mindshare.figures.insertion.response_measures import MIDDLE, asked, needed, short
from mindshare.figures.insertion.version_words import named, sentences
from mindshare.figures.wording import count, interval_word, level, listed, number, prompts_word

if TYPE_CHECKING:
    from mindshare.figures.insertion.layer_lines import LayerLines


def name(lines: LayerLines) -> str:
    return version_words.file_name(f"{lines.shown.measure}_by_layer")


def title(lines: LayerLines) -> str:
    parts = []
    if len(lines.conditions) == 1:
        parts.append(f" with {lines.words(lines.conditions[0])}")
    if len(lines.shown.models) == 1:
        parts.append(f": {lines.shown.models[0]}")
    return f"{named(lines.shown.measure)} by layer{''.join(parts)}"


def caption(lines: LayerLines) -> str:
    facts = [
        *asked(lines.shown.measure, lines.about, lines.shown.about),
        lines.about.get("heads", "mean over the heads"),
        prompts_word(lines.shown),
    ]
    one_based = lines.options.labels != "zero-based"
    return sentences(
        [
            f"{short(lines.shown.measure)} ({'; '.join(facts)}).",
            f"Bands: {level(lines.shown)} bootstrap interval." if lines.bands else None,
            reference(lines.shown.measure),
            f"Layers are {lines.options.labels}." if one_based else None,
        ]
    )


def reference(measure: str) -> str | None:
    return f"Dashed: {MIDDLE[measure]:g}, no change." if measure in MIDDLE else None


def definition(lines: LayerLines) -> str:
    bands = f"Bands: {interval_word(lines.shown)}" if lines.bands else "No intervals are drawn"
    return version_words.definition(
        needed([lines.shown.measure]),
        about={key: text for key, text in lines.about.items() if key != "heads"},
        metadata=lines.shown.about,
        style=lines.options,
        marks=[
            f"Heads: {lines.about.get('heads', 'mean over the heads of a layer')}",
            f"Mean over {prompts_word(lines.shown)}",
            bands,
        ],
    )


def description(lines: LayerLines) -> str:
    style = lines.options
    layers = [style.number(n) for n in lines.shown.layers if n is not None]
    first = (
        f"Lines of {named(lines.shown.measure).lower()} over {count(len(layers), 'layer')} "
        f"({layers[0]} to {layers[-1]}, {style.labels})"
    )
    what = "model" if lines.by_model else "condition"
    names = [curve.words for curve in lines.curves(lines.panels[0])]
    parts = [f"{first}, one line a {what}: {listed(names)}."]
    if not lines.by_model and len(lines.panels) > 1:
        parts.append(f"A panel for each model: {listed([str(m) for m in lines.panels])}.")
    for model in lines.panels:
        parts += [_line(lines, model, curve) for curve in lines.curves(model)]
    return " ".join(parts)


def _line(lines: LayerLines, model: str | None, curve: Curve) -> str:
    where = f"{model}, " if model is not None and len(lines.panels) > 1 else ""
    there = [row for row in curve.rows if row["mean"] is not None]
    if not there:
        return f"{where}{curve.words}: no number."
    high = max(there, key=lambda row: float(row["mean"]))
    low = min(there, key=lambda row: float(row["mean"]))
    ends = ", ".join(
        f"{word} {number(row['mean'])} (layer {lines.options.number(row['layer'])})"
        for word, row in (("highest", high), ("lowest", low))
    )
    mean = sum(row["mean"] for row in there) / len(there)
    return f"{where}{curve.words}: {ends}, mean of the layers {number(mean)}."
