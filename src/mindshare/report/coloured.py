"""Tables of tokens → prompts to look at, every token on the colour of its class or part.

The first few prompts, and of a long one its first tokens; what is left out is counted. Reads tables
only: no tokenizer.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mindshare.errors import SelectionError
from mindshare.figures.theme import PALETTES, Palette, class_colours
from mindshare.report.parts import Colour, ColouredText, Details, Paragraph, Part
from mindshare.report.question import count, study_of
from mindshare.report.saved import Saved

if TYPE_CHECKING:
    import pyarrow as pa

PROMPTS, OPEN = 3, 1  # prompts that are shown, and of these not folded away
TOKENS, VERSIONS = 600, 4  # of a prompt
_PARTS = {
    "original": ("#ffffff", "stands in both versions"),
    "inserted": ("#f2b5b0", "inserted"),
    "seam": ("#d3b5f0", "merged with inserted characters"),
    "unmatched": ("#f7dd8f", "original characters that are cut differently"),
}
_PLAIN = "#ffffff"
_VISIBLE = {"\n": "↵\n", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}


def prompts_shown(saved: Saved) -> list[Part]:
    texts = _classed(saved) if saved.kind == "classes" else _versions(saved)
    if not texts:
        return [Paragraph("The tokens were not saved with these results.")]
    opened: list[Part] = list(texts[:OPEN])
    folded = [Details(text.label, (replace(text, label=""),)) for text in texts[OPEN:]]
    return [Paragraph(_intro(saved)), *opened, *folded]


def _intro(saved: Saved) -> str:
    ids = _ids(next(iter(saved.models.values())))
    left = len(ids) - PROMPTS
    rest = f" The first {PROMPTS} of {len(ids):,} prompts are shown." if left > 0 else ""
    kind = "class" if saved.kind == "classes" else "part in the insertion"
    return f"Each token is marked with its {kind}; ↵ is a line end.{rest}"


def _ids(provenance: Mapping[str, Any]) -> list[str]:
    return [prompt["id"] for prompt in provenance["prompts"]]


def _classed(saved: Saved) -> list[ColouredText]:
    """The prompts with their token classes; again for a model that cuts them differently."""
    names = [name for name, _ in study_of(saved)["classes"]]
    found: dict[tuple[tuple[str, str], ...], ColouredText] = {}
    for label, provenance in saved.models.items():
        table = saved.own("tokens", label)
        for prompt in _ids(provenance)[:PROMPTS] if table is not None else ():
            rows = _rows(table, prompt=prompt)
            tokens = tuple((row["token"], row["class"]) for row in rows)
            words = f"Prompt {prompt}: {count(len(tokens), 'token')}"
            known = found.setdefault(
                tokens, _coloured(words, tokens, _legend(names, tokens, saved))
            )
            if known.label == words and label != next(iter(saved.models)) and _differ(found):
                found[tokens] = _coloured(f"{words} of {label}", tokens, known.legend)
    return list(found.values())


def _differ(found: Mapping[Any, ColouredText]) -> bool:
    """Whether some prompt is there twice: in the tokens of two models."""
    labels = [text.label.partition(":")[0] for text in found.values()]
    return len(set(labels)) < len(labels)


def _legend(
    names: Sequence[str], tokens: Sequence[tuple[str, str]], saved: Saved
) -> tuple[Colour, ...]:
    numbers = Counter(name for _, name in tokens)
    colours = _colours(names, _palette(saved))
    shown = [*names, *(name for name in numbers if name not in names)]
    return tuple(
        Colour(name, colours.get(name, _PLAIN), count(numbers[name], "token")) for name in shown
    )


def _colours(names: Sequence[str], palette: Palette) -> dict[str, str]:
    try:
        return class_colours(names, palette)
    except SelectionError:  # more classes than colours: then the colours come again
        cycle = palette.classes
        return {name: cycle[i % len(cycle)] for i, name in enumerate(names)}


def _palette(saved: Saved) -> Palette:
    """The one the charts were drawn in."""
    fields = tomllib.loads(saved.study) if saved.study else {}
    return PALETTES.get(str(fields.get("palette")), PALETTES["seed"])


def _versions(saved: Saved) -> list[ColouredText]:
    """The prompts with what was inserted, one text a version."""
    found = []
    for label, provenance in saved.models.items():
        table = saved.own("places", label)
        if table is None:
            continue
        who = f", {label}" if len(saved.models) > 1 else ""
        conditions = list(dict.fromkeys(table["condition"].to_pylist()))
        ids = list(dict.fromkeys(table["prompt"].to_pylist()))
        order = [one for one in dict.fromkeys(_ids(provenance)) if one in ids] or ids
        for prompt in order[:PROMPTS]:
            for condition in [c for c in conditions if c != "without"][:VERSIONS]:
                rows = _rows(table, prompt=prompt, condition=condition)
                if rows:
                    words = f"Prompt {prompt} with “{condition}”{who}"
                    found.append(_parted(words, rows))
    return found


def _parted(words: str, rows: Sequence[Mapping[str, Any]]) -> ColouredText:
    tokens = tuple((row["token"], row["part"]) for row in rows)
    numbers = Counter(part for _, part in tokens)
    legend = tuple(
        Colour(part, colour, f"{count(numbers[part], 'token')}, {note}")
        for part, (colour, note) in _PARTS.items()
        if numbers[part]
    )
    return _coloured(f"{words}: {count(len(tokens), 'token')}", tokens, legend)


def _coloured(
    label: str, tokens: tuple[tuple[str, str], ...], legend: tuple[Colour, ...]
) -> ColouredText:
    shown = tuple((visible(text), kind) for text, kind in tokens[:TOKENS])
    return ColouredText(label, shown, legend, max(0, len(tokens) - TOKENS))


def visible(token: str) -> str:
    """Line ends and control characters as marks; spaces show by their colour."""
    return "".join(_VISIBLE.get(c) or (c if c.isprintable() else ascii(c)[1:-1]) for c in token)


def _rows(table: pa.Table, **where: str) -> list[dict[str, Any]]:
    """The rows of a prompt, by position."""
    import pyarrow.compute as pc

    for column, value in where.items():
        table = table.filter(pc.equal(table[column], value))
    rows: list[dict[str, Any]] = table.sort_by("position").to_pylist()
    return rows
